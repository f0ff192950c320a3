// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The driver on a store of fixed times: what it deals, awaits and charges, in each order in which cores and a store meet.

use super::Driver;
use crate::measured::Measured;
use crate::result::{Job, RunResult};
use saker_assembly::Build;
use saker_host::TransferOptions;
use saker_profile::Profile;
use saker_sim::{Activity, Duration, Instant, OVERTAKERS_MAX};
use saker_store::{
    BackgroundJob, Completed, Completions, Doorbells, JobId, KvStore, Lane, Op, Order, Outcome, Prices,
    Refusal, Share, Stall, StallCause, Submitted, Ticket, Work,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::rc::Rc;

const OF_LANE: Doorbells = Doorbells::OfLane { looks_first: true };
const LATE: Doorbells = Doorbells::OfLane { looks_first: false };
const ORDERS: [Order; 3] = [
    Order { doorbells: OF_LANE, completions: Completions::EachEnds },
    Order { doorbells: LATE, completions: Completions::AllEnd },
    Order { doorbells: Doorbells::OfStore, completions: Completions::Shared },
];
/// From a doorbell to a completion.
const LATENCY: Duration = Duration::from_nanos(1000);
const COMMAND: Duration = Duration::from_nanos(10);
const QUANTUM: Duration = Duration::from_nanos(300);

#[derive(Default)]
struct Inside {
    now: u64,
    unrung: VecDeque<(usize, u32)>,
    announced: Vec<(usize, u32)>,
    events: BTreeMap<(Instant, u64), (usize, u32)>,
    sequence: u64,
    done: VecDeque<(usize, u32)>,
    in_flight: Vec<usize>,
    in_flight_max: usize,
    /// Lane, key and time of each operation that was taken.
    taken: Vec<(usize, u8, Instant)>,
    /// Time and key of each that stalled.
    stalled: Vec<(u8, Instant)>,
    quanta_left: u32,
    /// Operations taken before each quantum.
    quanta: Vec<usize>,
    quantum_cpu: bool,
}

struct Fixed {
    inside: Rc<RefCell<Inside>>,
    order: Order,
    stalls: bool,
}

struct FixedLane {
    inside: Rc<RefCell<Inside>>,
    number: usize,
    is_shared: bool,
    stalls: bool,
    next: u32,
    commands: u64,
}

impl Inside {
    fn happen(&mut self, until: Instant) -> Option<Instant> {
        let (&(at, sequence), _) = self.events.first_key_value().filter(|((at, _), _)| *at <= until)?;
        let done = self.events.remove(&(at, sequence)).expect("looked at above");
        self.now = at.as_nanos();
        self.done.push_back(done);
        Some(at)
    }
}

impl KvStore for Fixed {
    type Lane = FixedLane;

    fn open_lane(&mut self) -> Result<FixedLane, Refusal> {
        let in_flight = &mut self.inside.borrow_mut().in_flight;
        in_flight.push(0);
        Ok(FixedLane {
            inside: Rc::clone(&self.inside),
            number: in_flight.len() - 1,
            is_shared: self.order.completions == Completions::Shared,
            stalls: self.stalls,
            next: 0,
            commands: 0,
        })
    }

    fn capabilities(&self) -> Vec<&'static str> {
        vec!["put", "get"]
    }

    fn order(&self) -> Order {
        self.order
    }

    fn prices(&self) -> Prices {
        Prices { command: COMMAND, ..Prices::default() }
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn background(&self) -> Option<BackgroundJob> {
        let is_due = self.inside.borrow().quanta_left > 0;
        is_due.then_some(BackgroundJob { id: JobId(3), activity: Activity::Maintenance })
    }

    fn quantum(&mut self, job: JobId, _: Instant) -> bool {
        let inside = &mut *self.inside.borrow_mut();
        assert_eq!(job, JobId(3));
        inside.quanta_left -= 1;
        inside.quantum_cpu = true;
        inside.quanta.push(inside.taken.len());
        true
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.inside.borrow().now)
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.inside.borrow().events.first_key_value().map(|((at, _), _)| *at)
    }

    fn advance(&mut self, now: Instant) -> bool {
        let inside = &mut *self.inside.borrow_mut();
        inside.now = inside.now.max(now.as_nanos());
        for ticket in std::mem::take(&mut inside.announced) {
            inside.sequence += 1;
            inside.events.insert((now + LATENCY, inside.sequence), ticket);
        }
        let mut any = false;
        while inside.happen(now).is_some() {
            any = true;
        }
        any
    }

    fn go_on(&mut self, until: Instant) -> Option<Instant> {
        self.inside.borrow_mut().happen(until)
    }

    fn drive(&mut self) {}
}

impl Measured for Fixed {
    fn begin(&mut self, _: &mut [FixedLane], _: &Job) {}

    fn finish(&mut self, _: &mut [FixedLane], _: &mut RunResult) {}

    fn digest(&self) -> u64 {
        0
    }
}

impl Lane for FixedLane {
    type Error = Infallible;

    fn submit(&mut self, share: Share<'_>, now: Instant) -> Submitted<'_> {
        let inside = &mut *self.inside.borrow_mut();
        let Some(Op::Put(key, _) | Op::Get(key)) = share.first() else {
            return Submitted::Refused(Refusal::Unsupported("other"));
        };
        if self.stalls && !inside.stalled.iter().any(|(stalled, _)| *stalled == key[0]) {
            inside.stalled.push((key[0], now));
            let retry_at = Some(now + LATENCY);
            return Submitted::Stalled(Stall { cause: StallCause::Buffers, retry_at });
        }
        inside.taken.push((self.number, key[0], now));
        self.commands += 1;
        if matches!(share.first(), Some(Op::Get(_))) {
            return Submitted::Done(Outcome::value(&[7]));
        }
        inside.unrung.push_back((self.number, self.next));
        inside.in_flight[self.number] += 1;
        inside.in_flight_max = inside.in_flight_max.max(inside.in_flight[self.number]);
        self.next += 1;
        Submitted::Pending(Ticket { slot: self.next - 1, operations: 1 })
    }

    fn look(&mut self, _: Instant) -> bool {
        let done = &self.inside.borrow().done;
        self.is_shared || done.iter().any(|(lane, _)| *lane == self.number)
    }

    fn poll<R>(
        &mut self,
        _: Instant,
        visit: impl FnOnce(Completed<'_>) -> R,
    ) -> Result<Option<R>, Infallible> {
        let inside = &mut *self.inside.borrow_mut();
        let mine = |(lane, _): &(usize, u32)| self.is_shared || *lane == self.number;
        let Some(n) = inside.done.iter().position(mine) else { return Ok(None) };
        let Some((lane, slot)) = inside.done.remove(n) else { return Ok(None) };
        inside.in_flight[lane] -= 1;
        let ticket = Ticket { slot, operations: 1 };
        Ok(Some(visit(Completed { lane, ticket, outcome: Outcome::DONE })))
    }

    fn ring(&mut self) {
        let inside = &mut *self.inside.borrow_mut();
        let unrung = std::mem::take(&mut inside.unrung);
        let (mine, others): (Vec<_>, Vec<_>) =
            unrung.into_iter().partition(|(lane, _)| self.is_shared || *lane == self.number);
        inside.announced.extend(mine);
        inside.unrung.extend(others);
    }

    fn work(&mut self) -> Work {
        let inside = &mut *self.inside.borrow_mut();
        let cpu = if std::mem::take(&mut inside.quantum_cpu) { QUANTUM } else { Duration::ZERO };
        let rings = inside.unrung.iter().any(|(lane, _)| self.is_shared || *lane == self.number);
        Work { cpu, commands: std::mem::take(&mut self.commands), rings, ..Work::default() }
    }

    fn in_flight(&self) -> usize {
        self.inside.borrow().in_flight[self.number]
    }
}

fn run(
    order: Order,
    threads: usize,
    depth: u16,
    operations: Vec<Op>,
    set: impl FnOnce(&mut Fixed),
) -> (RunResult, Inside) {
    let profile = Profile::builtin("default").expect("built in");
    let build = Build::kv(&profile, 1 << 30, 1).expect("large enough");
    let build = Build { interval: LATENCY, ..build };
    let job = Job { threads, depth, operations, flush: false, transfer: TransferOptions::default() };
    let mut store = Fixed { inside: Rc::default(), order, stalls: false };
    set(&mut store);
    let inside = Rc::clone(&store.inside);
    let mut driver = Driver::new(store, &build, &job).expect("opens");
    let result = driver.run(&job);
    drop(driver);
    (result, Rc::into_inner(inside).expect("the driver is gone").into_inner())
}

fn puts(count: u8) -> Vec<Op> {
    (0..count).map(|n| Op::Put(vec![n], Vec::new())).collect()
}

#[test]
fn operations_are_dealt_round_and_each_lane_keeps_its_depth() {
    for order in ORDERS {
        let (result, inside) = run(order, 3, 4, puts(100), |_| ());
        assert_eq!((result.operations, result.errors, inside.in_flight_max), (100, 0, 4), "{order:?}");
        assert!(inside.taken.iter().all(|(lane, key, _)| usize::from(*key) % 3 == *lane), "{order:?}");
        for lane in 0..3 {
            let keys: Vec<u8> =
                inside.taken.iter().filter(|(n, ..)| *n == lane).map(|(_, key, _)| *key).collect();
            assert!(keys.is_sorted(), "{order:?}: {keys:?}");
        }
        // Four at a time, nine rounds of 34 operations of the first lane.
        let rounds = result.elapsed.as_nanos() / LATENCY.as_nanos();
        assert!((8..=10).contains(&rounds), "{order:?}: {:?}", result.elapsed);
        assert_eq!(result.timeline.iter().sum::<u64>(), 100);
    }
}

#[test]
fn a_wait_lets_nothing_past_until_everything_is_answered() {
    for order in ORDERS {
        let mut operations = puts(6);
        operations.insert(3, Op::Wait);
        let (result, inside) = run(order, 1, 8, operations, |_| ());
        assert_eq!((result.operations, result.errors), (6, 0), "{order:?}");
        let at = |n: usize| inside.taken[n].2;
        assert!(at(2).since(at(0)) < LATENCY && at(3).since(at(2)) >= LATENCY, "{order:?}");
    }
}

#[test]
fn a_stall_is_tried_again_when_the_store_says_and_costs_nothing() {
    for order in ORDERS {
        let (result, inside) = run(order, 1, 1, puts(5), |store| store.stalls = true);
        assert_eq!((result.operations, result.errors, result.latency.len()), (5, 0, 5), "{order:?}");
        assert_eq!(inside.stalled.len(), 5);
        for ((_, key, taken), (stalled, at)) in inside.taken.iter().zip(&inside.stalled) {
            assert_eq!((key, taken.since(*at)), (stalled, LATENCY), "{order:?}");
        }
    }
}

#[test]
fn what_a_store_refuses_is_an_error_and_no_work() {
    for order in ORDERS {
        let operations = vec![Op::Snapshot, Op::Put(vec![1], Vec::new()), Op::Flush];
        let (result, inside) = run(order, 1, 1, operations, |_| ());
        assert_eq!((result.operations, result.errors, inside.taken.len()), (3, 2, 1), "{order:?}");
    }
}

/// A thread that waits leaves its core to background work; one that does not is stopped after a number of operations.
#[test]
fn background_work_takes_idle_cores_and_its_turn_on_busy_ones() {
    let order = ORDERS[2];
    let quanta = |store: &mut Fixed| store.inside.borrow_mut().quanta_left = 3;
    let (idle, inside) = run(order, 1, 1, puts(4), quanta);
    assert_eq!(
        (inside.quanta, idle.background_busy),
        (vec![1, 1, 1], QUANTUM * 3),
        "while the first is on its way"
    );
    let alone = run(order, 1, 1, puts(4), |_| ()).0;
    assert_eq!(idle.elapsed, alone.elapsed, "it is done in time that is waited anyway");
    let gets: Vec<Op> = (0..60).map(|n| Op::Get(vec![n])).collect();
    let (busy, inside) = run(order, 1, 1, gets.clone(), quanta);
    let turn = OVERTAKERS_MAX as usize;
    assert_eq!(inside.quanta[0], turn + 1, "the first is executed before the work is known to be due");
    assert!(
        inside.quanta.windows(2).all(|pair| (turn..=turn + 1).contains(&(pair[1] - pair[0]))),
        "{:?}",
        inside.quanta
    );
    let alone = run(order, 1, 1, gets, |_| ()).0;
    assert_eq!(busy.elapsed, alone.elapsed + QUANTUM * 3);
}
