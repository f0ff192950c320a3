// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What became of a write.

/// A place in the order of an engine's writes. It rises with each write of the engine; those of one group share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u64);

impl Version {
    /// What engines say that count no versions.
    pub const NONE: Self = Self(0);
}

/// Names what an engine has under a key, in this life of the engine: no two writes have the same. A collection that moves a pair
/// may change it; nothing else does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PairVersion(pub u128);

impl PairVersion {
    /// One that no pair has.
    pub const NEVER: Self = Self(u128::MAX);
}

/// What [`Engine::retrieve_versioned`](crate::Engine::retrieve_versioned) tells of a pair: its version, and the length of its value in bytes.
pub type Versioned = Option<(PairVersion, u32)>;

/// Names a put that was accepted and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub u64);

/// What became of a put that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The pair is stored, under that version.
    Done(Version),
    /// The engine has taken the value, and a thread of its own goes on: [`Engine::outcome`](crate::Engine::outcome) tells how it ended.
    Pending(Token),
}

impl Put {
    /// The version of a put that has ended, for drivers that take no engine with threads of its own.
    ///
    /// # Panics
    /// For a put that has not.
    #[inline]
    pub fn ended(self) -> Version {
        match self {
            Self::Done(version) => version,
            Self::Pending(token) => unreachable!("nobody waits here for {token:?}"),
        }
    }
}
