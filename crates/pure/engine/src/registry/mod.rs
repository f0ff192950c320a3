// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which engines there are. An engine is a folder, and a line of `engines!`. What holds one of them and passes calls on follows
//! from the line; command lines, URLs, images, documents and the suites that every engine passes follow from its [`Registration`].

/// The list of engines, a line each: the name that [`Factory::NAME`] repeats, the variant that holds one, the name of its
/// constant, and what makes it. `then` is given all lines.
macro_rules! engines {
    (($dollar:tt) $then:ident) => {
        $then! { ($dollar)
            hash_store HashStore HASH_STORE = hash_store::Factory;
            hash_original HashOriginal HASH_ORIGINAL = hash_ftl::Original;
            hash_plus HashPlus HASH_PLUS = hash_ftl::Plus;
            lsm Lsm LSM = lsm::Factory;
            tree Tree TREE = tree::Factory;
            hash_doubling HashDoubling HASH_DOUBLING = hash_ftl::Doubling;
        }
    };
}

mod added;
mod any;

pub use any::{AnyEngine, AnyRecovery};

use crate::EngineConfig;
use crate::factory::{Factory, Pages};
use saker_engine_api::settings::Idle;
use saker_engine_api::{Capabilities, Capability, Setting, Settings};
use saker_segment_store::{Geometry, SegmentStore};
use std::collections::BTreeSet;
use std::fmt;

/// What the world knows of each, and its constant.
macro_rules! kinds {
    (($dollar:tt) $($word:ident $variant:ident $name:ident = $module:ident::$factory:ident;)*) => {
        $(static $name: Registration = Registration::of::<crate::$module::$factory>(
            |config, m| AnyEngine::$variant(Box::new(crate::$module::$factory::create(config, m))),
            |config, m| AnyRecovery::$variant(Box::new(crate::$module::$factory::recover(config, m))),
        );)*

        impl EngineKind {
            /// Those of this workspace, in the order of their numbers; [`EngineKind::all`] has what a program adds, too.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            $(
                #[doc = concat!("`", stringify!($word), "`: see [`", stringify!($module), "`](crate::", stringify!($module), ").")]
                pub const $name: Self = Self(&$name);
            )*
        }

        /// Gives a macro a line `name NAME;` for each engine, after what stands behind the macro's name. Tests that are to have
        /// one function for each engine follow from it.
        #[macro_export]
        macro_rules! for_each_engine {
            ($dollar macro_name:ident $dollar($dollar first:tt)*) => {
                $dollar macro_name! { $dollar($dollar first)* $($word $name;)* }
            };
        }
    };
}

engines!(($) kinds);

/// Makes an empty store on an empty medium.
pub type Create = fn(&EngineConfig, &dyn SegmentStore) -> AnyEngine;
/// Makes a store on its way back, on a medium that may have something of it.
pub type Reopen = fn(&EngineConfig, &dyn SegmentStore) -> AnyRecovery;

/// What the world knows of an engine.
#[derive(Debug)]
pub struct Registration {
    /// See [`Factory::NAME`].
    pub name: &'static str,
    /// See [`Factory::SUMMARY`].
    pub summary: &'static str,
    /// See [`Factory::CODE`].
    pub code: Option<u8>,
    /// See [`Factory::CAPABILITIES`].
    pub capabilities: Capabilities,
    /// See [`Factory::SETTINGS`].
    pub settings: &'static [Setting],
    /// See [`Factory::PAGES`].
    pub pages: Pages,
    /// See [`Factory::COUNTS_PAIRS`].
    pub counts_pairs: bool,
    /// See [`Factory::oob_bytes`].
    pub oob_bytes: fn(u32, &Settings) -> u32,
    /// See [`Factory::fits`].
    pub fits: fn(u32, &Settings) -> Result<(), String>,
    /// See [`Factory::idle`].
    pub idle: fn(&Settings) -> Vec<Idle>,
    /// See [`Factory::sized`].
    pub sized: fn(&Geometry, u32) -> Settings,
    /// See [`Factory::create`].
    pub create: Create,
    /// See [`Factory::recover`].
    pub recover: Reopen,
}

impl Registration {
    /// Of an engine that a factory makes.
    pub const fn of<F: Factory>(create: Create, recover: Reopen) -> Self {
        Self {
            name: F::NAME,
            summary: F::SUMMARY,
            code: F::CODE,
            capabilities: F::CAPABILITIES,
            settings: F::SETTINGS,
            pages: F::PAGES,
            counts_pairs: F::COUNTS_PAIRS,
            oob_bytes: F::oob_bytes,
            fits: F::fits,
            idle: F::idle,
            sized: F::sized,
            create,
            recover,
        }
    }

    /// Of an engine from outside this crate: a `static` of it makes an [`EngineKind`] by [`EngineKind::of`].
    pub const fn outside<F: Factory>() -> Self
    where
        F::Engine: Send + 'static,
        F::Recovery: Send + 'static,
    {
        Self::of::<F>(
            |config, m| AnyEngine::other(F::create(config, m)),
            |config, m| AnyRecovery::other(F::recover(config, m)),
        )
    }
}

/// Which engine a namespace of pairs has.
///
/// ```
/// use saker_engine::EngineKind;
/// assert_eq!(EngineKind::default().name(), "hash_store");
/// let lsm = EngineKind::named("lsm").expect("there is one");
/// assert!(lsm.has_setting("write_buffer_size") && !EngineKind::default().has_setting("write_buffer_size"));
/// ```
#[derive(Clone, Copy)]
pub struct EngineKind(&'static Registration);

impl EngineKind {
    /// An engine from outside: it need not be in the list.
    pub const fn of(registration: &'static Registration) -> Self {
        Self(registration)
    }

    /// What the world knows of it.
    pub const fn registration(self) -> &'static Registration {
        self.0
    }

    /// Its name on command lines, in URLs and in reports.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// The engine of that name; `-` counts as `_`.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        Self::all().find(|kind| kind.name() == name)
    }

    /// Its number in images; `None`: it is not for images.
    pub const fn code(self) -> Option<u8> {
        self.0.code
    }

    /// The engine of that number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::all().find(|kind| kind.code() == Some(code))
    }

    /// What it can do beyond single pairs.
    pub const fn capabilities(self) -> Capabilities {
        self.0.capabilities
    }

    /// Whether it has threads of its own: nothing that keeps time takes it.
    pub const fn has_workers(self) -> bool {
        self.capabilities().has(Capability::Workers)
    }

    /// What can be asked of it.
    pub const fn settings(self) -> &'static [Setting] {
        self.0.settings
    }

    /// Whether that can be asked of it.
    pub fn has_setting(self, name: &str) -> bool {
        self.settings().iter().any(|setting| setting.name == name)
    }

    /// Out-of-band bytes that its pages must have, with those settings.
    pub fn oob_bytes(self, page_bytes: u32, settings: &Settings) -> u32 {
        (self.0.oob_bytes)(page_bytes, settings)
    }

    /// Whether pages of that many bytes can be written with those settings.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn fits(self, page_bytes: u32, settings: &Settings) -> Result<(), String> {
        (self.0.fits)(page_bytes, settings)
    }

    /// The first of the settings `asked` for that does nothing beside all of the namespace's.
    pub fn idle(self, asked: &Settings, all: &Settings) -> Option<Idle> {
        (self.0.idle)(all).into_iter().find(|idle| asked.get(idle.name).is_some())
    }

    /// Whether its pages are grains with words out of band.
    pub fn has_grains(self) -> bool {
        self.0.pages == Pages::Grains
    }

    /// Whether it knows how many pairs it has; else it counts at least so many ([`saker_engine_api::StoreStats::pairs`]).
    pub const fn counts_pairs(self) -> bool {
        self.0.counts_pairs
    }

    /// The engine of this kind for a host over logical blocks. Hash FTLs manage pages of flash, which a host has not: the hash
    /// store stands in for them.
    #[must_use]
    pub fn over_blocks(self) -> Self {
        if self.has_grains() { Self::HASH_STORE } else { self }
    }

    /// The names of settings of any engine, each once.
    pub fn setting_names() -> impl Iterator<Item = &'static str> {
        let all = Self::all().flat_map(|kind| kind.settings()).map(|setting| setting.name);
        all.collect::<BTreeSet<_>>().into_iter()
    }

    /// The names of the engines of which that can be asked, for messages.
    pub fn names_with(setting: &str) -> String {
        let with = Self::all().filter(|kind| kind.has_setting(setting));
        with.map(EngineKind::name).collect::<Vec<_>>().join(", ")
    }

    /// The names of all, for messages.
    pub fn names() -> String {
        Self::all().map(EngineKind::name).collect::<Vec<_>>().join(", ")
    }
}

impl Default for EngineKind {
    fn default() -> Self {
        Self::HASH_STORE
    }
}

impl PartialEq for EngineKind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for EngineKind {}

impl fmt::Debug for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_each_engines_own() {
        let names: BTreeSet<_> = EngineKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), EngineKind::ALL.len());
        macro_rules! words {
            ($($word:ident $name:ident;)*) => {
                [$((stringify!($word), EngineKind::$name)),*]
            };
        }
        for (word, kind) in for_each_engine!(words) {
            assert_eq!(word, kind.name());
        }
        let codes: Vec<_> = EngineKind::ALL.iter().filter_map(|kind| kind.code()).collect();
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    }

    #[test]
    fn settings_of_an_engine_share_neither_a_name_nor_a_bit() {
        for kind in EngineKind::ALL {
            let names: BTreeSet<_> = kind.settings().iter().map(|setting| setting.name).collect();
            assert_eq!(names.len(), kind.settings().len(), "{kind:?}");
            let mut taken = 0;
            for place in kind.settings().iter().filter_map(Setting::place) {
                assert_eq!(taken & place.mask(), 0, "{kind:?}");
                taken |= place.mask();
            }
        }
    }
}
