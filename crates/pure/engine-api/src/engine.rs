//! What drivers ask of an engine: the device over flash, the host over a block namespace.

use crate::kv_group::{Answers, GroupError, GroupSource};
use crate::{
    Background, Condition, KvError, Memory, Pairs, Scan, Scanned, Sink, Snapshot, Source, StoreStats,
};
use saker_log::LogStats;
use saker_log::recover::Damage;
use saker_medium::{Completion, Medium, Step, Tag};
use saker_sim::Meter;
use std::fmt::Debug;

/// One shard of a store of pairs.
///
/// An engine never waits. `Need` names all the pages that the next call of the same operation looks at; the driver
/// brings and pins them until that call has returned. `Need` and `Blocked` leave what operations can observe as it was.
pub trait Engine: Clone + Debug + Sized {
    /// The store on its way back after power came on.
    type Recovery: Recover<Engine = Self>;

    /// The same store, empty, over a medium whose segments of this owner were erased.
    fn emptied<M: Medium>(&self, m: &M) -> Self;

    /// Stores a pair. The value is fetched once, into its landing place.
    fn store<M: Medium, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>>;

    /// Delivers a value, or its beginning where the sink has less room. Returns its whole length in bytes.
    fn retrieve<M: Medium, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>>;

    /// Removes a pair.
    fn delete<M: Medium, W: Meter>(&mut self, key: &[u8], m: &mut M, w: &mut W) -> Step<Result<(), KvError>>;

    /// Whether there is such a pair.
    fn exist<M: Medium, W: Meter>(&mut self, key: &[u8], m: &mut M, w: &mut W) -> Step<Result<(), KvError>>;

    /// Shows keys from `from` on (empty: from the first) in the engine's order, while `visit` says so. `from` itself need
    /// not exist: the order is total over all possible keys. A step that is not done may have shown some already.
    fn list<M: Medium, W: Meter>(
        &mut self,
        from: &[u8],
        visit: impl FnMut(&[u8]) -> bool,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>>;

    /// Whether its keys have an order, and what is replaced is kept for snapshots.
    fn has_snapshots(&self) -> bool {
        false
    }

    /// The store as it is now, for [`scan`](Engine::scan), until it is released. `None`: it has no snapshots.
    fn snapshot(&mut self) -> Option<Snapshot> {
        None
    }

    /// One more holder of a snapshot.
    fn share(&mut self, snapshot: Snapshot) {
        let _ = snapshot;
    }

    /// One holder of a snapshot less.
    fn release(&mut self, snapshot: Snapshot) {
        let _ = snapshot;
    }

    /// Shows the pairs of a snapshot in the order of their keys while `pairs` wants them.
    fn scan<M: Medium, W: Meter, P: Pairs>(
        &mut self,
        scan: &Scan<'_>,
        pairs: &mut P,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Scanned, KvError>> {
        let _ = (scan, pairs, m, w);
        Step::Done(Ok(Scanned::All))
    }

    /// Longest payload of a group in bytes; 0: it takes none, and drivers carry groups out by
    /// [`Singly`](crate::kv_group::Singly).
    fn group_bytes_max(&self) -> u32 {
        0
    }

    /// Carries out a group. The answers are given only when it is done, one for each member.
    fn group<M: Medium, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        source: &mut G,
        answers: &mut A,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), GroupError<G::Malformed>>> {
        let _ = (source, answers, m, w);
        Step::Done(Err(GroupError::TooLong))
    }

    /// Binds keys under a name, so that access to one brings the others. An engine may ignore it.
    ///
    /// # Errors
    /// [`KvError::CapacityExceeded`] for more keys than can be bound.
    fn bind<'k>(
        &mut self,
        name: &[u8],
        keys: impl ExactSizeIterator<Item = &'k [u8]>,
    ) -> Result<(), KvError> {
        let _ = (name, keys);
        Ok(())
    }

    /// Makes what was acknowledged proof against the loss of the ring where it can be lost: when the returned tag and
    /// everything before it has finished, and a sync has followed.
    fn flush<M: Medium>(&mut self, m: &mut M) -> Tag;

    /// Whether a Flush that returned `tag` is on the medium, given that all I/O up to `finished` has finished.
    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool;

    /// Takes note of a finished I/O.
    fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M);

    /// Whether background work is due.
    fn has_debt<M: Medium>(&self, m: &M) -> bool;

    /// One quantum of background work; all I/O up to `finished` has finished.
    fn background<M: Medium, W: Meter>(&mut self, finished: Tag, m: &mut M, w: &mut W) -> Step<Background>;

    /// A command about that key is on its way: what it will look up may be touched. Changes nothing.
    #[inline]
    fn foresee<W: Meter>(&self, key: &[u8], w: &mut W) {
        let _ = (key, w);
    }

    /// Where in the log the record of a key's pair begins, and its length, both in bytes, as far as that is known without more
    /// pages than are here. For messages about damage.
    fn place_of<M: Medium>(&mut self, key: &[u8], m: &mut M) -> Option<(u64, u32)> {
        let _ = (key, m);
        None
    }

    /// So many pairs will come: memory for their index is brought in, so that the first touches of it cost nothing later, and it may
    /// be laid out for all of them. An engine may ignore it.
    fn reserve(&mut self, pairs: u64) {
        let _ = pairs;
    }

    /// Work that was put off so that operations are cheaper is done, so that counters are right.
    fn settle(&mut self) {}

    /// Counters.
    fn stats(&self) -> StoreStats;

    /// Counters of its log.
    fn log_stats(&self) -> LogStats;

    /// Modelled controller memory.
    fn memory(&self) -> Memory;

    /// Bytes that live.
    fn live_bytes(&self) -> u64;

    /// Bytes that may live at once.
    fn capacity_bytes<M: Medium>(&self, m: &M) -> u64;

    /// Pairs of so long keys and values that fit if there are no others, by the formula of [`Engine::capacity_bytes`];
    /// 0 if none of that length is taken. What a structure that is there takes beyond what so many pairs need counts as
    /// it is.
    fn pairs_that_fit<M: Medium>(&self, key_bytes: u32, value_bytes: u32, m: &M) -> u64;

    /// Counters of its own mechanisms, and what its structures take of modelled memory in bytes, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// A digest of everything that operations can observe, for tests of the contract.
    fn digest(&self) -> u64;
}

/// A store on its way back.
pub trait Recover: Clone + Debug {
    /// What comes of it.
    type Engine;

    /// Goes on. `Done(Ok(true))`: it is over.
    fn step<M: Medium>(&mut self, m: &mut M) -> Step<Result<bool, Damage>>;

    /// Takes note of a finished I/O.
    fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M);

    /// The store, after `step` said so.
    fn finish(self) -> Self::Engine;
}
