// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compound commands (HotStorage'19): the key's share, the payload, latencies by pairs, transactions without and with groups;
//! and what the paper leaves to be measured: other ways to bring many pairs.

pub mod bulk;
pub mod gathering;
pub mod kvceph;
pub mod layout;
pub mod pairs;
pub mod tkey;

use crate::error::LabError;
use crate::rig::Serial;
use saker_host::Condition;
use saker_host::group::{Form, Op};
use saker_profile::Profile;

/// Flash of a run.
const FLASH_BYTES: u64 = 1 << 30;

/// A key of so many bytes.
fn key(n: u32, bytes: usize) -> Vec<u8> {
    let mut key = n.to_be_bytes().repeat(64);
    key.truncate(bytes);
    key[bytes - 4..].copy_from_slice(&n.to_be_bytes());
    key
}

/// Microseconds.
fn us(took: crate::rig::Took) -> f64 {
    took.time.as_nanos() as f64 / 1e3
}

fn open(profile: &Profile, seed: u64) -> Result<Serial, LabError> {
    Serial::open(profile, FLASH_BYTES, seed)
}

/// Microseconds of one operation of a long key with a value of so many bytes, alone.
fn single(
    profile: &Profile,
    seed: u64,
    op: Op,
    key_bytes: usize,
    value_bytes: usize,
) -> Result<f64, LabError> {
    let mut serial = open(profile, seed)?;
    let (key, value) = (key(1, key_bytes), vec![0x5A; value_bytes]);
    let store = |serial: &mut Serial| {
        serial.time(|client| Ok(client.put_indirect(&key, &value, Condition::Always)?))
    };
    let stored = store(&mut serial)?;
    if op == Op::Store {
        return Ok(us(stored));
    }
    let took = serial.time(|client| {
        let found = client.get_indirect_prefix(&key, value_bytes, |_, bytes| bytes)?;
        if found == Some(value_bytes) { Ok(()) } else { Err(LabError::Missing("a key".into())) }
    })?;
    Ok(us(took))
}

/// Microseconds of a group of that many stores, or retrieves of what was stored.
fn group(
    profile: &Profile,
    seed: u64,
    op: Op,
    pairs: u32,
    key_bytes: usize,
    value_bytes: usize,
) -> Result<f64, LabError> {
    let mut serial = open(profile, seed)?;
    let value = vec![0x5A; value_bytes];
    let commit = |serial: &mut Serial, op: Op| {
        serial.time(|client| {
            let mut group = client.begin(Form::All(op));
            for n in 0..pairs {
                let key = key(n, key_bytes);
                if op == Op::Store {
                    group.store(key, &value)?
                } else {
                    group.retrieve(key)?
                };
            }
            for outcome in group.commit()? {
                outcome?;
            }
            Ok(())
        })
    };
    let stored = commit(&mut serial, Op::Store)?;
    if op == Op::Store {
        return Ok(us(stored));
    }
    // Once for the host to learn how long values are, so that they come in one command.
    commit(&mut serial, op)?;
    Ok(us(commit(&mut serial, op)?))
}
