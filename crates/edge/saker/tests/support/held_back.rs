// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that an LSM store delays or stops, joined with what else its users may ask for meanwhile.

use saker::{KeyRange, Kv};

/// What holds writes back: a table in level 0 delays them to a rate, or stops them. With a clock they wait for their turn, without one for
/// background work.
pub const HELD_BACK: [&str; 4] = [
    "timing=real&write_buffer_size=2KiB&level0_file_num_compaction_trigger=1&level0_slowdown_writes_trigger=1\
     &delayed_write_rate=64KiB&level0_stop_writes_trigger=40",
    "timing=real&write_buffer_size=2KiB&level0_file_num_compaction_trigger=1&level0_slowdown_writes_trigger=1\
     &level0_stop_writes_trigger=1",
    "write_buffer_size=2KiB&level0_file_num_compaction_trigger=1&level0_slowdown_writes_trigger=1\
     &level0_stop_writes_trigger=40",
    "write_buffer_size=2KiB&level0_file_num_compaction_trigger=1&level0_slowdown_writes_trigger=1\
     &level0_stop_writes_trigger=1",
];

/// Pairs: they fill several memtables.
const PAIRS: u32 = 120;

fn key(n: u32) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

fn value(n: u32, version: u8) -> Vec<u8> {
    [&n.to_be_bytes(), [version; 100].as_slice()].concat()
}

fn queue_all(kv: &mut Kv, version: u8) {
    (0..PAIRS).for_each(|n| kv.put_queued(&key(n), &value(n, version)).expect("queued"));
}

fn has_all(kv: &mut Kv, version: u8, what: &str) {
    for n in 0..PAIRS {
        assert_eq!(kv.get(&key(n)), Ok(Some(value(n, version))), "{what}: pair {n}");
    }
}

/// All of them, on a device that is opened by `open`. `lasts`: what is closed can be opened again.
pub fn is_joined_with_all_else(open: &mut dyn FnMut() -> Kv, lasts: bool) {
    flushed(open());
    deleted(open());
    formatted(open());
    looked_at(open());
    if lasts {
        closed(open);
        dropped(open);
    } else {
        queue_all(&mut open(), 1);
    }
}

/// A Flush covers what was queued before it.
fn flushed(mut kv: Kv) {
    queue_all(&mut kv, 1);
    kv.flush().expect("flushes");
    // A device on a thread of its own is not asked.
    if let Some(stats) = kv.stats() {
        let counters = &stats.namespaces[0].counters;
        let held = counters.iter().filter(|(name, _)| name.starts_with("l0_file_count_limit_"));
        assert!(held.map(|(_, times)| times).sum::<u64>() > 0, "{counters:?}");
    }
    has_all(&mut kv, 1, "flushed");
}

/// A delete is behind the put of its key that waits, and before the next.
fn deleted(mut kv: Kv) {
    queue_all(&mut kv, 2);
    for n in (0..PAIRS).rev().step_by(3) {
        assert_eq!(kv.delete(&key(n)), Ok(true), "pair {n} was queued before");
        assert_eq!(kv.get(&key(n)), Ok(None), "pair {n}");
    }
    kv.put_queued(&key(PAIRS - 1), b"again").expect("queued");
    kv.drain().expect("stored");
    assert_eq!(kv.get(&key(PAIRS - 1)), Ok(Some(b"again".to_vec())));
    assert_eq!(kv.get(&key(PAIRS - 2)), Ok(Some(value(PAIRS - 2, 2))));
}

/// Format erases what was queued before it, and nothing of that comes behind.
fn formatted(mut kv: Kv) {
    queue_all(&mut kv, 3);
    kv.format().expect("formatted");
    let left = kv.list(None).count();
    assert_eq!(left, 0, "pairs after a Format");
    kv.drain().expect("nothing is left to fail");
    assert_eq!(kv.list(None).count(), 0, "none comes behind");
    queue_all(&mut kv, 4);
    kv.drain().expect("stored");
    has_all(&mut kv, 4, "formatted");
}

/// An iterator shows each pair as it was before or after a write that waits, and goes on showing that.
fn looked_at(mut kv: Kv) {
    kv.set_setting("slowdown", "off").expect("live");
    queue_all(&mut kv, 5);
    kv.drain().expect("stored");
    kv.set_setting("slowdown", "on").expect("live");
    queue_all(&mut kv, 6);
    let mut iterator = kv.open_iterator(&KeyRange::default()).expect("one more").expect("it has them");
    queue_all(&mut kv, 7);
    let batch = kv.next_pairs(&mut iterator, 0, false, None).expect("pairs");
    let mut seen = 0;
    for ((found, held), n) in batch.pairs().zip(0..) {
        assert_eq!(found, key(n));
        assert!(held == value(n, 5) || held == value(n, 6), "pair {n} is of no moment before the iterator");
        seen += 1;
    }
    assert!(seen > 10, "{seen} pairs");
    kv.close_iterator(iterator).expect("closed");
    kv.drain().expect("stored");
    has_all(&mut kv, 7, "looked at");
}

fn closed(open: &mut dyn FnMut() -> Kv) {
    let mut kv = open();
    queue_all(&mut kv, 8);
    kv.close().expect("closes");
    has_all(&mut open(), 8, "closed");
}

fn dropped(open: &mut dyn FnMut() -> Kv) {
    let mut kv = open();
    queue_all(&mut kv, 9);
    drop(kv);
    has_all(&mut open(), 9, "dropped");
}
