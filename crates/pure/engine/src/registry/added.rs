// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines from outside that a program has beside those of the workspace.

use super::{EngineKind, Registration};
use std::sync::{PoisonError, RwLock};

/// What was added, in that order. It only grows, and only before the program opens a device: nothing that follows from a seed depends on it.
static ADDED: RwLock<Vec<EngineKind>> = RwLock::new(Vec::new());

impl EngineKind {
    /// Adds an engine from outside for the rest of the program: it is found by its name in URLs and on command lines, and by its number in
    /// images. Call it before anything is opened. Adding the same registration again changes nothing.
    ///
    /// # Panics
    /// When another engine has its name or its number.
    pub fn add(registration: &'static Registration) -> Self {
        let added = Self::of(registration);
        let mut all = ADDED.write().unwrap_or_else(PoisonError::into_inner);
        let is_same = |kind: &Self| std::ptr::eq(kind.registration(), registration);
        if !all.iter().any(is_same) {
            let is_taken = |kind: &Self| kind.name() == added.name() || clash(kind.code(), added.code());
            let other = Self::ALL.iter().chain(all.iter()).find(|kind| is_taken(kind));
            assert!(other.is_none(), "{other:?} and {added:?} share a name or a number");
            all.push(added);
        }
        added
    }

    /// All that this program has: those of the workspace, then those that were added.
    pub fn all() -> impl Iterator<Item = Self> {
        let added = ADDED.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self::ALL.iter().copied().chain(added)
    }
}

fn clash(one: Option<u8>, other: Option<u8>) -> bool {
    one.is_some() && one == other
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn named(name: &'static str, code: Option<u8>) -> Registration {
        Registration { name, code, ..*EngineKind::HASH_STORE.registration() }
    }

    static OWN: Registration = named("own_of_this_test", Some(251));
    static SAME_NAME: Registration = named("lsm", None);
    static SAME_CODE: Registration = named("other_of_this_test", Some(251));

    #[test]
    fn what_was_added_is_found_by_name_and_number_and_has_them_alone() {
        assert_eq!(EngineKind::named(OWN.name), None);
        let own = EngineKind::add(&OWN);
        assert_eq!(EngineKind::add(&OWN), own);
        assert_eq!(EngineKind::named("own-of-this-test"), Some(own));
        assert_eq!(EngineKind::from_code(251), Some(own));
        assert_eq!(EngineKind::all().filter(|kind| *kind == own).count(), 1);
        assert!(EngineKind::names().ends_with("hash_doubling, own_of_this_test"));
        for taken in [&SAME_NAME, &SAME_CODE] {
            assert!(std::panic::catch_unwind(|| EngineKind::add(taken)).is_err());
        }
        assert_eq!(EngineKind::all().count(), EngineKind::ALL.len() + 1);
    }
}
