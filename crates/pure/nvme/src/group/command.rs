// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands that carry groups: laid out as Store and Retrieve, with the key fields holding an identification.

use zerocopy::little_endian::U32;

use super::layout::Form;
use super::mode::GroupMode;
use crate::key::Key;
use crate::sqe::{PointerRule, Sqe};
use crate::status::Status;
use crate::{NSID_ALL, vendor_specific::opcode};

/// Longest identification, in bytes: it is in the entry, where a key would be (section 2.2).
pub const ID_BYTES_MAX: usize = Key::MAX_LEN;

/// An identification of a group: 1 to 16 bytes the host chooses.
pub type GroupId = Key;

/// A decoded group command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupCommand {
    /// Group (C5h): the payload at DPTR is executed. Results are kept under the identification, if there is one.
    OneWay {
        /// Names the results, to be fetched.
        id: Option<GroupId>,
        /// The payload's form.
        form: Form,
        /// Bytes of the payload.
        bytes: u32,
    },
    /// Group Both Ways (C3h): the same, with the results written over the payload. In process only: buses move data one
    /// way per command.
    BothWays {
        /// The payload's form.
        form: Form,
        /// Bytes of the payload.
        bytes: u32,
        /// Bytes of the buffer at DPTR, at least those of the payload.
        buffer_bytes: u32,
    },
    /// Group Results (C2h): the results kept under the identification; they are kept no longer when all of them fit.
    Results {
        /// Which.
        id: GroupId,
        /// Bytes of the buffer at DPTR.
        buffer_bytes: u32,
    },
    /// Prefetch Group (C9h): the keys of the payload, of form retrieve, belong together from now on: access to one brings
    /// the others to the device's memory (section 5).
    Prefetch {
        /// Names them; a later group of the same identification replaces them.
        id: GroupId,
        /// Bytes of the payload.
        bytes: u32,
    },
    /// Group Vector (D1h): stores whose keys and values the device gathers one by one (the alternative that section 2.2
    /// rejects), as one group.
    Vector {
        /// CDW12 bit 0: each key and value is moved as the whole pages it lies in, as a mapping of its own would be; else
        /// by its exact bytes.
        pages: bool,
        /// Bytes of the vector.
        bytes: u32,
    },
    /// Bulk Put (D5h): a payload of form store that the device unpacks into records of their own, after KV-CSD.
    Bulk {
        /// Bytes of the payload.
        bytes: u32,
    },
}

/// Whether the opcode is one of these commands.
#[inline]
#[must_use]
pub const fn is_group(opcode: u8) -> bool {
    use opcode::{BULK_PUT, GROUP, GROUP_BOTH_WAYS, GROUP_PREFETCH, GROUP_RESULTS, GROUP_VECTOR};
    matches!(opcode, GROUP | GROUP_BOTH_WAYS | GROUP_RESULTS | GROUP_PREFETCH | GROUP_VECTOR | BULK_PUT)
}

impl GroupCommand {
    /// Decodes an entry.
    ///
    /// CDW10: bytes of the payload, or of the buffer of Group Results. CDW11: bits 7:0 length of the identification, 9:8
    /// [`GroupMode`] (see [`GroupCommand::decode_with_mode`]), 31:10 reserved. CDW12: bits 7:0 form, the rest reserved (version). CDW13: bytes of
    /// the buffer of Group Both Ways. CDW2-3 and CDW14-15: the identification.
    ///
    /// # Errors
    /// 01h for another opcode; 02h for reserved flags, an unknown form, an identification that is missing where one is
    /// needed or longer than 16 bytes, a buffer shorter than its payload, broadcast, fused commands, and SGLs.
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        Self::decode_with(sqe, PointerRule::Prp)
    }

    /// The same, with the data pointers that `rule` admits.
    ///
    /// # Errors
    /// As [`GroupCommand::decode`].
    pub fn decode_with(sqe: &Sqe, rule: PointerRule) -> Result<Self, Status> {
        Self::decode_in_mode(sqe, GroupMode::PLAIN, rule)
    }

    /// Decodes an entry that may be a transaction's, with the data pointers that `rule` admits.
    ///
    /// # Errors
    /// As [`GroupCommand::decode`]; 02h for the bits of a transaction in another command than Group and Group Both Ways, and for
    /// versions without a transaction. A transaction that reads may go without an identification: nobody asks for its results.
    pub fn decode_with_mode(sqe: &Sqe, rule: PointerRule) -> Result<(Self, GroupMode), Status> {
        if sqe.cdw11.get() >> 8 == 0 {
            return Self::decode_with(sqe, rule).map(|command| (command, GroupMode::PLAIN));
        }
        let mut plain = *sqe;
        let mode = GroupMode::take(&mut plain)?;
        if is_group(sqe.opcode) && !matches!(sqe.opcode, opcode::GROUP | opcode::GROUP_BOTH_WAYS) {
            return Err(Status::INVALID_FIELD);
        }
        Self::decode_in_mode(&plain, mode, rule).map(|command| (command, mode))
    }

    fn decode_in_mode(sqe: &Sqe, mode: GroupMode, rule: PointerRule) -> Result<Self, Status> {
        if !is_group(sqe.opcode) {
            return Err(Status::INVALID_OPCODE);
        }
        sqe.check_flags(rule)?;
        let reserved = sqe.cdw11.get() >> 8 | sqe.cdw12.get() >> 8;
        if sqe.nsid.get() == NSID_ALL || reserved != 0 {
            return Err(Status::INVALID_FIELD);
        }
        Self::of_fields(sqe, mode)
    }

    fn of_fields(sqe: &Sqe, mode: GroupMode) -> Result<Self, Status> {
        let id = if sqe.kl() == 0 { None } else { Some(sqe.key().map_err(|_| Status::INVALID_FIELD)?) };
        let form = || Form::from_number(sqe.cdw12.get() as u8).ok_or(Status::INVALID_FIELD);
        let (bytes, named) = (sqe.cdw10.get(), id.ok_or(Status::INVALID_FIELD));
        match sqe.opcode {
            opcode::GROUP_RESULTS => Ok(Self::Results { id: named?, buffer_bytes: bytes }),
            opcode::GROUP_PREFETCH => Ok(Self::Prefetch { id: named?, bytes }),
            opcode::GROUP_VECTOR | opcode::BULK_PUT => Self::comparator(sqe, id),
            opcode::GROUP_BOTH_WAYS => {
                let buffer_bytes = sqe.cdw13.get();
                if buffer_bytes < bytes || id.is_some() {
                    return Err(Status::INVALID_FIELD);
                }
                Ok(Self::BothWays { form: form()?, bytes, buffer_bytes })
            }
            _ => {
                let form = form()?;
                // Without a name nobody could learn what was read.
                if form.may_read() && id.is_none() && !mode.is_transaction {
                    return Err(Status::INVALID_FIELD);
                }
                Ok(Self::OneWay { id, form, bytes })
            }
        }
    }

    /// Neither has an identification: nothing is read.
    fn comparator(sqe: &Sqe, id: Option<GroupId>) -> Result<Self, Status> {
        let (bytes, flags) = (sqe.cdw10.get(), sqe.cdw12.get());
        let flags_max = u32::from(sqe.opcode == opcode::GROUP_VECTOR);
        if id.is_some() || flags > flags_max {
            return Err(Status::INVALID_FIELD);
        }
        Ok(if flags_max == 1 { Self::Vector { pages: flags == 1, bytes } } else { Self::Bulk { bytes } })
    }

    /// The entry for this command in that mode, without CID and data pointer.
    #[must_use]
    pub fn encode_in_mode(&self, nsid: u32, mode: GroupMode) -> Sqe {
        let mut sqe = self.encode(nsid);
        sqe.cdw11.set(sqe.cdw11.get() | mode.bits());
        sqe
    }

    /// The entry for this command, without CID and data pointer.
    #[must_use]
    pub const fn encode(&self, nsid: u32) -> Sqe {
        match self {
            Self::OneWay { id, form, bytes } => {
                named(opcode::GROUP, nsid, id.as_ref(), *bytes, form.number())
            }
            Self::BothWays { form, bytes, buffer_bytes } => {
                let mut sqe = named(opcode::GROUP_BOTH_WAYS, nsid, None, *bytes, form.number());
                sqe.cdw13 = U32::new(*buffer_bytes);
                sqe
            }
            Self::Results { id, buffer_bytes } => {
                named(opcode::GROUP_RESULTS, nsid, Some(id), *buffer_bytes, 0)
            }
            Self::Prefetch { id, bytes } => named(opcode::GROUP_PREFETCH, nsid, Some(id), *bytes, 0),
            Self::Vector { pages, bytes } => named(opcode::GROUP_VECTOR, nsid, None, *bytes, *pages as u8),
            Self::Bulk { bytes } => named(opcode::BULK_PUT, nsid, None, *bytes, 0),
        }
    }

    /// Bytes of data that DPTR names.
    #[must_use]
    pub const fn data_bytes(&self) -> u32 {
        match self {
            Self::OneWay { bytes, .. }
            | Self::Prefetch { bytes, .. }
            | Self::Vector { bytes, .. }
            | Self::Bulk { bytes } => *bytes,
            Self::BothWays { buffer_bytes, .. } | Self::Results { buffer_bytes, .. } => *buffer_bytes,
        }
    }

    /// Bytes of them that the host sends.
    #[must_use]
    pub const fn bytes_in(&self) -> u32 {
        match self {
            Self::Results { .. } => 0,
            Self::BothWays { bytes, .. } => *bytes,
            _ => self.data_bytes(),
        }
    }
}

const fn named(opcode: u8, nsid: u32, id: Option<&GroupId>, bytes: u32, form: u8) -> Sqe {
    let mut sqe = Sqe::new(opcode, nsid);
    sqe.cdw10 = U32::new(bytes);
    sqe.cdw12 = U32::new(form as u32);
    match id {
        Some(id) => sqe.with_key(id),
        None => sqe,
    }
}
