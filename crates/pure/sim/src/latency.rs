//! Latency tables: a device told by how long its operations take, and by nothing inside it (KVEMU, as compound commands
//! used it: HotStorage'19, section 3.2).

use crate::Duration;
use crate::profile::{ProfileError, Sourced};
use serde::{Deserialize, Serialize};

/// An operation of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimedOp {
    /// Store: the value's size counts.
    Store,
    /// Retrieve: the size of the buffer counts.
    Retrieve,
    /// Delete.
    Delete,
    /// Exist.
    Exist,
}

/// One measured point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Which operation.
    pub op: TimedOp,
    /// The longest key it holds for, in bytes.
    pub key_bytes_max: u32,
    /// Size of the value in bytes.
    pub value_bytes: u32,
    /// How long the operation takes.
    pub latency_ns: Sourced<u64>,
}

/// Times of all operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyTable {
    /// Its name.
    pub name: String,
    /// What the handling of one key is of them: a group pays it for each.
    pub key_handling_ns: Sourced<u64>,
    /// A 4-KB write of the same device with block firmware.
    pub block_write_ns: Sourced<u64>,
    /// The points.
    pub times: Vec<Point>,
}

impl LatencyTable {
    /// Reads a table. Every operation must have a point for the longest keys or for keys in the entry.
    ///
    /// # Errors
    /// One line that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        toml::from_str(text).map_err(|e| ProfileError::Invalid {
            path: "latency table".into(),
            reason: e.message().lines().next().unwrap_or_default().into(),
        })
    }

    /// The table of Samsung's KV SSD (`profiles/latency/samsung-kvssd.toml`).
    ///
    /// # Errors
    /// None, as a test shows.
    pub fn samsung_kvssd() -> Result<Self, ProfileError> {
        Self::parse(include_str!("../../../../profiles/latency/samsung-kvssd.toml"))
    }

    /// Time of one operation with a key and a value of these sizes in bytes.
    pub fn single(&self, op: TimedOp, key_bytes: u32, value_bytes: u32) -> Duration {
        let of = |p: &&Point| p.op == op && p.key_bytes_max >= key_bytes;
        let keys = self.times.iter().filter(of).map(|p| p.key_bytes_max).min();
        let mut points: Vec<_> = self
            .times
            .iter()
            .filter(|p| p.op == op && Some(p.key_bytes_max) == keys)
            .map(|p| (u64::from(p.value_bytes), p.latency_ns.get()))
            .collect();
        points.sort_unstable();
        Duration::from_nanos(between(&points, u64::from(value_bytes)))
    }

    /// Time of a group of `pairs` operations whose payload has so many bytes: fetched and handled as one value under a
    /// short key, with the handling of every pair's key (section 3.1), or of one when the index is updated in batches.
    pub fn group(&self, op: TimedOp, pairs: u32, payload_bytes: u32, batched: bool) -> Duration {
        let whole = self.single(op, 16, payload_bytes).as_nanos();
        let keys = if batched { 1 } else { u64::from(pairs) };
        let key = self.key_handling_ns.get();
        Duration::from_nanos(whole.saturating_sub(key) + keys * key)
    }
}

/// Interpolation between points in ascending order.
fn between(points: &[(u64, u64)], at: u64) -> u64 {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return 0 };
    let pair = points.windows(2).find(|w| w[0].0 <= at && at <= w[1].0);
    match pair {
        Some(&[(x0, y0), (x1, y1)]) if x1 > x0 => {
            let (low, high) = (y0.min(y1), y0.max(y1));
            let part = (high - low) * (at - x0) / (x1 - x0);
            if y1 >= y0 { y0 + part } else { y0 - part }
        }
        _ if at <= first.0 => first.1,
        _ => last.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> LatencyTable {
        LatencyTable::samsung_kvssd().unwrap()
    }

    /// Bytes of a payload: (4 + 32 + 4 + 1,024) for each pair and 4 (footnote 1).
    fn payload(pairs: u32) -> u32 {
        (4 + 32 + 4 + 1024) * pairs + 4
    }

    fn per_op(op: TimedOp, pairs: u32, batched: bool) -> u64 {
        table().group(op, pairs, payload(pairs), batched).as_nanos() / u64::from(pairs)
    }

    /// HotStorage'19, section 3.1: 46.14 - 13.49 = 32.65 us, 70.76 % (the paper: about 70.8 %).
    #[test]
    fn key_handling_is_the_difference_of_two_measurements() {
        let t = table();
        let store = t.single(TimedOp::Store, 16, 4096).as_nanos();
        assert_eq!(store - t.block_write_ns.get(), t.key_handling_ns.get());
        assert_eq!(t.key_handling_ns.get() * 10_000 / store, 7076);
    }

    /// Figure 2: 68.4 to 38.5 us and 92.0 to 41.5 us; the ends of the curves are among the table's points.
    #[test]
    fn ten_pairs_take_what_the_paper_says() {
        let single = |op| table().single(op, 32, 1024).as_nanos();
        assert_eq!((single(TimedOp::Store), per_op(TimedOp::Store, 10, false)), (68_400, 38_500));
        assert_eq!((single(TimedOp::Retrieve), per_op(TimedOp::Retrieve, 10, false)), (92_000, 41_500));
    }

    /// The paper's curve falls all the way; its own numbers do not allow that.
    #[test]
    fn three_pairs_are_cheaper_than_ten_by_the_papers_own_numbers() {
        assert_eq!(payload(3), 3196);
        assert_eq!(per_op(TimedOp::Store, 3, false), 32_650 + (46_140 - 32_650) / 3);
        assert!(per_op(TimedOp::Store, 3, false) < per_op(TimedOp::Store, 10, false));
    }

    #[test]
    fn batched_keys_are_cheaper() {
        for pairs in 2..=10 {
            for op in [TimedOp::Store, TimedOp::Retrieve] {
                assert!(per_op(op, pairs, true) < per_op(op, pairs, false));
            }
        }
    }

    #[test]
    fn interpolation_keeps_to_its_points() {
        let points = [(10, 100), (20, 300), (30, 200)];
        let at = [0, 10, 15, 20, 25, 30, 99].map(|x| between(&points, x));
        assert_eq!(at, [100, 100, 200, 300, 250, 200, 200]);
        assert_eq!(between(&[], 5), 0);
    }
}
