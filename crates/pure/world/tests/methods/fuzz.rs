// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Entries that a faulty host sends: whole values of every method on two queues at once, their entries lost, repeated,
//! exchanged, cut off, with flipped bits or made of noise.
//!
//! Whatever comes, the device answers and serves others, holds little, gives everything back with the queues, and no
//! stored value has bytes of another.

use crate::methods::rig::{Machine, Rig, build};
use crate::methods::tier;
use saker_link::{HostQueuePair, Sqe};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Key, Status, vendor_specific};
use saker_sim::{Rng, Seed};
use saker_world::{Clocked, Inline};
use zerocopy::{FromBytes, IntoBytes};

const NONE: StoreOptions = StoreOptions::NONE;
/// Entries of each of the two queues.
const ENTRIES: u32 = 128;
/// A page of host memory that good commands name.
const PAGES: u32 = 2;
/// Bytes that a queue's values may hold: twice one value that is gathered, and what waits for its execution.
const HELD_MAX: usize = 2 * (16 << 10) + 4 * (16 << 10);

/// An entry of a queue.
type Entry = [u8; 64];

/// Keys are far apart: a flipped bit makes none of another.
fn key(name: u8) -> Key {
    let mixed = (u64::from(name) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Key::new(&mixed.to_le_bytes()).expect("8 bytes")
}

/// Its bytes tell whose they are, wherever they end up.
fn value(name: u8, bytes: usize) -> Vec<u8> {
    vec![name; bytes]
}

/// The entries that carry one value. `page`: where its whole page is, for the methods that have one.
fn whole(rng: &mut Rng, of: u8, page: u64) -> Vec<Entry> {
    let bytes = rng.below(400) as usize;
    let data = value(of, bytes);
    let parts = |from: usize| data[from.min(bytes)..].chunks(56).enumerate().collect::<Vec<_>>();
    let mut all = Vec::new();
    match rng.below(6) {
        0 | 1 => {
            all.push(vendor_specific::store_piggyback(1, &key(of), &data, NONE));
            all.extend(parts(35).iter().map(|(n, part)| vendor_specific::transfer(1, *n as u32 + 1, part)));
        }
        2 => {
            all.extend(parts(0).iter().map(|(n, part)| vendor_specific::tail(1, *n as u32, part)));
            let mut sqe = vendor_specific::store_hybrid(1, &key(of), 4096 + bytes as u32, &data, NONE);
            sqe.prp1.set(page);
            all.push(sqe);
        }
        3 => {
            all.push(vendor_specific::store_inline(1, &key(of), bytes as u32, NONE));
            let slots = data.chunks(64).map(|part| {
                let slot: [u8; 64] = std::array::from_fn(|n| part.get(n).copied().unwrap_or(0));
                Sqe::read_from_bytes(&slot).expect("64 bytes")
            });
            all.extend(slots);
        }
        4 => all.push(vendor_specific::store_mmio(
            1,
            &key(of),
            bytes as u32,
            (rng.below(130) * 64) as u32,
            NONE,
        )),
        _ => all.push(match rng.below(5) {
            0 => vendor_specific::retrieve_tiny(1, &key(of)),
            1 => vendor_specific::retrieve_inline(1, &key(of), bytes as u32),
            2 => kv::exist(1, &key(of)),
            3 => kv::delete(1, &key(of)),
            _ => kv::flush(1),
        }),
    }
    all.iter().map(|sqe| sqe.as_bytes().try_into().expect("64 bytes")).collect()
}

/// Spoils a history in one way.
fn spoil(rng: &mut Rng, history: &mut Vec<Entry>) {
    if history.len() < 2 {
        return;
    }
    let (at, other) = (rng.below(history.len() as u64) as usize, rng.below(history.len() as u64) as usize);
    match rng.below(9) {
        0 => drop(history.remove(at)),
        1 => history.insert(other, history[at]),
        2 => history.swap(at, other),
        3 => {
            let next = (at + 1) % history.len();
            history.swap(at, next);
        }
        4 => history.truncate(at),
        5 => {
            let bit = rng.below(512) as usize;
            history[at][bit / 8] ^= 1 << (bit % 8);
        }
        // Lengths are where most can go wrong.
        6 => history[at][40 + rng.below(4) as usize] = rng.next_u64() as u8,
        7 => history[at][[1, 4, 44, 45, 46, 47, 48][rng.below(7) as usize]] = rng.next_u64() as u8,
        _ => {
            let opcode = history[at][0];
            rng.fill(&mut history[at]);
            // Noise under a good opcode; its namespace is mostly the right one.
            history[at][0] = if rng.below(4) == 0 { 0xC0 + (opcode.wrapping_mul(4) & 0x3C) } else { opcode };
            history[at][4..8].copy_from_slice(&[rng.below(2) as u8, 0, 0, 0]);
        }
    }
}

/// Sends what there is room for, and takes what completed.
fn pump<D: Machine>(rig: &mut Rig<D>, pair: &mut HostQueuePair, history: &mut &[Entry], burst: u64) {
    for _ in 0..burst {
        let Some((first, rest)) = history.split_first() else { break };
        if pair.submit_payload(first).is_err() {
            break;
        }
        *history = rest;
    }
    pair.ring();
    rig.machine.drive();
    while pair.poll().is_some() {
        pair.ring_cq();
    }
}

/// Another value, of those before `names`, of which a value has a part: so many bytes come from no flipped bit.
fn foreign(found: &[u8], own: u8, names: u8) -> Option<u8> {
    let runs = found.chunk_by(|a, b| a == b).filter(|run| run.len() >= 24);
    runs.map(|run| run[0]).find(|name| *name != own && (1..names).contains(name))
}

/// Whether an inline store of that key was sent: what the host left out of its value, the entries behind it stand for.
fn is_inline(history: &[Entry], name: u8) -> bool {
    history
        .iter()
        .any(|e| e[0] == vendor_specific::opcode::STORE_INLINE && e[8..16] == key(name).as_bytes()[..8])
}

fn history<D: Machine>(seed: u64) {
    let mut rng = Seed(seed).child("fuzz").rng();
    let mut rig = Rig::<D>::new(&build(), &[(32, 8), (2, 1), (2, 1)]);
    let kept = Key::new(b"kept apart, long").expect("16 bytes");
    assert_eq!(rig.put(0, &kept, b"kept"), Status::SUCCESS);
    rig.queues.truncate(1);
    let page = 0;
    let mut names = 0u8;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for queue in [&mut first, &mut second] {
        for _ in 0..8 + rng.below(8) {
            names += 1;
            queue.extend(whole(&mut rng, names, page));
        }
        for _ in 0..rng.below(6) {
            spoil(&mut rng, queue);
        }
    }
    for id in [2, 3] {
        rig.connection.delete_queue(&mut rig.machine, id).expect("deleted");
    }
    let make = |rig: &mut Rig<D>| rig.connection.create_queue(&mut rig.machine, ENTRIES).expect("made");
    let (mut one, mut two) = (make(&mut rig), make(&mut rig));
    let (mut left, mut right) = (&first[..], &second[..]);
    for _ in 0..400 {
        pump(&mut rig, &mut one, &mut left, rng.below(9));
        pump(&mut rig, &mut two, &mut right, rng.below(9));
        assert!(rig.machine.gathered() <= PAGES as usize * HELD_MAX, "{} bytes", rig.machine.gathered());
    }
    assert_eq!(rig.get(0, &kept).data, b"kept", "other queues are served");
    for pair in [&one, &two] {
        rig.connection.delete_queue(&mut rig.machine, pair.queue()).expect("deleted");
    }
    assert_eq!(rig.machine.gathered(), 0, "nothing is left behind");
    for name in 1..=names {
        let found = rig.get(0, &key(name));
        if found.status.is_success() && !is_inline(&first, name) && !is_inline(&second, name) {
            let tail = found.data.get(4096..).filter(|_| found.data.len() > 4096);
            let other = foreign(tail.unwrap_or(&found.data), name, names + 1);
            assert_eq!(other, None, "the value of {name} has bytes of another");
        }
    }
    assert_eq!(rig.get(0, &kept).data, b"kept");
}

#[test]
fn spoiled_entries_without_time() {
    (0..tier(300, 60_000)).for_each(history::<Inline>);
}

#[test]
fn spoiled_entries_in_virtual_time() {
    (0..tier(150, 30_000)).for_each(history::<Clocked>);
}
