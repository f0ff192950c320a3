//! The engines there are, behind one type, for drivers that learn from an image or a URL which one to run.

use crate::hash_ftl::config::{DOUBLES_AT_PERCENT, ORIGINAL_GRAIN_BYTES};
use crate::hash_ftl::recover::Recovery as FtlRecovery;
use crate::hash_ftl::{HashFtl, HashFtlConfig, HashFtlTuning};
use crate::hash_store::recover::Recovery as HashRecovery;
use crate::lsm::{LsmConfig, LsmStore, LsmTuning, Recovery as LsmRecovery};
use crate::tree::{Recovery as TreeRecovery, TreeConfig, TreeStore, TreeTuning};
use crate::{EngineKind, HashStore, HashStoreConfig};
use saker_engine_api::{Engine, Outside, OutsideRecovery, Recover, Unsupported};
use saker_log::recover::Damage;
use saker_medium::{Completion, Medium, Step};
use saker_value_log::group::KeyCost;

/// What every engine is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// The namespace it serves, 1-based; marks its segments.
    pub owner: u16,
    /// Seed of its hash; belongs to the image. `None`: the engine's own.
    pub seed: Option<u64>,
    /// Whether the power-safe ring survives a power cut (a capacitor).
    pub ring_lasts: bool,
    /// Largest value in bytes, if less than the engine takes.
    pub value_bytes_max: u32,
    /// A checkpoint is due when so many bytes were written; `None`: as the engine likes.
    pub checkpoint_bytes: Option<u64>,
    /// What the keys of a group cost.
    pub group_keys: KeyCost,
    /// Settings of the tree store.
    pub tree: TreeTuning,
    /// Settings of a hash FTL.
    pub hash_ftl: HashFtlTuning,
    /// Settings of the LSM store.
    pub lsm: LsmTuning,
}

impl EngineConfig {
    /// Nothing asked for but what cannot be left out.
    pub fn new(owner: u16, ring_lasts: bool) -> Self {
        Self {
            owner,
            seed: None,
            ring_lasts,
            value_bytes_max: u32::MAX,
            checkpoint_bytes: None,
            group_keys: KeyCost::default(),
            tree: TreeTuning::default(),
            hash_ftl: HashFtlTuning::default(),
            lsm: LsmTuning::default(),
        }
    }

    /// As the hash store's settings, on that medium.
    fn hash_store<M: Medium>(&self, m: &M) -> HashStoreConfig {
        let mut config = HashStoreConfig::new(self.owner, &m.geometry(), m.quota_segments(), self.ring_lasts);
        config.seed = self.seed.unwrap_or(config.seed);
        config.value_bytes_max = config.value_bytes_max.min(self.value_bytes_max);
        if let Some(bytes) = self.checkpoint_bytes {
            (config.checkpoint_bytes_min, config.checkpoint_index_ratio) = (bytes, 0);
        }
        HashStoreConfig { group_keys: self.group_keys, ..config }
    }

    /// As the LSM store's settings, on that medium.
    fn lsm<M: Medium>(&self, m: &M) -> LsmConfig {
        let mut config = LsmConfig::new(self.owner, &m.geometry(), m.quota_segments(), self.ring_lasts);
        config.value_bytes_max = config.value_bytes_max.min(self.value_bytes_max);
        config.checkpoint_bytes_min = self.checkpoint_bytes.unwrap_or(config.checkpoint_bytes_min);
        self.lsm.apply(config, &m.geometry())
    }

    /// As the tree store's settings, on that medium.
    fn tree<M: Medium>(&self, m: &M) -> TreeConfig {
        let mut config = TreeConfig::new(self.owner, &m.geometry(), m.quota_segments(), self.ring_lasts);
        config.value_bytes_max = config.value_bytes_max.min(self.value_bytes_max);
        config.checkpoint_bytes_min = self.checkpoint_bytes.unwrap_or(config.checkpoint_bytes_min);
        self.tree.apply(config)
    }

    /// As a hash FTL's settings, on that medium.
    fn hash_ftl<M: Medium>(&self, kind: EngineKind, m: &M) -> HashFtlConfig {
        let (geometry, quota, lasts) = (m.geometry(), m.quota_segments(), self.ring_lasts);
        let config = if kind == EngineKind::HashPlus {
            HashFtlConfig::plus(self.owner, &geometry, quota, lasts)
        } else {
            HashFtlConfig::original(self.owner, &geometry, quota, lasts, ORIGINAL_GRAIN_BYTES)
        };
        let doubles_at_percent = (kind == EngineKind::HashDoubling).then_some(DOUBLES_AT_PERCENT);
        self.hash_ftl.apply(HashFtlConfig {
            doubles_at_percent,
            seed: self.seed.unwrap_or(config.seed),
            value_bytes_max: config.value_bytes_max.min(self.value_bytes_max),
            ..config
        })
    }
}

/// Any engine.
#[derive(Clone, Debug)]
pub enum AnyEngine {
    /// [`EngineKind::HashStore`].
    HashStore(Box<HashStore>),
    /// [`EngineKind::HashOriginal`], [`EngineKind::HashPlus`] or [`EngineKind::HashDoubling`].
    HashFtl(EngineKind, Box<HashFtl>),
    /// [`EngineKind::Lsm`].
    Lsm(Box<LsmStore>),
    /// [`EngineKind::Tree`].
    Tree(Box<TreeStore>),
    /// One from outside, of which no more is known.
    Other(Box<Outside>),
}

/// Any engine on its way back.
#[derive(Clone, Debug)]
pub enum AnyRecovery {
    /// [`EngineKind::HashStore`].
    HashStore(Box<HashRecovery>),
    /// [`EngineKind::HashOriginal`], [`EngineKind::HashPlus`] or [`EngineKind::HashDoubling`].
    HashFtl(EngineKind, Box<FtlRecovery>),
    /// [`EngineKind::Lsm`].
    Lsm(Box<LsmRecovery>),
    /// [`EngineKind::Tree`].
    Tree(Box<TreeRecovery>),
    /// One from outside, of which no more is known.
    Other(Box<OutsideRecovery>),
}

impl AnyRecovery {
    /// The engine of that kind, on a medium that may have something of it.
    pub fn new<M: Medium>(kind: EngineKind, config: &EngineConfig, m: &M) -> Self {
        match kind {
            EngineKind::HashStore => Self::HashStore(Box::new(HashRecovery::new(config.hash_store(m), m))),
            EngineKind::HashOriginal | EngineKind::HashPlus | EngineKind::HashDoubling => {
                Self::HashFtl(kind, Box::new(FtlRecovery::new(config.hash_ftl(kind, m), m)))
            }
            EngineKind::Lsm => Self::Lsm(Box::new(LsmRecovery::new(config.lsm(m), m))),
            EngineKind::Tree => Self::Tree(Box::new(TreeRecovery::new(config.tree(m), m))),
        }
    }
}

impl AnyEngine {
    /// An empty store of that kind on an empty medium.
    pub fn new<M: Medium>(kind: EngineKind, config: &EngineConfig, m: &M) -> Self {
        match kind {
            EngineKind::HashStore => Self::HashStore(Box::new(HashStore::new(config.hash_store(m), m))),
            EngineKind::HashOriginal | EngineKind::HashPlus | EngineKind::HashDoubling => {
                Self::HashFtl(kind, Box::new(HashFtl::new(config.hash_ftl(kind, m), m)))
            }
            EngineKind::Lsm => Self::Lsm(Box::new(LsmStore::new(config.lsm(m), m))),
            EngineKind::Tree => Self::Tree(Box::new(TreeStore::new(config.tree(m), m))),
        }
    }

    /// An engine from outside.
    pub fn other(engine: impl Engine + Send + 'static) -> Self {
        Self::Other(Box::new(Outside::new(engine)))
    }

    /// Which it is; `None`: one from outside.
    pub fn kind(&self) -> Option<EngineKind> {
        match self {
            Self::HashStore(_) => Some(EngineKind::HashStore),
            Self::HashFtl(kind, _) => Some(*kind),
            Self::Lsm(_) => Some(EngineKind::Lsm),
            Self::Tree(_) => Some(EngineKind::Tree),
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
fn emptied<M: Medium>(any: &AnyEngine, m: &M) -> Result<AnyEngine, Unsupported> {
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

    fn step<M: Medium>(&mut self, m: &mut M) -> Step<Result<bool, Damage>> {
        each_recovery!(self, r => r.step(m))
    }

    fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M) {
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
