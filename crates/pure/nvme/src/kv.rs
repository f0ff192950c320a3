// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Key Value command set, CSI 01h (KV, section 3).
//!
//! # Where the specification is silent
//!
//! | case | answer | why |
//! |---|---|---|
//! | KL > 16 | 02h Invalid Field in Command, for every command | KV 2.1.5 says so in general; only the Store section fails to repeat it |
//! | KL = 0 on Store, Retrieve, Delete, Exist | 86h Invalid Key Size | no key is empty; FEMU answers the same |
//! | KL = 0 on List | list from the beginning | SPDK's API and FEMU agree, and a host needs a way to begin |
//! | key bytes beyond KL | ignored | a host may leave its buffer as it was; two spellings must not make two keys |
//! | List with HBS < 4 | 02h | NRK does not fit, so there is no valid answer |
//! | padding of the last List entry | must fit in HBS | a reader that strides entry by entry never leaves the buffer |
//! | List past the last key | NRK = 0; never wraps | a wrapped list makes paging endless |
//! | Store with "must exist" and "must not exist" | 02h | no state of the store can satisfy it, so it is the command that is wrong |
//! | reserved bits and dwords | ignored | a later revision may give them meaning; hosts differ in what they clear |
//! | DW0 of Store, Exist, Delete, List | 0 | not defined, and hosts must not read it; zero leaks nothing |
//! | Delete of a missing key | success while EDNEK = 0 | the usual default; deleting is idempotent ([`crate::admin::feature::KvConfig`]) |
//! | NSID FFFFFFFFh | 02h, but Flush accepts it: all namespaces | KV Figure 5 for the former, Base "Flush command" for the latter |
//! | FUSE not 0 | 02h | the command set has no fused operations |
//! | PSDT not 00b | 02h, unless the device decodes with another [`PointerRule`] | SGLs depend on the transport |
//! | Identify CNS 00h, of logical blocks | room in blocks of 512 bytes: [`identify`](crate::identify::pairs_as_blocks) | SPDK drops a namespace that has none |
//! | opcode unknown, Reservation commands | 01h Invalid Command Opcode | reservations are optional (ONCS bit 5 clear) |
//!
//! # In which order a command is judged
//!
//! The specifications leave open which of several faults is told. The namespace comes first, because an opcode means
//! nothing until it is known which command set the namespace has (Base, "I/O Command Sets": opcode 02h is Retrieve here
//! and Read there):
//!
//! 1. by the device: NSID FFFFFFFFh with anything but opcode 00h, 02h; an NSID that is not active, 0 included, 0Bh; a
//!    namespace that is being formatted, 84h;
//! 2. by [`KvCommand::decode`]: opcode, then flags (FUSE, PSDT), then the fields in ascending order. It finds NSID
//!    FFFFFFFFh behind the flags too, for those who decode without a device;
//! 3. by the device: the data pointer (13h and others), whether key and value suit the namespace's format (86h, 85h: see
//!    [`KvFormat`](crate::identify::KvFormat)), and last what the store says (87h, 89h, 81h).
//!
//! A command that is refused in any of these steps changes nothing.

use core::ops::BitOr;

use zerocopy::little_endian::U32;

use crate::NSID_ALL;
use crate::key::Key;
use crate::sqe::{PointerRule, Sqe};
use crate::status::Status;

/// Opcodes of the Key Value command set (KV, Figure 5).
pub mod opcode {
    /// Flush, of the base specification: no data.
    pub const FLUSH: u8 = 0x00;
    /// Store: data from the host.
    pub const STORE: u8 = 0x01;
    /// Retrieve: data to the host.
    pub const RETRIEVE: u8 = 0x02;
    /// List: data to the host.
    pub const LIST: u8 = 0x06;
    /// Delete: no data.
    pub const DELETE: u8 = 0x10;
    /// Exist: no data.
    pub const EXIST: u8 = 0x14;
}

/// Store Options, CDW11 bits 15:8 of Store (KV, Store command).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreOptions(u8);

impl StoreOptions {
    /// Store whether or not the key exists.
    pub const NONE: Self = Self(0);
    /// Bit 8: do not store unless the key exists; else 87h.
    pub const MUST_EXIST: Self = Self(1 << 0);
    /// Bit 9: do not store if the key exists; else 89h.
    pub const MUST_NOT_EXIST: Self = Self(1 << 1);
    /// Bit 10: the controller shall not compress.
    pub const DO_NOT_COMPRESS: Self = Self(1 << 2);

    const DEFINED: u8 = 0b111;
    const CONFLICT: Self = Self(0b011);

    /// Whether every option of `other` is set.
    #[inline]
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The options as bits 15:8 of CDW11, moved down to 7:0.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    #[inline]
    const fn decode(cdw11: u32) -> Result<Self, Status> {
        Self::of_bits((cdw11 >> 8) as u8)
    }

    /// The options of [`bits`](Self::bits).
    #[inline]
    pub(crate) const fn of_bits(bits: u8) -> Result<Self, Status> {
        let options = Self(bits & Self::DEFINED);
        if options.contains(Self::CONFLICT) { Err(Status::INVALID_FIELD) } else { Ok(options) }
    }
}

impl BitOr for StoreOptions {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A decoded I/O command of a Key Value namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KvCommand {
    /// Make what was acknowledged non-volatile.
    Flush,
    /// Store a pair.
    Store {
        /// The key.
        key: Key,
        /// VS, CDW10: bytes of the value; 0 is a pair with an empty value, and DPTR is then not used.
        value_bytes: u32,
        /// Conditions and compression.
        options: StoreOptions,
    },
    /// Read a value from its beginning.
    Retrieve {
        /// The key.
        key: Key,
        /// HBS, CDW10: bytes of the host's buffer; with 0, DPTR is not used.
        buffer_bytes: u32,
        /// CDW11 bit 8: return the value as compressed; a controller that does not compress ignores it.
        raw: bool,
    },
    /// Remove a pair.
    Delete {
        /// The key.
        key: Key,
    },
    /// Ask whether a key exists.
    Exist {
        /// The key.
        key: Key,
    },
    /// Return keys.
    List {
        /// The key to begin with; `None` (KL = 0) begins with the first.
        start: Option<Key>,
        /// HBS, CDW10: bytes of the host's buffer, at least 4.
        buffer_bytes: u32,
    },
}

impl KvCommand {
    /// Decodes an entry with PRP data pointers.
    ///
    /// # Errors
    /// The status to complete the command with: see the table of this module.
    #[inline(always)]
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        Self::decode_with(sqe, PointerRule::Prp)
    }

    /// [`KvCommand::decode`] for a transport that admits other data pointers.
    #[inline(always)]
    pub fn decode_with(sqe: &Sqe, rule: PointerRule) -> Result<Self, Status> {
        use opcode::{DELETE, EXIST, FLUSH, LIST, RETRIEVE, STORE};
        if !matches!(sqe.opcode, FLUSH | STORE | RETRIEVE | LIST | DELETE | EXIST) {
            return Err(Status::INVALID_OPCODE);
        }
        sqe.check_flags(rule)?;
        if sqe.nsid.get() == NSID_ALL && sqe.opcode != FLUSH {
            return Err(Status::INVALID_FIELD);
        }
        // Last, so that the command is built where the caller wants it.
        match sqe.opcode {
            STORE => decode_store(sqe),
            RETRIEVE => decode_retrieve(sqe),
            LIST => decode_list(sqe),
            DELETE => key_of(sqe).map(|key| Self::Delete { key }),
            EXIST => key_of(sqe).map(|key| Self::Exist { key }),
            _ => Ok(Self::Flush),
        }
    }

    /// The entry for this command, without CID and data pointer.
    #[inline]
    #[must_use]
    pub const fn encode(&self, nsid: u32) -> Sqe {
        match self {
            Self::Flush => flush(nsid),
            Self::Store { key, value_bytes, options } => store(nsid, key, *value_bytes, *options),
            Self::Retrieve { key, buffer_bytes, raw: false } => retrieve(nsid, key, *buffer_bytes),
            Self::Retrieve { key, buffer_bytes, raw: true } => retrieve_raw(nsid, key, *buffer_bytes),
            Self::Delete { key } => delete(nsid, key),
            Self::Exist { key } => exist(nsid, key),
            Self::List { start, buffer_bytes } => list(nsid, start.as_ref(), *buffer_bytes),
        }
    }

    /// The key the command names, if any; for List the key it begins with.
    #[inline]
    #[must_use]
    pub const fn key(&self) -> Option<&Key> {
        match self {
            Self::Store { key, .. }
            | Self::Retrieve { key, .. }
            | Self::Delete { key }
            | Self::Exist { key } => Some(key),
            Self::List { start, .. } => start.as_ref(),
            Self::Flush => None,
        }
    }
}

/// KL outside 1 to 16: see the table of this module.
#[inline(always)]
const fn key_of(sqe: &Sqe) -> Result<Key, Status> {
    key_of_length(sqe, sqe.kl())
}

/// The key with its length from elsewhere.
#[inline(always)]
pub(crate) const fn key_of_length(sqe: &Sqe, kl: u32) -> Result<Key, Status> {
    match sqe.key_of_length(kl) {
        Ok(key) => Ok(key),
        Err(error) if error.0 == 0 => Err(Status::INVALID_KEY_SIZE),
        Err(_) => Err(Status::INVALID_FIELD),
    }
}

#[inline(always)]
fn decode_store(sqe: &Sqe) -> Result<KvCommand, Status> {
    let key = key_of(sqe)?;
    let options = StoreOptions::decode(sqe.cdw11.get())?;
    Ok(KvCommand::Store { key, value_bytes: sqe.cdw10.get(), options })
}

#[inline(always)]
fn decode_retrieve(sqe: &Sqe) -> Result<KvCommand, Status> {
    let raw = sqe.cdw11.get() & RAW != 0;
    Ok(KvCommand::Retrieve { key: key_of(sqe)?, buffer_bytes: sqe.cdw10.get(), raw })
}

#[inline]
fn decode_list(sqe: &Sqe) -> Result<KvCommand, Status> {
    let buffer_bytes = sqe.cdw10.get();
    if (buffer_bytes as usize) < crate::kv_list::HEAD_BYTES {
        return Err(Status::INVALID_FIELD);
    }
    let start = if sqe.kl() == 0 { None } else { Some(key_of(sqe)?) };
    Ok(KvCommand::List { start, buffer_bytes })
}

/// Retrieve option, CDW11 bit 8.
const RAW: u32 = 1 << 8;

#[inline]
const fn keyed(opcode: u8, nsid: u32, key: &Key, cdw10: u32, options: u32) -> Sqe {
    let mut sqe = Sqe::new(opcode, nsid);
    sqe.cdw10 = U32::new(cdw10);
    sqe.cdw11 = U32::new(options);
    sqe.with_key(key)
}

/// Store `value_bytes` bytes under `key`.
#[inline]
#[must_use]
pub const fn store(nsid: u32, key: &Key, value_bytes: u32, options: StoreOptions) -> Sqe {
    keyed(opcode::STORE, nsid, key, value_bytes, (options.0 as u32) << 8)
}

/// Retrieve the value of `key`, at most `buffer_bytes` bytes of it. DW0 of the completion is the whole value's size.
#[inline]
#[must_use]
pub const fn retrieve(nsid: u32, key: &Key, buffer_bytes: u32) -> Sqe {
    keyed(opcode::RETRIEVE, nsid, key, buffer_bytes, 0)
}

/// [`retrieve`] without decompression.
#[inline]
#[must_use]
pub const fn retrieve_raw(nsid: u32, key: &Key, buffer_bytes: u32) -> Sqe {
    keyed(opcode::RETRIEVE, nsid, key, buffer_bytes, RAW)
}

/// Delete `key`.
#[inline]
#[must_use]
pub const fn delete(nsid: u32, key: &Key) -> Sqe {
    keyed(opcode::DELETE, nsid, key, 0, 0)
}

/// Ask whether `key` exists.
#[inline]
#[must_use]
pub const fn exist(nsid: u32, key: &Key) -> Sqe {
    keyed(opcode::EXIST, nsid, key, 0, 0)
}

/// List keys from `start`, or from the beginning, into `buffer_bytes` bytes; read with
/// [`ListReader`](crate::kv_list::ListReader).
#[inline]
#[must_use]
pub const fn list(nsid: u32, start: Option<&Key>, buffer_bytes: u32) -> Sqe {
    match start {
        Some(key) => keyed(opcode::LIST, nsid, key, buffer_bytes, 0),
        None => {
            let mut sqe = Sqe::new(opcode::LIST, nsid);
            sqe.cdw10 = U32::new(buffer_bytes);
            sqe
        }
    }
}

/// Flush a namespace, or all with [`NSID_ALL`].
#[inline]
#[must_use]
pub const fn flush(nsid: u32) -> Sqe {
    Sqe::new(opcode::FLUSH, nsid)
}
