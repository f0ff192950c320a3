// SPDX-License-Identifier: Apache-2.0 OR MIT
//! List: pages of every size, and deletes in between.

use crate::stress::oracle::list_answer;
use crate::stress::pairs::{name, put, remove};
use crate::stress::rig::{self, KV, Machine, Rig};
use saker_host::RawData;
use saker_nvme::{Key, kv};
use saker_world::{Clocked, Inline};

/// One page of List: the keys, with `start` first if it is stored.
fn page<D: Machine>(rig: &mut Rig<D>, start: Option<&Key>, room: u32) -> Vec<Key> {
    let answer = rig.call(KV, kv::list(KV, start, room), RawData::FromDevice(room));
    assert!(answer.status.is_success(), "{}", answer.status);
    let keys: Vec<Key> = saker_nvme::kv_list::ListReader::new(&answer.data)
        .expect("NRK fits")
        .map(|k| k.expect("a whole entry"))
        .collect();
    let names: Vec<_> = keys.iter().map(|k| k.as_bytes().to_vec()).collect();
    assert_eq!(
        list_answer(names.iter(), usize::MAX)[..],
        answer.data[..list_answer(names.iter(), usize::MAX).len()]
    );
    keys
}

/// All keys by pages, each starting at the last key of the one before; `each` acts between pages.
fn paged<D: Machine>(rig: &mut Rig<D>, room: u32, mut each: impl FnMut(&mut Rig<D>, &Key)) -> Vec<Key> {
    let mut all = page(rig, None, room);
    while let Some(last) = all.last().copied() {
        each(rig, &last);
        let next = page(rig, Some(&last), room);
        let new: Vec<_> = next.iter().filter(|k| **k != last).copied().collect();
        if new.is_empty() {
            return all;
        }
        all.extend(new);
    }
    all
}

fn pages_of_every_size<D: Machine>() {
    let mut rig = Rig::<D>::new(&rig::roomy(true, 5));
    let mut names: Vec<Key> = (0..90).map(name).collect();
    names.sort_by_key(|k| k.as_bytes().to_vec());
    names.dedup();
    names.iter().for_each(|k| assert!(put(&mut rig, k, k.as_bytes()).is_success()));
    let order = page(&mut rig, None, 4096);
    assert_eq!(order.len(), names.len());
    for room in 4..=100 {
        let first = page(&mut rig, None, room);
        let expected = list_answer(
            order.iter().map(|k| k.as_bytes().to_vec()).collect::<Vec<_>>().iter(),
            room as usize,
        );
        assert_eq!(first.len() as u32, u32::from_le_bytes(expected[..4].try_into().expect("NRK")), "{room}");
        assert_eq!(first, order[..first.len()]);
        // Two of the longest entries: the key to go on at, and one more.
        if room >= 4 + 2 * 20 {
            assert_eq!(paged(&mut rig, room, |_, _| {}), order, "pages of {room} bytes");
        }
        // From every key, stored or not.
        let at = room as usize * 7 % order.len();
        let rest = page(&mut rig, Some(&order[at]), room);
        assert_eq!(rest, order[at..at + rest.len()]);
    }
}

#[test]
fn list_pages_of_every_size() {
    pages_of_every_size::<Inline>();
    pages_of_every_size::<Clocked>();
}

fn list_while_deleting<D: Machine>(room: u32) {
    let mut rig = Rig::<D>::new(&rig::roomy(false, 6));
    let names: Vec<Key> =
        (0..80).map(|n: u32| Key::new(format!("key{n:04}").as_bytes()).expect("7 bytes")).collect();
    names.iter().for_each(|k| assert!(put(&mut rig, k, b"v").is_success()));
    let order = page(&mut rig, None, 4096);
    // The key to go on at is deleted before the next page is asked for, and one far ahead too.
    let mut gone = Vec::new();
    let seen = paged(&mut rig, room, |rig, last| {
        let at = order.iter().position(|k| k == last).expect("listed before");
        assert!(remove(rig, last).is_success());
        if let Some(ahead) = order.get(at + 30)
            && !gone.contains(ahead)
        {
            assert!(remove(rig, ahead).is_success());
            gone.push(*ahead);
        }
    });
    let expected: Vec<_> = order.iter().filter(|k| !gone.contains(k)).copied().collect();
    assert_eq!(seen, expected, "every key that stays is listed once, in order, deleted ones at most once");
}

#[test]
fn list_goes_on_after_deletes() {
    for room in 44..=100 {
        list_while_deleting::<Inline>(room);
    }
    list_while_deleting::<Clocked>(64);
}

#[test]
fn the_oracle_encodes_list_answers_as_the_specification_shows() {
    let keys = [b"a".to_vec(), b"bcd".to_vec()];
    let golden = [2, 0, 0, 0, 1, 0, b'a', 0, 3, 0, b'b', b'c', b'd', 0, 0, 0];
    assert_eq!(list_answer(keys.iter(), 16), golden);
    assert_eq!(list_answer(keys.iter(), 15), [1, 0, 0, 0, 1, 0, b'a', 0]);
}
