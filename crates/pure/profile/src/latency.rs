// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices told by how long their operations take, and by nothing inside them: from a table (KVEMU, as compound commands
//! used it: HotStorage'19, section 3.2), or always the same (Samsung's KV SSD emulator).

use crate::{Fixed, LatencyTable};
use saker_sim::Duration;

/// An operation of such a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedOp {
    /// Store: the value's size counts.
    Store,
    /// Retrieve: the size of the buffer counts.
    Retrieve,
    /// Delete.
    Delete,
    /// Exist.
    Exist,
    /// Read of logical blocks.
    BlockRead,
    /// Write of logical blocks.
    BlockWrite,
}

/// How long operations take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpTimes {
    /// By operation, key and value size.
    Table(LatencyTable),
    /// By operation.
    Fixed(Fixed),
}

/// Blocks are timed in units of so many bytes.
const BLOCK_BYTES: u32 = 4096;
/// Longest key that is in the command.
const KEY_IN_ENTRY_BYTES: u64 = 16;

impl OpTimes {
    /// Time of one operation with a key and a value of these sizes in bytes.
    pub fn single(&self, op: TimedOp, key_bytes: u32, value_bytes: u32) -> Duration {
        let blocks = u64::from(value_bytes.div_ceil(BLOCK_BYTES).max(1));
        Duration::from_nanos(match self {
            Self::Fixed(f) => f.of(op),
            Self::Table(t) => match op {
                TimedOp::BlockRead => t.block_read_ns.get() * blocks,
                TimedOp::BlockWrite => t.block_write_ns.get() * blocks,
                _ => at_sizes(t.of(op), u64::from(key_bytes), u64::from(value_bytes)),
            },
        })
    }

    /// Time of a group of `pairs` operations whose payload has so many bytes. By table: the payload is fetched and handled
    /// as one value under a short key, with the handling of every pair's key (section 3.1), or of one when the index is
    /// updated in batches. Fixed: as one operation, and what each further one adds.
    pub fn group(&self, op: TimedOp, pairs: u32, payload_bytes: u32, batched: bool) -> Duration {
        let (whole, key) = match self {
            Self::Fixed(f) => (f.of(op), f.pair_ns.get()),
            Self::Table(t) => {
                let whole = match op {
                    TimedOp::Store => between_sizes(&t.group_store_ns.value, u64::from(payload_bytes)),
                    TimedOp::Retrieve => between_sizes(&t.group_retrieve_ns.value, u64::from(payload_bytes)),
                    _ => self.single(op, KEY_IN_ENTRY_BYTES as u32, payload_bytes).as_nanos(),
                };
                (whole, t.key_handling_ns.get())
            }
        };
        let further = if batched { 0 } else { u64::from(pairs).saturating_sub(1) };
        Duration::from_nanos(whole + further * key)
    }
}

impl Fixed {
    const fn of(&self, op: TimedOp) -> u64 {
        match op {
            TimedOp::Store => self.store_ns.get(),
            TimedOp::Retrieve => self.retrieve_ns.get(),
            TimedOp::Delete => self.delete_ns.get(),
            TimedOp::Exist => self.exist_ns.get(),
            TimedOp::BlockRead => self.block_read_ns.get(),
            TimedOp::BlockWrite => self.block_write_ns.get(),
        }
    }
}

impl LatencyTable {
    fn of(&self, op: TimedOp) -> &[[u64; 3]] {
        match op {
            TimedOp::Store | TimedOp::BlockWrite => &self.store_ns.value,
            TimedOp::Retrieve | TimedOp::BlockRead => &self.retrieve_ns.value,
            TimedOp::Delete => &self.delete_ns.value,
            TimedOp::Exist => &self.exist_ns.value,
        }
    }
}

/// Among the points for the shortest keys that are long enough.
fn at_sizes(points: &[[u64; 3]], key_bytes: u64, value_bytes: u64) -> u64 {
    let keys = points.iter().map(|p| p[0]).filter(|longest| *longest >= key_bytes).min();
    let same: Vec<[u64; 2]> =
        points.iter().filter(|p| Some(p[0]) == keys).map(|[_, bytes, ns]| [*bytes, *ns]).collect();
    between_sizes(&same, value_bytes)
}

/// Interpolation between points `[bytes, ns]`; beyond the ends the next point holds.
fn between_sizes(points: &[[u64; 2]], at: u64) -> u64 {
    let mut points = points.to_vec();
    points.sort_unstable();
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return 0 };
    let pair = points.windows(2).find(|w| w[0][0] <= at && at <= w[1][0]);
    match pair {
        Some(&[[x0, y0], [x1, y1]]) if x1 > x0 => {
            let part = u128::from(y0.abs_diff(y1)) * u128::from(at - x0) / u128::from(x1 - x0);
            let part = part as u64;
            if y1 >= y0 { y0 + part } else { y0 - part }
        }
        _ if at <= first[0] => first[1],
        _ => last[1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Media, Profile};

    fn times(name: &str) -> OpTimes {
        match Profile::builtin(name).unwrap().media {
            Media::LatencyTable(table) => OpTimes::Table(table),
            Media::Fixed(fixed) => OpTimes::Fixed(fixed),
            _ => panic!("{name} tells what is inside"),
        }
    }

    /// Bytes of a payload: (4 + 32 + 4 + 1,024) for each pair and 4 (footnote 1).
    fn payload(pairs: u32) -> u32 {
        (4 + 32 + 4 + 1024) * pairs + 4
    }

    fn per_op(op: TimedOp, pairs: u32, batched: bool) -> u64 {
        times("samsung-kvssd").group(op, pairs, payload(pairs), batched).as_nanos() / u64::from(pairs)
    }

    /// HotStorage'19, section 3.1: 46.14 - 13.49 = 32.65 us, 70.76 % (the paper: about 70.8 %).
    #[test]
    fn key_handling_is_the_difference_of_two_measurements() {
        let t = times("samsung-kvssd");
        let store = t.single(TimedOp::Store, 16, 4096).as_nanos();
        let OpTimes::Table(table) = &t else { panic!("a table") };
        let block = t.single(TimedOp::BlockWrite, 0, 4096).as_nanos();
        assert_eq!(store - block, table.key_handling_ns.get());
        assert_eq!(table.key_handling_ns.get() * 10_000 / store, 7076);
    }

    /// Figure 2: 68.4 to 38.5 us and 92.0 to 41.5 us; the ends of the curves are among the table's points.
    #[test]
    fn ten_pairs_take_what_the_paper_says() {
        let single = |op| times("samsung-kvssd").single(op, 32, 1024).as_nanos();
        assert_eq!((single(TimedOp::Store), per_op(TimedOp::Store, 10, false)), (68_400, 38_500));
        assert_eq!((single(TimedOp::Retrieve), per_op(TimedOp::Retrieve, 10, false)), (92_000, 41_500));
    }

    #[test]
    fn more_pairs_cost_less_each_and_batched_keys_least() {
        for op in [TimedOp::Store, TimedOp::Retrieve] {
            for pairs in 2..=10 {
                assert!(per_op(op, pairs, true) < per_op(op, pairs, false));
                assert!(per_op(op, pairs, false) <= per_op(op, pairs - 1, false));
            }
        }
    }

    #[test]
    fn fixed_times_look_at_nothing_but_the_operation() {
        let t = times("fixed");
        let OpTimes::Fixed(f) = &t else { panic!("fixed") };
        for (key, value) in [(1, 0), (255, 2 << 20)] {
            assert_eq!(t.single(TimedOp::Store, key, value).as_nanos(), f.store_ns.get());
            assert_eq!(t.single(TimedOp::BlockRead, key, value).as_nanos(), f.block_read_ns.get());
        }
        let group = |pairs, batched| t.group(TimedOp::Exist, pairs, 9, batched).as_nanos();
        assert_eq!(group(5, false), f.exist_ns.get() + 4 * f.pair_ns.get());
        assert_eq!(group(5, true), group(1, false));
    }

    #[test]
    fn blocks_are_counted_in_units_of_4_kib() {
        let t = times("samsung-kvssd");
        let one = t.single(TimedOp::BlockWrite, 0, 512);
        assert_eq!(t.single(TimedOp::BlockWrite, 0, 4096), one);
        assert_eq!(t.single(TimedOp::BlockWrite, 0, 4097), one * 2);
    }

    #[test]
    fn points_are_chosen_by_key_and_interpolated_by_value() {
        let points = [[16, 10, 100], [16, 30, 200], [255, 20, 900], [16, 20, 300]];
        let at = [0, 10, 15, 20, 25, 30, 99].map(|x| at_sizes(&points, 8, x));
        assert_eq!(at, [100, 100, 200, 300, 250, 200, 200]);
        assert_eq!([17, 255].map(|key| at_sizes(&points, key, 0)), [900, 900]);
        assert_eq!(at_sizes(&points, 256, 20), 0);
        assert_eq!(between_sizes(&[], 5), 0);
    }
}
