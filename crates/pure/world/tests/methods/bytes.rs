// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All methods deliver identical bytes, whatever the sizes, the queues, the pacing and where rings wrap.

use crate::methods::rig::{Machine, Quick, Rig, Timed, build, key, large, value};
use crate::methods::tier;
use proptest::prelude::*;
use saker_host::{Method, Pacing};
use saker_nvme::Status;
use std::collections::BTreeMap;

/// Sizes at and around boundaries of methods, and any others. Every small one is tried in `traffic.rs`.
fn sizes() -> impl Strategy<Value = usize> {
    let edges = prop::sample::select(vec![
        0, 1, 4, 34, 35, 36, 63, 64, 65, 91, 92, 127, 128, 147, 148, 4095, 4096, 4097, 4152, 4153, 8191,
        8192, 8193, 16_384, 16_385, 20_479, 20_481,
    ]);
    prop_oneof![4 => edges, 4 => 0usize..300, 2 => 0usize..10_000, 1 => 0usize..70_000]
}

#[derive(Clone, Copy, Debug)]
struct Op {
    queue: usize,
    name: u32,
    bytes: usize,
    method: Method,
    pacing: Pacing,
    ring: bool,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let method = prop::sample::select(Method::ALL.to_vec());
    let pacing = prop_oneof![Just(Pacing::Pipelined), Just(Pacing::Passthrough)];
    let op = (0usize..3, 0u32..12, sizes(), method, pacing, any::<bool>());
    let op = op.prop_map(|(queue, name, bytes, method, pacing, ring)| Op {
        queue,
        name: name * 3 + queue as u32,
        bytes,
        method,
        pacing,
        ring,
    });
    prop::collection::vec(op, 1..40)
}

/// Queues whose rings wrap soon, one with hardly more slots than one, one large.
const QUEUES: [(u32, u16); 3] = [(7, 3), (40, 1), (400, 60)];

fn hold<D: Machine>(ops: &[Op]) -> Result<(), TestCaseError> {
    let mut rig = Rig::<D>::new(&large(), &QUEUES);
    let mut model = BTreeMap::new();
    let mut in_flight = [const { Vec::new() }; 3];
    for (n, op) in ops.iter().enumerate() {
        // The host never has two writes of a key in flight, and changes its mind only between values.
        let busy: &mut Vec<(u32, saker_host::Ticket)> = &mut in_flight[op.queue];
        for (_, ticket) in busy.extract_if(.., |(name, _)| *name == op.name || !op.ring) {
            prop_assert_eq!(rig.wait(op.queue, ticket).status, Status::SUCCESS);
        }
        while rig.queues[op.queue].is_amid_value() {
            rig.queues[op.queue].ring();
            rig.pump();
        }
        rig.choose(op.queue, op.method, op.pacing);
        let bytes = value(n as u32, op.bytes);
        let ticket = loop {
            let options = saker_nvme::kv::StoreOptions::NONE;
            match rig.queues[op.queue].store(&key(op.name), &bytes, options) {
                Ok(ticket) => break ticket,
                Err(_) => {
                    rig.queues[op.queue].ring();
                    rig.pump();
                    for (_, ticket) in std::mem::take(busy) {
                        prop_assert_eq!(rig.wait(op.queue, ticket).status, Status::SUCCESS);
                    }
                }
            }
        };
        busy.push((op.name, ticket));
        model.insert(op.name, bytes);
        if op.ring {
            rig.queues[op.queue].ring();
        }
    }
    rig.drain();
    for (q, busy) in in_flight.iter().enumerate() {
        for (_, ticket) in busy {
            prop_assert_eq!(rig.over(q, *ticket).map(|a| a.status), Some(Status::SUCCESS));
        }
    }
    for (name, bytes) in &model {
        let answer = rig.get(2, &key(*name));
        prop_assert_eq!(answer.status, Status::SUCCESS);
        prop_assert!(answer.data == *bytes, "key {} has other bytes", name);
    }
    prop_assert_eq!(rig.machine.gathered(), 0);
    prop_assert_eq!(rig.machine.stats().errors, 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: tier(48, 2000), ..ProptestConfig::default() })]

    #[test]
    fn without_time(ops in ops()) {
        hold::<saker_world::Inline>(&ops)?;
    }

    #[test]
    fn in_virtual_time(ops in ops()) {
        hold::<saker_world::Clocked>(&ops)?;
    }
}

/// The largest value: methods that cannot carry it fall back to PRPs.
fn largest<D: Machine>() {
    let mut rig = Rig::<D>::new(&large(), &[(400, 8)]);
    for (n, method) in Method::ALL.into_iter().enumerate() {
        for bytes in [(2 << 20) - 1, 2 << 20] {
            rig.choose(0, method, Pacing::Pipelined);
            let sent = value(n as u32, bytes);
            assert_eq!(rig.put(0, &key(1), &sent), Status::SUCCESS, "{method:?}, {bytes}");
            assert!(rig.get(0, &key(1)).data == sent, "{method:?}, {bytes}");
        }
    }
}

#[test]
fn two_mebibytes() {
    largest::<saker_world::Inline>();
    largest::<saker_world::Clocked>();
}

/// A key of any length leaves the same room in a piggyback store.
#[test]
fn keys_of_all_lengths_piggyback_35_bytes() {
    let mut rig = Quick::new(&build(), &[(32, 8)]);
    rig.choose(0, Method::Piggyback, Pacing::Pipelined);
    for length in 1..=16u8 {
        let long = saker_nvme::Key::new(&vec![length; usize::from(length)]).expect("1 to 16");
        let before = rig.machine.stats().commands;
        assert_eq!(rig.put(0, &long, &value(9, 35)), Status::SUCCESS);
        assert_eq!(rig.machine.stats().commands - before, 1, "key of {length} bytes");
        assert_eq!(rig.get(0, &long).data, value(9, 35));
    }
}

#[test]
fn conditions_hold_with_every_method() {
    use saker_nvme::kv::StoreOptions;
    let mut rig = Timed::new(&build(), &[(400, 8)]);
    // One that methods for small values carry, and one that others carry.
    let both = Method::ALL.into_iter().flat_map(|method| [(method, 20), (method, 4200)]);
    for (n, (method, size)) in both.enumerate() {
        rig.choose(0, method, Pacing::Pipelined);
        let (name, bytes) = (key(n as u32), value(1, size));
        for (options, status) in [
            (StoreOptions::MUST_EXIST, Status::KEY_DOES_NOT_EXIST),
            (StoreOptions::MUST_NOT_EXIST, Status::SUCCESS),
            (StoreOptions::MUST_NOT_EXIST, Status::KEY_EXISTS),
            (StoreOptions::MUST_EXIST, Status::SUCCESS),
        ] {
            let ticket = rig.queues[0].store(&name, &bytes, options).expect("room");
            assert_eq!(rig.wait(0, ticket).status, status, "{method:?}, {size} bytes, {options:?}");
        }
    }
}
