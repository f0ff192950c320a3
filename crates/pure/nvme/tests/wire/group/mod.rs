// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups: the figure's bytes, round trips, and payloads nobody should have sent.

mod commands;
mod fuzz;
mod malformed;
mod payload;
mod results;
mod split;
mod transactions;
mod vector;

use saker_nvme::group::{Entry, Form, Op, Packer, parse};

/// A payload of these entries.
pub fn pack(form: Form, entries: &[(Op, Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut buffer = vec![0xEE; 1 << 20];
    let mut packer = Packer::new(form, &mut buffer).unwrap();
    for (op, key, value) in entries {
        packer.push(*op, key, value).unwrap();
    }
    let bytes = packer.finish();
    buffer.truncate(bytes);
    buffer
}

/// The entries of a payload, copied out.
pub fn unpack(form: Form, payload: &[u8]) -> Vec<(Op, Vec<u8>, Vec<u8>)> {
    let mut entries = Vec::new();
    let count = parse(form, payload, |e| entries.push(copy(payload, &e))).unwrap();
    assert_eq!(count as usize, entries.len());
    entries
}

fn copy(payload: &[u8], e: &Entry) -> (Op, Vec<u8>, Vec<u8>) {
    let part = |r: &std::ops::Range<u32>| payload[r.start as usize..r.end as usize].to_vec();
    (e.op, part(&e.key), part(&e.value))
}
