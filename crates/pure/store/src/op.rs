// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations, and a lane's share of them.

/// Names a snapshot. It is the lane's that took it, until the lane releases it: then, or in another lane, it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapshotId(pub u32);

/// One operation of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// Store a pair.
    Put(Vec<u8>, Vec<u8>),
    /// Retrieve a value.
    Get(Vec<u8>),
    /// Delete a pair.
    Delete(Vec<u8>),
    /// Whether there is such a pair.
    Exists(Vec<u8>),
    /// Puts and deletes that become visible together, and that a cut leaves all of or none of. Of two writes of a key the later
    /// one counts. To delete what is not there is no failure.
    Batch(Vec<Op>),
    /// Operations that travel together and end one by one, in no order.
    Group {
        /// The operations.
        operations: Vec<Op>,
        /// How they belong together. None is known today: 0.
        flags: u32,
    },
    /// So many pairs from a key on, in the order of the bytes of their keys. All that ended before it was submitted is in it.
    Scan {
        /// The least key; empty: from the first one on.
        from: Vec<u8>,
        /// Pairs at most.
        entries: u32,
        /// As that snapshot has them; otherwise as they are.
        snapshot: Option<SnapshotId>,
    },
    /// So many keys from a key on, in the store's own order, and their values if they are asked for.
    List {
        /// Where to begin; empty: at the first one.
        from: Vec<u8>,
        /// Keys at most.
        entries: u32,
        /// Whether the values are read too.
        values: bool,
    },
    /// So many pairs by an iterator that goes to a key and on from there: as of one moment and in the order of the bytes of their
    /// keys, where the store has such an order, else as [`Op::List`] has them.
    Seek {
        /// The key that it goes to.
        from: Vec<u8>,
        /// Pairs at most.
        entries: u32,
        /// From the key on in falling order.
        backwards: bool,
    },
    /// A view of all pairs as they are, for scans. The store keeps what it sees until it is released.
    Snapshot,
    /// A snapshot is not needed any more.
    Release(SnapshotId),
    /// Everything that ended before survives a cut.
    Flush,
    /// Whatever the lane has asked for is answered before it goes on. The driver's own: it asks no store.
    Wait,
}

impl Op {
    /// Its name: what a store that lacks it refuses.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Put(..) => "put",
            Self::Get(_) => "get",
            Self::Delete(_) => "delete",
            Self::Exists(_) => "exists",
            Self::Batch(_) => "batch",
            Self::Group { .. } => "group",
            Self::Scan { .. } => "scan",
            Self::List { .. } => "list",
            Self::Seek { .. } => "seek",
            Self::Snapshot => "snapshot",
            Self::Release(_) => "release",
            Self::Flush => "flush",
            Self::Wait => "wait",
        }
    }

    /// The key that it names, if it names one.
    pub fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Put(key, _) | Self::Get(key) | Self::Delete(key) | Self::Exists(key) => Some(key),
            _ => None,
        }
    }

    /// Bytes of keys and values that it writes.
    #[inline]
    pub fn user_bytes(&self) -> u64 {
        match self {
            Self::Put(key, value) => (key.len() + value.len()) as u64,
            Self::Batch(all) | Self::Group { operations: all, .. } => bytes_of(all),
            _ => 0,
        }
    }
}

#[cold]
fn bytes_of(operations: &[Op]) -> u64 {
    operations.iter().map(Op::user_bytes).sum()
}

/// What a lane still has to do of a job: each `stride`th operation from the next one on.
#[derive(Clone, Copy, Debug)]
pub struct Share<'o> {
    operations: &'o [Op],
    next: usize,
    stride: usize,
}

impl<'o> Share<'o> {
    /// All that lane `n` of `lanes` does of these.
    #[inline]
    pub const fn of(operations: &'o [Op], n: usize, lanes: usize) -> Self {
        Self { operations, next: n, stride: lanes }
    }

    /// One operation.
    #[inline]
    pub const fn alone(operation: &'o Op) -> Self {
        Self { operations: std::slice::from_ref(operation), next: 0, stride: 1 }
    }

    /// The next operation.
    #[inline]
    pub fn first(&self) -> Option<&'o Op> {
        self.operations.get(self.next)
    }

    /// The operation that many after the next one.
    #[inline]
    pub fn ahead(&self, count: usize) -> Option<&'o Op> {
        self.operations.get(self.next + count * self.stride)
    }

    /// The next one and all behind it.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &'o Op> + Clone + use<'o> {
        self.operations.iter().skip(self.next).step_by(self.stride)
    }

    /// So many have been done.
    #[inline]
    pub const fn skip(&mut self, count: usize) {
        self.next += count * self.stride;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_dealt_round() {
        let all: Vec<Op> = (0..7).map(|n| Op::Get(vec![n])).collect();
        let keys =
            |share: Share<'_>| share.iter().filter_map(|op| op.key().map(|k| k[0])).collect::<Vec<_>>();
        assert_eq!((keys(Share::of(&all, 0, 3)), keys(Share::of(&all, 2, 3))), (vec![0, 3, 6], vec![2, 5]));
        let mut share = Share::of(&all, 1, 3);
        share.skip(1);
        assert_eq!((share.first(), share.ahead(1)), (Some(&all[4]), None));
        assert_eq!(keys(Share::alone(&all[5])), [5]);
    }

    #[test]
    fn only_what_is_written_counts_as_users_bytes() {
        let put = Op::Put(vec![1; 3], vec![2; 10]);
        let operations = vec![put.clone(), Op::Get(vec![1]), put.clone()];
        assert_eq!(Op::Group { operations, flags: 0 }.user_bytes(), 26);
        assert_eq!((Op::Delete(vec![1]).user_bytes(), Op::Wait.user_bytes()), (0, 0));
    }
}
