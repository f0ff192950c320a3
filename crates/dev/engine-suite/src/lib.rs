// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Suites that any engine can be put through, whether this workspace has it or not.
//!
//! | module | what an engine must do |
//! |---|---|
//! | [`contract`] | answer as a map does, with power cycles of every kind and failing programs between; blocked changes nothing |
//! | [`groups`] | the same for groups, its own or carried out one by one |
//! | [`transactions`] | do all of a transaction or nothing, at power cuts, when full, and beside snapshots; or refuse by name |
//! | [`outside`] | behave behind a trait object as it does directly; refuse by name what it lacks |
//! | [`cuts`] | lose nothing when power is cut at any event, and once more while it recovers |
//! | [`full`], [`long`] | refuse when it is full, and take as many pairs again when they are gone |
//! | [`setup`], [`mod@bench`], [`bench::side_by_side`], [`layout`] | nothing: they drive it |
//!
//! Each function takes a [`Subject`]. [`tests!`] makes a module of tests of all of them:
//!
//! ```text
//! saker_engine_suite::tests!(my_store, Subject::new(EngineKind::of(&MY_STORE)));
//! ```
//!
//! Counts are those of the tier, seeds those of `SAKER_SEED` ([`saker_testing`]).
#![forbid(unsafe_code)]

pub mod bench;
pub mod contract;
pub mod cuts;
mod expected;
pub mod full;
pub mod groups;
pub mod layout;
pub mod long;
pub mod outside;
pub mod setup;
mod tests;
pub mod transactions;

pub use bench::Bench;
pub use expected::Expected;
use saker_engine::EngineKind;
use saker_engine::settings::{Settings, Typed};
pub use setup::{OWNER, Setup, Size};

/// An engine, and what the suites cannot ask of it.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The engine.
    pub kind: EngineKind,
    /// Segments of 8 KiB of the small flash: few enough that a history collects them again and again.
    pub segments: u32,
    /// Pairs of 100 bytes that the small flash must hold.
    pub least_pairs: usize,
    /// What is asked of it: settings and values, as users write them.
    pub settings: &'static [(&'static str, &'static str)],
    /// Workers of its background work. One does everything in the engine's order; several do the jobs that it hands out.
    pub workers: u32,
}

impl Subject {
    /// An engine on small flash of 40 segments, which hold 250 pairs.
    pub const fn new(kind: EngineKind) -> Self {
        Self { kind, segments: 40, least_pairs: 250, settings: &[], workers: 1 }
    }
}

impl Subject {
    /// What is asked of it.
    ///
    /// # Panics
    /// If it has no such setting, or that takes no such value.
    pub fn asked(&self) -> Settings {
        let mut typed = Typed::default();
        self.settings.iter().for_each(|(name, text)| typed.push(name, text));
        assert_eq!(typed.unknown(&[self.kind.settings()]), None, "the engine has these settings");
        typed.of(self.kind.settings(), |text| text.parse().ok()).expect("they take these values")
    }

    /// The cases that are tried. Where several workers go side by side, full devices take longest. Such a subject has the first case in the check
    /// tier and all in the soak; each engine with one worker has all in both.
    pub(crate) fn cases<'c, T>(&self, all: &'c [T]) -> &'c [T] {
        if self.workers > 1 { saker_testing::tier(&all[..1], all) } else { all }
    }
}

/// Counts of histories: 20 times as many in the soak tier.
pub fn scale(n: u64) -> u64 {
    saker_testing::tier(n, n * 20)
}
