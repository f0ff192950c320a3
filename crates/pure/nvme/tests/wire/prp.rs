// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PRP walks against a model of host memory.

use std::collections::BTreeMap;

use proptest::prelude::*;
use saker_nvme::Status;
use saker_nvme::prp::{BuildError, PrpError, build, list_entries_needed, walk};

type Memory = BTreeMap<u64, u64>;

#[derive(Debug, PartialEq, Clone, Copy)]
struct Unmapped(u64);

/// Runs a walk, collecting its visits; list entries come from `memory`.
fn visits(
    prp1: u64,
    prp2: u64,
    len: u32,
    page: u32,
    memory: &Memory,
) -> Result<Vec<(u64, u32)>, PrpError<Unmapped>> {
    let mut visits = Vec::new();
    walk(
        prp1,
        prp2,
        len,
        page,
        |at| memory.get(&at).copied().ok_or(Unmapped(at)),
        |at, len| {
            visits.push((at, len));
            Ok(())
        },
    )?;
    Ok(visits)
}

#[test]
fn one_and_two_pages_need_no_list() {
    let none = Memory::new();
    assert_eq!(visits(0x1003, 0x7, 0, 4096, &none), Ok(vec![]), "no data, no pointer looked at");
    assert_eq!(visits(0x1004, 0xBAD, 0xFFC, 4096, &none), Ok(vec![(0x1004, 0xFFC)]));
    assert_eq!(visits(0x1004, 0x5000, 0xFFD, 4096, &none), Ok(vec![(0x1004, 0xFFC), (0x5000, 1)]));
    assert_eq!(visits(0x1FFC, 0x5000, 4100, 4096, &none), Ok(vec![(0x1FFC, 4), (0x5000, 4096)]));
    assert_eq!(
        visits(0x1_0000, 0x3_0000, 0x1_0001, 65536, &none),
        Ok(vec![(0x1_0000, 0x1_0000), (0x3_0000, 1)])
    );
}

#[test]
fn list_may_begin_anywhere_and_chains_only_for_more_than_one_page() {
    // The list begins in the last slot but one: a data page, then a slot that is data if one page remains.
    let two = Memory::from([(0x8FF0, 0xA000), (0x8FF8, 0xB000)]);
    let first = [(0x1000, 4096), (0xA000, 4096)];
    assert_eq!(visits(0x1000, 0x8FF0, 12288, 4096, &two), Ok([&first[..], &[(0xB000, 4096)]].concat()));
    let mut three = two.clone();
    three.extend([(0xB000, 0xC000), (0xB008, 0xD000)]);
    let chained = [&first[..], &[(0xC000, 4096), (0xD000, 1)]].concat();
    assert_eq!(visits(0x1000, 0x8FF0, 12289, 4096, &three), Ok(chained));
}

#[test]
fn list_that_begins_in_the_last_slot_is_all_pointer() {
    let memory = Memory::from([(0x8FF8, 0xB000), (0xB000, 0xC000), (0xB008, 0xD000)]);
    let expected = vec![(0x1000, 4096), (0xC000, 4096), (0xD000, 5)];
    assert_eq!(visits(0x1000, 0x8FF8, 8197, 4096, &memory), Ok(expected));
}

#[test]
fn offsets_are_refused() {
    let memory = Memory::from([(0x8000, 0xA000), (0x8008, 0xB004), (0x8FF8, 0xB008)]);
    for (prp1, prp2, len) in [
        (0x1002, 0, 1),          // PRP1 not dword aligned
        (0x1000, 0x5004, 4097),  // second page not at its start
        (0x1000, 0x5800, 8192),  // the same, a whole page
        (0x1000, 0x8004, 8193),  // list not qword aligned
        (0x1000, 0x8000, 12288), // data page of the list not at its start
        (0x1000, 0x8FF8, 12288), // next list page not at its start
    ] {
        assert_eq!(
            visits(prp1, prp2, len, 4096, &memory),
            Err(PrpError::Offset),
            "{prp1:#x} {prp2:#x} {len}"
        );
    }
}

#[test]
fn pointers_of_the_entry_are_judged_before_any_visit() {
    let mut count = 0;
    let result = walk(
        0x1000,
        0x5004,
        9000,
        4096,
        |_| Ok(0),
        |_, _| -> Result<(), ()> {
            count += 1;
            Ok(())
        },
    );
    assert_eq!((result, count), (Err(PrpError::Offset), 0));
}

#[test]
fn errors_become_status() {
    assert_eq!(PrpError::<()>::Offset.status(|()| Status::INTERNAL_ERROR), Status::PRP_OFFSET_INVALID);
    assert_eq!(PrpError::Memory(()).status(|()| Status::DATA_TRANSFER_ERROR), Status::DATA_TRANSFER_ERROR);
    assert_eq!(visits(0, 0x8000, 9000, 4096, &Memory::new()), Err(PrpError::Memory(Unmapped(0x8000))));
}

#[test]
fn visit_error_stops_the_walk() {
    for stop in 1..=3 {
        let mut count = 0;
        let result = walk(
            0,
            0x8000,
            12288,
            4096,
            |_| Ok(0xA000),
            |_, _| {
                count += 1;
                if count == stop { Err("stop") } else { Ok(()) }
            },
        );
        assert_eq!((result, count), (Err(PrpError::Memory("stop")), stop));
    }
}

#[test]
fn build_refuses_bad_memory() {
    let refuse = |iova, len, list| build(iova, len, 4096, list, |_, _| panic!("written before the check"));
    assert_eq!(refuse(2, 1, 0), Err(BuildError::Buffer));
    assert_eq!(refuse(0, 8193, 4), Err(BuildError::List));
    assert_eq!(refuse(u64::MAX - 3, 4, 0), Err(BuildError::Range));
    assert_eq!(refuse(0, 8193, u64::MAX - 7), Err(BuildError::Range));
    assert_eq!(refuse(0, 8192, 4), Ok((0, 4096)), "no list, no matter where it would be");
}

#[test]
fn entries_of_two_mebibytes() {
    let bytes = 2 << 20;
    // Aligned: 511 pages after the first, all in one list page.
    assert_eq!(list_entries_needed(0, bytes, 4096, 0), 511);
    // At an offset: 512 pages fill the list page to its last slot.
    assert_eq!(list_entries_needed(4, bytes, 4096, 0), 512);
    // One page more takes the last slot for a pointer, and two entries of the next list page.
    assert_eq!(list_entries_needed(4, bytes + 4096, 4096, 0), 514);
    assert_eq!(list_entries_needed(0, 4096, 4096, 0), 0);
    assert_eq!(list_entries_needed(4, 8192, 4096, 0xFF8), 3);
}

fn page() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(4096), 1 => Just(8192), 1 => Just(65536)]
}

proptest! {
    #[test]
    fn build_then_walk_covers_the_buffer(
        page in page(), dword in 0_u64..40_000, len in prop_oneof![0_u32..20_000, 0_u32..9 << 20], slot in 0_u64..10_000,
    ) {
        let (iova, list) = (0x10_0000_0000 + dword * 4, 0x20_0000_0000 + slot * 8);
        let mut memory = Memory::new();
        let (prp1, prp2) = build(iova, len, page, list, |at, entry| assert!(memory.insert(at, entry).is_none())).unwrap();
        let needed = list_entries_needed(iova, len, page, list);
        prop_assert!(memory.keys().copied().eq((0..needed).map(|index| list + index * 8)), "consecutive entries");

        let mut at = iova;
        for (address, bytes) in visits(prp1, prp2, len, page, &memory).unwrap() {
            prop_assert_eq!(address, at);
            prop_assert!(bytes > 0 && address % u64::from(page) + u64::from(bytes) <= u64::from(page));
            at += u64::from(bytes);
        }
        prop_assert_eq!(at, iova + u64::from(len));
    }

    #[test]
    fn scattered_pages_and_list_pages(
        dword in 0_u64..1024, len in 1_u32..5 << 20, slot in 0_u64..512, seed: u64,
    ) {
        let (prp1, prp2, memory, model) = scattered(dword * 4, len, slot * 8, seed);
        prop_assert_eq!(visits(prp1, prp2, len, 4096, &memory), Ok(model));
    }

    #[test]
    fn malformed_pointers_never_panic_and_end(
        prp1: u64, prp2: u64, len: u32, aligned: bool, entry in prop_oneof![Just(0), any::<u64>(), Just(u64::MAX << 12)],
    ) {
        let (prp1, prp2) = if aligned { (prp1 & !3, prp2 & !7) } else { (prp1, prp2) };
        let (mut reads, mut sum) = (0_u64, 0_u64);
        let result: Result<(), PrpError<()>> = walk(
            prp1, prp2, len, 4096,
            |_| { reads += 1; Ok(if aligned { entry & !0xFFF } else { entry }) },
            |_, bytes| { sum += u64::from(bytes); Ok(()) },
        );
        prop_assert!(reads < 2 * (u64::from(len) / 4096 + 2));
        if result.is_ok() {
            prop_assert_eq!(sum, u64::from(len));
        }
    }
}

/// PRPs for scattered pages, written page by page as the specification tells it, and the visits they mean.
fn scattered(offset: u64, len: u32, list_offset: u64, seed: u64) -> (u64, u64, Memory, Vec<(u64, u32)>) {
    let mut state = seed | 1;
    let mut fresh_page = || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        state >> 20 << 12
    };
    let prp1 = fresh_page() + offset;
    let mut model = vec![(prp1, len.min(4096 - offset as u32))];
    let mut rest = len - model[0].1;
    while rest > 0 {
        model.push((fresh_page(), rest.min(4096)));
        rest -= model.last().unwrap().1;
    }
    let pages = &model[1..];
    if pages.len() < 2 {
        return (prp1, pages.first().map_or(0xDEAD, |page| page.0), Memory::new(), model);
    }
    let mut memory = Memory::new();
    // List pages from a range of their own, in descending order, so that none follows its predecessor.
    let mut list_page = 0xF000_0000_0000_u64;
    let prp2 = list_page + list_offset;
    let mut slot = list_offset / 8;
    for (index, page) in pages.iter().enumerate() {
        if slot == 511 && index + 1 < pages.len() {
            memory.insert(list_page + slot * 8, list_page - 0x3000);
            (list_page, slot) = (list_page - 0x3000, 0);
        }
        memory.insert(list_page + slot * 8, page.0);
        slot += 1;
    }
    (prp1, prp2, memory, model)
}
