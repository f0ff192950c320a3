// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The data structures of Identify: 4096 bytes each (Base, Identify command; KV, section 4.1.5).

mod controller;
mod controllers;
mod descriptors;
mod independent;
mod kv_namespace;
mod lists;
mod nvm_namespace;
mod pairs_as_blocks;

pub use controller::{Controller, PowerState, fill_text};
pub use controllers::{CONTROLLER_LIST_MAX, ControllerList};
pub use descriptors::{Descriptor, DescriptorError, DescriptorReader, DescriptorWriter, DescriptorsFull};
pub use independent::IndependentNamespace;
pub use kv_namespace::{KvController, KvFormat, KvNamespace};
pub use lists::{ActiveNamespaces, CommandSetCombinations, NSID_LIST_MAX};
pub use nvm_namespace::{LbaFormat, NvmController, NvmNamespace};
pub use pairs_as_blocks::{PAIRS_BLOCK_BYTES_LOG2, pairs_as_blocks};

/// CNS values: which data structure Identify returns.
pub mod cns {
    /// [`NvmNamespace`](super::NvmNamespace) of a namespace of logical blocks; of one of pairs, what
    /// [`pairs_as_blocks`](super::pairs_as_blocks) tells.
    pub const NAMESPACE: u8 = 0x00;
    /// [`Controller`](super::Controller).
    pub const CONTROLLER: u8 = 0x01;
    /// [`ActiveNamespaces`](super::ActiveNamespaces), of every command set.
    pub const ACTIVE_NAMESPACES: u8 = 0x02;
    /// Namespace Identification Descriptor list: [`DescriptorReader`](super::DescriptorReader).
    pub const NAMESPACE_DESCRIPTORS: u8 = 0x03;
    /// Namespace data of one command set: [`KvNamespace`](super::KvNamespace) for CSI 01h.
    pub const CSI_NAMESPACE: u8 = 0x05;
    /// Controller data of one command set: [`KvController`](super::KvController), [`NvmController`](super::NvmController).
    pub const CSI_CONTROLLER: u8 = 0x06;
    /// [`ActiveNamespaces`](super::ActiveNamespaces) of one command set.
    pub const CSI_ACTIVE_NAMESPACES: u8 = 0x07;
    /// [`IndependentNamespace`](super::IndependentNamespace).
    pub const INDEPENDENT_NAMESPACE: u8 = 0x08;
    /// [`NvmNamespace`](super::NvmNamespace) as a format would make it; its index is in CDW11.
    pub const FORMAT_NAMESPACE: u8 = 0x09;
    /// Namespace data of one command set as a format would make it.
    pub const CSI_FORMAT_NAMESPACE: u8 = 0x0A;
    /// [`ControllerList`](super::ControllerList) of the controllers to which a namespace is attached.
    pub const ATTACHED_CONTROLLERS: u8 = 0x12;
    /// [`ControllerList`](super::ControllerList) of the controllers of the subsystem.
    pub const CONTROLLERS: u8 = 0x13;
    /// [`CommandSetCombinations`](super::CommandSetCombinations).
    pub const COMMAND_SETS: u8 = 0x1C;
}
