// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Trees at the host that a program brings along, for stores over both namespaces: option `main`.

use crate::block::Block;
use crate::trees::{self, Lent};
use saker_engine::Settings;
#[doc(inline)]
pub use saker_hybrid::MainTree;
use saker_runtime::AnyDriver;
use saker_runtime::pause::Pausing;
use std::sync::Arc;

/// What a main tree is opened with.
///
/// ```
/// use saker::main_tree::{MainPlace, MainTree};
/// fn open(place: MainPlace) -> Result<Box<dyn MainTree>, String> {
///     let bytes = place.blocks.blocks() * u64::from(place.blocks.block_bytes());
///     let memtable = place.settings.get("write_buffer_size"); // as the URL has it, if it does
///     Err(format!("no tree takes {bytes} bytes of blocks yet, {memtable:?}, new: {}", place.is_new))
/// }
/// ```
#[derive(Debug)]
pub struct MainPlace {
    /// The blocks that it has for itself. Any thread may use them: the device has one of its own.
    pub blocks: Block,
    /// Whether it is known that they were never written: of memory.
    pub is_new: bool,
    /// Options of engine `lsm` that the URL has, but for those that an image keeps. The tree refuses by name what it does not have.
    pub settings: Settings,
}

/// Opens a main tree; in words, why not.
///
/// ```
/// let open: saker::main_tree::OpenMainTree = |_| Err("there is none".into());
/// ```
pub type OpenMainTree = fn(MainPlace) -> Result<Box<dyn MainTree>, String>;

/// Adds a main tree to those of this program, or takes the place of one of that name. Call it before anything is opened.
///
/// ```
/// saker::main_tree::add("none", |_| Err("there is none; write another one".into()));
/// let error = saker::Kv::open("mem:?hybrid&main=none&size=24MiB&profile=tiny").unwrap_err();
/// assert_eq!(error.to_string(), "the tree at the host does not open: there is none; write another one");
/// let error = saker::Kv::open("mem:?hybrid&main=other").unwrap_err();
/// assert!(error.to_string().ends_with("option `main=other`; write one of lsm, none"));
/// ```
pub fn add(name: &'static str, open: OpenMainTree) {
    let open_lent = move |lent: Lent| {
        let Lent { queue, transfer_bytes_max, profile, is_new, settings } = lent;
        let driver = AnyDriver::Elsewhere(Pausing::default());
        let blocks = Block::lent(queue, transfer_bytes_max, driver, profile);
        open(MainPlace { blocks, is_new, settings })
    };
    trees::add(name, Arc::new(open_lent));
}

/// Whether there is one of that name, besides the own one.
///
/// ```
/// saker::main_tree::add("none", |_| Err("there is none; write another one".into()));
/// assert!(saker::main_tree::has("none") && !saker::main_tree::has("other"));
/// ```
pub fn has(name: &str) -> bool {
    trees::named(name).is_some()
}
