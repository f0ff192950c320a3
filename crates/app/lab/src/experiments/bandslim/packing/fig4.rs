// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NAND page writes and amplification of page-unit packing (section 2.4, Fig. 4).

use super::board::Tree;
use super::clock::Times;
use super::workload::sizes;
use super::{Packed, Policy, buffer};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::experiments::bandslim::link_bytes;
use crate::judge::Part;
use saker_flash::packing::Arrival;
use saker_host::Method;
use saker_workload::Suite;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    judged_bytes: Vec<u32>,
    amplification_bytes: Vec<u32>,
    value_bytes: Vec<u32>,
    tree: Tree,
}

/// Runs bandslim-fig4.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let profile = cx.profile()?;
    let shape = buffer(&profile);
    let operations = cx.operations(1000);
    let page_bytes = u64::from(shape.page_bytes);
    let (mut series, mut counts, mut near, mut slow) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut all: Vec<u32> = [&plan.judged_bytes, &plan.amplification_bytes, &plan.value_bytes]
        .into_iter()
        .flatten()
        .copied()
        .collect();
    all.sort_unstable();
    all.dedup();
    let tree = plan.tree.cost(&profile, cx.plan.operations);
    let mut ways = Vec::new();
    for bytes in &all {
        cx.note(format!("{bytes} B"));
        let values: Vec<_> =
            sizes(Suite::A, operations, *bytes, cx.seed)?.into_iter().map(Arrival::Dma).collect();
        let times = Times::measure(&profile, cx.seed, &values[..1])?;
        let beside = Packed::bare(Policy::Block, shape, &values, &times);
        let packed = Packed::bare(Policy::Block, shape, &values, &times.waiting());
        let judged = packed.with_index(tree.ns(true));
        let mut point = judged.point([("value_bytes", json!(bytes))], Policy::Block);
        let waf = (packed.pages * page_bytes) as f64 / packed.bytes as f64;
        point.add("write_amplification", waf);
        series.push(point);
        if plan.judged_bytes.contains(bytes) {
            let oracle = Policy::Block.bare(&values, u64::from(shape.pages)).expect("a policy of the paper");
            counts.push((packed.pages, oracle.pages));
        }
        if plan.amplification_bytes.contains(bytes) {
            let link = link_bytes(Method::Prp, u64::from(*bytes)).expect("PRP has a length");
            let taf = link as f64 / f64::from(*bytes);
            let off = (waf - taf).abs() / taf * 100.0;
            near.push(Part::within(format!("{bytes} B: distance of WAF from TAF (%)"), off, 0.0, 10.0));
            let over = |way: Packed| way.us * 1000.0 / times.transfer_ns(values[0]);
            let ratio = over(judged);
            slow.push(Part::new(format!("{bytes} B: write over transfer time"), ratio, ratio > 10.0));
            ways = [beside, beside.with_index(tree.ns(false)), packed, judged].map(over).to_vec();
        }
    }
    let mut book = cx.book();
    book.drawn("AC-bandslim-fig4-1", &counts, operations, "Pages of values under Block.");
    book.order("AC-bandslim-fig4-2", &near, "Values only; the index adds about 1.5 to 128 at 32 B.");
    let of = |n: usize| ways.get(n).copied().unwrap_or(f64::NAN);
    let why = format!(
        "At {} B: {:.1} when pages are programmed beside later stores, {:.1} with the tree too, {:.1} when a store waits for its page, \
         {:.1} with both. The tree takes {:.1} us a pair.",
        plan.amplification_bytes.last().unwrap_or(&0),
        of(0),
        of(1),
        of(2),
        of(3),
        tree.ns(true) / 1000.0
    );
    book.order("AC-bandslim-fig4-3", &slow, why);
    Ok(Outcome { checks: book.finish(), series })
}
