// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The paper's own arithmetic, computed with the program's encoders, accountants and geometry.

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::experiments::bandslim::{dlt, sizes};
use crate::judge::Part;
use crate::report::Point;
use saker_host::Method;
use saker_host::transfer::Adaptive;
use saker_link::{Rule, Traffic};
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::{self, Fragment, HYBRID_PAGE_BYTES, PiggybackStore};
use saker_nvme::{Key, Sqe};
use saker_workload::{Suite, SuiteOptions};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    threshold1_bytes: u32,
    threshold2_bytes: u32,
    draws: u64,
    dlt: dlt::Parameters,
}

/// Namespace and key of the example commands.
const NSID: u32 = 1;
const KEY: [u8; 4] = [1, 2, 3, 4];

/// Runs bandslim-arithmetic.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let profile = cx.profile()?;
    let nand_page = u64::from(profile.geometry.page_bytes.get());
    let mut book = cx.book();
    let mut number =
        |n: u32, measured: &[f64]| book.numbers(&format!("AC-bandslim-arithmetic-{n}"), measured, "");
    number(1, &[carried_by_write() as f64]);
    number(2, &[carried_by_transfer() as f64]);
    let commands = vendor_specific::piggyback_commands(128);
    number(3, &[f64::from(commands), f64::from(commands) * Sqe::BYTES as f64]);
    number(4, &[saved(128, &Rule::SqeOnly)]);
    number(5, &[bytes(Method::Prp, 32, &Rule::Protocol) / 32.0]);
    number(6, &[saved(32, &Rule::Protocol)]);
    let adaptive = Adaptive::new(plan.threshold1_bytes, plan.threshold2_bytes);
    let mean = |suite, choose: &dyn Fn(u32) -> Method| workload(suite, cx.seed, plan.draws, choose);
    let reduction = |mean: f64, base: f64| (1.0 - mean / base) * 100.0;
    let pages = mean(Suite::M, &|_| Method::Prp)?;
    number(7, &[reduction(mean(Suite::M, &|_| Method::Piggyback)?, pages)]);
    number(8, &[reduction(mean(Suite::M, &|size| adaptive.choose(size))?, pages)]);
    number(9, &[mean(Suite::C, &|size| adaptive.choose(size))? / mean(Suite::C, &|_| Method::Piggyback)?]);
    let paged = |pages: u32| bytes(Method::Prp, pages * HYBRID_PAGE_BYTES, &Rule::Protocol);
    number(10, &[paged(2) / paged(1), paged(3) / paged(2), paged(4) / paged(3)]);
    number(11, &[dlt::Table::of(&plan.dlt, &profile).bytes() as f64]);
    let fit = |size: u64| {
        (nand_page / (size.div_ceil(u64::from(HYBRID_PAGE_BYTES)) * u64::from(HYBRID_PAGE_BYTES))) as f64
    };
    number(12, &[fit(32), fit(4096 + 32)]);
    number(13, &[4, 8, 16, 32].map(|size| packed(size, nand_page)));
    let grid = sizes(cx, &[Method::Prp, Method::Piggyback], &[32])?;
    let saved_time = 1.0 - grid.ratio(Method::Piggyback, Method::Prp, 32, "transfer_us_mean");
    let parts = [
        Part::new("write over transfer, 4.2 % of baseline", saved_time / 0.042, saved_time / 0.042 > 10.0),
        Part::new(
            "write over transfer, 4.2 % of packing",
            saved_time / (0.042 * 0.324),
            saved_time / (0.042 * 0.324) > 10.0,
        ),
    ];
    let note = format!(
        "With the measured saving of {:.1} % of a transfer by piggybacking 32 B; the published half gives 11.9 and 36.7.",
        saved_time * 100.0
    );
    book.order("AC-bandslim-arithmetic-14", &parts, note);
    Ok(Outcome { checks: book.finish(), series: table() })
}

fn key() -> Key {
    Key::new(&KEY).expect("four bytes are a key")
}

/// Bytes of a long value that come out of an encoded and decoded write command.
fn carried_by_write() -> usize {
    let value: Vec<u8> = (1..=64).collect();
    let sqe = vendor_specific::store_piggyback(NSID, &key(), &value, StoreOptions::NONE);
    PiggybackStore::decode(&sqe).map_or(0, |store| agreeing(&store.payload, &value))
}

/// The same for a transfer command.
fn carried_by_transfer() -> usize {
    let value: Vec<u8> = (1..=56).chain(100..108).collect();
    let sqe = vendor_specific::transfer(NSID, 1, &value[..56]);
    Fragment::decode(&sqe).map_or(0, |fragment| agreeing(&fragment.payload, &value))
}

fn agreeing(found: &[u8], sent: &[u8]) -> usize {
    found.iter().zip(sent).take_while(|(a, b)| a == b).count()
}

/// What one store puts on the link, each command by itself.
fn traffic(method: Method, size: u32) -> Traffic {
    let traffic = method.traffic(size);
    Traffic { sq_doorbells: traffic.sqe_fetches, cq_doorbells: traffic.sqe_fetches, ..traffic }
}

fn bytes(method: Method, size: u32, rule: &Rule) -> f64 {
    traffic(method, size).bytes(rule).total() as f64
}

/// Per cent of a page's traffic that piggybacking saves.
fn saved(size: u32, rule: &Rule) -> f64 {
    (1.0 - bytes(Method::Piggyback, size, rule) / bytes(Method::Prp, size, rule)) * 100.0
}

/// Mean link bytes of a workload's stores.
fn workload(suite: Suite, seed: u64, draws: u64, choose: &dyn Fn(u32) -> Method) -> Result<f64, LabError> {
    let plan = suite.plan(&SuiteOptions { operations: draws, value_bytes: 0, key_bytes: None, seed })?;
    let sum: f64 = plan.operations()?.map(|o| bytes(choose(o.size), o.size, &Rule::Protocol)).sum();
    Ok(sum / draws as f64)
}

/// Per cent of NAND pages that packing values byte by byte saves over one memory page for each.
fn packed(size: u32, nand_page: u64) -> f64 {
    let per_page = nand_page / u64::from(HYBRID_PAGE_BYTES);
    (1.0 - f64::from(size) / nand_page as f64 * per_page as f64) * 100.0
}

/// Bytes of each method by size, by the rule `protocol`.
fn table() -> Vec<Point> {
    let sizes = [4, 35, 36, 64, 91, 92, 128, 256, 512, 1024, 2048, 4096];
    let point = |method: Method, size: u32| {
        let mut point = Point::at([("method", json!(method.name())), ("value_bytes", json!(size))]);
        point.add("link_bytes_per_operation", bytes(method, size, &Rule::Protocol));
        point
    };
    let methods = [Method::Prp, Method::Piggyback, Method::Inline, Method::Sgl];
    methods.into_iter().flat_map(|m| sizes.map(|size| point(m, size))).collect()
}
