// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Log page C2h of all shards: sums add up, periods are in the order of their begin, and writes are as far from normal as in the shard
//! where they are farthest, since a host's writes go to all.

use saker_nvme::vendor_specific::{WriteStallEntry, WriteStallSum, WriteStallsHead};
use zerocopy::{FromBytes, IntoBytes};

/// Periods that a page has at most, as that of one device.
const PERIODS_MAX: usize = 64;

/// The page of all; the last one as it is if they are too short for their heads.
pub(crate) fn merged(pages: &[Vec<u8>], bytes: usize) -> Vec<u8> {
    let mut all: Option<(WriteStallsHead, usize)> = None;
    let mut periods = Vec::new();
    for page in pages {
        let Ok((head, rest)) = WriteStallsHead::read_from_prefix(page) else { break };
        let count = usize::from(head.count.get());
        let entries = rest.chunks_exact(size_of::<WriteStallEntry>()).take(count);
        periods.extend(entries.filter_map(|bytes| WriteStallEntry::read_from_bytes(bytes).ok()));
        all = Some(match all {
            Some((sum, counted)) => (added(sum, &head), counted + count),
            None => (head, count),
        });
    }
    let Some((mut head, counted)) = all else { return pages.last().cloned().unwrap_or_default() };
    head.count = (counted.min(PERIODS_MAX) as u16).into();
    periods.sort_by_key(|period| period.begin.get());
    let old = periods.len().saturating_sub(PERIODS_MAX);
    let mut page = head.as_bytes().to_vec();
    periods[old..].iter().for_each(|period| page.extend_from_slice(period.as_bytes()));
    page.resize(bytes, 0);
    page
}

fn added(mut sum: WriteStallsHead, told: &WriteStallsHead) -> WriteStallsHead {
    if told.state > sum.state {
        (sum.state, sum.cause, sum.rate, sum.delay) = (told.state, told.cause, told.rate, told.delay);
    }
    sum.now = sum.now.get().max(told.now.get()).into();
    add_all(&mut sum.delayed, &told.delayed);
    add_all(&mut sum.stopped, &told.stopped);
    sum
}

fn add_all(sums: &mut [WriteStallSum; 3], told: &[WriteStallSum; 3]) {
    for (sum, told) in sums.iter_mut().zip(told) {
        sum.periods += told.periods;
        sum.nanos += told.nanos;
        sum.writes += told.writes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_nvme::vendor_specific::WriteState;

    fn entry(begin: u64) -> WriteStallEntry {
        let (state, writes) = (WriteState::Stopped as u8, 1.into());
        WriteStallEntry { state, cause: 0, reserved_2: [0; 6], begin: begin.into(), nanos: 5.into(), writes }
    }

    /// A page of a shard with periods that begin then, cut where the host's buffer ends.
    fn page(state: WriteState, rate: u64, begins: &[u64], bytes: usize) -> Vec<u8> {
        let sum =
            |n: u64| WriteStallSum { periods: n.into(), nanos: (10 * n).into(), writes: (100 * n).into() };
        let head = WriteStallsHead {
            state: state as u8,
            rate: rate.into(),
            now: rate.into(),
            delayed: [1, 2, 3].map(sum),
            stopped: [4, 5, 6].map(sum),
            ..WriteStallsHead::new(begins.len() as u16)
        };
        let mut page = head.as_bytes().to_vec();
        begins.iter().for_each(|begin| page.extend_from_slice(entry(*begin).as_bytes()));
        page.resize(bytes, 0);
        page
    }

    fn taken_apart(page: &[u8]) -> (WriteStallsHead, Vec<u64>) {
        let (head, rest) = WriteStallsHead::read_from_prefix(page).unwrap();
        let entries = rest.chunks_exact(32).map(|bytes| WriteStallEntry::read_from_bytes(bytes).unwrap());
        (head, entries.map(|entry| entry.begin.get()).collect())
    }

    #[test]
    fn sums_add_up_and_periods_are_in_order() {
        let bytes = 208 + 5 * 32;
        let one = page(WriteState::Delayed, 7, &[10, 30], bytes);
        let other = page(WriteState::Stopped, 9, &[20, 25], bytes);
        let third = page(WriteState::Normal, 8, &[], bytes);
        let page = merged(&[one, other, third], bytes);
        assert_eq!(page.len(), bytes);
        let (head, begins) = taken_apart(&page);
        assert_eq!(begins, [10, 20, 25, 30, 0]);
        assert_eq!((head.count.get(), head.state, head.rate.get(), head.now.get()), (4, 2, 9, 9));
        assert!(head.is_known());
        let sums: Vec<_> = head.delayed.iter().chain(&head.stopped).collect();
        assert_eq!(sums.iter().map(|sum| sum.periods.get()).collect::<Vec<_>>(), [3, 6, 9, 12, 15, 18]);
        assert_eq!((sums[5].nanos.get(), sums[5].writes.get()), (180, 1800));
    }

    #[test]
    fn a_head_alone_says_how_many_periods_there_are() {
        let begins: Vec<_> = (0..50).collect();
        let shards = [page(WriteState::Normal, 0, &begins, 208), page(WriteState::Normal, 0, &begins, 208)];
        let (head, rest) = taken_apart(&merged(&shards, 208));
        assert_eq!((head.count.get(), rest.len()), (64, 0));
    }

    #[test]
    fn the_last_periods_are_told() {
        let bytes = 208 + 64 * 32;
        let begins = |odd: u64| (0..50).map(|n| 2 * n + odd).collect::<Vec<_>>();
        let shards = [0, 1].map(|odd| page(WriteState::Normal, 0, &begins(odd), bytes));
        let (_, told) = taken_apart(&merged(&shards, bytes));
        assert_eq!(told, (36..100).collect::<Vec<_>>());
    }

    #[test]
    fn less_than_a_head_is_what_a_shard_says() {
        assert_eq!(merged(&[vec![1; 64], vec![2; 64]], 64), vec![2; 64]);
    }
}
