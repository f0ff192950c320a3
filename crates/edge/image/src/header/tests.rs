// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Golden bytes, flips, later versions, and which copy counts.

use super::*;
use crate::config::NamespaceKind;
use saker_engine::EngineKind;

fn config() -> ImageConfig {
    let namespace = NamespaceRecord {
        nsid: 2,
        kind: NamespaceKind::Kv,
        engine: EngineKind::default(),
        quota_segments: 9,
        block_bytes: 0,
        blocks: 0,
        flags: NamespaceRecord::EDNEK,
        value_bytes_max: 0x0010_0000,
        seed: 0x1112_1314_1516_1718,
    };
    ImageConfig {
        geometry: Geometry { page_bytes: 16384, oob_bytes: 96, segment_pages: 256, segments: 600 },
        channels: 4,
        luns: 16,
        ring_slots: 40,
        capacitor: true,
        seed: 0x0102_0304_0506_0708,
        shards: 1,
        profile: "saker-mid".into(),
        namespaces: vec![namespace],
        uuid: *b"0123456789abcdef",
    }
}

fn header() -> Header {
    let config = config();
    Header::new(&config, &Layout::of(&config).expect("valid"))
}

/// CRC-32C bit by bit (RFC 3720, appendix B.4), independent of the library.
fn slow_crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 })
    })
}

#[test]
fn golden_bytes() {
    let header = header();
    let b = header.block();
    assert_eq!(&b[..16], b"SAKERIMG\x01\0\0\0\0\x10\0\0");
    assert_eq!(b[16..32], [0; 16], "no features");
    assert_eq!(b[32..48], [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], "generation 1, clean, capacitor");
    assert_eq!(b[48..56], [0; 8], "no boot");
    assert_eq!(&b[56..72], b"0123456789abcdef");
    assert_eq!(b[72..88], [0, 0x40, 0, 0, 96, 0, 0, 0, 0, 1, 0, 0, 0x58, 2, 0, 0]);
    assert_eq!(b[88..104], [4, 0, 0, 0, 16, 0, 0, 0, 40, 0, 1, 0, 1, 0, 6, 0]);
    assert_eq!(b[104..112], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(&b[112..122], b"saker-mid\0");
    assert_eq!(b[122..180], [0; 58]);
    assert_eq!(b[180..192], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // Epochs at 8192; 600 entries end at 12992, so the ring is at 16384. A slot is 64 + 96 + 16384 bytes in
    // multiples of 64, 16576; 40 of them end at 679424, and the next block starts at 679936.
    assert_eq!(b[192..208], [0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0]);
    assert_eq!(b[208..216], [0, 0x60, 0x0a, 0, 0, 0, 0, 0]);
    // 128 bytes a page, 32768 a segment: 19660800 bytes end at 20340736, data start at 20 MiB.
    assert_eq!(b[216..224], [0, 0, 0x40, 1, 0, 0, 0, 0]);
    // 600 segments of 4 MiB behind 20 MiB.
    assert_eq!(b[224..232], (2420u64 << 20).to_le_bytes());
    assert_eq!(b[232..256], [0; 24]);
    assert_eq!(b[256..272], [2, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        b[272..296],
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x10, 0, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]
    );
    assert!(b[296..4092].iter().all(|b| *b == 0));
    assert_eq!(b[4092..], slow_crc(&b[..4092]).to_le_bytes());
}

#[test]
fn round_trip_and_every_flipped_bit() {
    let mut header = header();
    header.advance(Life { state: State::Dirty, unsettled: true, boot: BootId(77) });
    assert_eq!(Header::decode(header.block()), Ok(header.clone()));
    assert_eq!((header.generation, header.life.boot), (2, BootId(77)));
    for bit in 0..BLOCK * 8 {
        let mut bad = *header.block();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(Header::decode(&bad).is_err(), "bit {bit}");
    }
}

fn sealed(change: impl FnOnce(&mut Wire)) -> Result<Header, Fault> {
    let mut header = header();
    header.patch(change);
    Header::decode(header.block())
}

#[test]
fn later_versions_are_refused_and_compatible_features_kept() {
    assert!(
        matches!(sealed(|w| w.version = 2.into()), Err(Fault::Unsupported(w)) if w.contains("version 2"))
    );
    assert!(
        matches!(sealed(|w| w.incompatible = 16.into()), Err(Fault::Unsupported(w)) if w.contains("0x10"))
    );
    assert!(
        matches!(sealed(|w| w.records[0].engine = 99), Err(Fault::Unsupported(w)) if w.contains("engine"))
    );
    // A grain, a load and bits that no setting has, and those of another engine.
    for (engine, flags) in
        [(1, 8 << 12), (5, 101 << 20), (1, 1 << 31), (0, 1 << 8), (3, 7 << 8), (3, 1 << 31)]
    {
        let change = |w: &mut Wire| (w.records[0].engine, w.records[0].flags) = (engine, U32::new(flags));
        assert!(
            matches!(sealed(change), Err(Fault::Unsupported(w)) if w.contains("settings")),
            "engine {engine}, flags {flags:#x}"
        );
    }
    let change = |w: &mut Wire| {
        w.compatible = 2.into();
        w.reserved2[100] = 9;
    };
    let mut kept = sealed(change).expect("compatible");
    kept.advance(kept.life);
    let wire = Wire::read_from_bytes(&kept.block()[..]).expect("size");
    assert_eq!((wire.compatible.get(), wire.reserved2[100], wire.generation.get()), (2, 9, 2));
}

#[test]
fn fields_that_make_no_sense_are_faults() {
    let bad = |change: fn(&mut Wire)| assert!(matches!(sealed(change), Err(Fault::Bad(_))));
    bad(|w| w.state = 4.into());
    bad(|w| w.page_bytes = 0.into());
    bad(|w| w.segments = u32::MAX.into());
    bad(|w| w.segment_pages = u32::MAX.into());
    bad(|w| w.namespaces = 17.into());
    bad(|w| w.namespaces = 2.into());
    bad(|w| w.records[0].kind = 3);
    bad(|w| w.profile[3] = 0xff);
    bad(|w| w.data_at = 0.into());
    bad(|w| w.checksum = 2.into());
    bad(|w| w.streams = 7.into());
    bad(|w| w.shards = 0.into());
}

#[test]
fn the_younger_whole_copy_counts_and_later_versions_win() {
    let (old, mut new) = (header(), header());
    new.advance(Life { state: State::Cut, ..new.life });
    let bad = || Err(Fault::Bad("bad".into()));
    assert_eq!(choose(&[Ok(old.clone()), Ok(new.clone())]), Ok((new.clone(), 1)));
    assert_eq!(choose(&[Ok(new.clone()), Ok(old.clone())]), Ok((new.clone(), 0)));
    assert_eq!(choose(&[bad(), Ok(old.clone())]), Ok((old.clone(), 1)));
    assert_eq!(choose(&[Ok(old.clone()), Err(Fault::Foreign)]), Ok((old.clone(), 0)));
    assert_eq!(choose(&[Err(Fault::Foreign), bad()]), Err(Fault::Bad("bad".into())));
    assert_eq!(choose(&[Err(Fault::Foreign), Err(Fault::Foreign)]), Err(Fault::Foreign));
    let later = Err(Fault::Unsupported("later".into()));
    assert_eq!(choose(&[Ok(old), later.clone()]), later.map(|h: Header| (h, 0)));
}

#[test]
fn histories() {
    let boot = |n| BootId(n);
    let life = |state, unsettled| Life { state, unsettled, boot: boot(5) };
    let cut = |ring_kept| PowerHistory::Cut { ring_kept };
    assert_eq!(life(State::Clean, false).history(boot(6), false), PowerHistory::Clean);
    assert_eq!(life(State::Dirty, false).history(boot(5), false), PowerHistory::Killed);
    assert_eq!(life(State::Dirty, true).history(boot(5), false), cut(true));
    assert_eq!(life(State::Dirty, false).history(boot(6), false), cut(true));
    assert_eq!(life(State::Cut, false).history(boot(5), false), cut(false));
    assert_eq!(life(State::Cut, false).history(boot(6), true), cut(true));
    let unknown = Life { boot: BootId::UNKNOWN, ..life(State::Dirty, false) };
    assert_eq!(unknown.history(BootId::UNKNOWN, true), cut(true), "an unknown boot is not the same boot");
}

#[test]
fn erasures_are_named_and_keep_earlier_programs_away() {
    let mut header = header();
    header.set_erasing(BTreeSet::from([2]));
    header.advance(header.life);
    let b = header.block();
    assert_eq!(b[16..24], [1, 0, 0, 0, 0, 0, 0, 0], "an incompatible feature");
    assert_eq!((&b[1280..1284], b[1284..4092].iter().all(|b| *b == 0)), (&[2, 0, 0, 0][..], true));
    let again = Header::decode(b).expect("sound");
    assert_eq!(again, header);
    assert_eq!(again.erasing(), &BTreeSet::from([2]));
    // The namespaces as they are written at an orderly end leave it alone.
    header.set_namespaces(header.config.namespaces.clone());
    assert_eq!(Header::decode(header.block()).expect("sound").erasing(), &BTreeSet::from([2]));
    header.set_erasing(BTreeSet::new());
    let b = header.block();
    assert!(b[16..24] == [0; 8] && b[1280..4092].iter().all(|b| *b == 0), "as before");
}

/// Earlier programs would take words with a check for no records: from the first opening on they refuse the image.
#[test]
fn images_of_hash_ftls_say_that_their_words_have_a_check() {
    for engine in EngineKind::ALL {
        let mut header = header();
        header.config.namespaces[0].engine = *engine;
        assert_eq!(header.block()[16], 0, "new");
        header.advance(Life { state: State::Dirty, ..header.life });
        assert_eq!(header.block()[16], if engine.has_grains() { 2 } else { 0 }, "{engine:?}");
        header.set_erasing(BTreeSet::from([2]));
        header.set_erasing(BTreeSet::new());
        header.advance(Life { state: State::Clean, ..header.life });
        assert_eq!(header.block()[16], if engine.has_grains() { 2 } else { 0 }, "{engine:?}, closed");
    }
}

#[test]
fn erasures_that_make_no_sense_are_refused() {
    let patched = |change: fn(&mut Wire)| {
        let mut header = header();
        header.patch(change);
        Header::decode(header.block())
    };
    let stranger = patched(|wire| (wire.incompatible, wire.erasing[0]) = (1u64.into(), 3u16.into()));
    assert_eq!(stranger, Err(Fault::Bad("namespace 3, which is being erased, does not exist".into())));
    let contradiction = Err(Fault::Bad("what it says of erasures contradicts itself".into()));
    assert_eq!(patched(|wire| wire.erasing[5] = 2u16.into()), contradiction.clone());
    assert_eq!(patched(|wire| wire.incompatible = 1u64.into()), contradiction);
}

#[test]
fn settings_that_pages_cannot_hold_do_not_fit() {
    for (page_bytes, fits) in [(4096, true), (2048, false), (6144, false)] {
        for engine in EngineKind::ALL.iter().copied().filter(|engine| engine.has_grains()) {
            let mut config = config();
            (config.geometry.page_bytes, config.geometry.oob_bytes) = (page_bytes, 1 << 10);
            // Grains of 4096 bytes.
            (config.namespaces[0].engine, config.namespaces[0].flags) = (engine, 7 << 12);
            let checked = config.check_fit();
            assert_eq!(checked.is_ok(), fits, "{}, {page_bytes}: {checked:?}", engine.name());
        }
    }
}
