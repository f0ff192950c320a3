// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What decides Plus over Original: the conditions of the public code, one of them changed at a time.

use super::ran::Ran;
use super::timed::{CELLS, Cell};
use super::ycsb::{Conditions, Run, both, takes};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use serde_json::json;
use std::sync::Arc;

/// A with uniform and zipfian keys, C with zipfian ones.
const SHOWN: [Cell; 3] = [CELLS[0], CELLS[1], CELLS[5]];
/// As the profile states it where erases are charged: for the published block.
const ERASE_NS: u64 = 3_000_000;

type Change = fn(&mut Conditions);

const AS_PUBLISHED: &str = "as published";
const COST_BENEFIT: &str = "victims by cost and benefit";
const COPIES: &str = "copies charged";
const ERASES: &str = "erases charged";
const PAGES: &str = "a program a page";
const ALL_CACHED: &str = "all mappings cached";

/// Names and what is changed.
const ROWS: [(&str, Change); 10] = [
    (AS_PUBLISHED, |_| ()),
    (COST_BENEFIT, |c| c.greedy = false),
    (COPIES, |c| c.copies_charged = true),
    (ERASES, |c| c.erase_ns = Some(ERASE_NS)),
    ("cores as stated", |c| c.cpu_factor_percent = 100),
    ("keys scattered", |c| c.zipfian_in_order = false),
    (PAGES, |c| c.program_pages = Some(1)),
    ("one background core", |c| c.background_cores = 1),
    (ALL_CACHED, |c| c.table_to_cache = Some(1)),
    ("all as here", |c| *c = Conditions { erase_ns: Some(ERASE_NS), ..Conditions::default() }),
];

/// A row: both FTLs on the cells.
struct Row {
    name: &'static str,
    original: Vec<Arc<Ran>>,
    plus: Vec<Arc<Ran>>,
}

impl Row {
    fn ratio(&self, cell: usize) -> f64 {
        self.plus[cell].result.rate() / self.original[cell].result.rate()
    }

    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        SHOWN.iter().enumerate().map(|(n, cell)| {
            let cell = format!("{} {}", cell.1, cell.2);
            let mut point = Point::at([("condition", json!(self.name)), ("cell", json!(cell))]);
            point.add("plus_over_original", self.ratio(n));
            for (ftl, ran) in [("original", &self.original[n]), ("plus", &self.plus[n])] {
                point.add(&format!("{ftl}_kops"), ran.result.rate() / 1e3);
                let wanted = ran.count("sections_wanted_user").max(1.0);
                point.add(&format!("{ftl}_section_hit_ratio"), ran.count("sections_found_user") / wanted);
            }
            point
        })
    }

    fn told(&self) -> String {
        let ratios: Vec<String> = (0..SHOWN.len()).map(|n| format!("{:.2}", self.ratio(n))).collect();
        format!("{} {}", self.name, ratios.join(", "))
    }
}

/// Runs plus-charges.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let run: Run = cx.plan.parameters();
    let mut rows = Vec::new();
    for (name, change) in ROWS {
        cx.note(name);
        let [original, plus] = both(run.with(change), &SHOWN, cx)?;
        rows.push(Row { name, original, plus });
    }
    let of = |name: &str| rows.iter().find(|row| row.name == name).expect("it was run");
    let published = of(AS_PUBLISHED);
    let told: Vec<String> = rows.iter().map(Row::told).collect();
    let mut book = cx.book();
    let ratio = of(PAGES).ratio(0) / published.ratio(0);
    let note = format!(
        "Plus over Original on A uniform, A zipfian, C zipfian: {}. As published an operation of A uniform takes: Original {}; Plus {}.",
        told.join("; "),
        takes(&published.original[0]),
        takes(&published.plus[0])
    );
    let part = Part::new("A uniform: a program a page over word lines", ratio, ratio > 1.0);
    book.order("AC-plus-charges-1", &[part], note);
    let cached = of(ALL_CACHED);
    let hits = |ran: &Ran| ran.count("sections_found_user") / ran.count("sections_wanted_user").max(1.0);
    let note = format!(
        "Of the sections that an operation wants {:.3} are in the cache of Original and {:.3} in that of Plus, {:.3} and {:.3} under the published \
         conditions.",
        hits(&cached.original[2]),
        hits(&cached.plus[2]),
        hits(&published.original[2]),
        hits(&published.plus[2])
    );
    let part = Part::within("C zipfian: Plus over Original, all mappings cached", cached.ratio(2), 0.93, 1.0);
    book.order("AC-plus-charges-2", &[part], note);
    let moved = [COST_BENEFIT, COPIES, ERASES].map(|name| {
        Part::within(format!("A uniform: {name}"), of(name).ratio(0) / published.ratio(0), 0.75, 1.25)
    });
    book.order("AC-plus-charges-3", &moved, "");
    Ok(Outcome { checks: book.finish(), series: rows.iter().flat_map(Row::points).collect() })
}
