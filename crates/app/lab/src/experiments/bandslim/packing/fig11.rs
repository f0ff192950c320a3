// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All Packing by value size, with and without piggybacking (section 4.3, Fig. 11).

mod row;

use super::board::{Tree, TreeCost};
use super::clock::Times;
use super::index::bytes_per_pair;
use super::{Packed, Policy, buffer};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use row::{Row, series};
use saker_flash::packing::Arrival;
use saker_profile::Media;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    value_bytes: Vec<u32>,
    small_bytes: Vec<u32>,
    index_pairs: u64,
    index_memtables: u64,
    /// Other lengths of programs, of which the board's is not published.
    guessed_program_ns: Vec<u64>,
    tree: Tree,
}

/// Packing's time over the baseline's as published.
const PACKED: f64 = 0.324;
/// Stores of 32 B that fill some pages when they are packed.
const PAGES_OF_32: usize = 20 * 512;

/// Per cent of the baseline's pages that packing saves, with so many pages of an index on both sides.
fn saved(runs: &[Packed; 3], index_pages: f64) -> f64 {
    let [base, packed, _] = runs.map(|run| run.pages as f64 + index_pages);
    (1.0 - packed / base) * 100.0
}

/// Runs bandslim-fig11.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let operations = cx.operations(1000);
    cx.note("pages of the index");
    let tree = plan.tree.cost(&cx.profile()?, cx.plan.operations);
    let mut rows = Vec::new();
    for bytes in &plan.value_bytes {
        cx.note(format!("{bytes} B"));
        rows.push(Row::measure(cx, *bytes, operations)?);
    }
    let mut book = cx.book();
    pages(cx, &plan, &rows, (&tree, operations), &mut book);
    times(cx, &plan, &rows, &tree, &mut book)?;
    Ok(Outcome { checks: book.finish(), series: series(&rows, &tree) })
}

fn pages(
    cx: &Context<'_>,
    plan: &Parameters,
    rows: &[Row],
    (tree, operations): (&TreeCost, u64),
    book: &mut crate::judge::Book<'_>,
) {
    let small = || rows.iter().filter(|row| plan.small_bytes.contains(&row.bytes));
    let told = |of: &dyn Fn(&Row) -> f64| {
        small().map(|row| format!("{:.1}", of(row))).collect::<Vec<_>>().join(", ")
    };
    let pages = tree.pages * operations as f64;
    let own_bytes = bytes_per_pair(plan.index_pairs, plan.index_memtables, cx.seed);
    let own_pages = own_bytes * operations as f64 / 16_384.0;
    book.numbers(
        "AC-bandslim-fig11-1",
        &small().map(|row| saved(&row.waiting, pages)).collect::<Vec<_>>(),
        format!(
            "With {:.0} B of tables for each pair on both sides, which the public tree comes to with 10 M pairs. Values alone: {} %. On the \
             engine's path, whose records have heads and whose LSM store has {own_bytes:.0} B of tables for each pair: {} %; without \
             tables {} %.",
            tree.bytes(16_384),
            told(&|row| saved(&row.waiting, 0.0)),
            told(&|row| saved(&row.engine, own_pages)),
            told(&|row| saved(&row.engine, 0.0)),
        ),
    );
    let equal = |row: &Row| {
        let [_, packed, piggy] = row.engine.map(|r| r.pages as f64);
        Part::new(
            format!("{} B: pages of Piggy+Pack over Packing", row.bytes),
            piggy / packed,
            piggy == packed,
        )
    };
    let mut parts: Vec<_> = rows.iter().map(equal).collect();
    let names = [
        "runs whose pages and copies equal an independent count of records",
        "runs on the board's path that equal a count of bare values",
    ];
    for (n, name) in names.into_iter().enumerate() {
        let counted: usize = rows.iter().map(|row| row.as_counted[n]).sum();
        parts.push(Part::new(name, counted as f64, counted == 3 * rows.len()));
    }
    book.order("AC-bandslim-fig11-2", &parts, "");
}

/// Packing's time over the baseline's, and what piggybacking takes off in points of the baseline.
fn ratio(runs: &[Packed; 3]) -> (f64, f64) {
    (runs[1].us / runs[0].us, (runs[1].us - runs[2].us) / runs[0].us * 100.0)
}

fn times(
    cx: &Context<'_>,
    plan: &Parameters,
    rows: &[Row],
    tree: &TreeCost,
    book: &mut crate::judge::Book<'_>,
) -> Result<(), LabError> {
    let row = rows.iter().find(|row| row.bytes == 32).expect("the plan has 32 B");
    let judged = row.judged(tree);
    let (packed, further) = ratio(&judged);
    let parts = [
        Part::within("Packing over Baseline at 32 B", packed, PACKED * 0.85, PACKED * 1.15),
        Part::within("further points by piggybacking", further, 1.0, 7.0),
    ];
    let told = |runs: &[Packed; 3]| {
        let (packed, further) = ratio(runs);
        format!("{packed:.3} and {further:.1}")
    };
    let lacks = (PACKED * judged[0].us - judged[1].us) / (1.0 - PACKED);
    let mut why = format!(
        "Ratio and points when programs go on beside later stores: {}; with the tree too: {}; when a store waits for the page that it \
         fills: {}; with both, which is judged: {}. The tree takes {:.1} us a pair: {:.1} of the core, {:.1} of reads, {:.1} of programs. \
         The published ratio would need {lacks:.0} us more for each store of either side, which nothing published names. ",
        told(&row.beside),
        told(&row.beside.map(|run| run.with_index(tree.ns(false)))),
        told(&row.waiting),
        told(&judged),
        tree.ns(true) / 1000.0,
        tree.core_ns / 1000.0,
        tree.read_ns / 1000.0,
        tree.program_ns / 1000.0,
    );
    for ns in &plan.guessed_program_ns {
        why += &format!("With programs of {} us: {}. ", ns / 1000, told(&guessed(cx, plan, *ns)?));
    }
    why += &format!(
        "On the engine's path: {}; with firmware.programs_awaited {}.",
        told(&row.engine),
        told(&row.engine_waiting)
    );
    book.order("AC-bandslim-fig11-3", &parts, why);
    book.order("AC-bandslim-fig11-4", &rising(rows, tree), "");
    Ok(())
}

/// Runs of 32 B on the board's path with programs of another length.
fn guessed(cx: &Context<'_>, plan: &Parameters, program_ns: u64) -> Result<[Packed; 3], LabError> {
    let mut profile = cx.profile()?;
    let Media::Nand(nand) = &mut profile.media else { unreachable!("the plan names a profile of NAND") };
    nand.program_ns.value = program_ns;
    let tree = plan.tree.cost(&profile, cx.plan.operations);
    let values =
        [Arrival::Dma(32), Arrival::Dma(32), Arrival::Piggybacked(32)].map(|value| vec![value; PAGES_OF_32]);
    let times = Times::measure(&profile, cx.seed, &[values[0][0], values[2][0]])?.waiting();
    let policies = [Policy::Block, Policy::All, Policy::All];
    let run =
        |n: usize| Packed::bare(policies[n], buffer(&profile), &values[n], &times).with_index(tree.ns(true));
    Ok([run(0), run(1), run(2)])
}

fn rising(rows: &[Row], tree: &TreeCost) -> Vec<Part> {
    let large: Vec<_> =
        rows.iter().filter(|row| row.bytes >= 128).map(|row| (row.bytes, row.judged(tree))).collect();
    let step = |w: &[(u32, [Packed; 3])]| {
        let growth = w[1].1[2].us / w[0].1[2].us;
        Part::new(format!("Piggy+Pack, {} B over {} B", w[1].0, w[0].0), growth, growth > 1.0)
    };
    let mut parts: Vec<_> = large.windows(2).map(step).collect();
    parts.extend(large.iter().map(|(bytes, runs)| {
        let over = runs[2].us / runs[1].us;
        Part::new(format!("{bytes} B: Piggy+Pack over Packing"), over, over > 1.0)
    }));
    parts
}
