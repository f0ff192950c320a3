//! Vendor commands of the Key Value command set: published ways to move a small value without a page.
//!
//! Opcodes C0h to FFh are the vendor's (Base, "Opcodes for I/O Commands"). Bits 1:0 tell the direction of the data that
//! DPTR names, so commands that carry their data elsewhere have 00b there: nobody on the way mistakes payload for an
//! address. `docs/vendor-commands.md` has every field; a test holds it and [`COMMANDS`] together.

mod capabilities;
mod indirect;
mod inline;
mod iterator;
mod mmio;
mod piggyback;
mod retrieve;

pub use capabilities::{Capabilities, Methods};
pub use indirect::{INDIRECT_KEY_BYTES_MIN, IndirectCommand, IndirectOp, is_indirect};
pub use inline::{InlineStore, SLOT_BYTES, inline_slots, store_inline};
pub use iterator::{IteratorCommand, IteratorRange, NextAnswer, RangeParts, is_iterator};
pub use mmio::{MmioStore, store_mmio};
pub use piggyback::{
    Fragment, HYBRID_PAGE_BYTES, HybridStore, PIGGYBACK_BYTES, PiggybackStore, TRANSFER_BYTES, parts_sum,
    piggyback_commands, store_hybrid, store_piggyback, tail, tail_commands, transfer,
};
pub use retrieve::{CQ_SLOT_BYTES, InlineRetrieve, TINY_BYTES, cq_slots, retrieve_inline, retrieve_tiny};

/// Log page identifier of [`Capabilities`].
pub const LID_CAPABILITIES: u8 = 0xC0;

/// Opcodes.
pub mod opcode {
    /// Store whose value is in the entry, the rest in [`TRANSFER`]s: no data at DPTR.
    pub const STORE_PIGGYBACK: u8 = 0xC0;
    /// Store of whole pages at DPTR after [`TAIL`]s: data from the host.
    pub const STORE_HYBRID: u8 = 0xC1;
    /// 56 bytes of the value that a piggyback store began: no data at DPTR.
    pub const TRANSFER: u8 = 0xC4;
    /// 56 bytes of what follows the pages of the next hybrid store: no data at DPTR.
    pub const TAIL: u8 = 0xC8;
    /// Store whose value is in the queue entries behind it: no data at DPTR.
    pub const STORE_INLINE: u8 = 0xCC;
    /// Store whose value the host has stored through the BAR: no data at DPTR.
    pub const STORE_MMIO: u8 = 0xD0;
    /// Retrieve of a value of up to 4 bytes in the completion: no data at DPTR.
    pub const RETRIEVE_TINY: u8 = 0xD4;
    /// Retrieve into the completion queue: no data at DPTR.
    pub const RETRIEVE_INLINE: u8 = 0xD8;
    /// Results of a group, by its identification: data to the host.
    pub const GROUP_RESULTS: u8 = 0xC2;
    /// Many operations, and their results in the same buffer: data both ways.
    pub const GROUP_BOTH_WAYS: u8 = 0xC3;
    /// Many operations: data from the host.
    pub const GROUP: u8 = 0xC5;
    /// Keys that belong together: data from the host.
    pub const GROUP_PREFETCH: u8 = 0xC9;
    /// Store with a key by pointer: data from the host.
    pub const STORE_INDIRECT: u8 = 0xCD;
    /// Retrieve with a key by pointer: data to the host.
    pub const RETRIEVE_INDIRECT: u8 = 0xCE;
    /// Delete with a key by pointer: no data at DPTR.
    pub const DELETE_INDIRECT: u8 = 0xDC;
    /// Exist with a key by pointer: no data at DPTR.
    pub const EXIST_INDIRECT: u8 = 0xE0;
    /// Stores named by a vector of addresses: the vector comes from the host.
    pub const GROUP_VECTOR: u8 = 0xD1;
    /// Stores that the device unpacks into records of their own: data from the host.
    pub const BULK_PUT: u8 = 0xD5;
    /// Begins to iterate over a range of keys: the range comes from the host.
    pub const ITERATOR_OPEN: u8 = 0xD9;
    /// The next pairs of an iterator: data to the host.
    pub const ITERATOR_NEXT: u8 = 0xDA;
    /// Ends an iterator: no data at DPTR.
    pub const ITERATOR_CLOSE: u8 = 0xE4;
}

/// Every vendor command: opcode, name, whether it changes content.
pub const COMMANDS: [(u8, &str, bool); 21] = [
    (opcode::STORE_PIGGYBACK, "Store Piggyback", true),
    (opcode::STORE_HYBRID, "Store Hybrid", true),
    (opcode::TRANSFER, "Transfer", true),
    (opcode::TAIL, "Tail", false),
    (opcode::STORE_INLINE, "Store Inline", true),
    (opcode::STORE_MMIO, "Store MMIO", true),
    (opcode::RETRIEVE_TINY, "Retrieve Tiny", false),
    (opcode::RETRIEVE_INLINE, "Retrieve Inline", false),
    (opcode::GROUP_RESULTS, "Group Results", false),
    (opcode::GROUP_BOTH_WAYS, "Group Both Ways", true),
    (opcode::GROUP, "Group", true),
    (opcode::GROUP_PREFETCH, "Prefetch Group", false),
    (opcode::STORE_INDIRECT, "Store Indirect", true),
    (opcode::RETRIEVE_INDIRECT, "Retrieve Indirect", false),
    (opcode::DELETE_INDIRECT, "Delete Indirect", true),
    (opcode::EXIST_INDIRECT, "Exist Indirect", false),
    (opcode::GROUP_VECTOR, "Group Vector", true),
    (opcode::BULK_PUT, "Bulk Put", true),
    (opcode::ITERATOR_OPEN, "Iterator Open", false),
    (opcode::ITERATOR_NEXT, "Iterator Next", false),
    (opcode::ITERATOR_CLOSE, "Iterator Close", false),
];
