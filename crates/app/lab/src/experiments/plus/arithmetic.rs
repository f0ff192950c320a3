// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What follows from sizes, computed with the program's own records, sections and accountants.

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use saker_engine::hash_ftl::config::first_level_bytes;
use saker_engine::hash_ftl::table::entry::Entry;
use saker_engine::hash_ftl::table::section::Section;
use saker_engine::hash_ftl::validity::bitmap::bitmap_bytes;
use saker_engine::hash_ftl::validity::invalid::{InvalidMemory, MAPPING_BYTES};
use saker_engine::hash_ftl::{FirstLevel, Layout};
use saker_sim::{Rng, Seed};
use serde::Deserialize;
use serde_json::json;

/// Bytes of a mapping in the table.
const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryPlan {
    superblocks: u64,
    superblock_bytes: u64,
    page_bytes: u64,
    stated_page_bytes: u64,
    original_grain_bytes: u32,
    plus_grain_bytes: u32,
}

/// Runs plus-memory.
pub fn memory(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: MemoryPlan = cx.plan.parameters();
    let bytes = plan.superblocks * plan.superblock_bytes;
    let grains = plan.superblock_bytes / u64::from(plan.plus_grain_bytes);
    let pages_max = (grains * MAPPING_BYTES as u64).div_ceil(plan.page_bytes);
    let page_grains = plan.page_bytes / u64::from(plan.plus_grain_bytes);
    let listed = plan.superblocks / 2 * pages_max;
    let pages = bytes / plan.page_bytes;
    let memory = InvalidMemory::of(plan.superblocks, pages, plan.page_bytes, page_grains, listed);
    let sum = memory.buffer_bytes + memory.count_bytes + memory.list_bytes;
    let parts = [memory.buffer_bytes, memory.count_bytes, pages_max, memory.list_bytes, sum];
    let bitmaps = [plan.original_grain_bytes, plan.plus_grain_bytes].map(|g| bitmap_bytes(bytes, g));
    let mut book = cx.book();
    let note = "The sum is 1344 MiB; the paper's 1320 takes 1 GB as 1000 MB. Its factor of 4 K lists is 8 K.";
    book.numbers("AC-plus-memory-1", &parts.map(|n| n as f64), note);
    book.numbers("AC-plus-memory-2", &bitmaps.map(|n| n as f64), "");
    let stated_grains = plan.stated_page_bytes / u64::from(plan.plus_grain_bytes);
    book.numbers("AC-plus-memory-3", &[stated_grains as f64], "Measured: grains of a page.");
    let printed = InvalidMemory::of(
        plan.superblocks,
        pages,
        plan.page_bytes,
        page_grains,
        plan.superblocks / 4 * pages_max,
    );
    book.numbers("AC-plus-memory-4", &[printed.list_bytes as f64], "Measured: the printed factors.");
    let mut point = Point::at([("disk_bytes", json!(bytes))]);
    let names = ["buffer_bytes", "count_bytes", "mapping_pages_max", "list_bytes", "sum_bytes"];
    names.iter().zip(parts).for_each(|(name, n)| point.add(name, n as f64));
    Ok(Outcome { checks: book.finish(), series: vec![point] })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OverheadPlan {
    superblock_bytes: u64,
    page_bytes: u64,
    stated_page_bytes: u64,
    grain_bytes: u64,
    pair_grains_long: u64,
}

/// Runs plus-gc-overhead.
pub fn gc_overhead(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: OverheadPlan = cx.plan.parameters();
    let grains = plan.superblock_bytes / plan.grain_bytes;
    let copies = plan.superblock_bytes / 2 / plan.page_bytes;
    let of = |pair_grains: u64| {
        let bytes = grains / 2 / pair_grains * MAPPING_BYTES as u64;
        (bytes, bytes.div_ceil(plan.page_bytes))
    };
    let (bytes, pages) = of(1);
    let share = |pages: u64| pages as f64 / copies as f64 * 100.0;
    let mut book = cx.book();
    let long = share(of(plan.pair_grains_long).1);
    let note = format!("With pairs of {} grains it is {long:.2} %.", plan.pair_grains_long);
    let numbers = [grains as f64, bytes as f64, pages as f64, copies as f64, share(pages)];
    book.numbers("AC-plus-gc-overhead-1", &numbers, note);
    let stated = plan.superblock_bytes / 2 / plan.stated_page_bytes;
    book.numbers("AC-plus-gc-overhead-2", &[stated as f64], "");
    let mappings = plan.page_bytes / MAPPING_BYTES as u64;
    book.numbers("AC-plus-gc-overhead-3", &[mappings as f64], "");
    let mut point = Point::at([("pair_grains", json!(1))]);
    point.add("mapping_pages", pages as f64);
    point.add("overhead_percent", share(pages));
    Ok(Outcome { checks: book.finish(), series: vec![point] })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LookupPlan {
    page_bytes: u32,
    sections: u64,
}

/// Runs plus-lookup.
pub fn lookup(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: LookupPlan = cx.plan.parameters();
    let slots = (plan.page_bytes - first_level_bytes(plan.page_bytes)) / 8;
    let layout = Layout::LiveOnly { first_level: FirstLevel::Reserved, offsets_when_full: false };
    let mut rng = Seed(cx.seed).child("lookup").rng();
    let mut sum = 0;
    for _ in 0..plan.sections {
        let section = filled(layout, slots, slots, &mut rng);
        sum += (0..slots).map(|offset| section.get(offset).1).sum::<u64>();
    }
    let mean = sum as f64 / (plan.sections * u64::from(slots)) as f64;
    let linear = f64::from(slots + 1) / 2.0;
    let reserved = f64::from(first_level_bytes(plan.page_bytes)) / f64::from(plan.page_bytes) * 100.0;
    let parts = [
        Part::within("comparisons, two levels", mean, 9.0, 11.0),
        Part::within("comparisons, one after the other", linear, 240.0, 256.0),
        Part::new("entries", f64::from(slots), slots == 480),
        Part::within("reserved percent", reserved, 6.0, 6.5),
    ];
    let mut book = cx.book();
    book.order("AC-plus-lookup-1", &parts, "A page of 512 entries has a mean of 256; Plus's has 480.");
    let mut point = Point::at([("layout", json!("two levels"))]);
    point.add("comparisons_mean", mean);
    Ok(Outcome { checks: book.finish(), series: vec![point] })
}

/// A section in which `entries` drawn indexes have pairs.
fn filled(layout: Layout, slots: u32, entries: u32, rng: &mut Rng) -> Section {
    let mut order: Vec<u32> = (0..slots).collect();
    let mut section = Section::new(layout, slots, &[]);
    for n in 0..entries as usize {
        let other = n + rng.below((slots as usize - n) as u64) as usize;
        order.swap(n, other);
        section.set(Entry::new(order[n], Some(u64::from(order[n])), false), layout, slots);
    }
    section
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FootprintPlan {
    disk_bytes: u64,
    pairs: u64,
    sample_sections: u64,
}

/// Runs plus-mapping-footprint.
pub fn mapping_footprint(cx: &Context<'_>) -> Result<Outcome, LabError> {
    const PAGE_BYTES: u32 = 4096;
    let plan: FootprintPlan = cx.plan.parameters();
    let slots = (PAGE_BYTES - first_level_bytes(PAGE_BYTES)) / 8;
    let indexes = plan.disk_bytes / 64;
    let sections = indexes.div_ceil(u64::from(slots));
    let sample = (plan.sample_sections / u64::from(cx.scale)).clamp(200, sections);
    let mut rng = Seed(cx.seed).child("footprint").rng();
    let layout = |first_level| Layout::LiveOnly { first_level, offsets_when_full: false };
    let mut sums = [0u64; 2];
    for _ in 0..sample {
        let entries = (0..slots).filter(|_| rng.below(indexes) < plan.pairs).count() as u32;
        let section = filled(layout(FirstLevel::Growing), slots, entries, &mut rng);
        for (sum, first_level) in sums.iter_mut().zip([FirstLevel::Growing, FirstLevel::Reserved]) {
            *sum += section.bytes(layout(first_level), PAGE_BYTES);
        }
    }
    let all = |sum: u64| sum as f64 / sample as f64 * sections as f64 / 1e9;
    let fixed = (plan.disk_bytes / 512 * ENTRY_BYTES) as f64 / 1e9;
    let [growing, reserved] = sums.map(all);
    let parts = [
        Part::within("fixed, GB", fixed, 2.14, 2.16),
        Part::within("growing, GB", growing, 0.8, 1.5),
        Part::within("reserved, GB", reserved, 1.9, 2.6),
    ];
    let mut book = cx.book();
    book.order(
        "AC-plus-mapping-footprint-1",
        &parts,
        "The recomputed 0.86 GB fill every grain to its end and leave separators out.",
    );
    let named = [("fixed", fixed), ("live only, growing", growing), ("live only, reserved", reserved)];
    let series = named.map(|(name, gb)| {
        let mut point = Point::at([("layout", json!(name)), ("kind", json!("all sections"))]);
        point.add("table_gb", gb);
        point
    });
    Ok(Outcome { checks: book.finish(), series: series.to_vec() })
}
