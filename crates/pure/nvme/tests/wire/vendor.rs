// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Vendor commands: golden entries, round trips, and the document that describes them.

use crate::golden::image;
use proptest::prelude::*;
use saker_nvme::kv::StoreOptions;
use saker_nvme::sqe::Direction;
use saker_nvme::vendor_specific::{
    self, COMMANDS, Capabilities, Fragment, HybridStore, InlineRetrieve, InlineStore, Methods, MmioStore,
    PiggybackStore,
};
use saker_nvme::{Key, NSID_ALL, Sqe, Status};
use zerocopy::{FromBytes, IntoBytes};

fn key() -> Key {
    Key::new(b"ABCDEFGHIJ").unwrap()
}

fn ascending(bytes: usize) -> Vec<u8> {
    (1..=bytes as u8).collect()
}

#[test]
fn golden_entries() {
    let (value, both) = (ascending(40), StoreOptions::MUST_EXIST | StoreOptions::DO_NOT_COMPRESS);
    let head: &[(usize, &[u8])] = &[(4, &[7]), (8, b"ABCDEFGH"), (56, b"IJ")];
    let expect = |fields: &[(usize, &[u8])]| image(64, &[head, fields].concat());
    let piggyback = expect(&[
        (0, &[0xC0]),
        (16, &value[..24]),
        // 40 bytes; CRC-32C of the last five is 50AA0347h.
        (40, &[40, 0, 0x47, 0x03]),
        // KL 10, options 101b.
        (44, &[10 | 0b101 << 5]),
        (45, &value[24..35]),
    ]);
    assert_eq!(vendor_specific::store_piggyback(7, &key(), &value, both).as_bytes(), piggyback);
    // CRC-32C of the tail: E18929AAh.
    let hybrid = expect(&[(0, &[0xC1]), (40, &[3, 0x20]), (44, &[10, 5]), (48, &[0xAA, 0x29, 0x89, 0xE1])]);
    assert_eq!(
        vendor_specific::store_hybrid(7, &key(), 0x2003, &[0xAA, 0xBB, 0xCC], both).as_bytes(),
        hybrid
    );
    let inline = expect(&[(0, &[0xCC]), (40, &[200]), (44, &[10, 5])]);
    assert_eq!(vendor_specific::store_inline(7, &key(), 200, both).as_bytes(), inline);
    let mmio = expect(&[(0, &[0xD0]), (40, &[200]), (44, &[10, 5]), (48, &[0x40, 1])]);
    assert_eq!(vendor_specific::store_mmio(7, &key(), 200, 0x140, both).as_bytes(), mmio);
    let tiny = expect(&[(0, &[0xD4]), (44, &[10])]);
    assert_eq!(vendor_specific::retrieve_tiny(7, &key()).as_bytes(), tiny);
    let retrieve = expect(&[(0, &[0xD8]), (40, &[0, 1]), (44, &[10])]);
    assert_eq!(vendor_specific::retrieve_inline(7, &key(), 256).as_bytes(), retrieve);
    let versioned = expect(&[(0, &[0xD2]), (40, &[0, 1]), (44, &[10])]);
    assert_eq!(saker_nvme::group::retrieve_versioned(7, &key(), 256).as_bytes(), versioned);
    let part = ascending(56);
    for (opcode, sqe) in
        [(0xC4, vendor_specific::transfer(7, 0x1B, &part)), (0xC8, vendor_specific::tail(7, 0x1B, &part))]
    {
        // 1Bh modulo 16 in bits 5:2.
        assert_eq!(sqe.as_bytes(), image(64, &[(0, &[opcode, 0xB << 2]), (4, &[7]), (8, &part)]));
    }
}

#[test]
fn the_log_page() {
    let page = Capabilities::new(Methods(0b10_0101), 0x4000, 0x2000, 0x400);
    let bytes = [b"SKRX".as_slice(), &[1, 0, 0x25, 0, 0, 0x40, 0, 0, 0, 0x20, 0, 0, 0, 4, 0, 0]].concat();
    assert_eq!(page.as_bytes(), image(64, &[(0, &bytes)]));
    assert_eq!(page.methods(), Methods(0b10_0101));
    for (at, byte) in [(0, b'X'), (4, 2)] {
        let mut other = page.as_bytes().to_vec();
        other[at] = byte;
        let other = Capabilities::read_from_bytes(&other).unwrap();
        assert_eq!(other.methods(), Methods::default(), "an unknown page promises nothing");
    }
}

/// Opcodes, names, directions and effects stand in the document as in the code, and nothing else does.
#[test]
fn the_document_has_the_table_of_the_code() {
    let document = include_str!("../../../../../docs/vendor-commands.md");
    let rows = document.lines().filter_map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let opcode = u8::from_str_radix(cells.get(1)?.strip_suffix('h')?, 16).ok()?;
        Some((opcode, cells[2], cells[3], cells[4]))
    });
    let direction = |opcode| match Direction::of(opcode) {
        Direction::None => "none",
        Direction::HostToController => "from host",
        Direction::ControllerToHost => "to host",
        Direction::Bidirectional => "both",
    };
    let code = COMMANDS
        .map(|(opcode, name, changes)| (opcode, name, direction(opcode), if changes { "yes" } else { "no" }));
    let mut documented: Vec<_> = rows.collect();
    documented.sort_unstable();
    let mut coded = code.to_vec();
    coded.sort_unstable();
    assert_eq!(documented, coded);
    assert!(coded.iter().all(|(opcode, ..)| *opcode >= 0xC0));
    let limits = ["16384 here", "8192 here", "1024 here", "64 bytes; NSID is ignored", "signature \"SKRX\""];
    assert!(limits.iter().all(|text| document.contains(text)), "{limits:?}");
}

#[test]
fn commands_are_counted_at_their_steps() {
    let commands = [0, 1, 35, 36, 91, 92, 147, 148, 4096].map(vendor_specific::piggyback_commands);
    assert_eq!(commands, [1, 1, 1, 2, 2, 3, 3, 4, 74]);
    let tails = [4096, 4097, 4152, 4153, 8191, 8192].map(vendor_specific::tail_commands);
    assert_eq!(tails, [0, 1, 1, 2, 74, 0]);
    assert_eq!([0, 1, 64, 65].map(vendor_specific::inline_slots), [0, 1, 1, 2]);
    assert_eq!([0, 1, 14, 15].map(vendor_specific::cq_slots), [0, 1, 1, 2]);
}

#[test]
fn what_a_plain_command_would_refuse_is_refused() {
    let (key, none) = (key(), StoreOptions::NONE);
    let good = [
        vendor_specific::store_piggyback(7, &key, &[1; 9], none),
        vendor_specific::store_hybrid(7, &key, 5000, b"", none),
        vendor_specific::store_inline(7, &key, 100, none),
        vendor_specific::store_mmio(7, &key, 100, 64, none),
        vendor_specific::retrieve_tiny(7, &key),
        vendor_specific::retrieve_inline(7, &key, 100),
        vendor_specific::transfer(7, 1, &[1; 56]),
        vendor_specific::tail(7, 0, &[1; 56]),
    ];
    let decode = |sqe: &Sqe| match sqe.opcode {
        0xC0 => PiggybackStore::decode(sqe).map(drop),
        0xC1 => HybridStore::decode(sqe).map(drop),
        0xCC => InlineStore::decode(sqe).map(drop),
        0xD0 => MmioStore::decode(sqe).map(drop),
        0xD4 | 0xD8 => InlineRetrieve::decode(sqe).map(drop),
        _ => Fragment::decode(sqe).map(drop),
    };
    for sqe in good {
        assert_eq!(decode(&sqe), Ok(()), "{sqe:?}");
        assert_eq!(decode(&Sqe { nsid: NSID_ALL.into(), ..sqe }), Err(Status::INVALID_FIELD), "{sqe:?}");
        for flags in [1, 2, 0x40, 0x80, 0xC0] {
            let fused = Sqe { flags: sqe.flags | flags, ..sqe };
            assert_eq!(decode(&fused), Err(Status::INVALID_FIELD), "{fused:?}");
        }
        if matches!(sqe.opcode, 0xC4 | 0xC8) {
            continue;
        }
        let kl = |kl: u32| Sqe { cdw11: (sqe.cdw11.get() & !0x1F | kl).into(), ..sqe };
        assert_eq!(decode(&kl(0)), Err(Status::INVALID_KEY_SIZE), "{sqe:?}");
        assert_eq!(decode(&kl(17)), Err(Status::INVALID_FIELD), "{sqe:?}");
    }
    for bytes in [0, 100, 4095, 4096, 8192] {
        let sqe = vendor_specific::store_hybrid(7, &key, bytes, b"", none);
        assert_eq!(HybridStore::decode(&sqe), Err(Status::INVALID_FIELD), "{bytes} bytes");
    }
    let odd = vendor_specific::store_mmio(7, &key, 100, 32, none);
    assert_eq!(MmioStore::decode(&odd), Err(Status::INVALID_FIELD));
    let both = StoreOptions::MUST_EXIST | StoreOptions::MUST_NOT_EXIST;
    let sqe = vendor_specific::store_piggyback(7, &key, &[1; 9], both);
    assert_eq!(PiggybackStore::decode(&sqe), Err(Status::INVALID_FIELD));
}

proptest! {
    /// 35 bytes fit beside a key of any length, with any options.
    #[test]
    fn piggyback_round_trip(
        name in prop::collection::vec(any::<u8>(), 1..=16),
        value in prop::collection::vec(any::<u8>(), 0..100),
        option in prop::sample::select(vec![
            StoreOptions::NONE, StoreOptions::MUST_EXIST, StoreOptions::MUST_NOT_EXIST, StoreOptions::DO_NOT_COMPRESS,
        ]),
    ) {
        let key = Key::new(&name).unwrap();
        let store = PiggybackStore::decode(&vendor_specific::store_piggyback(3, &key, &value, option)).unwrap();
        prop_assert_eq!((store.key, store.value_bytes, store.options), (key, value.len() as u32, option));
        let here = value.len().min(35);
        prop_assert_eq!(&store.payload[..here], &value[..here]);
        prop_assert!(store.payload[here..].iter().all(|b| *b == 0));
    }

    #[test]
    fn fragments_round_trip(sequence: u32, bytes in prop::collection::vec(any::<u8>(), 0..=56)) {
        let fragment = Fragment::decode(&vendor_specific::transfer(3, sequence, &bytes)).unwrap();
        prop_assert_eq!(u32::from(fragment.sequence), sequence % 16);
        prop_assert_eq!(&fragment.payload[..bytes.len()], &bytes[..]);
    }

    #[test]
    fn hostile_entries_never_panic(head: [u8; 32], tail: [u8; 32]) {
        let sqe = Sqe::read_from_bytes(&[head, tail].concat()).unwrap();
        let _ = (PiggybackStore::decode(&sqe), Fragment::decode(&sqe), HybridStore::decode(&sqe));
        let _ = (InlineStore::decode(&sqe), MmioStore::decode(&sqe), InlineRetrieve::decode(&sqe));
    }
}
