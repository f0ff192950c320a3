// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which main trees a program has: by name, how each is opened on a queue of a device. What a program sees of it is [`crate::main_tree`].

use saker_engine::Settings;
use saker_host::host_kv::KvBlockQueue;
use saker_hybrid::AnyTree;
use std::sync::{Arc, PoisonError, RwLock};

/// The tree's name that every program has.
pub(crate) const OWN: &str = "lsm";

/// The blocks of a device that somebody else has, and what is asked for.
pub(crate) struct Lent {
    pub queue: KvBlockQueue,
    pub transfer_bytes_max: Option<u64>,
    pub profile: String,
    pub is_new: bool,
    pub settings: Settings,
}

/// Opens a tree; in words, why not.
pub(crate) type Open = Arc<dyn Fn(Lent) -> Result<AnyTree, String> + Send + Sync>;

static TREES: RwLock<Vec<(&str, Open)>> = RwLock::new(Vec::new());

/// Adds a tree, or takes the place of one of that name.
pub(crate) fn add(name: &'static str, open: Open) {
    let mut trees = TREES.write().unwrap_or_else(PoisonError::into_inner);
    trees.retain(|(other, _)| *other != name);
    trees.push((name, open));
}

/// How the one of that name is opened.
pub(crate) fn named(name: &str) -> Option<Open> {
    let trees = TREES.read().unwrap_or_else(PoisonError::into_inner);
    trees.iter().find(|(other, _)| *other == name).map(|(_, open)| Arc::clone(open))
}

/// The names of all.
pub(crate) fn names() -> String {
    let trees = TREES.read().unwrap_or_else(PoisonError::into_inner);
    let all: Vec<_> = std::iter::once(OWN).chain(trees.iter().map(|(name, _)| *name)).collect();
    all.join(", ")
}
