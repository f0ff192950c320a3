// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a command must be answered with, written from the specifications and the table of
//! `saker_nvme::kv`, without the project's decoders.

use crate::stress::rig::{BLOCK, BLOCK_BYTES, KV};
use saker_link::Sqe;
use saker_nvme::Status;

/// What an entry asks for once nothing is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Flush,
    Store { key: Vec<u8>, bytes: u32, must_exist: bool, must_not_exist: bool },
    Retrieve { key: Vec<u8>, room: u32 },
    List { from: Vec<u8>, room: u32 },
    Delete { key: Vec<u8> },
    Exist { key: Vec<u8> },
    Write { first: u64, blocks: u32 },
    Read { first: u64, blocks: u32 },
    Ranges { count: u32, deallocate: bool },
    Compare { first: u64, blocks: u32 },
    Zero { first: u64, blocks: u32 },
    Verify,
    Copy { to: u64, count: u32 },
}

impl Op {
    /// Bytes of data that the pointers must name.
    pub fn bytes(&self) -> u32 {
        match self {
            Self::Flush | Self::Delete { .. } | Self::Exist { .. } | Self::Zero { .. } | Self::Verify => 0,
            Self::Store { bytes, .. } => *bytes,
            Self::Retrieve { room, .. } | Self::List { room, .. } => *room,
            Self::Write { blocks, .. } | Self::Read { blocks, .. } | Self::Compare { blocks, .. } => {
                blocks * BLOCK_BYTES
            }
            Self::Copy { count, .. } => count * 32,
            Self::Ranges { count, .. } => count * 16,
        }
    }
}

/// Limits of the device.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub value_bytes: u32,
    pub blocks: u64,
}

/// Bytes of a transfer at most (MDTS).
const TRANSFER_BYTES: u32 = 4 << 20;

/// The key of an entry: bytes 0-3 in CDW2, 4-7 in CDW3, 8-11 in CDW14, 12-15 in CDW15; KL in CDW11 bits 7:0.
pub fn set_key(sqe: &mut Sqe, key: &[u8; 16], length: u8) {
    let dword = |n: usize| u32::from_le_bytes(key[4 * n..4 * n + 4].try_into().expect("4 bytes"));
    sqe.cdw2.set(dword(0));
    sqe.cdw3.set(dword(1));
    sqe.cdw14.set(dword(2));
    sqe.cdw15.set(dword(3));
    sqe.cdw11.set(sqe.cdw11.get() & !0xFF | u32::from(length));
}

fn key(sqe: &Sqe) -> Result<Vec<u8>, Status> {
    let dwords = [sqe.cdw2, sqe.cdw3, sqe.cdw14, sqe.cdw15];
    let bytes: Vec<u8> = dwords.iter().flat_map(|d| d.get().to_le_bytes()).collect();
    match sqe.cdw11.get() & 0xFF {
        0 => Err(Status::INVALID_KEY_SIZE),
        n @ 1..=16 => Ok(bytes[..n as usize].to_vec()),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// What an entry asks for, or the status that refuses it.
pub fn judge(sqe: &Sqe, limits: Limits) -> Result<Op, Status> {
    match sqe.nsid.get() {
        u32::MAX if sqe.opcode == 0 => flags(sqe).map(|()| Op::Flush),
        u32::MAX => Err(Status::INVALID_FIELD),
        KV => kv(sqe, limits),
        BLOCK => block(sqe, limits),
        _ => Err(Status::INVALID_NAMESPACE_OR_FORMAT),
    }
}

/// FUSE in bits 1:0 and PSDT in bits 7:6 must be zero; the bits between are reserved, and ignored.
fn flags(sqe: &Sqe) -> Result<(), Status> {
    if sqe.flags & 0b1100_0011 == 0 { Ok(()) } else { Err(Status::INVALID_FIELD) }
}

fn kv(sqe: &Sqe, limits: Limits) -> Result<Op, Status> {
    if !matches!(sqe.opcode, 0x00 | 0x01 | 0x02 | 0x06 | 0x10 | 0x14) {
        return Err(Status::INVALID_OPCODE);
    }
    flags(sqe)?;
    let (size, options) = (sqe.cdw10.get(), sqe.cdw11.get() >> 8);
    let op = match sqe.opcode {
        0x00 => Op::Flush,
        0x01 => {
            let (must_exist, must_not_exist) = (options & 1 != 0, options & 2 != 0);
            let key = key(sqe)?;
            if must_exist && must_not_exist {
                return Err(Status::INVALID_FIELD);
            }
            if size > limits.value_bytes {
                return Err(Status::INVALID_VALUE_SIZE);
            }
            Op::Store { key, bytes: size, must_exist, must_not_exist }
        }
        0x02 => Op::Retrieve { key: key(sqe)?, room: size },
        0x06 if size < 4 => return Err(Status::INVALID_FIELD),
        0x06 if sqe.cdw11.get() & 0xFF == 0 => Op::List { from: Vec::new(), room: size },
        0x06 => Op::List { from: key(sqe)?, room: size },
        0x10 => Op::Delete { key: key(sqe)? },
        _ => Op::Exist { key: key(sqe)? },
    };
    if op.bytes() > TRANSFER_BYTES { Err(Status::INVALID_FIELD) } else { Ok(op) }
}

fn block(sqe: &Sqe, limits: Limits) -> Result<Op, Status> {
    if !matches!(sqe.opcode, 0x00 | 0x01 | 0x02 | 0x05 | 0x08 | 0x09 | 0x0C | 0x19) {
        return Err(Status::INVALID_OPCODE);
    }
    flags(sqe)?;
    let first = u64::from(sqe.cdw10.get()) | u64::from(sqe.cdw11.get()) << 32;
    let blocks = (sqe.cdw12.get() & 0xFFFF) + 1;
    let inside = first.checked_add(u64::from(blocks)).is_some_and(|end| end <= limits.blocks);
    match sqe.opcode {
        0x00 => Ok(Op::Flush),
        0x09 => Ok(Op::Ranges { count: (sqe.cdw10.get() & 0xFF) + 1, deallocate: sqe.cdw11.get() & 4 != 0 }),
        // Descriptor format 0 only, and as many ranges as MSRC says.
        0x19 if sqe.cdw12.get() & 0xF00 != 0 => Err(Status::INVALID_FIELD),
        0x19 if sqe.cdw12.get() & 0xFF > 127 => Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED),
        0x19 => Ok(Op::Copy { to: first, count: (sqe.cdw12.get() & 0xFF) + 1 }),
        _ if !inside => Err(Status::LBA_OUT_OF_RANGE),
        0x05 => Ok(Op::Compare { first, blocks }),
        0x08 => Ok(Op::Zero { first, blocks }),
        0x0C => Ok(Op::Verify),
        0x01 => Ok(Op::Write { first, blocks }),
        _ => Ok(Op::Read { first, blocks }),
    }
}

/// Bytes of a List answer of these keys: NRK, then KL, key and padding to four bytes for each.
pub fn list_answer<'a>(keys: impl Iterator<Item = &'a Vec<u8>>, room: usize) -> Vec<u8> {
    let (mut out, mut count) = (vec![0; 4], 0u32);
    for key in keys {
        let mut entry = (key.len() as u16).to_le_bytes().to_vec();
        entry.extend(key);
        entry.resize(entry.len().next_multiple_of(4), 0);
        if out.len() + entry.len() > room {
            break;
        }
        out.extend(entry);
        count += 1;
    }
    out[..4].copy_from_slice(&count.to_le_bytes());
    out
}
