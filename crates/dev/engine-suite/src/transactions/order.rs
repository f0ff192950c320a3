// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What survives a cut is a prefix of the transactions in the order in which they were done, and with it all that any of them may have
//! read. Each transaction writes down, under one key, what it finds: the stamp of every other key.

use super::part;
use crate::contract::has_collected;
use crate::cuts::survivor;
use crate::setup::TIMED;
use crate::{Bench, Setup, Subject, scale};
use saker_engine::transaction::Ask;
use saker_engine::{Capability, Condition, KvError};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::{Rng, Seed};
use std::cell::Cell;

thread_local! {
    /// Cuts whose outcome was looked at.
    static STATES: Cell<u64> = const { Cell::new(0) };
}

/// Keys that only transactions write, and keys that only single stores write.
const OWNED: u64 = 12;
const PLAIN: u64 = 12;
const ACCOUNT: &[u8] = b"account";

fn owned(n: u64) -> Vec<u8> {
    format!("owned-{n:02}").into_bytes()
}

fn plain(n: u64) -> Vec<u8> {
    format!("plain-{n:02}").into_bytes()
}

/// The stamp that a value begins with; 0 where there is no pair.
fn stamp(found: Result<Vec<u8>, KvError>) -> u64 {
    match found {
        Ok(value) => value.first_chunk().map_or(0, |stamp| u64::from_le_bytes(*stamp)),
        Err(KvError::NotFound) => 0,
        Err(e) => panic!("{e}"),
    }
}

fn stamped(stamp: u64, bytes: u64) -> Vec<u8> {
    let mut value = stamp.to_le_bytes().to_vec();
    value.resize(8 + bytes as usize, stamp as u8);
    value
}

/// What the last transaction that is there says of all keys: those of transactions, then the others.
fn told(bench: &mut Bench) -> Vec<u64> {
    match bench.get(ACCOUNT) {
        Ok(value) => value.as_chunks::<8>().0.iter().map(|stamp| u64::from_le_bytes(*stamp)).collect(),
        Err(KvError::NotFound) => vec![0; (OWNED + PLAIN) as usize],
        Err(e) => panic!("{e}"),
    }
}

/// Asserts that no transaction is there without those before it, and without the stores that it may have read.
fn is_a_prefix(bench: &mut Bench) {
    STATES.set(STATES.get() + 1);
    let told = told(bench);
    for n in 0..OWNED {
        let found = stamp(bench.get(&owned(n)));
        assert_eq!(found, told[n as usize], "key {n} is not as the last transaction left it: {told:?}");
    }
    for n in 0..PLAIN {
        let (found, read) = (stamp(bench.get(&plain(n))), told[(OWNED + n) as usize]);
        assert!(
            found >= read,
            "a transaction is there that read store {read} of key {n}, which went back to {found}"
        );
    }
}

fn cut(bench: &Bench) {
    is_a_prefix(&mut survivor(bench, PowerHistory::Cut { ring_kept: true }));
}

fn cut_with_the_ring(bench: &Bench) {
    is_a_prefix(&mut survivor(bench, PowerHistory::Cut { ring_kept: false }));
}

fn killed(bench: &Bench) {
    is_a_prefix(&mut survivor(bench, PowerHistory::Killed));
}

/// Writes or deletes some keys and the account of all.
fn transact(bench: &mut Bench, now: &mut [u64], rng: &mut Rng, step: u64) {
    let mut writes: Vec<(u64, Option<Vec<u8>>)> = Vec::new();
    for n in 0..rng.below(4) + 1 {
        let key = (rng.below(OWNED / 4) * 4 + n) % OWNED;
        let deletes = now[key as usize] != 0 && rng.below(5) == 0;
        // Some cross pages, some are many to a page.
        let bytes = if rng.below(8) == 0 { rng.below(700) } else { rng.below(60) };
        writes.push((key, (!deletes).then(|| stamped(step, bytes))));
    }
    for (key, value) in &writes {
        now[*key as usize] = value.as_ref().map_or(0, |_| step);
    }
    let account: Vec<u8> = now.iter().flat_map(|stamp| stamp.to_le_bytes()).collect();
    let keys: Vec<_> = writes.iter().map(|(key, _)| owned(*key)).collect();
    let mut parts = Vec::new();
    for (key, (_, value)) in keys.iter().zip(&writes) {
        parts.push(part(key, value.as_deref().map_or(Ask::Delete, Ask::Store)));
    }
    parts.push(part(ACCOUNT, Ask::Store(&account)));
    bench.transact(&parts).unwrap_or_else(|e| panic!("nobody is between: {e:?}"));
}

fn history(subject: Subject, seed: u64, ring_lasts: bool, watch: fn(&Bench)) {
    let mut rng = Seed(seed).rng();
    let setup = Setup { timings: Some(TIMED), digests: false, ..Setup::small(subject, ring_lasts) };
    let mut bench = setup.start(FaultPlan::default());
    if !bench.has(Capability::Transactions) {
        return;
    }
    let mut now = vec![0; (OWNED + PLAIN) as usize];
    for step in 1..=1500 {
        bench.watch = (step % 20 > 17).then_some(watch);
        match rng.below(20) {
            0..4 => {
                let n = rng.below(PLAIN);
                let value = stamped(step, rng.below(400));
                assert_eq!(bench.put(&plain(n), &value, Condition::Always), Ok(()));
                now[(OWNED + n) as usize] = step;
            }
            4 => assert_eq!(bench.put(b"other", &stamped(step, 40), Condition::Always), Ok(())),
            _ => transact(&mut bench, &mut now, &mut rng, step),
        }
        if step % 150 == 0 {
            bench.flush();
        }
    }
    bench.watch = None;
    is_a_prefix(&mut bench);
    has_collected(&bench);
}

fn tell(what: &str) {
    println!("{} cut states: {what}", STATES.replace(0));
}

/// Without a capacitor, at any event, and again while the engine recovers.
pub fn what_survives_is_a_prefix_without_a_capacitor(subject: Subject) {
    for seed in saker_testing::seeds(scale(1)) {
        history(subject, 440 + seed, false, cut_with_the_ring);
    }
    tell("order of commits without a capacitor");
}

/// With one everything survives, and a kill takes nothing from either.
pub fn what_survives_is_all_with_a_capacitor_or_when_killed(subject: Subject) {
    for seed in saker_testing::seeds(scale(1)) {
        history(subject, 450 + seed, true, cut);
        history(subject, 460 + seed, false, killed);
    }
    tell("order of commits with a capacitor and kills");
}
