// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Store and Retrieve.

use saker_nvme::{Status, kv};

use crate::session::{Checked, Session, demand, value};
use crate::verdict::Verdict;

/// Options as bits 15:8 of CDW11.
const MUST_EXIST: u32 = 1;
const MUST_NOT_EXIST: u32 = 2;
const NO_COMPRESSION: u32 = 4;

/// Around the boundaries of dwords, blocks, pages and PRP lists.
const SIZES: [u32; 20] = [
    1,
    2,
    3,
    4,
    5,
    63,
    511,
    512,
    513,
    4095,
    4096,
    4097,
    8191,
    8192,
    8193,
    12_289,
    65_537,
    300_001,
    1 << 20,
    2 << 20,
];

pub(super) fn sizes(session: &mut Session<'_>) -> Checked {
    let (longest, key) = (session.value_bytes_usable(), session.key()?);
    for bytes in SIZES.into_iter().filter(|bytes| *bytes < longest).chain([longest]) {
        let expected = value(u64::from(bytes), bytes as usize);
        let status = session.store(&key, &expected, 0)?;
        demand!(status.is_success(), "Store of {bytes} bytes: {status}");
        if let Some(wrong) = session.is_stored(&key, &expected)? {
            return Ok(Verdict::Fail(wrong));
        }
    }
    session.delete(&key)?;
    Ok(Verdict::Pass)
}

pub(super) fn empty(session: &mut Session<'_>) -> Checked {
    let key = session.key()?;
    let status = session.store(&key, &[], 0)?;
    demand!(status.is_success(), "Store of 0 bytes: {status}");
    let exists = session.exist(&key)?;
    demand!(exists.is_success(), "Exist: {exists}");
    if let Some(wrong) = session.is_stored(&key, &[])? {
        return Ok(Verdict::Fail(wrong));
    }
    session.delete(&key)?;
    Ok(Verdict::Pass)
}

pub(super) fn replace(session: &mut Session<'_>) -> Checked {
    let key = session.key()?;
    for (n, bytes) in [5000, 40, 6000, 0, 300].into_iter().enumerate() {
        let expected = value(n as u64 + 77, bytes);
        let status = session.store(&key, &expected, 0)?;
        demand!(status.is_success(), "Store of {bytes} bytes: {status}");
        if let Some(wrong) = session.is_stored(&key, &expected)? {
            return Ok(Verdict::Fail(format!("after a replacement: {wrong}")));
        }
    }
    session.delete(&key)?;
    Ok(Verdict::Pass)
}

pub(super) fn too_long(session: &mut Session<'_>) -> Checked {
    let (longest, most) = (session.value_bytes_max, session.subject().transfer_bytes_max());
    if longest >= most {
        return Ok(Verdict::Skipped(format!("KVVML is {longest}, a command transfers {most} bytes")));
    }
    let key = session.key()?;
    let status = session.store(&key, &value(3, longest as usize + 1), 0)?;
    demand!(status.is(Status::INVALID_VALUE_SIZE), "Store of KVVML + 1 bytes: {status}");
    let exists = session.exist(&key)?;
    demand!(exists.is(Status::KEY_DOES_NOT_EXIST), "afterwards Exist: {exists}");
    Ok(Verdict::Pass)
}

pub(super) fn missing(session: &mut Session<'_>) -> Checked {
    let key = session.key()?;
    for bytes in [0, 100, 4096] {
        let status = session.retrieve(&key, bytes)?.status;
        demand!(status.is(Status::KEY_DOES_NOT_EXIST), "Retrieve with {bytes} bytes: {status}");
    }
    Ok(Verdict::Pass)
}

pub(super) fn short_buffer(session: &mut Session<'_>) -> Checked {
    let (key, expected) = (session.key()?, value(4, 10_000));
    let status = session.store(&key, &expected, 0)?;
    demand!(status.is_success(), "Store: {status}");
    for bytes in [1_u32, 3, 4, 4095, 4096, 9999] {
        let answer = session.retrieve(&key, bytes)?;
        demand!(answer.status.is_success(), "a buffer of {bytes} bytes: {}", answer.status);
        demand!(answer.dw0 == 10_000, "a buffer of {bytes} bytes: DW0 is {}", answer.dw0);
        demand!(answer.data == expected[..bytes as usize], "a buffer of {bytes} bytes has other bytes");
    }
    session.delete(&key)?;
    Ok(Verdict::Pass)
}

pub(super) fn long_buffer(session: &mut Session<'_>) -> Checked {
    for bytes in [1, 100, 4097] {
        let (key, expected) = (session.key()?, value(5, bytes));
        let status = session.store(&key, &expected, 0)?;
        demand!(status.is_success(), "Store: {status}");
        let answer = session.retrieve(&key, 3 * 4096)?;
        demand!(answer.status.is_success(), "Retrieve: {}", answer.status);
        demand!(answer.dw0 as usize == bytes, "DW0 is {} for {bytes} bytes", answer.dw0);
        let (own, rest) = answer.data.split_at(bytes);
        demand!(own == expected, "a value of {bytes} bytes came back changed");
        demand!(rest.iter().all(|byte| *byte == 0), "something was written behind a value of {bytes} bytes");
        session.delete(&key)?;
    }
    Ok(Verdict::Pass)
}

pub(super) fn size_only(session: &mut Session<'_>) -> Checked {
    let key = session.key()?;
    session.store(&key, &value(6, 777), 0)?;
    let answer = session.retrieve(&key, 0)?;
    demand!(answer.status.is_success() && answer.dw0 == 777, "{}, DW0 {}", answer.status, answer.dw0);
    session.delete(&key)?;
    Ok(Verdict::Pass)
}

pub(super) fn raw_bit(session: &mut Session<'_>) -> Checked {
    let (key, expected) = (session.key()?, value(7, 500));
    session.store(&key, &expected, NO_COMPRESSION)?;
    let (mut sqe, data) = session.retrieve_command(&key, 500);
    sqe.cdw11 = (sqe.cdw11.get() | 1 << 8).into();
    let answer = session.one(sqe, data)?;
    demand!(answer.status.is_success(), "{}", answer.status);
    demand!(answer.data == expected, "a value stored without compression is read otherwise with the bit");
    session.delete(&key)?;
    Ok(Verdict::Pass)
}

pub(super) fn must_exist(session: &mut Session<'_>) -> Checked {
    let (key, expected) = (session.key()?, value(8, 900));
    let refused = session.store(&key, &expected, MUST_EXIST)?;
    demand!(refused.is(Status::KEY_DOES_NOT_EXIST), "without the key: {refused}");
    let exists = session.exist(&key)?;
    demand!(exists.is(Status::KEY_DOES_NOT_EXIST), "the refused Store left the key: {exists}");
    session.store(&key, &value(9, 10), 0)?;
    let stored = session.store(&key, &expected, MUST_EXIST)?;
    demand!(stored.is_success(), "with the key: {stored}");
    if let Some(wrong) = session.is_stored(&key, &expected)? {
        return Ok(Verdict::Fail(wrong));
    }
    session.delete(&key)?;
    Ok(Verdict::Pass)
}

pub(super) fn must_not_exist(session: &mut Session<'_>) -> Checked {
    let (key, expected) = (session.key()?, value(10, 900));
    let stored = session.store(&key, &expected, MUST_NOT_EXIST)?;
    demand!(stored.is_success(), "without the key: {stored}");
    let refused = session.store(&key, &value(11, 10), MUST_NOT_EXIST)?;
    demand!(refused.is(Status::KEY_EXISTS), "with the key: {refused}");
    if let Some(wrong) = session.is_stored(&key, &expected)? {
        return Ok(Verdict::Fail(format!("the refused Store changed the pair: {wrong}")));
    }
    session.delete(&key)?;
    Ok(Verdict::Pass)
}

pub(super) fn no_compression(session: &mut Session<'_>) -> Checked {
    let (key, expected) = (session.key()?, vec![b'a'; 5000]);
    let status = session.store(&key, &expected, NO_COMPRESSION)?;
    demand!(status.is_success(), "{status}");
    if let Some(wrong) = session.is_stored(&key, &expected)? {
        return Ok(Verdict::Fail(wrong));
    }
    session.delete(&key)?;
    Ok(Verdict::Pass)
}

pub(super) fn both_options(session: &mut Session<'_>) -> Checked {
    let key = session.key()?;
    let without = session.store(&key, b"x", MUST_EXIST | MUST_NOT_EXIST)?;
    session.store(&key, b"y", 0)?;
    let with = session.store(&key, b"z", MUST_EXIST | MUST_NOT_EXIST)?;
    demand!(!without.is_success() || !with.is_success(), "both succeed, with the key and without");
    session.delete(&key)?;
    Ok(Verdict::Open(format!("without the key: {without}; with it: {with}")))
}

/// Opcodes that name a key, with the room for data they are given here.
pub(super) const WITH_KEY: [(u8, &str, u32); 5] = [
    (kv::opcode::STORE, "Store", 4),
    (kv::opcode::RETRIEVE, "Retrieve", 64),
    (kv::opcode::LIST, "List", 64),
    (kv::opcode::DELETE, "Delete", 0),
    (kv::opcode::EXIST, "Exist", 0),
];
