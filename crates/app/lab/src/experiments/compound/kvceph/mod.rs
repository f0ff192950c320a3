// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions of KVCeph as bare commands, behind a log, and as transactions of the device (Figure 3): what they take, and what a
//! cut leaves of them.

mod cuts;
mod driver;

use super::{FLASH_BYTES, key};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::rig::{Serial, Took};
use cuts::{Run, Tally};
use driver::{Collected, KvCeph, Way, log_of};
use saker_device::EngineKind;
use saker_link::Rule;
use saker_profile::Profile;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    key_bytes: usize,
    value_bytes: usize,
    pairs: Vec<u32>,
    /// Transactions that are measured, one after the other.
    transactions: u32,
    host_us: Vec<f64>,
    judged_pairs: u32,
    judged_host_us: f64,
    /// With a log, and in the device.
    published_mb_per_s: [f64; 2],
    cut_pairs: Vec<u32>,
    cut_transactions: u32,
}

/// What transactions of one size take in one way.
struct Cell {
    pairs: u32,
    way: Way,
    took: Took,
}

/// Runs compound-fig3-kvceph.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let profile = cx.profile()?;
    let mut cells = Vec::new();
    for pairs in &plan.pairs {
        for (way, _) in Way::ALL {
            cells.push(measure(&plan, &profile, cx.seed, *pairs, way)?);
        }
    }
    let mut series = points(&plan, &cells);
    let tallies = cut_all(cx, &plan, &mut series)?;
    let mut book = cx.book();
    let judged = ratio(&plan, &cells, plan.judged_pairs, plan.judged_host_us);
    book.numbers("AC-compound-fig3-1", &[judged], remark(&plan, &cells));
    book.order("AC-compound-fig3-2", &whole(&tallies), cut_remark(&tallies));
    let (counts, moved) = exact(&plan, &cells)?;
    book.numbers("AC-compound-fig3-3", &counts, moved);
    Ok(Outcome { checks: book.finish(), series })
}

fn transaction(plan: &Parameters, n: u32, pairs: u32) -> Collected {
    (n * pairs..(n + 1) * pairs)
        .map(|place| (key(place, plan.key_bytes), Some(vec![0x5A; plan.value_bytes])))
        .collect()
}

fn measure(plan: &Parameters, profile: &Profile, seed: u64, pairs: u32, way: Way) -> Result<Cell, LabError> {
    let mut serial = Serial::open(profile, FLASH_BYTES, seed)?;
    let volatile = !profile.power.capacitor.get();
    let took = serial.time(|client| {
        let mut ceph = KvCeph::new(client, way, volatile);
        (0..plan.transactions).try_for_each(|n| ceph.submit(&transaction(plan, n, pairs)))
    })?;
    Ok(Cell { pairs, way, took })
}

impl Cell {
    /// Microseconds of a transaction, without time of the host.
    fn transaction_us(&self, plan: &Parameters) -> f64 {
        super::us(self.took) / f64::from(plan.transactions)
    }

    /// Keys and values of a transaction.
    fn bytes(&self, plan: &Parameters) -> f64 {
        f64::from(self.pairs) * (plan.key_bytes + plan.value_bytes) as f64
    }

    fn mb_per_s(&self, plan: &Parameters, host_us: f64) -> f64 {
        self.bytes(plan) / (self.transaction_us(plan) + f64::from(self.pairs) * host_us)
    }

    /// The time of the host for an operation with which this is the bandwidth.
    fn host_us_of(&self, plan: &Parameters, mb_per_s: f64) -> f64 {
        (self.bytes(plan) / mb_per_s - self.transaction_us(plan)) / f64::from(self.pairs)
    }
}

fn cell(cells: &[Cell], pairs: u32, way: Way) -> &Cell {
    cells.iter().find(|c| c.pairs == pairs && c.way == way).expect("every size is run in every way")
}

fn ratio(plan: &Parameters, cells: &[Cell], pairs: u32, host_us: f64) -> f64 {
    let at = |way| cell(cells, pairs, way).mb_per_s(plan, host_us);
    at(Way::Hardware) / at(Way::Software)
}

fn points(plan: &Parameters, cells: &[Cell]) -> Vec<Point> {
    let mut series = Vec::new();
    for pairs in &plan.pairs {
        for host_us in &plan.host_us {
            let mut point = Point::at([("pairs", json!(pairs)), ("host_us", json!(host_us))]);
            point.add("ratio", ratio(plan, cells, *pairs, *host_us));
            series.push(point);
        }
        for (way, name) in Way::ALL {
            let cell = cell(cells, *pairs, way);
            let each = f64::from(plan.transactions);
            let mut point = Point::at([("pairs", json!(pairs)), ("way", json!(name))]);
            point.add("mb_per_s", cell.mb_per_s(plan, 0.0));
            point.add("transaction_us", cell.transaction_us(plan));
            point.add("commands", cell.took.commands as f64 / each);
            point.add("link_bytes", cell.took.traffic.bytes(&Rule::Protocol).total() as f64 / each);
            point.add("pages", cell.took.pages as f64 / each);
            series.push(point);
        }
    }
    series
}

fn remark(plan: &Parameters, cells: &[Cell]) -> String {
    let mut note = String::from(
        "The paper states neither the size of its transactions nor the host's time, and the ratio depends on both:",
    );
    for pairs in &plan.pairs {
        let at = |host: &f64| format!("{:.2} at {host} us", ratio(plan, cells, *pairs, *host));
        let row: Vec<_> = plan.host_us.iter().map(at).collect();
        let _ = write!(note, " {pairs} pairs {};", row.join(", "));
    }
    note += " 25.6 us is what the published ratio needs at ten pairs. The two bandwidths themselves need, for each operation,";
    for pairs in &plan.pairs {
        let of = |way, n: usize| cell(cells, *pairs, way).host_us_of(plan, plan.published_mb_per_s[n]);
        let _ = write!(note, " {:.1} and {:.1} us at {pairs},", of(Way::Software, 0), of(Way::Hardware, 1));
    }
    note.pop();
    note + ": they are the same between the sizes where the first overtakes the second."
}

/// Commands, payloads and logs of the judged size; and cells that moved other bytes than these make.
fn exact(plan: &Parameters, cells: &[Cell]) -> Result<([f64; 6], String), LabError> {
    let each = |way| cell(cells, plan.judged_pairs, way).took.commands as f64 / f64::from(plan.transactions);
    let log = log_of(&transaction(plan, 0, plan.judged_pairs))?.len() as f64;
    let wrong: Vec<String> = cells
        .iter()
        .map(|c| (c, moved(&c.took), u64::from(plan.transactions) * published_bytes(plan, c.pairs, c.way)))
        .filter(|(_, counted, published)| counted != published)
        .map(|(c, counted, published)| format!("{:?} {}: {counted} for {published}", c.way, c.pairs))
        .collect();
    let payload = payload_of(plan, plan.judged_pairs) as f64;
    let counts =
        [log, each(Way::Software), payload, each(Way::Hardware), each(Way::Bare), wrong.len() as f64];
    let note = format!(
        "Of all {} cells. Doorbells are left out: the first run had two for each command, and the host writes one of them for many \
         completions. {}",
        cells.len(),
        wrong.join("; ")
    );
    Ok((counts, note))
}

/// Entries, completions and data on the link.
fn moved(took: &Took) -> u64 {
    let doorbells = (took.traffic.sq_doorbells + took.traffic.cq_doorbells) * DOORBELL_BYTES;
    took.traffic.bytes(&Rule::Protocol).total() - doorbells
}

const DOORBELL_BYTES: u64 = 4;
/// Entry and completion.
const COMMAND: u64 = 64 + 16;

/// Bytes of Figure 1's payload, from the figure.
fn payload_of(plan: &Parameters, pairs: u32) -> u64 {
    4 + u64::from(pairs) * (4 + plan.key_bytes as u64 + 4 + plan.value_bytes as u64)
}

/// What a transaction puts on the link, from sections 2.2 and 3.1: data move by whole pages, a long key by its bytes.
fn published_bytes(plan: &Parameters, pairs: u32, way: Way) -> u64 {
    let moved = |bytes: u64| COMMAND + bytes.next_multiple_of(4096);
    let single = moved(plan.value_bytes as u64) + plan.key_bytes as u64;
    let singles = u64::from(pairs) * single;
    match way {
        Way::Bare => singles,
        Way::Software => moved(payload_of(plan, pairs)) + singles,
        Way::Hardware => moved(payload_of(plan, pairs)),
    }
}

/// What the cuts of a way came to.
type Tallies = Vec<(Way, &'static str, Tally)>;

fn cut_all(cx: &Context<'_>, plan: &Parameters, series: &mut Vec<Point>) -> Result<Tallies, LabError> {
    let mut all: Tallies = Way::ALL.iter().map(|(way, name)| (*way, *name, Tally::default())).collect();
    for name in &cx.plan.profiles {
        let profile = cx.profile_named(name)?;
        cx.note(format!("cuts on {name}"));
        for engine in EngineKind::ALL.iter().copied() {
            for pairs in plan.cut_pairs.iter().copied() {
                for (way, label, sum) in &mut all {
                    let (way, cuts, seed) = (*way, cx.operations(4), cx.seed);
                    let tally = Run { plan, profile: &profile, engine, way, pairs, cuts, seed }.cut()?;
                    sum.states += tally.states;
                    sum.torn += tally.torn;
                    sum.torn_before += tally.torn_before;
                    series.push(cut_point(name, engine, label, pairs, tally));
                }
            }
        }
    }
    Ok(all)
}

fn cut_point(profile: &str, engine: EngineKind, way: &str, pairs: u32, tally: Tally) -> Point {
    let mut point = Point::at([
        ("profile", json!(profile)),
        ("engine", json!(engine.name())),
        ("way", json!(way)),
        ("pairs", json!(pairs)),
    ]);
    point.add("cut_states", tally.states as f64);
    point.add("torn_states", tally.torn as f64);
    point.add("torn_before_replay", tally.torn_before as f64);
    point
}

fn whole(tallies: &Tallies) -> Vec<Part> {
    let part = |(way, name, tally): &(Way, &str, Tally)| {
        let is_bare = *way == Way::Bare;
        let holds = tally.states > 0 && (tally.torn > 0) == is_bare;
        Part::new(format!("{name}: torn states"), tally.torn as f64, holds)
    };
    let log =
        tallies.iter().find(|(way, ..)| *way == Way::Software).map_or(0, |(.., tally)| tally.torn_before);
    let replayed = Part::new("software: torn before its replay", log as f64, log > 0);
    tallies.iter().map(part).chain([replayed]).collect()
}

fn cut_remark(tallies: &Tallies) -> String {
    let states: Vec<_> = tallies.iter().map(|(_, name, tally)| format!("{name} {}", tally.states)).collect();
    format!(
        "States judged: {}; each on a device that was cut once more after its driver's recovery. Acknowledged transactions are there.",
        states.join(", ")
    )
}
