// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups on the joined host and device: what they answer, what malformed ones leave, and what a cut leaves of good ones.

mod answers;
mod cuts;
mod malformed;

use crate::stress::rig::{Machine, Rig};
use saker_assembly::Build;
use saker_engine::EngineKind;
use saker_host::Ticket;
use saker_nvme::Status;
use saker_nvme::group::results::ResultsReader;
use saker_nvme::group::{Form, Op, Packer};
use saker_nvme::vendor_specific::Methods;

/// Some hundred KiB for pairs, on a device with groups.
pub fn roomy(capacitor: bool, seed: u64) -> Build {
    with_groups(crate::stress::rig::roomy(capacitor, seed))
}

/// So small that collections and checkpoints are always near.
pub fn small_with(engine: EngineKind, capacitor: bool, seed: u64) -> Build {
    with_groups(match engine.name() {
        "hash_store" => crate::stress::rig::small(capacitor, seed),
        _ => crate::stress::rig::other_engine(engine, capacitor, seed, 48),
    })
}

fn with_groups(mut build: Build) -> Build {
    build.config.methods = Methods::ALL;
    build
}

/// How a command ended: status, DW0, DW1, data.
pub type Ended = (Status, u32, u32, Vec<u8>);

/// Takes the completion of `ticket`, which is alone in flight.
pub fn end<D: Machine>(rig: &mut Rig<D>, ticket: Ticket) -> Ended {
    rig.kv.ring();
    for _ in 0..200_000 {
        let polled = rig.kv.poll(|d| {
            assert_eq!(d.ticket, ticket);
            (d.status, d.result, d.result_high, d.into_vec())
        });
        match polled {
            Some(ended) => return ended.expect("an answer to a command"),
            None => rig.machine.drive(),
        }
    }
    panic!("no answer");
}

pub type Entry = (Op, Vec<u8>, Vec<u8>);

pub fn pack(form: Form, entries: &[Entry]) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 20];
    let mut packer = Packer::new(form, &mut buffer).expect("room for the count");
    for (op, key, value) in entries {
        packer.push(*op, key, value).expect("room");
    }
    let bytes = packer.finish();
    buffer.truncate(bytes);
    buffer
}

/// Status and value of each result.
pub fn results(bytes: &[u8]) -> Vec<(Status, u32, Option<Vec<u8>>)> {
    let reader = ResultsReader::new(bytes).expect("results");
    reader.map(|r| (r.status, r.bytes, r.value.map(<[u8]>::to_vec))).collect()
}
