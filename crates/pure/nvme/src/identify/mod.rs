//! The data structures of Identify: 4096 bytes each (Base, Identify command; KV, section 4.1.5).

mod controller;
mod descriptors;
mod independent;
mod kv_namespace;
mod lists;
mod nvm_namespace;

pub use controller::{Controller, PowerState, fill_text};
pub use descriptors::{Descriptor, DescriptorError, DescriptorReader, DescriptorWriter, DescriptorsFull};
pub use independent::IndependentNamespace;
pub use kv_namespace::{KvController, KvFormat, KvNamespace};
pub use lists::{ActiveNamespaces, CommandSetCombinations, NSID_LIST_MAX};
pub use nvm_namespace::{LbaFormat, NvmController, NvmNamespace};

/// CNS values: which data structure Identify returns.
pub mod cns {
    /// [`NvmNamespace`](super::NvmNamespace) of a namespace of logical blocks.
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
    /// [`CommandSetCombinations`](super::CommandSetCombinations).
    pub const COMMAND_SETS: u8 = 0x1C;
}
