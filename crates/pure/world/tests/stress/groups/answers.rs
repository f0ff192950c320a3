// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What groups answer, in every timing and with and without an identification.

use super::{Entry, end, pack, results, roomy};
use crate::stress::rig::{Machine, Rig};
use saker_nvme::group::{Form, Op};
use saker_nvme::{Key, Status};
use saker_world::{Clocked, Inline};

fn id(name: &[u8]) -> Key {
    Key::new(name).expect("a name")
}

fn pairs(n: u8) -> Vec<Entry> {
    (0..n).map(|i| (Op::Store, vec![b'k', i], vec![i; usize::from(i) * 3])).collect()
}

fn keys(op: Op, n: u8) -> Vec<Entry> {
    (0..n).map(|i| (op, vec![b'k', i], vec![])).collect()
}

fn stores_then_reads<D: Machine>() {
    let mut rig = Rig::<D>::new(&roomy(true, 1));
    let store = pack(Form::All(Op::Store), &pairs(40));
    let ticket = rig.kv.group(Form::All(Op::Store), None, &store).expect("room");
    assert_eq!(end(&mut rig, ticket), (Status::SUCCESS, 0, 0, vec![]));
    let read = pack(Form::All(Op::Retrieve), &keys(Op::Retrieve, 42));
    // Two of them are not there.
    let ticket = rig.kv.group_both_ways(Form::All(Op::Retrieve), &read, 8192).expect("room");
    let (status, failed, bytes, data) = end(&mut rig, ticket);
    assert_eq!((status, failed, bytes as usize), (Status::SUCCESS, 2, data.len()));
    let both = results(&data);
    for (i, (status, bytes, value)) in both.iter().enumerate() {
        let expected = if i < 40 { vec![i as u8; i * 3] } else { vec![] };
        assert_eq!((*bytes as usize, value.as_ref()), (expected.len(), Some(&expected)));
        assert_eq!(status.is(Status::KEY_DOES_NOT_EXIST), i >= 40);
    }
    // The same in two commands.
    let ticket = rig.kv.group(Form::All(Op::Retrieve), Some(id(b"one")), &read).expect("room");
    let (status, failed, bytes, _) = end(&mut rig, ticket);
    assert_eq!((status, failed, bytes as usize), (Status::SUCCESS, 2, data.len()));
    let ticket = rig.kv.group_results(id(b"one"), bytes - 1).expect("room");
    let (status, whole, _, part) = end(&mut rig, ticket);
    assert_eq!((status, whole, &part[..]), (Status::SUCCESS, bytes, &data[..data.len() - 1]));
    let ticket = rig.kv.group_results(id(b"one"), bytes).expect("it is still kept");
    assert_eq!(end(&mut rig, ticket).3, data);
    let ticket = rig.kv.group_results(id(b"one"), bytes).expect("room");
    assert!(end(&mut rig, ticket).0.is(Status::KEY_DOES_NOT_EXIST), "fetched results are not kept");
}

#[test]
fn stores_then_reads_without_time() {
    stores_then_reads::<Inline>();
}

#[test]
fn stores_then_reads_in_virtual_time() {
    stores_then_reads::<Clocked>();
}

#[test]
fn a_mixed_group_answers_in_its_order() {
    let mut rig = Rig::<Clocked>::new(&roomy(true, 2));
    rig_put(&mut rig, b"there", b"12345");
    rig_put(&mut rig, b"going", b"x");
    let entries = [
        (Op::Retrieve, b"there".to_vec(), vec![]),
        (Op::Store, b"new".to_vec(), b"value".to_vec()),
        (Op::Delete, b"never".to_vec(), vec![]),
        (Op::Delete, b"going".to_vec(), vec![]),
        (Op::Exist, b"nowhere".to_vec(), vec![]),
    ];
    let payload = pack(Form::Mixed, &entries);
    let ticket = rig.kv.group_both_ways(Form::Mixed, &payload, 4096).expect("room");
    let (status, failed, _, data) = end(&mut rig, ticket);
    assert_eq!((status, failed), (Status::SUCCESS, 2));
    let (ok, missing) = (Status::SUCCESS, Status::KEY_DOES_NOT_EXIST);
    let told: Vec<_> = results(&data).into_iter().map(|(s, _, v)| (s, v.unwrap_or_default())).collect();
    let none = Vec::new;
    assert_eq!(
        told,
        [(ok, b"12345".to_vec()), (ok, none()), (missing, none()), (ok, none()), (missing, none())]
    );
    // With no room beside the entries' own, values are left out and nothing else.
    let reads = pack(Form::All(Op::Retrieve), &[(Op::Retrieve, b"there".to_vec(), vec![])]);
    let ticket = rig.kv.group_both_ways(Form::All(Op::Retrieve), &reads, reads.len() as u32).expect("room");
    let (_, failed, _, data) = end(&mut rig, ticket);
    assert_eq!((failed, results(&data)), (0, vec![(ok, 5, None)]));
}

fn rig_put<D: Machine>(rig: &mut Rig<D>, key: &[u8], value: &[u8]) {
    let payload = pack(Form::All(Op::Store), &[(Op::Store, key.to_vec(), value.to_vec())]);
    let ticket = rig.kv.group(Form::All(Op::Store), None, &payload).expect("room");
    assert!(end(rig, ticket).0.is_success());
}

#[test]
fn results_are_kept_for_the_last_groups_only() {
    let mut rig = Rig::<Inline>::new(&roomy(true, 3));
    let payload = pack(Form::All(Op::Exist), &[(Op::Exist, b"nowhere".to_vec(), vec![])]);
    for n in 0..300_u16 {
        let ticket = rig.kv.group(Form::All(Op::Exist), Some(id(&n.to_le_bytes())), &payload).expect("room");
        assert_eq!(end(&mut rig, ticket).1, 1);
    }
    let kept: Vec<_> = (0..300_u16)
        .filter(|n| {
            let ticket = rig.kv.group_results(id(&n.to_le_bytes()), 64).expect("room");
            end(&mut rig, ticket).0.is_success()
        })
        .collect();
    assert_eq!(kept, (44..300).collect::<Vec<_>>(), "the last 256");
}

/// A group that retrieves pages that are not in DRAM reads them all at once.
#[test]
fn a_group_waits_for_its_pages_together() {
    let mut rig = Rig::<Clocked>::new(&roomy(true, 4));
    for n in 0..32_u8 {
        rig_put(&mut rig, &[b'k', n], &[n; 900]);
    }
    let duration = |rig: &mut Rig<Clocked>, n: u8| {
        let begun = rig.machine.0.now();
        let payload = pack(Form::All(Op::Retrieve), &keys(Op::Retrieve, n));
        let ticket = rig.kv.group_both_ways(Form::All(Op::Retrieve), &payload, 64 << 10).expect("room");
        assert_eq!(end(rig, ticket).1, 0);
        rig.machine.0.now().since(begun)
    };
    let (one, four) = (duration(&mut rig, 1), duration(&mut rig, 4));
    assert!(four.as_nanos() < 3 * one.as_nanos(), "{one:?} and {four:?}");
}
