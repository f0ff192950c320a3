// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Planted anomalies are found and named; histories without any pass.

use crate::{Attempt, Plan, Plans, Recorder, Step, parsed, written};
use saker_sim::Seed;
use std::collections::BTreeMap;

const X: u64 = 100;
const Y: u64 = 200;

fn read(key: u64) -> Step {
    Step::Read(key)
}

fn append(key: u64, element: u64) -> Step {
    Step::Append(key, element)
}

/// A transaction of a history that is told by hand: its steps, and what its reads returned; `None`: it was refused.
type Told<'a> = (&'a [Step], Option<&'a [&'a [u64]]>);

fn lists(reads: &[&[u64]]) -> Vec<Vec<u64>> {
    reads.iter().map(|list| list.to_vec()).collect()
}

/// Transactions of which all begin before any ends, and those that follow one by one.
fn history(together: &[Told<'_>], then: &[Told<'_>]) -> Vec<String> {
    let mut recorder = Recorder::new(together.len() + 1);
    let end = |recorder: &mut Recorder, client, (steps, reads): &Told<'_>| {
        let plan = Plan(steps.to_vec());
        match reads {
            Some(reads) => recorder.commit_with(client, &plan, &lists(reads)),
            None => recorder.refuse(client, &plan),
        }
    };
    for (client, (steps, _)) in together.iter().enumerate() {
        recorder.invoke(client, &Plan(steps.to_vec()));
    }
    for (client, told) in together.iter().enumerate() {
        end(&mut recorder, client, told);
    }
    for told in then {
        recorder.invoke(together.len(), &Plan(told.0.to_vec()));
        end(&mut recorder, together.len(), told);
    }
    recorder.anomalies()
}

fn assert_found(name: &str, found: &[String]) {
    let is_it = |told: &String| told.split(':').next().is_some_and(|kind| kind == name);
    assert!(found.iter().any(is_it), "{name} is not among {found:?}");
}

#[test]
fn what_is_serial_passes() {
    let found = history(
        &[(&[append(X, 1), read(Y)], Some(&[&[]])), (&[read(X), append(Y, 2)], Some(&[&[1]]))],
        &[(&[read(X), read(Y)], Some(&[&[1], &[2]]))],
    );
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn dirty_writes() {
    let found = history(
        &[(&[append(X, 1), append(Y, 2)], Some(&[])), (&[append(X, 3), append(Y, 4)], Some(&[]))],
        &[(&[read(X), read(Y)], Some(&[&[1, 3], &[4, 2]]))],
    );
    assert_found("G0", &found);
}

#[test]
fn reads_of_what_was_refused() {
    let found = history(&[(&[append(X, 1)], None)], &[(&[read(X), append(X, 2)], Some(&[&[1]]))]);
    assert_found("G1a", &found);
}

#[test]
fn reads_of_what_was_never_the_end() {
    let found = history(
        &[(&[append(X, 1), append(X, 2)], Some(&[])), (&[read(X)], Some(&[&[1]]))],
        &[(&[read(X)], Some(&[&[1, 2]]))],
    );
    assert_found("G1b", &found);
}

#[test]
fn writes_that_go_round() {
    let found =
        history(&[(&[append(X, 1), read(Y)], Some(&[&[2]])), (&[append(Y, 2), read(X)], Some(&[&[1]]))], &[]);
    assert_found("G1c", &found);
}

#[test]
fn half_of_a_transaction_is_seen() {
    let torn = history(
        &[(&[append(X, 1), append(Y, 2)], Some(&[])), (&[read(X), read(Y)], Some(&[&[1], &[]]))],
        &[(&[read(Y)], Some(&[&[2]]))],
    );
    assert_found("G-single-item", &torn);
}

#[test]
fn lost_updates() {
    let overwritten = history(
        &[(&[read(X), append(X, 1)], Some(&[&[]])), (&[read(X), append(X, 2)], Some(&[&[]]))],
        &[(&[read(X)], Some(&[&[2]]))],
    );
    assert_found("lost-update", &overwritten);
}

#[test]
fn write_skew() {
    let found = history(
        &[
            (&[read(X), read(Y), append(X, 1)], Some(&[&[], &[]])),
            (&[read(X), read(Y), append(Y, 2)], Some(&[&[], &[]])),
        ],
        &[(&[read(X), read(Y)], Some(&[&[1], &[2]]))],
    );
    assert_found("G2-item", &found);
}

#[test]
fn what_ended_before_is_not_seen() {
    let found =
        history(&[(&[append(X, 1)], Some(&[]))], &[(&[read(X)], Some(&[&[]])), (&[read(X)], Some(&[&[1]]))]);
    assert_found("G-single-item-realtime", &found);
}

#[test]
fn an_acknowledged_write_is_gone() {
    let found = history(
        &[(&[append(X, 1)], Some(&[]))],
        &[(&[read(X)], Some(&[&[1]])), (&[append(X, 2)], Some(&[])), (&[read(X)], Some(&[&[2]]))],
    );
    assert_found("incompatible-order", &found);
}

/// How a store that was written for this test errs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Errs {
    Never,
    /// A commit does not look whether what it read has changed.
    ValidatesNothing,
    /// A commit looks only at what it writes.
    ValidatesWrites,
    /// Now and then the last list of a commit is not written.
    Tears,
    /// Now and then a read is of the list as it was before.
    ReadsOld,
}

/// Clients whose steps alternate at random on a map.
fn campaign(errs: Errs, seed: u64) -> Vec<String> {
    const CLIENTS: usize = 6;
    let (mut rng, mut plans) = (Seed(seed).child("steps").rng(), Plans::new(Seed(seed).child("plans").rng()));
    let mut recorder = Recorder::new(CLIENTS);
    let mut store: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    let mut clients: Vec<Option<(Attempt, BTreeMap<u64, usize>)>> = vec![None; CLIENTS];
    while recorder.committed() < 250 {
        let client = rng.below(CLIENTS as u64) as usize;
        let Some((mut attempt, mut seen)) = clients[client].take() else {
            let plan = plans.next_plan();
            recorder.invoke(client, &plan);
            clients[client] = Some((Attempt::new(plan), BTreeMap::new()));
            continue;
        };
        if let Some(key) = attempt.advance() {
            let versions = store.entry(key).or_default();
            let mut version = versions.len();
            if errs == Errs::ReadsOld && version > 0 && rng.below(20) == 0 {
                version -= 1;
            }
            seen.insert(key, versions.len());
            attempt.give(key, version.checked_sub(1).map_or_else(Vec::new, |n| parsed(&versions[n])));
            clients[client] = Some((attempt, seen));
            continue;
        }
        let writes: BTreeMap<u64, Vec<u8>> =
            attempt.writes().map(|(key, list)| (key, written(list))).collect();
        let is_valid = seen.iter().all(|(key, version)| match errs {
            Errs::ValidatesNothing => true,
            Errs::ValidatesWrites if !writes.contains_key(key) => true,
            _ => store[key].len() == *version,
        });
        if !is_valid {
            recorder.refuse(client, attempt.plan());
            continue;
        }
        let torn = errs == Errs::Tears && rng.below(20) == 0;
        for (key, value) in writes.into_iter().rev().skip(usize::from(torn)) {
            store.entry(key).or_default().push(value);
        }
        recorder.commit(client, &attempt);
    }
    recorder.anomalies()
}

#[test]
fn a_store_without_faults_passes() {
    for seed in 0..20 {
        assert_eq!(campaign(Errs::Never, seed), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn every_faulty_store_is_found() {
    for errs in [Errs::ValidatesNothing, Errs::ValidatesWrites, Errs::Tears, Errs::ReadsOld] {
        for seed in 0..10 {
            assert!(!campaign(errs, seed).is_empty(), "{errs:?}, seed {seed}");
        }
    }
}
