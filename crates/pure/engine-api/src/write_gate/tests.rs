// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use WriteStallCause::{L0FileCountLimit, MemtableLimit};

const RATE: u64 = 1_000_000;

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

fn delayed(delay: u32) -> WriteCondition {
    WriteCondition::Delayed { cause: L0FileCountLimit, rate: RATE, delay }
}

const STOPPED: WriteCondition = WriteCondition::Stopped { cause: MemtableLimit };

fn passes(id: u32) -> Option<Released<u32>> {
    Some(Released { id, passes: true })
}

/// Writes of a thousand bytes, a slice each.
fn gate(writes: u32) -> WriteGate<u32> {
    let mut gate = WriteGate::default();
    (0..writes).for_each(|id| gate.delay(id, 1000));
    gate
}

#[test]
fn one_write_waits_at_a_time() {
    let mut gate = gate(3);
    assert_eq!(gate.release(delayed(1), at(0)), passes(0), "the first slice is there");
    assert_eq!((gate.release(delayed(1), at(0)), gate.next()), (None, Some(at(2000))));
    assert_eq!(gate.release(delayed(1), at(1999)), None);
    assert_eq!(gate.release(delayed(1), at(2000)), passes(1));
    assert_eq!(gate.release(delayed(1), at(2000)), passes(2), "a slice has come while the second waited");
    assert_eq!((gate.release(delayed(1), at(2000)), gate.next(), gate.is_idle()), (None, None, false));
}

#[test]
fn who_waits_goes_on_when_writes_are_not_delayed_any_more() {
    let mut gate = gate(3);
    assert_eq!(gate.release(delayed(1), at(0)), passes(0));
    assert_eq!(gate.release(delayed(1), at(0)), None);
    assert_eq!(gate.release(WriteCondition::Normal, at(1)), passes(1));
    assert_eq!(gate.release(WriteCondition::Normal, at(1)), Some(Released { id: 2, passes: false }));
    assert!(gate.next().is_none() && !gate.is_idle(), "the period goes on");
    gate.changed(delayed(1), at(2));
    assert!(!gate.is_idle(), "writes are still delayed");
    gate.changed(WriteCondition::Normal, at(3));
    assert!(gate.is_idle());
}

#[test]
fn a_stop_takes_over_who_waits() {
    let mut gate = gate(3);
    assert_eq!(gate.release(delayed(1), at(0)), passes(0));
    assert_eq!(gate.release(delayed(1), at(0)), None);
    let released = [gate.release(STOPPED, at(5)), gate.release(STOPPED, at(5))];
    assert_eq!(released, [passes(1), Some(Released { id: 2, passes: false })], "only one had begun to wait");
}

#[test]
fn a_new_delay_begins_with_a_full_slice() {
    let mut gate = gate(2);
    assert_eq!(gate.release(delayed(1), at(0)), passes(0));
    assert_eq!(
        gate.release(delayed(2), at(0)),
        passes(1),
        "what was written in the delay before does not count"
    );
}

#[test]
fn periods_have_cause_begin_length_and_writes() {
    let mut gate = gate(3);
    while gate.release(delayed(1), at(0)).is_some() {}
    gate.admitted(delayed(1), at(10));
    assert!(gate.holds(), "writes are still delayed");
    let mut counted = [0; 2];
    gate.refused(STOPPED, at(100), &mut counted[0]);
    gate.refused(STOPPED, at(120), &mut counted[0]);
    gate.refused(STOPPED, at(150), &mut counted[1]);
    gate.refused(STOPPED, at(155), &mut counted[0]);
    gate.admitted(STOPPED, at(160));
    assert!(gate.holds(), "a delete ends no stop");
    gate.admitted(WriteCondition::Normal, at(300));
    assert!(!gate.holds());
    let period = |hold, cause, begin, length: u64, writes| Period {
        hold,
        cause,
        begin: at(begin),
        length: Duration::from_nanos(length * 1000),
        writes,
    };
    let stalls = gate.stalls(at(1000));
    assert_eq!(
        stalls.recent,
        [
            period(Hold::Delayed, L0FileCountLimit, 0, 100, 1),
            period(Hold::Stopped, MemtableLimit, 100, 200, 2)
        ]
    );
    let stopped = Held { periods: 1, time: Duration::from_nanos(200_000), writes: 2 };
    assert_eq!((stalls.of(Hold::Stopped, MemtableLimit), stalls.all(Hold::Stopped)), (stopped, stopped));
    assert_eq!(stalls.of(Hold::Stopped, L0FileCountLimit), Held::default());
    let sums: Vec<_> = stalls.sums().map(|(hold, cause, held)| (hold, cause, held.periods)).collect();
    assert_eq!(sums, [(Hold::Stopped, MemtableLimit, 1), (Hold::Delayed, L0FileCountLimit, 1)]);
}

/// It lasts until a write is let in, not until one would be.
#[test]
fn a_stop_does_not_end_without_a_write() {
    let mut gate = gate(0);
    gate.refused(STOPPED, at(10), &mut 0);
    gate.changed(WriteCondition::Normal, at(20));
    assert!(gate.holds());
    gate.admitted(WriteCondition::Normal, at(30));
    assert_eq!(gate.stalls(at(40)).all(Hold::Stopped).time, Duration::from_nanos(20_000));
}

#[test]
fn a_write_counts_once_in_each_stop_that_it_waits_for() {
    let mut gate = gate(0);
    let (mut one, mut other) = (0, 0);
    for begin in [0, 100] {
        (0..3).for_each(|n| gate.refused(STOPPED, at(begin + n), &mut one));
        gate.refused(STOPPED, at(begin + 5), &mut other);
        gate.admitted(WriteCondition::Normal, at(begin + 50));
    }
    let writes: Vec<_> = gate.stalls(at(200)).recent.iter().map(|period| period.writes).collect();
    assert_eq!(writes, [2, 2]);
}

#[test]
fn what_goes_on_is_told_up_to_now() {
    let mut gate = gate(0);
    assert!(gate.stalls(at(5)).is_empty());
    gate.refused(WriteCondition::Normal, at(5), &mut 0);
    gate.refused(delayed(1), at(5), &mut 0);
    assert!(!gate.holds(), "what is refused for another reason is no stop");
    gate.refused(STOPPED, at(10), &mut 0);
    assert_eq!(gate.stalls(at(25)).all(Hold::Stopped).time, Duration::from_nanos(15_000));
    assert_eq!(gate.stalls(at(30)).all(Hold::Stopped).time, Duration::from_nanos(20_000));
}

#[test]
fn sums_stay_when_periods_go() {
    let mut gate = gate(0);
    let times = RECENT as u64 + 6;
    let mut before = Stalls::default();
    for n in 0..times {
        gate.refused(STOPPED, at(10 * n), &mut 0);
        gate.admitted(WriteCondition::Normal, at(10 * n + 3));
        if n + 3 == times {
            before = gate.stalls(at(10 * n + 5));
        }
    }
    let stalls = gate.stalls(at(10_000));
    assert_eq!((stalls.recent.len(), stalls.gone()), (RECENT, 6));
    assert_eq!(stalls.all(Hold::Stopped).time, Duration::from_nanos(3000 * times));
    let since = stalls.since(&before);
    assert_eq!((since.all(Hold::Stopped).periods, since.recent.len(), since.gone()), (2, 2, 0));
    assert_eq!(since.recent[0].begin, at(10 * (times - 2)));
}
