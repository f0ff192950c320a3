// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lengths of keys.

use saker_nvme::{Status, kv};

use super::values::WITH_KEY;
use crate::session::{Checked, Session, demand, value};
use crate::subject::{Broken, Data};
use crate::verdict::Verdict;

pub(super) fn lengths(session: &mut Session<'_>) -> Checked {
    let mut stored = Vec::new();
    for bytes in 1..=session.key_bytes_max {
        // Short keys may all be taken on a device that is in use.
        let Some(key) = session.free_key(bytes)? else { continue };
        let expected = value(bytes as u64 + 100, 50 + bytes);
        let status = session.store(&key, &expected, 0)?;
        demand!(status.is_success(), "a key of {bytes} bytes: {status}");
        stored.push((key, expected));
    }
    for (key, expected) in &stored {
        if let Some(wrong) = session.is_stored(key, expected)? {
            return Ok(Verdict::Fail(format!("a key of {} bytes: {wrong}", key.len())));
        }
    }
    for (key, _) in &stored {
        session.delete(key)?;
    }
    Ok(Verdict::Pass)
}

/// A key and its longer forms, none of which is there yet.
fn extensions(session: &mut Session<'_>) -> Result<Vec<Vec<u8>>, Broken> {
    let (shortest, longest) = (session.key_bytes_max.min(5), session.key_bytes_max);
    'keys: for _ in 0..16 {
        let Some(key) = session.free_key(shortest)? else { break };
        let mut keys = Vec::new();
        for bytes in shortest..=longest {
            let mut extended = key.clone();
            extended.resize(bytes, 0);
            if !session.exist(&extended)?.is(Status::KEY_DOES_NOT_EXIST) {
                continue 'keys;
            }
            keys.push(extended);
        }
        return Ok(keys);
    }
    Ok(Vec::new())
}

pub(super) fn extended(session: &mut Session<'_>) -> Checked {
    let keys = extensions(session)?;
    if keys.is_empty() {
        return Ok(Verdict::Skipped("every short key is taken".into()));
    }
    for key in &keys {
        session.store(key, &[key.len() as u8], 0)?;
    }
    for key in &keys {
        if let Some(wrong) = session.is_stored(key, &[key.len() as u8])? {
            return Ok(Verdict::Fail(format!("the form of {} bytes: {wrong}", key.len())));
        }
    }
    for key in &keys {
        session.delete(key)?;
    }
    Ok(Verdict::Pass)
}

pub(super) fn binary(session: &mut Session<'_>) -> Checked {
    let longest = session.key_bytes_max;
    let mut stored = Vec::new();
    for byte in [0, 1, b'/', b'\n', 0x7F, 0x80, 0xFE, 0xFF] {
        let key = vec![byte; longest];
        if session.exist(&key)?.is(Status::KEY_DOES_NOT_EXIST) {
            let status = session.store(&key, &[byte, 1], 0)?;
            demand!(status.is_success(), "a key of bytes {byte:02X}h: {status}");
            stored.push(key);
        }
    }
    for key in &stored {
        if let Some(wrong) = session.is_stored(key, &[key[0], 1])? {
            return Ok(Verdict::Fail(format!("a key of bytes {:02X}h: {wrong}", key[0])));
        }
    }
    for key in &stored {
        session.delete(key)?;
    }
    Ok(Verdict::Pass)
}

/// What each command says to a key of so many bytes.
fn each(session: &mut Session<'_>, bytes: usize) -> Result<Vec<(&'static str, Status)>, Broken> {
    let key = vec![0xA5; bytes];
    let mut seen = Vec::new();
    for (opcode, name, room) in WITH_KEY {
        let sqe = session.sized(opcode, &key, room);
        let data = match opcode {
            kv::opcode::STORE => Data::Send(vec![1; room as usize]),
            _ if room == 0 => Data::None,
            _ => Data::Receive(room),
        };
        seen.push((name, session.one(sqe, data)?.status));
    }
    Ok(seen)
}

pub(super) fn above_16(session: &mut Session<'_>) -> Checked {
    for bytes in [17, 32, 255] {
        for (name, status) in each(session, bytes)? {
            demand!(status.is(Status::INVALID_FIELD), "{name} with a key length of {bytes}: {status}");
        }
    }
    Ok(Verdict::Pass)
}

pub(super) fn above_format(session: &mut Session<'_>) -> Checked {
    let longest = session.key_bytes_max;
    if longest >= 16 {
        return Ok(Verdict::Skipped("KVKML is 16".into()));
    }
    for (name, status) in each(session, longest + 1)? {
        let is_listed = matches!(name, "Store" | "Retrieve" | "List");
        let is_absent = !is_listed && (status.is(Status::KEY_DOES_NOT_EXIST) || status.is_success());
        demand!(
            status.is(Status::INVALID_KEY_SIZE) || is_absent,
            "{name} with {} bytes: {status}",
            longest + 1
        );
    }
    Ok(Verdict::Pass)
}

pub(super) fn empty(session: &mut Session<'_>) -> Checked {
    let seen = each(session, 0)?;
    let words: Vec<_> = seen.iter().map(|(name, status)| format!("{name} {:02X}h", status.sc())).collect();
    Ok(Verdict::Open(words.join(", ")))
}

pub(super) fn rest(session: &mut Session<'_>) -> Checked {
    let Some(key) = session.free_key(session.key_bytes_max.min(6))? else {
        return Ok(Verdict::Skipped("every short key is taken".into()));
    };
    session.store(&key, b"value", 0)?;
    let mut sqe = session.sqe(kv::opcode::EXIST, &key);
    sqe.cdw15 = u32::MAX.into();
    let status = session.one(sqe, Data::None)?.status;
    session.delete(&key)?;
    Ok(Verdict::Open(if status.is_success() { "ignored".into() } else { format!("not ignored: {status}") }))
}
