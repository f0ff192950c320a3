//! Which engines there are: their names, their numbers in images, what they ask of pages.

use crate::hash_ftl::HashFtlConfig;
use crate::hash_ftl::config::{ORIGINAL_GRAIN_BYTES, PLUS_GRAIN_BYTES};

/// Which engine a namespace of pairs has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// A log, and an index of all pairs in memory.
    #[default]
    HashStore,
    /// Grains of 512 bytes, and a hash table on flash.
    HashOriginal,
    /// Grains of 64 bytes, and a hash table of live entries on flash.
    HashPlus,
    /// [`EngineKind::HashOriginal`] with a table that starts small and doubles.
    HashDoubling,
    /// An LSM-tree with its values in a log.
    Lsm,
    /// A copy-on-write B+tree with its values in a log.
    Tree,
}

impl EngineKind {
    /// All of them.
    pub const ALL: &[Self] =
        &[Self::HashStore, Self::HashOriginal, Self::HashPlus, Self::Lsm, Self::Tree, Self::HashDoubling];

    /// Its name on command lines, in URLs and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::HashStore => "hash_store",
            Self::HashOriginal => "hash_original",
            Self::HashPlus => "hash_plus",
            Self::HashDoubling => "hash_doubling",
            Self::Lsm => "lsm",
            Self::Tree => "tree",
        }
    }

    /// The engine of that name; `-` counts as `_`.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Its number in images.
    pub fn code(self) -> u8 {
        match self {
            Self::HashStore => 0,
            Self::HashOriginal => 1,
            Self::HashPlus => 2,
            Self::Lsm => 3,
            Self::Tree => 4,
            Self::HashDoubling => 5,
        }
    }

    /// The engine of that number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.code() == code)
    }

    /// Out-of-band bytes that its pages must have.
    pub fn oob_bytes(self, page_bytes: u32) -> u32 {
        match self {
            Self::HashStore | Self::Lsm | Self::Tree => saker_medium::header::HEADER_BYTES as u32,
            Self::HashOriginal | Self::HashDoubling => {
                HashFtlConfig::oob_bytes(page_bytes, ORIGINAL_GRAIN_BYTES)
            }
            Self::HashPlus => HashFtlConfig::oob_bytes(page_bytes, PLUS_GRAIN_BYTES),
        }
    }

    /// Whether this is one of the hash FTLs.
    pub fn is_hash_ftl(self) -> bool {
        match self {
            Self::HashOriginal | Self::HashPlus | Self::HashDoubling => true,
            Self::HashStore | Self::Lsm | Self::Tree => false,
        }
    }

    /// The engine of this kind for a host over logical blocks. Hash FTLs manage pages of flash, which a host has not: the hash
    /// store stands in for them.
    #[must_use]
    pub fn over_blocks(self) -> Self {
        if self.is_hash_ftl() { Self::HashStore } else { self }
    }

    /// The names of all, for messages.
    pub fn names() -> String {
        Self::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
    }
}
