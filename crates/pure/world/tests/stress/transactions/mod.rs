// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions on the joined host and device: what they answer, what malformed ones leave, and what a cut leaves of those that
//! compete.

mod answers;
mod bank;
mod histories;
mod malformed;
mod refused_parts;
mod splits;

use crate::stress::groups::{Ended, end};
use crate::stress::rig::{Machine, Rig};
use saker_engine::EngineKind;
use saker_nvme::Status;
use saker_nvme::group::{
    Ask, Form, GroupMode, Op, PairVersion, ToAsk, pack_transaction, read_transaction_results,
};

/// Engines that have transactions: all.
pub const ENGINES: &[EngineKind] = EngineKind::ALL;

pub const VERSIONS: GroupMode = GroupMode { is_transaction: true, has_versions: true };

pub const STORE: Ask = Ask::Op(Op::Store);
pub const DELETE: Ask = Ask::Op(Op::Delete);
pub const RETRIEVE: Ask = Ask::Op(Op::Retrieve);

/// A key that a device would take for an envelope's if it stood outside a transaction.
pub fn marked(n: u64) -> Vec<u8> {
    [&saker_long_keys::MARK[..], format!("marked key{n:04}").as_bytes()].concat()
}

/// An entry with memory of its own.
pub type Entry = (Ask, Vec<u8>, Vec<u8>);

pub fn pack(entries: &[Entry]) -> (Form, Vec<u8>) {
    pack_transaction(entries.iter().map(|(ask, key, rest)| -> ToAsk<'_> { (*ask, key, rest) })).expect("keys")
}

/// What an entry was answered: status, version, value.
pub type Told = (Status, PairVersion, Vec<u8>);

/// Sends a transaction, alone in flight: what its entries were answered, or the refusal with DW0.
pub fn transact<D: Machine>(rig: &mut Rig<D>, entries: &[Entry]) -> Result<Vec<Told>, (Status, u32)> {
    let (form, payload) = pack(entries);
    let buffer = (payload.len() + entries.len() * 32 + 4096) as u32;
    let ticket = rig.kv.group_both_ways_in_mode(form, VERSIONS, &payload, buffer).expect("room");
    told(end(rig, ticket))
}

pub fn told((status, dw0, dw1, data): Ended) -> Result<Vec<Told>, (Status, u32)> {
    if !status.is_success() {
        return Err((status, dw0));
    }
    let results = read_transaction_results(VERSIONS, &data[..dw1 as usize]).expect("results");
    let each = results
        .into_iter()
        .map(|r| (r.status, r.version.expect("asked for"), r.value.expect("room for all values").to_vec()));
    Ok(each.collect())
}
