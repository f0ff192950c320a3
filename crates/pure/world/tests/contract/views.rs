// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Batches, scans and snapshots, each beside what may get in its way. A store without them is asked for none.

use crate::contract::batches;
use crate::contract::noted::{Noted, ended};
use crate::contract::suite::{Broken, Expected, Kept, Subject, ensure, key};
use saker_sim::{Rng, Seed};
use saker_store::{Failure, KvStore, Op, SnapshotId};
use std::collections::BTreeMap;

/// Keys of these clauses.
pub const KEYS: u64 = 40;
pub const ROUNDS: usize = 60;
/// Values so long that all of them take several commands.
const LONG_BYTES: u64 = 5000;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Checks all of them.
pub fn check<S: KvStore>(open: impl Fn() -> S, seed: u64) -> Kept {
    let mut rng = Seed(seed).child("views").rng();
    batches::are_writes_in_their_order(open(), &mut rng)?;
    scans_show_what_is_there(open(), &mut rng)?;
    scans_beside_writes_in_flight(open(), &mut rng)?;
    batches::are_seen_whole(open(), &mut rng)?;
    snapshots_stay_as_they_were(open(), &mut rng)?;
    snapshots_end(open())
}

pub fn value(rng: &mut Rng, bytes_max: u64) -> Vec<u8> {
    let mut value = vec![0; rng.below(bytes_max) as usize];
    rng.fill(&mut value);
    value
}

/// What the model says that a scan shows.
fn expected(model: &BTreeMap<u64, Vec<u8>>, from: &[u8], entries: usize) -> Pairs {
    let mut pairs: Pairs = model.iter().map(|(n, value)| (key(*n), value.clone())).collect();
    pairs.retain(|(key, _)| key.as_slice() >= from);
    pairs.sort();
    pairs.truncate(entries);
    pairs
}

pub fn scan(from: &[u8], entries: u32, snapshot: Option<SnapshotId>) -> Op {
    Op::Scan { from: from.to_vec(), entries, snapshot }
}

/// Puts of all keys.
fn fill<S: KvStore>(subject: &mut Subject<S>, rng: &mut Rng, bytes_max: u64) -> Kept {
    for n in 0..KEYS {
        let value = value(rng, bytes_max);
        subject.model.insert(n, value.clone());
        subject.ask(0, Op::Put(key(n), value), n, &Expected::Done)?;
    }
    Ok(())
}

/// A store that was filled over one lane shows it to all others.
fn pairs_of<S: KvStore>(subject: &mut Subject<S>, lane: usize, op: Op) -> Kept<Pairs> {
    match subject.tell(lane, op)? {
        Noted::Pairs(pairs) => Ok(pairs),
        other => Err(Broken { clause: "scan", why: format!("{other:?}") }),
    }
}

fn scans_show_what_is_there<S: KvStore>(store: S, rng: &mut Rng) -> Kept {
    let mut subject = Subject::new(store);
    if !subject.has("scan") {
        return Ok(());
    }
    let nothing = pairs_of(&mut subject, 0, scan(&[], 5, None))?;
    ensure!(nothing.is_empty(), "scan", "{} pairs of an empty store", nothing.len());
    fill(&mut subject, rng, LONG_BYTES)?;
    let all = pairs_of(&mut subject, 1, scan(&[], u32::MAX, None))?;
    ensure!(all == expected(&subject.model, &[], usize::MAX), "scan", "{} pairs of {KEYS}", all.len());
    for round in 0..ROUNDS {
        let n = rng.below(KEYS);
        if rng.below(2) == 0 {
            if subject.model.remove(&n).is_some() {
                subject.ask(0, Op::Delete(key(n)), n, &Expected::Done)?;
            }
        } else {
            let value = value(rng, LONG_BYTES);
            subject.model.insert(n, value.clone());
            subject.ask(0, Op::Put(key(n), value), n, &Expected::Done)?;
        }
        let (from, entries) = (key(rng.below(KEYS)), rng.below(30) as usize);
        // Between two keys as well as at one.
        let from = &from[..1 + rng.below(8) as usize];
        let found = pairs_of(&mut subject, round % 3, scan(from, entries as u32, None))?;
        let expected = expected(&subject.model, from, entries);
        ensure!(found == expected, "scan", "round {round}: {} pairs, not {}", found.len(), expected.len());
    }
    Ok(())
}

/// What is on its way is shown as it was or as it will be; all else as it is.
fn scans_beside_writes_in_flight<S: KvStore>(store: S, rng: &mut Rng) -> Kept {
    let mut subject = Subject::new(store);
    if !subject.has("scan") {
        return Ok(());
    }
    fill(&mut subject, rng, 600)?;
    for round in 0..ROUNDS {
        let (before, mut after) = (subject.model.clone(), subject.model.clone());
        let mut writes = Vec::new();
        for lane in 0..2 {
            let n = 2 * rng.below(KEYS / 2) + lane as u64;
            let is_put = !before.contains_key(&n) || rng.below(2) == 0;
            let value = value(rng, 600);
            let op = if is_put { Op::Put(key(n), value.clone()) } else { Op::Delete(key(n)) };
            if is_put {
                after.insert(n, value)
            } else {
                after.remove(&n)
            };
            writes.push(subject.begin(lane, op)?);
        }
        let found = subject.begin(2, scan(&[], u32::MAX, None))?;
        subject.settle()?;
        for write in &writes {
            ensure!(ended(write)? == Noted::Done, "scan", "a write beside it: {:?}", ended(write));
        }
        let Noted::Pairs(found) = ended(&found)? else {
            return Err(Broken { clause: "scan", why: format!("{:?}", ended(&found)) });
        };
        let in_order = found.is_sorted_by(|a, b| a.0 < b.0);
        ensure!(in_order, "scan", "round {round}: keys are out of order");
        let found: BTreeMap<_, _> = found.into_iter().collect();
        for n in 0..KEYS {
            let seen = found.get(&key(n));
            let is_there = seen == before.get(&n) || seen == after.get(&n);
            ensure!(is_there, "scan", "round {round}, key {n}: neither as before nor as after");
        }
        subject.model = after;
    }
    Ok(())
}

/// Whatever is deleted and overwritten, several times as much as there is.
fn snapshots_stay_as_they_were<S: KvStore>(store: S, rng: &mut Rng) -> Kept {
    let mut subject = Subject::new(store);
    if !subject.has("snapshot") {
        return Ok(());
    }
    fill(&mut subject, rng, LONG_BYTES)?;
    let mut taken = Vec::new();
    for lane in 0..3 {
        let Noted::Snapshot(id) = subject.tell(lane, Op::Snapshot)? else {
            return Err(Broken { clause: "snapshot", why: "none was taken".to_owned() });
        };
        taken.push((lane, id, subject.model.clone()));
        for n in 0..KEYS {
            // Deleted and there again, or only deleted, or overwritten.
            if n % 3 != lane as u64 && subject.model.remove(&n).is_some() {
                subject.ask(1, Op::Delete(key(n)), n, &Expected::Done)?;
            }
            if n % 3 != (lane as u64 + 1) % 3 {
                let value = value(rng, LONG_BYTES);
                subject.model.insert(n, value.clone());
                subject.ask(2, Op::Put(key(n), value), n, &Expected::Done)?;
            }
        }
    }
    for (lane, id, model) in &taken {
        // Two at a time: neither is in the other's way.
        let from = key(rng.below(KEYS));
        let found = [
            (subject.begin(*lane, scan(&[], u32::MAX, Some(*id)))?, expected(model, &[], usize::MAX)),
            (subject.begin(*lane, scan(&from, 20, Some(*id)))?, expected(model, &from, 20)),
        ];
        subject.settle()?;
        for (found, expected) in found {
            ensure!(ended(&found)? == Noted::Pairs(expected), "snapshot", "of lane {lane}: not as it was");
        }
        let released = subject.tell(*lane, Op::Release(*id))?;
        ensure!(released == Noted::Done, "snapshot", "released: {released:?}");
    }
    let now = pairs_of(&mut subject, 0, scan(&[], u32::MAX, None))?;
    ensure!(now == expected(&subject.model, &[], usize::MAX), "snapshot", "what is there now is not seen");
    Ok(())
}

/// One that was released is not there, nor one that was never taken.
fn snapshots_end<S: KvStore>(store: S) -> Kept {
    let mut subject = Subject::new(store);
    if !subject.has("snapshot") {
        return Ok(());
    }
    // More than a device has room for at a time.
    for round in 0..40 {
        let Noted::Snapshot(id) = subject.tell(0, Op::Snapshot)? else {
            return Err(Broken { clause: "snapshot", why: format!("number {round} was not taken") });
        };
        let released = subject.tell(0, Op::Release(id))?;
        ensure!(released == Noted::Done, "snapshot", "released: {released:?}");
        for op in [Op::Release(id), scan(&[], 1, Some(id)), scan(&[], 0, Some(id))] {
            let ended = subject.tell(0, op.clone())?;
            let is_gone = ended == Noted::Failed(Failure::NoSnapshot);
            ensure!(is_gone, "snapshot", "{} of one that was released: {ended:?}", op.name());
        }
    }
    Ok(())
}
