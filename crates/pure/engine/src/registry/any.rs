//! The engines there are, behind one type, for drivers that learn from an image or a URL which one to run.

use super::EngineKind;
use crate::hash_ftl::HashFtl;
use crate::hash_ftl::recover::Recovery as FtlRecovery;
use crate::hash_store::recover::Recovery as HashRecovery;
use crate::lsm::{LsmStore, Recovery as LsmRecovery};
use crate::tree::{Recovery as TreeRecovery, TreeStore};
use crate::{EngineConfig, HashStore};
use saker_engine_api::{
    Answers, Background, Condition, Engine, GroupError, GroupSource, KvError, Memory, Pairs, Recover, Scan,
    Scanned, Sink, Snapshot, Source, StoreStats,
};
use saker_log::LogStats;
use saker_log::recover::Damage;
use saker_medium::{Completion, Medium, Step, Tag};
use saker_sim::Meter;

/// Any engine.
#[derive(Clone, Debug)]
pub enum AnyEngine {
    /// [`EngineKind::HASH_STORE`].
    HashStore(Box<HashStore>),
    /// One of the hash FTLs, and which.
    HashFtl(EngineKind, Box<HashFtl>),
    /// [`EngineKind::LSM`].
    Lsm(Box<LsmStore>),
    /// [`EngineKind::TREE`].
    Tree(Box<TreeStore>),
}

/// Any engine on its way back.
#[derive(Clone, Debug)]
pub enum AnyRecovery {
    /// [`EngineKind::HASH_STORE`].
    HashStore(Box<HashRecovery>),
    /// One of the hash FTLs, and which.
    HashFtl(EngineKind, Box<FtlRecovery>),
    /// [`EngineKind::LSM`].
    Lsm(Box<LsmRecovery>),
    /// [`EngineKind::TREE`].
    Tree(Box<TreeRecovery>),
}

impl AnyRecovery {
    /// The engine of that kind, on a medium that may have something of it.
    pub fn new(kind: EngineKind, config: &EngineConfig, m: &dyn Medium) -> Self {
        (kind.registration().recover)(config, m)
    }
}

impl AnyEngine {
    /// An empty store of that kind on an empty medium.
    pub fn new(kind: EngineKind, config: &EngineConfig, m: &dyn Medium) -> Self {
        (kind.registration().create)(config, m)
    }

    /// Which it is.
    pub fn kind(&self) -> EngineKind {
        match self {
            Self::HashStore(_) => EngineKind::HASH_STORE,
            Self::HashFtl(kind, _) => *kind,
            Self::Lsm(_) => EngineKind::LSM,
            Self::Tree(_) => EngineKind::TREE,
        }
    }
}

/// The same call, of whichever engine it is.
macro_rules! each {
    ($any:expr, $engine:ident => $call:expr) => {
        match $any {
            AnyEngine::HashStore($engine) => $call,
            AnyEngine::HashFtl(_, $engine) => $call,
            AnyEngine::Lsm($engine) => $call,
            AnyEngine::Tree($engine) => $call,
        }
    };
}

impl Engine for AnyEngine {
    type Recovery = AnyRecovery;

    fn emptied<M: Medium>(&self, m: &M) -> Self {
        match self {
            Self::HashStore(e) => Self::HashStore(Box::new(e.emptied(m))),
            Self::HashFtl(kind, e) => Self::HashFtl(*kind, Box::new(e.emptied(m))),
            Self::Lsm(e) => Self::Lsm(Box::new(e.emptied(m))),
            Self::Tree(e) => Self::Tree(Box::new(e.emptied(m))),
        }
    }

    #[inline]
    fn store<M: Medium, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        each!(self, e => Engine::store(&mut **e, key, value, condition, m, w))
    }

    #[inline]
    fn retrieve<M: Medium, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>> {
        each!(self, e => Engine::retrieve(&mut **e, key, sink, m, w))
    }

    #[inline]
    fn delete<M: Medium, W: Meter>(&mut self, key: &[u8], m: &mut M, w: &mut W) -> Step<Result<(), KvError>> {
        each!(self, e => Engine::delete(&mut **e, key, m, w))
    }

    #[inline]
    fn exist<M: Medium, W: Meter>(&mut self, key: &[u8], m: &mut M, w: &mut W) -> Step<Result<(), KvError>> {
        each!(self, e => Engine::exist(&mut **e, key, m, w))
    }

    fn list<M: Medium, W: Meter>(
        &mut self,
        from: &[u8],
        visit: impl FnMut(&[u8]) -> bool,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        each!(self, e => Engine::list(&mut **e, from, visit, m, w))
    }

    fn has_snapshots(&self) -> bool {
        each!(self, e => Engine::has_snapshots(&**e))
    }

    fn snapshot(&mut self) -> Option<Snapshot> {
        each!(self, e => Engine::snapshot(&mut **e))
    }

    fn share(&mut self, snapshot: Snapshot) {
        each!(self, e => Engine::share(&mut **e, snapshot));
    }

    fn release(&mut self, snapshot: Snapshot) {
        each!(self, e => Engine::release(&mut **e, snapshot));
    }

    fn scan<M: Medium, W: Meter, P: Pairs>(
        &mut self,
        scan: &Scan<'_>,
        pairs: &mut P,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Scanned, KvError>> {
        each!(self, e => Engine::scan(&mut **e, scan, pairs, m, w))
    }

    fn group_bytes_max(&self) -> u32 {
        each!(self, e => Engine::group_bytes_max(&**e))
    }

    #[inline]
    fn group<M: Medium, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        source: &mut G,
        answers: &mut A,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), GroupError<G::Malformed>>> {
        each!(self, e => Engine::group(&mut **e, source, answers, m, w))
    }

    fn bind<'k>(
        &mut self,
        name: &[u8],
        keys: impl ExactSizeIterator<Item = &'k [u8]>,
    ) -> Result<(), KvError> {
        each!(self, e => Engine::bind(&mut **e, name, keys))
    }

    fn flush<M: Medium>(&mut self, m: &mut M) -> Tag {
        each!(self, e => Engine::flush(&mut **e, m))
    }

    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        each!(self, e => Engine::is_flushed(&**e, tag, finished))
    }

    fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M) {
        each!(self, e => Engine::completed(&mut **e, done, m));
    }

    #[inline]
    fn has_debt<M: Medium>(&self, m: &M) -> bool {
        each!(self, e => Engine::has_debt(&**e, m))
    }

    fn background<M: Medium, W: Meter>(&mut self, finished: Tag, m: &mut M, w: &mut W) -> Step<Background> {
        each!(self, e => Engine::background(&mut **e, finished, m, w))
    }

    #[inline]
    fn foresee<W: Meter>(&self, key: &[u8], w: &mut W) {
        each!(self, e => Engine::foresee(&**e, key, w));
    }

    fn place_of<M: Medium>(&mut self, key: &[u8], m: &mut M) -> Option<(u64, u32)> {
        each!(self, e => Engine::place_of(&mut **e, key, m))
    }

    fn reserve(&mut self, pairs: u64) {
        each!(self, e => Engine::reserve(&mut **e, pairs));
    }

    fn settle(&mut self) {
        each!(self, e => Engine::settle(&mut **e));
    }

    fn stats(&self) -> StoreStats {
        each!(self, e => Engine::stats(&**e))
    }

    fn log_stats(&self) -> LogStats {
        each!(self, e => Engine::log_stats(&**e))
    }

    fn memory(&self) -> Memory {
        each!(self, e => Engine::memory(&**e))
    }

    fn live_bytes(&self) -> u64 {
        each!(self, e => Engine::live_bytes(&**e))
    }

    fn capacity_bytes<M: Medium>(&self, m: &M) -> u64 {
        each!(self, e => Engine::capacity_bytes(&**e, m))
    }

    fn pairs_that_fit<M: Medium>(&self, key_bytes: u32, value_bytes: u32, m: &M) -> u64 {
        each!(self, e => Engine::pairs_that_fit(&**e, key_bytes, value_bytes, m))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        each!(self, e => Engine::counters(&**e))
    }

    fn digest(&self) -> u64 {
        each!(self, e => Engine::digest(&**e))
    }
}

impl Recover for AnyRecovery {
    type Engine = AnyEngine;

    fn step<M: Medium>(&mut self, m: &mut M) -> Step<Result<bool, Damage>> {
        match self {
            Self::HashStore(r) => r.step(m),
            Self::HashFtl(_, r) => r.step(m),
            Self::Lsm(r) => r.step(m),
            Self::Tree(r) => r.step(m),
        }
    }

    fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M) {
        match self {
            Self::HashStore(r) => r.completed(done, m),
            Self::HashFtl(_, r) => r.completed(done, m),
            Self::Lsm(r) => r.completed(done, m),
            Self::Tree(r) => r.completed(done, m),
        }
    }

    fn finish(self) -> AnyEngine {
        match self {
            Self::HashStore(r) => AnyEngine::HashStore(Box::new(r.finish())),
            Self::HashFtl(kind, r) => AnyEngine::HashFtl(kind, Box::new(r.finish())),
            Self::Lsm(r) => AnyEngine::Lsm(Box::new(r.finish())),
            Self::Tree(r) => AnyEngine::Tree(Box::new(r.finish())),
        }
    }
}
