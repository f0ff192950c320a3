// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether some order of operations, each at one moment between its call and its end, gives all answers.

use super::KEYS;
use std::collections::BTreeSet;

/// The number of the write whose value each key has.
pub type State = [Option<u64>; KEYS];

#[derive(Clone, Debug)]
pub enum Call {
    Write(Vec<(usize, Option<u64>)>),
    Delete(usize),
    Get(usize),
    Exists(usize),
    Scan,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    Done,
    Missing,
    Value(u64),
    All(State),
    /// Nothing has changed.
    Full,
}

#[derive(Clone, Debug)]
pub struct Event {
    pub call: Call,
    pub heard: Heard,
    pub began: u64,
    pub ended: u64,
}

/// The state behind it, if it may happen in this one.
fn step(mut state: State, event: &Event) -> Option<State> {
    let is_right = match (&event.call, &event.heard) {
        (Call::Write(_) | Call::Delete(_), Heard::Full) => true,
        (Call::Write(writes), Heard::Done) => {
            writes.iter().for_each(|(key, number)| state[*key] = *number);
            true
        }
        (Call::Delete(key), Heard::Done) => state[*key].take().is_some(),
        (Call::Exists(key), Heard::Done) => state[*key].is_some(),
        (Call::Get(key) | Call::Exists(key) | Call::Delete(key), Heard::Missing) => state[*key].is_none(),
        (Call::Get(key), Heard::Value(number)) => state[*key] == Some(*number),
        (Call::Scan, Heard::All(all)) => state == *all,
        _ => false,
    };
    is_right.then_some(state)
}

/// States in which these events may leave the store, which was in one of those before; none: the history is not linearizable.
pub fn linearize(events: &[Event], before: &BTreeSet<State>) -> BTreeSet<State> {
    assert!(events.len() <= 64, "each has a bit");
    let all = u64::MAX.checked_shr(64 - events.len() as u32).unwrap_or(0);
    let mut todo: Vec<(u64, State)> = before.iter().map(|state| (0, *state)).collect();
    let (mut seen, mut after) = (BTreeSet::new(), BTreeSet::new());
    while let Some((done, state)) = todo.pop() {
        if done == all {
            after.insert(state);
        }
        let left = || (0..events.len()).filter(|n| done & 1 << n == 0);
        // Whoever has ended happens before whoever began later.
        let Some(first_end) = left().map(|n| events[n].ended).min() else { continue };
        for n in left().filter(|n| events[*n].began < first_end) {
            if let Some(next) = step(state, &events[n])
                && seen.insert((done | 1 << n, next))
            {
                todo.push((done | 1 << n, next));
            }
        }
    }
    after
}

/// What the checker is for: each of these histories has one answer that no order gives.
#[test]
fn the_checker_rejects_what_no_order_gives() {
    let event = |call: Call, heard: Heard, (began, ended): (u64, u64)| Event { call, heard, began, ended };
    let put = |key, number, when| event(Call::Write(vec![(key, Some(number))]), Heard::Done, when);
    let get = |key, number, when| event(Call::Get(key), Heard::Value(number), when);
    let both = || event(Call::Write(vec![(0, Some(1)), (1, Some(1))]), Heard::Done, (1, 10));
    let all =
        |state: [Option<u64>; 2], when| event(Call::Scan, Heard::All([state[0], state[1], None, None]), when);
    let start = BTreeSet::from([State::default()]);
    let good = [
        vec![put(0, 1, (1, 4)), get(0, 1, (2, 3))],
        vec![put(0, 1, (1, 4)), event(Call::Get(0), Heard::Missing, (2, 3))],
        vec![put(0, 1, (1, 6)), put(0, 2, (2, 5)), get(0, 1, (7, 8))],
        vec![both(), all([Some(1), Some(1)], (2, 3)), get(1, 1, (4, 5))],
        vec![event(Call::Delete(0), Heard::Missing, (1, 2)), put(0, 1, (3, 4))],
        vec![
            event(Call::Write(vec![(0, Some(1))]), Heard::Full, (1, 2)),
            event(Call::Exists(0), Heard::Missing, (3, 4)),
        ],
    ];
    for (n, events) in good.iter().enumerate() {
        assert!(!linearize(events, &start).is_empty(), "good history {n}");
    }
    let bad = [
        // A read behind a write does not see it.
        vec![put(0, 1, (1, 2)), event(Call::Get(0), Heard::Missing, (3, 4))],
        // An old value comes back.
        vec![put(0, 1, (1, 2)), put(0, 2, (3, 4)), get(0, 1, (5, 6))],
        // Two reads see two writes in an order in which neither was.
        vec![put(0, 1, (1, 2)), put(0, 2, (3, 9)), get(0, 2, (4, 5)), get(0, 1, (6, 7))],
        // A batch is seen by half.
        vec![both(), all([Some(1), None], (2, 3))],
        // A batch that was seen is not there any more.
        vec![both(), get(0, 1, (2, 3)), event(Call::Get(1), Heard::Missing, (4, 5))],
        // A deleted pair is there.
        vec![put(0, 1, (1, 2)), event(Call::Delete(0), Heard::Done, (3, 4)), get(0, 1, (5, 6))],
        // A delete of nothing succeeds.
        vec![event(Call::Delete(0), Heard::Done, (1, 2))],
        // What was refused is there.
        vec![event(Call::Write(vec![(0, Some(1))]), Heard::Full, (1, 2)), get(0, 1, (3, 4))],
    ];
    for (n, events) in bad.iter().enumerate() {
        assert_eq!(linearize(events, &start), BTreeSet::new(), "bad history {n}");
    }
}
