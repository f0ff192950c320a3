// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All Packing by value size, with and without piggybacking (section 4.3, Fig. 11).

use super::index::bytes_per_pair;
use super::path::Path;
use super::workload::sizes;
use super::{Packed, Policy, buffer};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use saker_flash::packing::Arrival;
use saker_host::{Method, TransferPolicy};
use saker_workload::Suite;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    value_bytes: Vec<u32>,
    small_bytes: Vec<u32>,
    index_pairs: u64,
    index_memtables: u64,
}

/// A size: baseline, packing, and packing of piggybacked values; then all with serial programs.
struct Row {
    bytes: u32,
    runs: [Packed; 3],
    serial: [Packed; 3],
    /// Runs whose pages and copies are the oracle's.
    as_counted: usize,
    /// Pages of baseline and packing if values had no heads.
    bare: [u64; 2],
}

impl Row {
    fn measure(cx: &Context<'_>, bytes: u32, operations: u64) -> Result<Self, LabError> {
        let profile = cx.profile()?;
        let sizes = sizes(Suite::A, operations, bytes, cx.seed)?;
        let paged: Vec<_> = sizes.iter().map(|n| Arrival::Dma(*n)).collect();
        let small: Vec<_> = sizes.iter().map(|n| Arrival::Piggybacked(*n)).collect();
        let path = |method, values| Path::new(&profile, cx.seed, TransferPolicy::Fixed(method), values);
        let (paged, small) = (path(Method::Prp, &paged)?, path(Method::Piggyback, &small)?);
        let of = |paged: &Path<'_>, small: &Path<'_>| -> Result<[Packed; 3], LabError> {
            Ok([paged.run(Policy::Block)?, paged.run(Policy::All)?, small.run(Policy::All)?])
        };
        let runs = of(&paged, &small)?;
        let counts = [paged.count(Policy::Block), paged.count(Policy::All), small.count(Policy::All)];
        let as_counted = runs.iter().zip(counts).filter(|(run, count)| run.is(*count)).count();
        let pages = u64::from(buffer(&profile).pages);
        let bare = [Policy::Block, Policy::All].map(|policy| paged.bare(policy, pages).pages);
        Ok(Self { bytes, runs, serial: of(&paged.serial()?, &small.serial()?)?, as_counted, bare })
    }

    fn saved(&self, index_pages: f64) -> f64 {
        let [base, packed, _] = self.runs.map(|r| r.pages as f64 + index_pages);
        (1.0 - packed / base) * 100.0
    }

    fn saved_bare(&self, index_pages: f64) -> f64 {
        let [base, packed] = self.bare.map(|pages| pages as f64 + index_pages);
        (1.0 - packed / base) * 100.0
    }
}

/// Runs bandslim-fig11.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let operations = cx.operations(1000);
    cx.note("pages of the index");
    let index_bytes = bytes_per_pair(plan.index_pairs, plan.index_memtables, cx.seed);
    let index_pages = index_bytes * operations as f64 / 16_384.0;
    let mut rows = Vec::new();
    for bytes in &plan.value_bytes {
        cx.note(format!("{bytes} B"));
        rows.push(Row::measure(cx, *bytes, operations)?);
    }
    let mut book = cx.book();
    let small = || rows.iter().filter(|row| plan.small_bytes.contains(&row.bytes));
    let saved: Vec<_> = small().map(|row| row.saved(index_pages)).collect();
    let told = |of: &dyn Fn(&Row) -> f64| {
        small().map(|row| format!("{:.1}", of(row))).collect::<Vec<_>>().join(", ")
    };
    book.numbers(
        "AC-bandslim-fig11-1",
        &saved,
        format!(
            "With {index_bytes:.0} B of tables for each pair on both sides, counted in this program's LSM store. Records without \
             tables: {} %; values without heads: {} %, with tables {} %. The published 98.1 % would follow from values without \
             heads and 47 B of tables; sizes of the board's memtables and levels are not published.",
            told(&|row| row.saved(0.0)),
            told(&|row| row.saved_bare(0.0)),
            told(&|row| row.saved_bare(index_pages)),
        ),
    );
    let equal = |row: &Row| {
        let [_, packed, piggy] = row.runs.map(|r| r.pages as f64);
        Part::new(
            format!("{} B: pages of Piggy+Pack over Packing", row.bytes),
            piggy / packed,
            piggy == packed,
        )
    };
    let mut parts: Vec<_> = rows.iter().map(equal).collect();
    let counted: usize = rows.iter().map(|row| row.as_counted).sum();
    let name = "runs whose pages and copies equal an independent count of records";
    parts.push(Part::new(name, counted as f64, counted == 3 * rows.len()));
    book.order("AC-bandslim-fig11-2", &parts, "");
    times(&rows, &mut book);
    Ok(Outcome { checks: book.finish(), series: series(&rows) })
}

fn times(rows: &[Row], book: &mut crate::judge::Book<'_>) {
    let row = rows.iter().find(|row| row.bytes == 32).expect("the plan has 32 B");
    let ratio =
        |runs: &[Packed; 3]| (runs[1].us / runs[0].us, (runs[1].us - runs[2].us) / runs[0].us * 100.0);
    let ((packed, further), (serial, serial_further)) = (ratio(&row.runs), ratio(&row.serial));
    let parts = [
        Part::within("Packing over Baseline at 32 B", packed, 0.324 * 0.85, 0.324 * 1.15),
        Part::within("further points by piggybacking", further, 1.0, 7.0),
    ];
    let why = format!(
        "Measured: with all dies at work programs keep up with one store after the other, so the transfer and the store decide; \
         with one die the ratio is {serial:.3} and the further points {serial_further:.1}. NAND times of the board are not \
         published."
    );
    book.order("AC-bandslim-fig11-3", &parts, why);
    let large: Vec<_> = rows.iter().filter(|row| row.bytes >= 128).collect();
    let mut parts: Vec<_> = large
        .windows(2)
        .map(|w| {
            let growth = w[1].runs[2].us / w[0].runs[2].us;
            Part::new(format!("Piggy+Pack, {} B over {} B", w[1].bytes, w[0].bytes), growth, growth > 1.0)
        })
        .collect();
    parts.extend(large.iter().map(|row| {
        let over = row.runs[2].us / row.runs[1].us;
        Part::new(format!("{} B: Piggy+Pack over Packing", row.bytes), over, over > 1.0)
    }));
    book.order("AC-bandslim-fig11-4", &parts, "");
}

fn series(rows: &[Row]) -> Vec<crate::report::Point> {
    let names = [("baseline", Policy::Block), ("packing", Policy::All), ("piggy+pack", Policy::All)];
    let of = |row: &Row| {
        let bytes = row.bytes;
        let point = |(run, (name, policy)): (&Packed, &(&str, Policy))| {
            run.point([("value_bytes", json!(bytes)), ("configuration", json!(name))], *policy)
        };
        row.runs.iter().zip(&names).map(point).collect::<Vec<_>>()
    };
    rows.iter().flat_map(of).collect()
}
