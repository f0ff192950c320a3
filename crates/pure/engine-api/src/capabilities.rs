// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an engine can do beyond single pairs, by name.

use std::fmt::{Debug, Formatter, Result as Formatted};
use thiserror::Error;

/// Something that not every engine can do. An engine that cannot is asked all the same: it refuses with [`Unsupported`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capability {
    /// Keys in the engine's order ([`List`](crate::List)).
    List,
    /// Points to which reads can go back ([`Scans::snapshot`](crate::Scans::snapshot)).
    Snapshots,
    /// Pairs of a snapshot in the order of their keys ([`Scans::scan`](crate::Scans::scan)).
    Scan,
    /// Many operations in one call ([`Groups`](crate::Groups)); drivers have [`Singly`](crate::Singly) for engines without it.
    Groups,
    /// Memory of a lookup can be touched before it ([`Hints::prefetch_hint`](crate::Hints::prefetch_hint)).
    PrefetchHint,
    /// Keys are bound together, so that access to one brings the others ([`Hints::bind`](crate::Hints::bind)).
    Bind,
    /// The index is laid out for pairs to come ([`Hints::reserve`](crate::Hints::reserve)).
    Reserve,
    /// Where a pair's record lies ([`Inspect::place_of`](crate::Inspect::place_of)).
    Places,
    /// An empty store of the same settings ([`Engine::reset`](crate::Engine::reset)).
    Reset,
    /// Settings of [`Phase::Live`](crate::settings::Phase::Live) ([`Engine::retune`](crate::Engine::retune)).
    LiveSettings,
    /// Groups with [`GroupFlags::ATOMIC`](crate::GroupFlags::ATOMIC), which a power cut leaves whole or not at all, and versions of pairs
    /// ([`Groups::version`](crate::Groups::version)): what [`transact`](crate::transact) needs.
    Transactions,
    /// It has threads of its own: a put may be [`Put::Pending`](crate::Put::Pending), and an operation may be blocked until such a thread
    /// is through. The device without time waits for both. Nothing that keeps virtual time takes such an engine: nobody can say when in
    /// virtual time a thread is through.
    Workers,
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::List,
        Self::Snapshots,
        Self::Scan,
        Self::Groups,
        Self::PrefetchHint,
        Self::Bind,
        Self::Reserve,
        Self::Places,
        Self::Reset,
        Self::LiveSettings,
        Self::Transactions,
        Self::Workers,
    ];

    /// Its name in reports and refusals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Snapshots => "snapshots",
            Self::Scan => "scan",
            Self::Groups => "groups",
            Self::PrefetchHint => "prefetch_hint",
            Self::Bind => "bind",
            Self::Reserve => "reserve",
            Self::Places => "places",
            Self::Reset => "reset",
            Self::LiveSettings => "live_settings",
            Self::Transactions => "transactions",
            Self::Workers => "workers",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// A set of capabilities.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities(u16);

impl Capabilities {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// These.
    pub const fn of(those: &[Capability]) -> Self {
        let (mut bits, mut n) = (0, 0);
        while n < those.len() {
            bits |= those[n].bit();
            n += 1;
        }
        Self(bits)
    }

    /// Whether it is one of them.
    #[inline]
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & capability.bit() != 0
    }

    /// The names of those there are, in the order of [`Capability::ALL`].
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Capability::ALL.into_iter().filter(move |c| self.has(*c)).map(Capability::name)
    }
}

impl Debug for Capabilities {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        f.debug_set().entries(self.names()).finish()
    }
}

/// The engine cannot do that. Nothing has changed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the engine has no {}", .0.name())]
pub struct Unsupported(
    /// What it lacks.
    pub Capability,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_it_was_made_of() {
        let some = Capabilities::of(&[Capability::Scan, Capability::List]);
        for c in Capability::ALL {
            assert_eq!(some.has(c), matches!(c, Capability::Scan | Capability::List), "{}", c.name());
        }
        assert_eq!(some.names().collect::<Vec<_>>(), ["list", "scan"]);
        assert_eq!(Capabilities::of(&Capability::ALL).names().count(), Capability::ALL.len());
        assert_eq!(Unsupported(Capability::Scan).to_string(), "the engine has no scan");
    }
}
