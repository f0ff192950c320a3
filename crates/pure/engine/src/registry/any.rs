//! The engines there are, behind one type, for drivers that learn from an image or a URL which one to run.

use super::EngineKind;
use crate::hash_ftl::HashFtl;
use crate::hash_ftl::recover::Recovery as FtlRecovery;
use crate::hash_store::recover::Recovery as HashRecovery;
use crate::lsm::{LsmStore, Recovery as LsmRecovery};
use crate::tree::{Recovery as TreeRecovery, TreeStore};
use crate::{EngineConfig, HashStore};
use saker_engine_api::{Engine, Outside, OutsideRecovery, Recover, Unsupported};
use saker_log::recover::Damage;
use saker_segment_store::{Completion, SegmentStore, Step};

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
    /// One from outside, of which no more is known.
    Other(Box<Outside>),
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
    /// One from outside, of which no more is known.
    Other(Box<OutsideRecovery>),
}

impl AnyRecovery {
    /// The engine of that kind, on a medium that may have something of it.
    pub fn new(kind: EngineKind, config: &EngineConfig, m: &dyn SegmentStore) -> Self {
        (kind.registration().recover)(config, m)
    }

    /// An engine from outside.
    pub fn other(recovery: impl Recover<Engine: Engine + Send + 'static> + Send + 'static) -> Self {
        Self::Other(Box::new(OutsideRecovery::new(recovery)))
    }
}

impl AnyEngine {
    /// An empty store of that kind on an empty medium.
    pub fn new(kind: EngineKind, config: &EngineConfig, m: &dyn SegmentStore) -> Self {
        (kind.registration().create)(config, m)
    }

    /// An engine from outside.
    pub fn other(engine: impl Engine + Send + 'static) -> Self {
        Self::Other(Box::new(Outside::new(engine)))
    }

    /// Which it is; `None`: one from outside.
    pub fn kind(&self) -> Option<EngineKind> {
        match self {
            Self::HashStore(_) => Some(EngineKind::HASH_STORE),
            Self::HashFtl(kind, _) => Some(*kind),
            Self::Lsm(_) => Some(EngineKind::LSM),
            Self::Tree(_) => Some(EngineKind::TREE),
            Self::Other(_) => None,
        }
    }

    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        self.kind().map_or("other", EngineKind::name)
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
            AnyEngine::Other($engine) => $call,
        }
    };
}

saker_engine_api::forward_engine!(AnyEngine, each, emptied);

/// The same store, empty.
fn emptied<M: SegmentStore>(any: &AnyEngine, m: &M) -> Result<AnyEngine, Unsupported> {
    Ok(match any {
        AnyEngine::HashStore(e) => AnyEngine::HashStore(Box::new(e.reset(m)?)),
        AnyEngine::HashFtl(kind, e) => AnyEngine::HashFtl(*kind, Box::new(e.reset(m)?)),
        AnyEngine::Lsm(e) => AnyEngine::Lsm(Box::new(e.reset(m)?)),
        AnyEngine::Tree(e) => AnyEngine::Tree(Box::new(e.reset(m)?)),
        AnyEngine::Other(e) => AnyEngine::Other(Box::new(e.reset(m)?)),
    })
}

/// The same call, of whichever recovery it is.
macro_rules! each_recovery {
    ($any:expr, $recovery:ident => $call:expr) => {
        match $any {
            AnyRecovery::HashStore($recovery) => $call,
            AnyRecovery::HashFtl(_, $recovery) => $call,
            AnyRecovery::Lsm($recovery) => $call,
            AnyRecovery::Tree($recovery) => $call,
            AnyRecovery::Other($recovery) => $call,
        }
    };
}

impl Recover for AnyRecovery {
    type Engine = AnyEngine;

    fn step<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<bool, Damage>> {
        each_recovery!(self, r => r.step(m))
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        each_recovery!(self, r => r.completed(done, m));
    }

    fn finish(self) -> AnyEngine {
        match self {
            Self::HashStore(r) => AnyEngine::HashStore(Box::new(r.finish())),
            Self::HashFtl(kind, r) => AnyEngine::HashFtl(kind, Box::new(r.finish())),
            Self::Lsm(r) => AnyEngine::Lsm(Box::new(r.finish())),
            Self::Tree(r) => AnyEngine::Tree(Box::new(r.finish())),
            Self::Other(r) => AnyEngine::Other(Box::new(r.finish())),
        }
    }
}
