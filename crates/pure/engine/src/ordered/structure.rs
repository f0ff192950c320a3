//! What a store over a value log leaves to the structure that keeps its entries in order: the levels of an LSM tree, or a
//! copy-on-write tree.

use super::background::Piece;
use super::key::{Entry, Key};
use super::memtable::Memtable;
use super::{Settings, Store};
use saker_engine_api::{KvError, Snapshot};
use saker_log::recover::Damage;
use saker_medium::{Medium, PageAddr, Reads, SegmentId, Step, Tag};
use saker_sim::{Digest, Meter};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::ops::Bound;
use std::sync::Arc;

/// What a search found, and what it looked at.
pub type Found<T, S> = Step<(Result<T, KvError>, <S as Structure>::Trail)>;

/// A structure of sorted entries that follow from a value log's records.
pub trait Structure: Clone + Debug + Sized {
    /// Its settings.
    type Config: Copy + Debug + Into<Settings>;
    /// What a search looked at.
    type Trail: Clone + Into<Reads>;
    /// What recovery reads in a manifest, until it is adopted.
    type Named: Clone + Debug + Default;
    /// Pieces of background work that take turns.
    const PIECES: u32;

    /// An empty one.
    fn new(config: &Self::Config, m: &dyn Medium) -> Self;

    /// An empty memtable.
    fn memtable(config: &Self::Config) -> Memtable;

    // Reading.

    /// The newest entry of a key, tombstones included: that a snapshot sees, or that there is now. `Need` names all that the
    /// search looks at.
    fn find<M: Medium, W: Meter>(
        store: &Store<Self>,
        key: &Key,
        at: Option<Snapshot>,
        m: &M,
        w: &mut W,
    ) -> Found<Option<Entry>, Self>;

    /// The operation of a search has ended.
    fn searched<M: Medium, W: Meter>(store: &mut Store<Self>, trail: &Self::Trail, m: &M, w: &mut W) {
        let _ = (store, trail, m, w);
    }

    /// Visits pairs in the order of their keys from one on, or in the falling order up to one. Whether `visit` ended it.
    fn visit<M: Medium, W: Meter>(
        store: &Store<Self>,
        range: (Bound<Key>, bool),
        at: Option<Snapshot>,
        visit: impl FnMut(&Entry) -> bool,
        m: &M,
        w: &mut W,
    ) -> Found<bool, Self>;

    // Snapshots.

    /// A view of the store as it is now, until its last holder releases it.
    fn snapshot(store: &mut Store<Self>) -> Snapshot;

    /// One more holder of a snapshot.
    fn share(&mut self, snapshot: Snapshot);

    /// One holder of a snapshot less.
    fn release(store: &mut Store<Self>, snapshot: Snapshot);

    /// Whether a snapshot sees an entry of version `old` that one of version `new` replaced.
    fn sees(&self, old: u64, new: u64) -> bool;

    /// Whether a snapshot sees a record that is not the newest of its key; `newest` is that one.
    fn is_seen<M: Medium, W: Meter>(
        store: &Store<Self>,
        record: (Key, &Entry),
        newest: Option<Entry>,
        m: &M,
        w: &mut W,
    ) -> Step<Result<bool, KvError>>;

    // Memtables.

    /// Frozen memtables, the oldest first.
    fn frozen(&self) -> impl DoubleEndedIterator<Item = &Arc<Memtable>>;

    /// Whether one more memtable may wait to be taken in.
    fn may_freeze(store: &Store<Self>) -> bool;

    /// Freezes the memtable.
    fn freeze(store: &mut Store<Self>);

    /// Whether a write may go on: a store, or a delete.
    fn lets_in(store: &mut Store<Self>, is_delete: bool) -> bool;

    /// A write was done.
    fn wrote(&mut self) {}

    // Room.

    /// Entries in it, replaced ones that have not been met included.
    fn entries(&self) -> u64;

    /// Bytes of records that may live at once, with so many entries and records of at most `longest` bytes.
    fn capacity_for<M: Medium>(store: &Store<Self>, entries: u64, longest: u32, m: &M) -> u64;

    /// Free segments that deletes leave.
    fn for_deletes<M: Medium>(store: &Store<Self>, m: &M) -> u32;

    /// Whether so few segments are free that taking in what memtables hold comes before anything that adds to it.
    fn is_short<M: Medium>(_: &Store<Self>, _: &M) -> bool {
        false
    }

    /// Whether nothing that goes on in the background will make room.
    fn is_exhausted<M: Medium>(store: &Store<Self>, m: &M) -> bool {
        let _ = (store, m);
        false
    }

    /// Whether there is something to find out although nothing has been written since that was last done: collections have moved
    /// what is now there twice, or a snapshot sees what memtables replaced.
    fn has_unknown(store: &Store<Self>) -> bool {
        let _ = store;
        false
    }

    /// Whether it keeps something that only released snapshots saw.
    fn keeps_for_released(store: &Store<Self>) -> bool {
        let _ = store;
        false
    }

    /// Whether everything is where nothing counts that is not needed.
    fn is_merged(store: &Store<Self>) -> bool;

    // Collections of the value log.

    /// The segment to collect.
    fn victim(store: &Store<Self>) -> Option<SegmentId>;

    /// Bytes that a collection must gain beyond the `lost` ones that it may leave unused.
    fn least_gain(store: &Store<Self>, lost: u64) -> u64 {
        let _ = (store, lost);
        0
    }

    /// Free segments that copies leave, unless they repair.
    fn kept_from_copies<M: Medium>(store: &Store<Self>, m: &M) -> u32;

    /// Only a snapshot wants what is in a segment. Whether its collection is given up.
    fn gives_up(&mut self, id: SegmentId) -> bool {
        let _ = id;
        false
    }

    /// A collection moved the newest record of a key.
    fn moved(store: &mut Store<Self>, old: &Entry, new: &Entry) {
        let _ = (store, old, new);
    }

    // Background work.

    /// A call for background work has come.
    fn begin_background<M: Medium>(store: &mut Store<Self>, m: &mut M);

    /// One of the pieces, in the order of their urgency.
    fn piece<M: Medium, W: Meter>(
        store: &mut Store<Self>,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece;

    /// Whether it has work of its own.
    fn has_work(store: &Store<Self>) -> bool;

    /// The program of a page of its own failed.
    fn page_failed<M: Medium>(store: &mut Store<Self>, page: PageAddr, m: &mut M);

    // Manifests.

    /// Bytes of a manifest.
    fn manifest_bytes(store: &Store<Self>) -> u64;

    /// Bytes that the next manifest frees; where room is short, only if it frees them at once.
    fn freed_by_manifest(store: &Store<Self>, is_short: bool) -> u64;

    /// A manifest has begun, and the memtable was frozen.
    fn manifest_begun(store: &mut Store<Self>) {
        let _ = store;
    }

    /// Whether it has all that is before the cut of the running manifest.
    fn has_cut(store: &Store<Self>) -> bool;

    /// It is described in chunks of at most so many bytes.
    fn describe(store: &mut Store<Self>, most: u64) -> VecDeque<Vec<u8>>;

    /// The running manifest is complete.
    fn manifest_complete<M: Medium>(store: &mut Store<Self>, m: &mut M);

    /// The running manifest failed.
    fn manifest_failed(store: &mut Store<Self>) {
        let _ = store;
    }

    // Recovery.

    /// Takes a chunk of a manifest; `false` if it is none.
    fn enter_chunk(store: &mut Store<Self>, named: &mut Self::Named, chunk: &[u8]) -> bool;

    /// The manifest is whole. Says what is wrong with it.
    fn adopt(store: &mut Store<Self>, named: &mut Self::Named) -> Result<(), &'static str>;

    /// One piece of reading what the manifest names. `Ok(true)`: that was all.
    fn load<M: Medium>(
        store: &mut Store<Self>,
        named: &mut Self::Named,
        m: &M,
    ) -> Step<Result<bool, Damage>> {
        let _ = (store, named, m);
        Step::Done(Ok(true))
    }

    /// Counts what it needs and refers to, and gives back what nothing does.
    fn settle<M: Medium>(store: &mut Store<Self>, named: Self::Named, m: &mut M);

    // Reports.

    /// Modelled bytes in memory, frozen memtables excluded.
    fn memory_bytes(store: &Store<Self>) -> u64;

    /// Adds what operations can observe of it.
    fn digest(&self, digest: &mut Digest);

    /// Counters of its own mechanisms.
    fn counters(store: &Store<Self>) -> Vec<(&'static str, u64)>;
}
