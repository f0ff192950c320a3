// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that an LSM store's background work does not keep up with: delayed to a rate or stopped, in the device and at the host.

use crate::clocked::opened;
use saker_assembly::Build;
use saker_device::EngineKind;
use saker_engine::write_gate::{Held, Hold, Stalls};
use saker_engine::{Settings, WriteStallCause};
use saker_host::{Connection, HostError, KvClient, KvError, TransferOptions};
use saker_nvme::Key;
use saker_nvme::vendor_specific::text_of;
use saker_profile::Profile;
use saker_sim::{Duration, Instant};
use saker_world::{Clocked, Job, Op, RunResult, StoreKind, run_virtual};
use std::ops::Range;

/// The least rate that RocksDB lowers a rate to, and one that it does not lower.
const RATE: u64 = 16 << 10;
const PAIRS: u64 = 2500;
const VALUE_BYTES: usize = 92;
const PAIR_BYTES: u64 = 8 + VALUE_BYTES as u64;

/// Every store that there is.
const STORES: [StoreKind; 4] =
    [StoreKind::Disk, StoreKind::Groups { operations: 8 }, StoreKind::Sessions { batch: 8 }, StoreKind::Host];

/// A table in level 0 is enough to delay writes.
pub const DELAYED: [(&str, u64); 5] = [
    ("write_buffer_size", 16 << 10),
    ("level0_file_num_compaction_trigger", 1),
    ("level0_slowdown_writes_trigger", 1),
    ("level0_stop_writes_trigger", 40),
    ("delayed_write_rate", RATE),
];

/// A table in level 0 is enough to stop them.
pub const STOPPED: [(&str, u64); 4] = [
    ("write_buffer_size", 8 << 10),
    ("level0_file_num_compaction_trigger", 1),
    ("level0_slowdown_writes_trigger", 1),
    ("level0_stop_writes_trigger", 1),
];

fn build(kind: StoreKind, asked: &[(&'static str, u64)]) -> Build {
    let profile = Profile::builtin("saker-mid").expect("built in");
    let of = if kind == StoreKind::Host { Build::block } else { Build::kv };
    let mut build = of(&profile, 256 << 20, 7).expect("large enough").with_engine(EngineKind::LSM);
    build.ask(&Settings::told(asked));
    build
}

fn key(n: u64) -> Vec<u8> {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec()
}

/// Operations of a job at a time: two threads with eight each.
const ON_THEIR_WAY: u64 = 16;

fn job(operations: Vec<Op>) -> Job {
    Job { threads: 2, depth: 8, operations, flush: false, transfer: TransferOptions::default() }
}

/// Puts of all pairs, and then gets of them.
fn puts_and_gets(kind: StoreKind, build: &Build) -> [RunResult; 2] {
    let puts = (0..PAIRS).map(|n| Op::Put(key(n), vec![n as u8; VALUE_BYTES])).collect();
    let gets = (0..PAIRS).map(|n| Op::Get(key(n))).collect();
    let done = run_virtual(kind, build, &[job(puts), job(gets)]).expect("runs");
    done.try_into().unwrap_or_else(|_| panic!("two jobs"))
}

fn held(result: &RunResult, hold: Hold) -> (u64, Duration) {
    let held = result.stalls.all(hold);
    (held.periods, held.time)
}

/// Periods follow each other, and lie in the time of the job.
fn are_in_order(stalls: &Stalls, end: Instant, what: &str) {
    let mut last = Instant::ZERO;
    for period in &stalls.recent {
        assert!(period.begin >= last && period.writes > 0, "{what}: {period:?} after {last:?}");
        last = period.begin + period.length;
    }
    assert!(last <= end, "{what}: {last:?} is behind {end:?}");
    let times: u64 = stalls.recent.iter().map(|period| period.length.as_nanos()).sum();
    let told = stalls.all(Hold::Stopped).time + stalls.all(Hold::Delayed).time;
    assert!(
        times <= told.as_nanos() && (stalls.gone() > 0 || times == told.as_nanos()),
        "{what}: {stalls:?}"
    );
}

#[test]
fn delayed_writes_go_on_at_the_rate() {
    for kind in STORES {
        let name = kind.name();
        let [puts, gets] = puts_and_gets(kind, &build(kind, &DELAYED));
        assert_eq!((puts.errors, gets.errors), (0, 0), "{name}: every pair is stored and found");
        let delayed = puts.stalls.of(Hold::Delayed, WriteStallCause::L0FileCountLimit);
        println!("{name}: {:?} in all, {delayed:?}", puts.elapsed);
        assert!(delayed.periods > 3 && delayed.writes > 3, "{name}: {delayed:?}");
        are_in_order(&puts.stalls, Instant::FAR, &name);
        assert!(gets.stalls.is_empty(), "{name}: {:?}", gets.stalls);
        // A write that waits has no more tokens than have come meanwhile; each period begins with a slice.
        let tokens = RATE as f64 * delayed.time.as_secs_f64()
            + (delayed.periods * (RATE / 1000 + 8 * PAIR_BYTES)) as f64;
        assert!((delayed.writes * PAIR_BYTES) as f64 <= tokens, "{name}: {delayed:?} of {tokens} bytes");

        let unslowed: Vec<_> = DELAYED.into_iter().chain([("slowdown", 0)]).collect();
        let [free, _] = puts_and_gets(kind, &build(kind, &unslowed));
        assert_eq!(
            (free.errors, held(&free, Hold::Delayed)),
            (0, (0, Duration::ZERO)),
            "{name}: slowdown=off"
        );
        assert!(
            puts.elapsed > free.elapsed,
            "{name}: {:?}, without slowdown {:?}",
            puts.elapsed,
            free.elapsed
        );
    }
}

#[test]
fn a_stop_lasts_from_a_refused_write_to_the_next_that_is_admitted() {
    for kind in STORES {
        let name = kind.name();
        let [puts, gets] = puts_and_gets(kind, &build(kind, &STOPPED));
        assert_eq!((puts.errors, gets.errors), (0, 0), "{name}");
        // Its cause is that of its begin: a memtable that waits for its flush, or the table which that made.
        let stopped = puts.stalls.all(Hold::Stopped);
        println!("{name}: {:?} in all, {stopped:?}", puts.elapsed);
        assert!(stopped.periods > 3 && stopped.time > Duration::ZERO, "{name}: {stopped:?}");
        assert!(stopped.time < puts.elapsed, "{name}: {stopped:?} of {:?}", puts.elapsed);
        // Each write on its way is counted once in a stop, however often it was tried.
        assert!(stopped.writes <= stopped.periods * ON_THEIR_WAY, "{name}: {stopped:?}");
        are_in_order(&puts.stalls, Instant::FAR, &name);
        let counter = |name| puts.counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
        assert!(counter("l0_file_count_limit_stops") >= stopped.periods, "{name}: a flush stops writes");
    }
}

#[test]
fn memtables_delay_and_stop_writes() {
    for kind in [StoreKind::Disk, StoreKind::Host] {
        let name = kind.name();
        for (memtables, hold) in [(2, Hold::Stopped), (4, Hold::Delayed)] {
            let asked = [
                ("write_buffer_size", 1 << 10),
                ("max_write_buffer_number", memtables),
                ("delayed_write_rate", RATE),
            ];
            let [puts, gets] = puts_and_gets(kind, &build(kind, &asked));
            assert_eq!((puts.errors, gets.errors), (0, 0), "{name}, {memtables}");
            let held = puts.stalls.of(hold, WriteStallCause::MemtableLimit);
            assert!(held.periods > 0, "{name}, {memtables} memtables: {:?}", puts.stalls);
        }
    }
}

#[test]
fn what_is_held_is_the_same_every_time() {
    for kind in STORES {
        let of = |asked| puts_and_gets(kind, &build(kind, asked)).map(|r| (r.digest, r.elapsed, r.stalls));
        assert_eq!(of(&DELAYED), of(&DELAYED), "{}", kind.name());
        assert_eq!(of(&STOPPED), of(&STOPPED), "{}", kind.name());
    }
}

fn set(connection: &mut Connection, client: &mut KvClient<Clocked>, name: &str, number: u64) {
    let told = connection.settings(client.driver_mut(), 1).expect("told").expect("ours");
    let place = told.entries.iter().position(|entry| text_of(&entry.name) == name).expect("it has it");
    connection.set_setting(client.driver_mut(), 1, place, number).expect("live");
}

fn pair(n: u64) -> (Key, [u8; VALUE_BYTES]) {
    (Key::new(&key(n)).expect("eight bytes"), [n as u8; VALUE_BYTES])
}

fn counter(client: &mut KvClient<Clocked>, name: &str) -> u64 {
    let counters = client.driver_mut().0.stats().namespaces[0].counters.clone();
    counters.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no counter {name}")).1
}

fn delayed(client: &mut KvClient<Clocked>) -> Held {
    client.driver_mut().0.stats().namespaces[0].stalls.all(Hold::Delayed)
}

fn stopped(client: &mut KvClient<Clocked>) -> Held {
    client.driver_mut().0.stats().namespaces[0].stalls.all(Hold::Stopped)
}

/// A device with many tables in level 0, and so many pairs.
fn with_many_tables() -> (Connection, KvClient<Clocked>, u64) {
    let none = [
        ("write_buffer_size", 16 << 10),
        ("level0_file_num_compaction_trigger", 1000),
        ("level0_stop_writes_trigger", 2000),
    ];
    let (connection, mut client) = opened(&build(StoreKind::Disk, &none));
    let pairs = 40 * (16 << 10) / 72;
    (0..pairs).for_each(|n| put(&mut client, n));
    client.flush().expect("flushes");
    assert!(counter(&mut client, "l0_tables") > 30 && delayed(&mut client) == Held::default());
    (connection, client, pairs)
}

fn put(client: &mut KvClient<Clocked>, n: u64) {
    let (key, value) = pair(n);
    client.put_queued(&key, &value).expect("queued");
}

/// Pairs are queued, and the device goes on step by step until it is as it should be.
fn queue_until(
    client: &mut KvClient<Clocked>,
    pairs: Range<u64>,
    is_so: impl Fn(&mut KvClient<Clocked>) -> bool,
) {
    pairs.for_each(|n| put(client, n));
    let mut once = || {
        let mut once = true;
        client.drain_while(&mut |_| std::mem::take(&mut once)).expect("on its way");
        is_so(client)
    };
    assert!((0..1000).any(|_| once()), "it does not come to that");
}

/// Its compaction is under way for a while. Four more pairs are on their way, and wait for their tokens at a byte a second.
fn with_delayed_writes() -> (Connection, KvClient<Clocked>, u64) {
    let (mut connection, mut client, pairs) = with_many_tables();
    set(&mut connection, &mut client, "delayed_write_rate", 1);
    set(&mut connection, &mut client, "level0_slowdown_writes_trigger", 1);
    set(&mut connection, &mut client, "level0_file_num_compaction_trigger", 1);
    queue_until(&mut client, pairs..pairs + 4, |client| delayed(client).periods > 0);
    assert_eq!(delayed(&mut client).periods, 1, "the first of them waits");
    assert!(is_merging(&mut client), "the compaction takes longer than a write");
    (connection, client, pairs + 4)
}

/// The same, but they are stopped.
fn with_stopped_writes() -> (Connection, KvClient<Clocked>, u64) {
    let (mut connection, mut client, pairs) = with_many_tables();
    set(&mut connection, &mut client, "level0_slowdown_writes_trigger", 1);
    set(&mut connection, &mut client, "level0_stop_writes_trigger", 1);
    set(&mut connection, &mut client, "level0_file_num_compaction_trigger", 1);
    queue_until(&mut client, pairs..pairs + 4, |client| stopped(client).writes == 4);
    assert_eq!(stopped(&mut client).periods, 1, "they all wait");
    assert!(is_merging(&mut client), "the compaction takes longer than a write");
    (connection, client, pairs + 4)
}

/// Whether level 0 is still what delays writes.
fn is_merging(client: &mut KvClient<Clocked>) -> bool {
    counter(client, "num_running_compactions") > 0 && counter(client, "l0_tables") > 30
}

fn has_all(client: &mut KvClient<Clocked>, pairs: u64, what: &str) {
    for n in 0..pairs {
        let (key, value) = pair(n);
        assert_eq!(client.get(&key), Ok(Some(value.to_vec())), "{what}: pair {n}");
    }
}

/// Writes that wait for their tokens go on when writes are not delayed any more, though the compaction still goes on.
#[test]
fn a_live_setting_frees_who_waits() {
    for (name, number) in [("slowdown", 0), ("level0_slowdown_writes_trigger", 1000)] {
        let (mut connection, mut client, pairs) = with_delayed_writes();
        set(&mut connection, &mut client, name, number);
        client.flush().expect("flushes, with what was queued before it");
        assert!(is_merging(&mut client), "{name}: they waited for the compaction");
        assert_eq!(delayed(&mut client).periods, 1, "{name}");
        has_all(&mut client, pairs, name);
    }
}

/// Nobody sets anything: they go on when the compaction has ended.
#[test]
fn a_compaction_that_ends_frees_who_waits() {
    let (_connection, mut client, pairs) = with_delayed_writes();
    client.flush().expect("flushes, with what was queued before it");
    assert!(!is_merging(&mut client), "nothing else lets them go on");
    let held = delayed(&mut client);
    assert!(held.periods == 1 && held.time < Duration::from_nanos(100_000_000_000), "{held:?}");
    has_all(&mut client, pairs, "in the end");
}

/// Reads do not wait behind writes that are delayed or stopped, and deletes pass them.
#[test]
fn only_stores_wait() {
    for held in [with_delayed_writes, with_stopped_writes] {
        let (_connection, mut client, pairs) = held();
        let (gone, _) = pair(8);
        assert_eq!(
            (client.get(&pair(7).0), client.delete(&gone)),
            (Ok(Some(vec![7; VALUE_BYTES])), Ok(true))
        );
        assert!(is_merging(&mut client), "the compaction still goes on");
        client.flush().expect("flushes");
        assert_eq!(client.get(&gone), Ok(None));
        (pairs - 4..pairs).for_each(|n| assert_eq!(client.get(&pair(n).0), Ok(Some(pair(n).1.to_vec()))));
    }
}

/// Writes that are stopped go on when a setting, or the end of the compaction, stops them no more.
#[test]
fn who_is_stopped_goes_on_when_that_ends() {
    let (mut connection, mut client, pairs) = with_stopped_writes();
    set(&mut connection, &mut client, "level0_stop_writes_trigger", 1000);
    set(&mut connection, &mut client, "slowdown", 0);
    client.flush().expect("flushes, with what was queued before it");
    assert!(is_merging(&mut client), "they waited for the compaction");
    has_all(&mut client, pairs, "set");
    let (_connection, mut client, pairs) = with_stopped_writes();
    client.flush().expect("flushes, with what was queued before it");
    assert!(!is_merging(&mut client) && stopped(&mut client).periods == 1, "nothing else lets them go on");
    has_all(&mut client, pairs, "in the end");
}

/// A Format does not wait for writes that are stopped: they are answered, and the namespace takes pairs again.
#[test]
fn a_format_ends_who_is_stopped() {
    let (mut connection, mut client, pairs) = with_stopped_writes();
    assert!(is_merging(&mut client));
    connection.format(client.driver_mut(), 1).expect("formats");
    let HostError::Queued { error, .. } = client.drain().expect_err("what was queued was of what is no more")
    else {
        panic!("a queued write was refused")
    };
    assert_eq!(*error, KvError::Formatting.into());
    assert!((0..pairs).all(|n| client.get(&pair(n).0) == Ok(None)));
    put(&mut client, 0);
    client.flush().expect("flushes");
    assert_eq!(client.get(&pair(0).0), Ok(Some(pair(0).1.to_vec())));
}
