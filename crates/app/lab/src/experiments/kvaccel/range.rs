// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Workload D: ranges over both trees, with everything in one of them, with copies in the device, and while copies go back. Each
//! answer is compared with what a map of the pairs has.

use super::systems::{Setup, System};
use super::{KEY_BYTES, Parameters, factor, key, value};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::report::Point;
use crate::rig;
use saker_host::host_kv::{self, Answer, Work};
use saker_hybrid::Rollback;
use saker_sim::{Instant, Rng, Seed};
use saker_store::{KvStore, Lane, Op, Outcome as Answered, Share, Submitted};
use saker_world::stores::{HybridStore, host_kv::HostLane};
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranges {
    value_bytes: usize,
    flash_bytes: u64,
    ranges: u64,
    range_pairs: u32,
}

/// Pairs at least.
const PAIRS_MIN: u64 = 4000;
const RANGES_MIN: u64 = 60;
/// Turns after which nothing more is expected.
const TURNS_MAX: u32 = 50_000_000;
/// Writes between two ranges.
const WRITES_BETWEEN: u64 = 12;

/// Ranges after which writes rest until copies go back; turns that it may take.
const REST_EVERY: u64 = 4;
const REST_TURNS_MAX: u32 = 20_000;

/// Where the pairs were when a range was asked for.
const PHASES: [&str; 3] = ["main tree alone", "copies in the device", "copies going back"];

/// A hybrid driven by hand: no core is modelled.
struct Hand {
    store: HybridStore,
    lanes: Vec<HostLane<saker_hybrid::Hybrid>>,
    model: BTreeMap<Vec<u8>, u64>,
    /// Writes on their way by lane and slot.
    flights: BTreeMap<(usize, u32), (Vec<u8>, u64)>,
    /// The range on its way, and its answer.
    range: Option<(usize, u32)>,
    shown: Option<Vec<(Vec<u8>, u64)>>,
    failed: Option<String>,
    value_bytes: usize,
}

/// Which write a value is of; `None`: it is none of ours.
fn number_of(value: &[u8], bytes: usize) -> Option<u64> {
    let number = u64::from_le_bytes(value.get(..8)?.try_into().ok()?);
    (*value == super::value(bytes, number)).then_some(number)
}

impl Hand {
    fn submit(&mut self, lane: usize, op: &Op, written: Option<(Vec<u8>, u64)>) -> Result<(), LabError> {
        let (now, bytes) = (self.store.now(), self.value_bytes);
        match self.lanes[lane].submit(Share::alone(op), now) {
            Submitted::Done(Answered::Pairs { data }) => self.shown = Some(shown(data, bytes)),
            Submitted::Done(_) => written.into_iter().for_each(|(key, n)| _ = self.model.insert(key, n)),
            Submitted::Pending(ticket) => match written {
                Some(written) => _ = self.flights.insert((lane, ticket.slot), written),
                None => self.range = Some((lane, ticket.slot)),
            },
            other => return Err(LabError::Missing(format!("{} was not taken: {other:?}", op.name()))),
        }
        Ok(())
    }

    fn turn(&mut self) {
        self.lanes.iter_mut().for_each(Lane::ring);
        self.store.drive();
        let now = self.store.now();
        let mut begun = Vec::new();
        self.store.begin_jobs(&mut |_, job| begun.push(job.id));
        for job in begun {
            if self.store.quantum(job, now) {
                self.store.rest(job);
            }
        }
        self.look(now);
    }

    fn look(&mut self, now: Instant) {
        let Self { lanes, flights, range, shown: all, failed, model, value_bytes, .. } = self;
        if !lanes[0].look(now) {
            return;
        }
        let mut visit = |done: saker_store::Completed<'_>| {
            let place = (done.lane, done.ticket.slot);
            match (done.outcome, flights.remove(&place)) {
                (Answered::Done { .. }, Some((key, number))) => _ = model.insert(key, number),
                (Answered::Pairs { data }, None) if *range == Some(place) => {
                    (*all, *range) = (Some(shown(data, *value_bytes)), None);
                }
                (other, _) => *failed = Some(format!("{other:?}")),
            }
        };
        while let Ok(Some(())) = lanes[0].poll(now, &mut visit) {}
    }

    fn until(&mut self, done: impl Fn(&Self) -> bool) -> Result<(), LabError> {
        for _ in 0..TURNS_MAX {
            if let Some(why) = self.failed.take() {
                return Err(LabError::Missing(why));
            }
            if done(self) {
                return Ok(());
            }
            self.turn();
        }
        Err(LabError::Missing("an answer".to_owned()))
    }

    fn put(&mut self, n: u64, number: u64) -> Result<(), LabError> {
        let key = key(n);
        // One write of a key at a time, so that it is known which is the newest.
        self.until(|hand| hand.flights.len() < 8 && !hand.flights.values().any(|(busy, _)| *busy == key))?;
        let op = Op::Put(key.clone(), value(self.value_bytes, number));
        self.submit(0, &op, Some((key, number)))
    }

    fn counter(&self, name: &str) -> u64 {
        let counters = self.store.with_store(|store| store.counters());
        counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n)
    }

    fn phase(&self) -> usize {
        match (self.counter("metadata_keys"), self.counter("rollbacks") > self.counter("device_emptied")) {
            (0, _) => 0,
            (_, false) => 1,
            (_, true) => 2,
        }
    }

    /// Nothing is written until copies go back, or for long.
    fn rest(&mut self) {
        for _ in 0..REST_TURNS_MAX {
            if self.phase() != 1 {
                return;
            }
            self.turn();
        }
    }

    /// A range from a key on, while writes go on. How many of its pairs are wrong, and its microseconds.
    fn range(&mut self, n: u64, pairs: u32) -> Result<(u64, f64), LabError> {
        let (from, begun) = (key(n), self.store.now());
        let before = self.model.clone();
        let unknown: BTreeSet<Vec<u8>> = self.flights.values().map(|(key, _)| key.clone()).collect();
        self.shown = None;
        self.submit(1, &Op::Scan { from: from.clone(), entries: pairs, snapshot: None }, None)?;
        self.until(|hand| hand.shown.is_some())?;
        let us = self.store.now().since(begun).as_nanos() as f64 / 1e3;
        let shown = self.shown.take().unwrap_or_default();
        Ok((wrong(&shown, (&from, pairs as usize), &before, &unknown), us))
    }
}

fn shown(data: &[u8], bytes: usize) -> Vec<(Vec<u8>, u64)> {
    let pairs = Answered::Pairs { data }.pairs();
    pairs
        .into_iter()
        .map(|(key, value)| (key.to_vec(), number_of(value, bytes).unwrap_or(u64::MAX)))
        .collect()
}

/// Pairs that are missing, twice, out of order or not the newest. Of keys with a write on its way either value is right.
fn wrong(
    shown: &[(Vec<u8>, u64)],
    (from, pairs): (&[u8], usize),
    model: &BTreeMap<Vec<u8>, u64>,
    unknown: &BTreeSet<Vec<u8>>,
) -> u64 {
    let disorder = shown.windows(2).filter(|pair| pair[0].0 >= pair[1].0).count();
    let end = if shown.len() < pairs { None } else { shown.last().map(|(key, _)| key.clone()) };
    let owed = model.range(from.to_vec()..).take_while(|(key, _)| end.as_ref().is_none_or(|end| *key <= end));
    let found: BTreeMap<&[u8], u64> = shown.iter().map(|(key, n)| (key.as_slice(), *n)).collect();
    let missing =
        owed.filter(|(key, n)| !unknown.contains(*key) && found.get(key.as_slice()) != Some(*n)).count();
    let strange = shown.iter().filter(|(key, _)| !unknown.contains(key) && !model.contains_key(key)).count();
    (disorder + missing + strange) as u64
}

/// What a hybrid has under a key, when nothing else is on its way.
pub(super) fn get(store: &mut HybridStore, key: Vec<u8>) -> Option<Vec<u8>> {
    let now = store.now();
    let mut ended = store.with_store(|hybrid| {
        hybrid.set_now(now);
        hybrid.submit(host_kv::Op::Get(key), Work::Free).ok()
    });
    for _ in 0..TURNS_MAX {
        match ended.take() {
            Some(Ok(Answer::Value(value))) => return Some(value),
            Some(_) => return None,
            None => {}
        }
        store.with_store(|hybrid| hybrid.ring());
        store.drive();
        let now = store.now();
        store.with_store(|hybrid| {
            hybrid.set_now(now);
            hybrid.advance(Work::Free, &mut |_, outcome| ended = Some(outcome));
        });
    }
    None
}

/// What ranges of a phase came to.
#[derive(Default)]
struct Sum {
    ranges: u64,
    wrong: u64,
    us: f64,
}

/// Runs kvaccel-range.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Ranges = cx.plan.parameters();
    let pairs = cx.operations(PAIRS_MIN);
    let factor = factor(cx, pairs);
    let common = Parameters {
        value_bytes: plan.value_bytes,
        flash_bytes: plan.flash_bytes,
        threads: vec![1],
        judged_threads: 1,
    };
    let setup = Setup::new(cx, &common, factor);
    let (mut series, mut all, mut back) = (Vec::new(), 0, Sum::default());
    for system in [System::KvAccel(Rollback::Eager), System::Exact(Rollback::Eager)] {
        let sums = of_system(&setup, &plan, system, pairs)?;
        for (phase, sum) in PHASES.iter().zip(&sums).filter(|(_, sum)| sum.ranges > 0) {
            let mut point = Point::at([("system", json!(system.name())), ("phase", json!(phase))]);
            point.add("range_us_mean", sum.us / sum.ranges as f64);
            point.add("ranges", sum.ranges as f64);
            point.add("wrong_pairs", sum.wrong as f64);
            series.push(point);
        }
        all += sums.iter().map(|sum| sum.wrong).sum::<u64>();
        (back.ranges, back.wrong) = (back.ranges + sums[2].ranges, back.wrong + sums[2].wrong);
    }
    // Without a range in the middle of a rollback nothing is known of that.
    let of_back = if back.ranges > 0 { back.wrong as f64 } else { f64::NAN };
    let mut book = cx.book();
    let note = format!(
        "Pairs that are missing, twice or old: of all ranges, and of the {} that began while copies went back. Keys of {KEY_BYTES} B.",
        back.ranges
    );
    book.numbers("AC-kvaccel-range-1", &[all as f64, of_back], note);
    Ok(Outcome { series, checks: book.finish() })
}

fn of_system(setup: &Setup<'_>, plan: &Ranges, system: System, pairs: u64) -> Result<[Sum; 3], LabError> {
    setup.cx.note(format!("{}: {pairs} pairs", system.name()));
    let mut store = system.open(setup, 1, &rig::job(2, 1, Vec::new()))?;
    let lanes = (0..2).map(|_| store.open_lane()).collect::<Result<Vec<_>, _>>();
    let lanes = lanes.map_err(|refusal| LabError::Missing(refusal.to_string()))?;
    let (model, flights) = (BTreeMap::new(), BTreeMap::new());
    let value_bytes = plan.value_bytes;
    let mut hand = Hand { store, lanes, model, flights, range: None, shown: None, failed: None, value_bytes };
    let mut rng: Rng = Seed(setup.cx.seed).child("kvaccel-range").rng();
    for number in 0..pairs {
        hand.put(rng.below(pairs), number)?;
    }
    let mut sums: [Sum; 3] = Default::default();
    let mut number = pairs;
    for n in 0..(plan.ranges / setup.factor).max(RANGES_MIN) {
        for _ in 0..WRITES_BETWEEN {
            hand.put(rng.below(pairs), number)?;
            number += 1;
        }
        if n % REST_EVERY == 0 {
            hand.rest();
        }
        let phase = hand.phase();
        let (wrong, us) = hand.range(rng.below(pairs), plan.range_pairs)?;
        let sum = &mut sums[phase];
        *sum = Sum { ranges: sum.ranges + 1, wrong: sum.wrong + wrong, us: sum.us + us };
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_twice_or_old_is_wrong() {
        let model: BTreeMap<Vec<u8>, u64> = (1..=4_u8).map(|n| (vec![n], u64::from(n))).collect();
        let of = |shown: &[(u8, u64)], unknown: &[u8]| {
            let shown: Vec<_> = shown.iter().map(|(key, n)| (vec![*key], *n)).collect();
            wrong(&shown, (&[2], 2), &model, &unknown.iter().map(|n| vec![*n]).collect())
        };
        assert_eq!(
            (of(&[(2, 2), (3, 3)], &[]), of(&[(2, 2), (4, 4)], &[]), of(&[(2, 1), (3, 3)], &[])),
            (0, 1, 1)
        );
        assert_eq!(
            (of(&[(2, 2), (2, 2)], &[]), of(&[(2, 9), (3, 3)], &[2]), of(&[(2, 2), (4, 4)], &[3])),
            (1, 0, 0)
        );
    }
}
