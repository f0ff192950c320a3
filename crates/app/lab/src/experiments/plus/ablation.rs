// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which part of Plus gives which gain: validity, layout of sections and grain, one at a time.

use super::ran::Ran;
use super::shared::runs;
use super::timed::CELLS;
use super::ycsb::{Run, point};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use saker_engine::EngineKind;
use saker_engine::Settings;
use saker_engine::hash_ftl::settings::SETTINGS;
use saker_engine::settings::find;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    run: Run,
    grains_bytes: Vec<u32>,
}

/// A variant: its name and what it is.
struct Variant {
    name: String,
    kind: EngineKind,
    settings: Settings,
}

fn variants(grains_bytes: &[u32]) -> Vec<Variant> {
    let variant = |name: String, kind: EngineKind, asked: &[(&'static str, u64)]| Variant {
        name,
        kind,
        settings: Settings::told(asked),
    };
    let original = |name: &str, asked: &[(&'static str, u64)]| {
        variant(name.to_owned(), EngineKind::HASH_ORIGINAL, asked)
    };
    let mut all = vec![
        original("Original", &[]),
        original("part 1 alone", &[("validity", choice("validity", "invalid_pages"))]),
        original("part 2 alone", &[("layout", choice("layout", "live_only"))]),
    ];
    all.extend(grains_bytes.iter().map(|grain| {
        let asked = ("grain_bytes", choice("grain_bytes", &grain.to_string()));
        variant(format!("Plus {grain}"), EngineKind::HASH_PLUS, &[asked])
    }));
    all.push(variant("Original, a table that doubles".to_owned(), EngineKind::HASH_DOUBLING, &[]));
    all
}

/// The number of a word of a setting of the hash FTLs.
fn choice(setting: &str, word: &str) -> u64 {
    let setting = find(&SETTINGS, setting).expect("a setting of the hash FTLs");
    setting.parse(word, |_| None).expect("one of its words")
}

/// Runs the variants on two threads, each every other one.
fn measured(all: &[Variant], run: Run, cx: &Context<'_>) -> Result<Vec<Measured>, LabError> {
    let every_other = |first: usize| -> Result<Vec<Measured>, LabError> {
        all.iter().skip(first).step_by(2).map(|variant| variant.measured(run, cx)).collect()
    };
    let [even, odd] = std::thread::scope(|scope| {
        let odd = scope.spawn(|| every_other(1));
        let even = every_other(0);
        [even, odd.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))]
    });
    let (mut even, mut odd) = (even?.into_iter(), odd?.into_iter());
    Ok((0..all.len()).filter_map(|n| if n % 2 == 0 { even.next() } else { odd.next() }).collect())
}

impl Variant {
    fn measured(&self, run: Run, cx: &Context<'_>) -> Result<Measured, LabError> {
        cx.note(self.name.clone());
        let ran = runs(&run.profile(cx)?, run.case(self.kind, self.settings.clone(), cx)?, &CELLS[..1])?
            .swap_remove(0);
        Ok(Measured::of(self.name.clone(), ran))
    }
}

/// What a variant came to.
struct Measured {
    name: String,
    ran: Arc<Ran>,
    memory_bytes: f64,
    probes: f64,
}

impl Measured {
    fn of(name: String, ran: Arc<Ran>) -> Self {
        let probes = ran.count("probes") / ran.count("lookups").max(1.0);
        let structures =
            ["bitmap_bytes", "invalid_buffer_bytes", "invalid_count_bytes", "invalid_list_bytes"];
        let memory_bytes = structures.iter().map(|name| ran.at_end(name)).sum();
        Self { name, ran, memory_bytes, probes }
    }

    fn gc_table_pages(&self) -> f64 {
        self.ran.per_operation("table_pages_read_gc") + self.ran.per_operation("table_pages_written_gc")
    }

    fn point(&self) -> Point {
        let mut point = point(&self.name, &self.ran);
        point.at.insert("phase".to_owned(), json!("YCSB A uniform"));
        point.add("probes_per_lookup", self.probes);
        point.add("validity_bytes", self.memory_bytes);
        point.add("table_pages_of_collections_per_operation", self.gc_table_pages());
        for name in ["doublings", "sections_divided", "table_pages_read_rehash", "table_pages_written_rehash"]
        {
            point.add(name, self.ran.at_end(name));
        }
        point
    }
}

/// Runs plus-ablation.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let all = measured(&variants(&plan.grains_bytes), plan.run, cx)?;
    let rate = |n: usize| all[n].ran.result.rate() / all[0].ran.result.rate();
    let mut book = cx.book();
    book.order("AC-plus-ablation-1", &[Part::within("part 1 alone over Original", rate(1), 0.9, 1.1)], "");
    let less = (1.0 - all[2].gc_table_pages() / all[0].gc_table_pages()) * 100.0;
    let part_2 = Part::new("percent fewer table pages in collections with part 2 alone", less, less > 0.0);
    book.order("AC-plus-ablation-2", &[part_2], "");
    let grains = all[3..3 + plan.grains_bytes.len()].windows(2).map(|w| {
        let name = format!("{} meets fewer other pairs than {}", w[0].name, w[1].name);
        Part::new(name, w[1].probes - w[0].probes, w[0].probes < w[1].probes)
    });
    book.order("AC-plus-ablation-3", &grains.collect::<Vec<_>>(), "Grains in rising order.");
    Ok(Outcome { checks: book.finish(), series: all.iter().map(Measured::point).collect() })
}
