// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Single pairs, for tests that need no more.

use crate::stress::rig::{KV, Machine, Rig};
use saker_host::RawData;
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Key, Status};

/// A key of 1 to 15 bytes; several numbers share one.
pub fn name(n: u32) -> Key {
    let text = format!("{n:05}");
    Key::new(&text.as_bytes().repeat(3)[..1 + n as usize % 15]).unwrap_or_else(|_| unreachable!())
}

/// Stores a pair.
pub fn put<D: Machine>(rig: &mut Rig<D>, key: &Key, value: &[u8]) -> Status {
    rig.call(KV, kv::store(KV, key, value.len() as u32, StoreOptions::NONE), RawData::ToDevice(value)).status
}

/// Retrieves a value that is there and fits `room`.
pub fn get<D: Machine>(rig: &mut Rig<D>, key: &Key, room: u32) -> Vec<u8> {
    let answer = rig.call(KV, kv::retrieve(KV, key, room), RawData::FromDevice(room));
    assert!(answer.status.is_success(), "{}", answer.status);
    answer.data[..answer.dw0 as usize].to_vec()
}

/// Deletes a key.
pub fn remove<D: Machine>(rig: &mut Rig<D>, key: &Key) -> Status {
    rig.call(KV, kv::delete(KV, key), RawData::Untouched).status
}
