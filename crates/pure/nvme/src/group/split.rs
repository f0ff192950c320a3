// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions in parts: a transaction that is sent by several commands, under an ID that its host has given it. A part brings entries as a
//! transaction of one command does, of form mixed: writes and conditions. Nothing is judged before the commit. What became of it is
//! kept with what it wrote, so that a host whose answer was lost may ask, or send all of it again.

use zerocopy::little_endian::U32;

use super::layout::Form;
use super::parse::{Malformed, Reason};
use super::transaction::{Ask, Asked, parse_transaction};
use crate::key::Key;
use crate::sqe::{PointerRule, Sqe};
use crate::status::Status;
use crate::{NSID_ALL, vendor_specific::opcode};

/// Which transaction: the host that it is of, and the number that the host has given it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId {
    /// The host, by a number that no other has: 128 bits that it has chosen at random, or its Host Identifier.
    pub host: [u8; HOST_ID_BYTES],
    /// Of its transactions. Later ones have larger numbers, as far as the host wants their outcomes kept.
    pub number: u64,
}

/// Bytes of a host's ID.
pub const HOST_ID_BYTES: usize = Key::MAX_LEN;

/// Transactions of a host, by their numbers, whose outcomes are kept at least.
pub const OUTCOMES_KEPT: u64 = 4096;

/// Most bytes of a transaction in parts, as one payload.
pub const SPLIT_BYTES_MAX: usize = 4 << 20;

/// What is asked of a transaction in parts, without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SplitAction {
    /// It begins, without entries; what was sent of it before is forgotten.
    Begin = 1,
    /// It is carried out or refused, and ends.
    Commit = 2,
    /// It ends, and nothing of it is carried out.
    Abort = 3,
    /// What became of it: DW0 is a [`SplitOutcome`].
    Outcome = 4,
}

impl SplitAction {
    const fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Begin),
            2 => Some(Self::Commit),
            3 => Some(Self::Abort),
            4 => Some(Self::Outcome),
            _ => None,
        }
    }
}

/// DW0 of a commit and of what asks for an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SplitOutcome {
    /// This commit has carried it out.
    Done = 0,
    /// It was carried out before.
    DoneBefore = 1,
    /// It was not carried out. A commit that is still on its way may do so.
    NotDone = 2,
    /// It is open: parts of it are there.
    Open = 3,
}

impl SplitOutcome {
    /// From DW0.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Done),
            1 => Some(Self::DoneBefore),
            2 => Some(Self::NotDone),
            3 => Some(Self::Open),
            _ => None,
        }
    }
}

/// A decoded command of a transaction in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitCommand {
    /// Transaction Part (DDh): entries at DPTR.
    Part {
        /// Of which transaction.
        id: TransactionId,
        /// CDW10: bytes of the payload.
        bytes: u32,
        /// CDW11 bit 8: the transaction begins with it.
        begins: bool,
        /// CDW11 bit 9: the transaction is committed with it.
        commits: bool,
    },
    /// Transaction Control (E8h).
    Control {
        /// Which transaction.
        id: TransactionId,
        /// CDW11 bits 11:8.
        action: SplitAction,
    },
}

/// Whether the opcode is one of these commands.
#[inline]
#[must_use]
pub const fn is_split(code: u8) -> bool {
    matches!(code, opcode::TRANSACTION_PART | opcode::TRANSACTION_CONTROL)
}

/// Whether it asks for an outcome, which changes nothing. It may be malformed.
#[must_use]
pub const fn asks_for_outcome(sqe: &Sqe) -> bool {
    sqe.opcode == opcode::TRANSACTION_CONTROL && sqe.cdw11.get() >> 8 == SplitAction::Outcome as u32
}

const BEGINS: u32 = 1 << 8;
const COMMITS: u32 = 1 << 9;

impl SplitCommand {
    /// Decodes an entry.
    ///
    /// CDW2-3 and CDW14-15: the host's ID, CDW11 bits 7:0 its length, 16. CDW12-13: the number.
    ///
    /// # Errors
    /// 01h for another opcode; 02h for what is reserved, a host's ID of another length, an unknown action, a part without data, broadcast,
    /// fused commands, and SGLs.
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        Self::decode_with(sqe, PointerRule::Prp)
    }

    /// The same, with the data pointers that `rule` admits.
    ///
    /// # Errors
    /// As [`SplitCommand::decode`].
    pub fn decode_with(sqe: &Sqe, rule: PointerRule) -> Result<Self, Status> {
        if !is_split(sqe.opcode) {
            return Err(Status::INVALID_OPCODE);
        }
        sqe.check_flags(rule)?;
        let (bytes, cdw11) = (sqe.cdw10.get(), sqe.cdw11.get());
        let host = sqe.key().ok().and_then(|key| key.as_bytes().try_into().ok());
        let host = host.filter(|_| sqe.nsid.get() != NSID_ALL).ok_or(Status::INVALID_FIELD)?;
        let number = u64::from(sqe.cdw12.get()) | u64::from(sqe.cdw13.get()) << 32;
        let (id, flags) = (TransactionId { host, number }, cdw11 & !0xFF);
        if sqe.opcode == opcode::TRANSACTION_PART {
            if flags & !(BEGINS | COMMITS) != 0 || bytes == 0 {
                return Err(Status::INVALID_FIELD);
            }
            return Ok(Self::Part { id, bytes, begins: flags & BEGINS != 0, commits: flags & COMMITS != 0 });
        }
        let action = SplitAction::from_number(flags >> 8).filter(|_| bytes == 0);
        Ok(Self::Control { id, action: action.ok_or(Status::INVALID_FIELD)? })
    }

    /// The entry for this command, without CID and data pointer.
    #[must_use]
    pub fn encode(&self, nsid: u32) -> Sqe {
        let (code, id, bytes, flags) = match *self {
            Self::Part { id, bytes, begins, commits } => {
                let flags = if begins { BEGINS } else { 0 } | if commits { COMMITS } else { 0 };
                (opcode::TRANSACTION_PART, id, bytes, flags)
            }
            Self::Control { id, action } => (opcode::TRANSACTION_CONTROL, id, 0, (action as u32) << 8),
        };
        let mut sqe = Sqe::new(code, nsid);
        if let Ok(host) = Key::new(&id.host) {
            sqe = sqe.with_key(&host);
        }
        sqe.cdw10 = U32::new(bytes);
        sqe.cdw11 = U32::new(sqe.cdw11.get() | flags);
        sqe.cdw12 = U32::new(id.number as u32);
        sqe.cdw13 = U32::new((id.number >> 32) as u32);
        sqe
    }

    /// Bytes of data that DPTR names.
    #[must_use]
    pub const fn data_bytes(&self) -> u32 {
        match self {
            Self::Part { bytes, .. } => *bytes,
            Self::Control { .. } => 0,
        }
    }

    /// Which transaction it is of.
    #[must_use]
    pub const fn id(&self) -> TransactionId {
        match self {
            Self::Part { id, .. } | Self::Control { id, .. } => *id,
        }
    }
}

/// Reads the payload of a part as [`parse_transaction`] does that of a transaction. It is of form mixed, and has no retrieves and exists:
/// nothing is answered but at the end.
///
/// # Errors
/// [`Malformed`]: the first thing that is wrong.
pub fn parse_part(payload: &[u8], mut visit: impl FnMut(Asked)) -> Result<u32, Malformed> {
    let mut read = None;
    let count = parse_transaction(Form::Mixed, payload, |asked| {
        if matches!(asked.ask, Ask::Op(op) if !op.is_write()) {
            // The type stands before the length of the key.
            let at = asked.key.start - 8;
            read.get_or_insert(Malformed { at, reason: Reason::Type });
        }
        visit(asked);
    });
    match (count, read) {
        (Err(malformed), Some(read)) if malformed.at < read.at => Err(malformed),
        (_, Some(read)) => Err(read),
        (count, None) => count,
    }
}

/// The bytes with which the device keys of outcomes begin ([`Outcomes`](super::outcomes::Outcomes)). No other key of 16 bytes begins so.
pub const OUTCOME_MARK: [u8; 6] = *b"\xFFTSKRX";

/// Whether outcomes of transactions are kept under that key.
#[inline]
#[must_use]
pub fn is_outcome_key(key: &[u8]) -> bool {
    key.len() == Key::MAX_LEN && key.starts_with(&OUTCOME_MARK)
}
