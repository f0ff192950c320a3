// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Log pages C0h to C3h and feature C0h: their fields, bits and numbers stand in the document as in the code, and no others.

use saker_nvme::admin::opcode::SET_FEATURES;
use saker_nvme::vendor_specific::{
    COMMANDS, CommandClass, Counter, CounterEntry, CounterKind, CounterOf, CountersHead, LATENCY_BUCKETS,
    LID_COUNTERS, command_name, latency_bucket,
};
use saker_nvme::vendor_specific::{Capabilities, FID_SETTING, LID_CAPABILITIES, LID_SETTINGS, Methods};
use saker_nvme::vendor_specific::{
    LID_WRITE_STALLS, SetSetting, SettingEntry, SettingPhase, SettingsHead, WriteStallEntry, WriteStallSum,
    WriteStallsHead, WriteState,
};

use zerocopy::IntoBytes;

const DOCUMENT: &str = include_str!("../../../../../docs/vendor-commands.md");

/// A section, from behind its heading.
fn section(heading: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap()
}

/// First and last byte, and what is said of them, of each row below a head.
fn fields(section: &'static str, head: &str) -> Vec<(usize, usize, &'static str)> {
    let (_, table) = section.split_once(head).unwrap();
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let field = |row: &'static str| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let (last, first) = cells[1].split_once(':').unwrap_or((cells[1], cells[1]));
        (first.parse().unwrap(), last.parse().unwrap(), cells[2])
    };
    rows.map(field).collect()
}

/// First and last byte of fields of a structure.
macro_rules! places {
    ($of:ident, $($field:ident)*) => {{
        let starts = [$(std::mem::offset_of!($of, $field)),*];
        let ends = starts.iter().skip(1).copied().chain([size_of::<$of>()]);
        starts.into_iter().zip(ends.map(|end| end - 1)).collect::<Vec<_>>()
    }};
}

fn places(fields: &[(usize, usize, &str)]) -> Vec<(usize, usize)> {
    fields.iter().map(|(first, last, _)| (*first, *last)).collect()
}

/// `0 this, 1 that` as it stands in a field.
fn listed(fields: &[(usize, usize, &str)], at: usize, list: &str) {
    let (.., said) = fields.iter().find(|(first, ..)| *first == at).unwrap();
    assert!(said.ends_with(list), "byte {at} must say `{list}`, not `{said}`");
}

#[test]
fn the_page_of_settings() {
    let text = section(&format!("Settings (log page {LID_SETTINGS:X}h, feature {FID_SETTING:X}h)"));
    let head = fields(text, "| bytes | field |");
    assert_eq!(places(&head), places!(SettingsHead, signature version count entry_bytes engine reserved_44));
    let signature = String::from_utf8(SettingsHead::SIGNATURE.to_vec()).unwrap();
    listed(&head, 0, &format!("\"{signature}\""));
    listed(&head, 4, &format!("version of the layout: {}", SettingsHead::VERSION));
    listed(&head, 8, &format!("bytes of an entry: {}", size_of::<SettingEntry>()));
    let entry = fields(text, "| bytes of an entry | field |");
    let coded = places!(SettingEntry, name value number least most phase values reserved_138);
    assert_eq!(places(&entry), coded);
    listed(&entry, 112, &format!("{:X}h: no number says it", SettingEntry::NO_NUMBER));
    let phases: Vec<_> = (0..=u8::MAX).map_while(SettingPhase::decode).collect();
    let phases: Vec<_> = phases.iter().map(|phase| format!("{} {}", *phase as u8, phase.name())).collect();
    listed(&entry, 136, &format!("when it can be chosen: {}", phases.join(", ")));
    let (number, switch, words) = (SettingEntry::NUMBER, SettingEntry::SWITCH, SettingEntry::WORDS);
    listed(
        &entry,
        137,
        &format!("{number} a number, {switch} off or on (0 or 1), {words} the place of a word"),
    );
}

#[test]
fn the_feature_that_changes_a_setting() {
    let text = section(&format!("Settings (log page {LID_SETTINGS:X}h, feature {FID_SETTING:X}h)"));
    assert!(text.contains(&format!("Set Features {FID_SETTING:X}h gives")), "its number");
    let place = "CDW11 is its place in the log page, from 0, CDW12 and\nCDW13 are the low and the high half of the number";
    assert!(text.contains(place), "{place}");
    let sqe = SetSetting { nsid: 9, place: 5, number: 7 << 32 | 6 }.encode();
    let words = [sqe.cdw10, sqe.cdw11, sqe.cdw12, sqe.cdw13].map(|word| word.get());
    assert_eq!((sqe.opcode, words), (SET_FEATURES, [u32::from(FID_SETTING), 5, 6, 7]));
}

#[test]
fn the_page_of_write_stalls() {
    let text = section(&format!("Write stalls (log page {LID_WRITE_STALLS:X}h)"));
    let head = fields(text, "| bytes | field |");
    let coded = places!(WriteStallsHead, signature version count entry_bytes state cause reserved_14 rate delay
        reserved_28 now reserved_40 delayed stopped);
    assert_eq!(places(&head), coded);
    let signature = String::from_utf8(WriteStallsHead::SIGNATURE.to_vec()).unwrap();
    listed(&head, 0, &format!("\"{signature}\""));
    listed(&head, 4, &format!("version of the layout: {}", WriteStallsHead::VERSION));
    listed(&head, 8, &format!("bytes of an entry: {}", size_of::<WriteStallEntry>()));
    let named = |state: &WriteState| format!("{} {}", *state as u8, state.name());
    let states: Vec<_> = (0..=u8::MAX).map_while(WriteState::decode).collect();
    listed(&head, 12, &states.iter().map(named).collect::<Vec<_>>().join(", "));
    assert!(
        head[12].2.contains(&format!("three times {} bytes", size_of::<WriteStallSum>())),
        "{}",
        head[12].2
    );
    let entry = fields(text, "| bytes of an entry | field |");
    assert_eq!(places(&entry), places!(WriteStallEntry, state cause reserved_2 begin nanos writes));
    listed(&entry, 0, &states[1..].iter().map(named).collect::<Vec<_>>().join(", "));
}

#[test]
fn the_page_of_counters() {
    let text = section(&format!("Counters (log page {LID_COUNTERS:X}h)"));
    let head = fields(text, "| bytes | field |");
    let coded = places!(CountersHead, signature version reserved_6 count entry_bytes reserved_16);
    assert_eq!(places(&head), coded);
    let signature = String::from_utf8(CountersHead::SIGNATURE.to_vec()).unwrap();
    listed(&head, 0, &format!("\"{signature}\""));
    listed(&head, 4, &format!("version of the layout: {}", CountersHead::VERSION));
    listed(&head, 12, &format!("bytes of an entry: {}", size_of::<CounterEntry>()));
    let entry = fields(text, "| bytes of an entry | field |");
    let coded = places!(CounterEntry, name kind class opcode detail reserved_46 nsid reserved_52 value);
    assert_eq!(places(&entry), coded);
    let kinds = CounterKind::ALL.map(|kind| format!("{} {}", kind as u8, kind.name()));
    listed(&entry, 40, &kinds.join(", "));
    let classes = CommandClass::ALL.map(|class| format!("{} {}", class as u8, class.name()));
    assert!(entry[2].2.contains(&classes.join(", ")), "{}", entry[2].2);
    assert!(entry[3].2.contains(&format!("{:X}h: all opcodes", CounterEntry::OTHER)));
    assert!(text.contains(&format!("bucket {} has all\nothers", LATENCY_BUCKETS - 1)));
}

#[test]
fn counters_on_the_wire() {
    let of = CounterOf::Command { class: CommandClass::Admin, opcode: 0x0102, detail: 0x0304 };
    let (name, kind) = (std::borrow::Cow::Borrowed("commands"), CounterKind::Lasting);
    let counter = Counter { name, kind, of, nsid: 0x1112_1314, value: 0x2122_2324_2526_2728 };
    let mut expected = [0; 96];
    expected[..16].copy_from_slice(&[b'S', b'K', b'R', b'N', 1, 0, 0, 0, 1, 0, 0, 0, 64, 0, 0, 0]);
    expected[32..40].copy_from_slice(b"commands");
    expected[72..78].copy_from_slice(&[2, 3, 2, 1, 4, 3]);
    expected[80..84].copy_from_slice(&[0x14, 0x13, 0x12, 0x11]);
    expected[88..96].copy_from_slice(&[0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21]);
    let page = Counter::page(std::slice::from_ref(&counter));
    assert_eq!(page, expected);
    assert_eq!(Counter::of_page(&page), Some(vec![counter]));
    assert_eq!(Counter::of_page(&page[..95]), Some(Vec::new()), "an entry that is not there as a whole");
    for (at, byte) in [(0, b'X'), (4, 2), (12, 63)] {
        let mut other = expected;
        other[at] = byte;
        assert_eq!(Counter::of_page(&other), None, "byte {at}");
    }
    for (at, byte) in [(72, 4), (73, 5)] {
        let mut later = expected;
        later[at] = byte;
        assert_eq!(Counter::of_page(&later), Some(Vec::new()), "byte {at}");
    }
}

#[test]
fn latencies_fall_into_buckets_that_double() {
    let at = |nanos| latency_bucket(nanos);
    assert_eq!([at(0), at(999), at(1_000), at(1_999), at(2_000), at(1_000_000)], [0, 0, 1, 1, 2, 10]);
    assert_eq!([at(8_388_607_999), at(8_388_608_000), at(u64::MAX)], [23, 24, 24]);
}

#[test]
fn every_command_has_a_name() {
    use saker_nvme::{admin, fabrics, kv, nvm};
    let vendor = COMMANDS.iter().map(|(opcode, name, _)| (CommandClass::Kv, *opcode, *name));
    let others = [
        (CommandClass::Kv, kv::opcode::EXIST, "Exist"),
        (CommandClass::Nvm, nvm::opcode::VERIFY, "Verify"),
        (CommandClass::Admin, admin::opcode::KEEP_ALIVE, "Keep Alive"),
        (CommandClass::Fabrics, fabrics::fctype::CONNECT, "Connect"),
    ];
    for (class, opcode, name) in vendor.chain(others) {
        assert_eq!(command_name(class, opcode.into()), Some(name));
    }
    assert_eq!(command_name(CommandClass::Admin, CounterEntry::OTHER), None);
    assert_eq!(command_name(CommandClass::Nvm, 0xC0), None);
}

#[test]
fn write_stalls_on_the_wire() {
    let sum = |n: u64| WriteStallSum { periods: n.into(), nanos: (n + 1).into(), writes: (n + 2).into() };
    let head = WriteStallsHead {
        state: WriteState::Stopped as u8,
        cause: 2,
        rate: 0x0102_0304_0506_0708.into(),
        delay: 0x1112_1314.into(),
        now: 0x2122_2324_2526_2728.into(),
        delayed: [0x40, 0x50, 0x60].map(sum),
        stopped: [0x70, 0x80, 0x90].map(sum),
        ..WriteStallsHead::new(0x0302)
    };
    let mut expected = [0; 208];
    expected[..16].copy_from_slice(&[b'S', b'K', b'R', b'W', 1, 0, 2, 3, 32, 0, 0, 0, 2, 2, 0, 0]);
    expected[16..28].copy_from_slice(&[8, 7, 6, 5, 4, 3, 2, 1, 0x14, 0x13, 0x12, 0x11]);
    expected[32..40].copy_from_slice(&[0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21]);
    for (n, first) in [0x40, 0x50, 0x60, 0x70, 0x80, 0x90].into_iter().enumerate() {
        (0..3).for_each(|word| expected[64 + 24 * n + 8 * word] = first + word as u8);
    }
    assert_eq!(head.as_bytes(), expected);
    assert!(head.is_known() && !WriteStallsHead { version: 2.into(), ..head }.is_known());
    assert!(!WriteStallsHead { entry_bytes: 40.into(), ..head }.is_known());
    let period = WriteStallEntry {
        state: WriteState::Delayed as u8,
        cause: 1,
        reserved_2: [0; 6],
        begin: 0x31.into(),
        nanos: 0x4132.into(),
        writes: 0x33.into(),
    };
    let mut expected = [0; 32];
    (expected[0], expected[1], expected[8], expected[24]) = (1, 1, 0x31, 0x33);
    expected[16..18].copy_from_slice(&[0x32, 0x41]);
    assert_eq!(period.as_bytes(), expected);
}

#[test]
fn the_page_of_capabilities() {
    let fields = fields(section(&format!("Log page {LID_CAPABILITIES:X}h")), "| bytes | field |");
    let coded = places!(Capabilities, signature version methods gather_bytes_max mmio_region_bytes retrieve_bytes_max
        group_bytes_max reserved_24);
    assert_eq!(places(&fields), coded);
    let none = Methods::default();
    let methods = [
        ("Store Piggyback and Transfer", none.with_piggyback(true)),
        ("Tail and Store Hybrid", none.with_hybrid(true)),
        ("Store Inline", none.with_inline(true)),
        ("Store MMIO", none.with_mmio(true)),
        ("Retrieve Tiny", none.with_retrieve_tiny(true)),
        ("Retrieve Inline", none.with_retrieve_inline(true)),
        ("Group and Group Results", none.with_groups(true)),
        ("Group Both Ways", none.with_groups_both_ways(true)),
        ("Prefetch Group", none.with_prefetch_groups(true)),
        (
            "Store, Retrieve, Delete and Exist Indirect, and long keys in groups",
            none.with_indirect_keys(true),
        ),
        ("Group Vector and Bulk Put", none.with_group_comparators(true)),
        ("Iterator Open, Next and Close", none.with_iterators(true)),
        ("Group and Group Both Ways as transactions", none.with_transactions(true)),
        ("long keys in transactions", none.with_long_keys_in_transactions(true)),
        ("Transaction Part and Transaction Control", none.with_split_transactions(true)),
        ("Retrieve Versioned", none.with_retrieve_versioned(true)),
    ];
    assert_eq!(methods.iter().fold(0, |all, (_, bit)| all | bit.0), Methods::ALL.0, "each bit has a name");
    let named: Vec<_> =
        methods.iter().map(|(name, bit)| format!("{} {name}", bit.0.trailing_zeros())).collect();
    listed(&fields, 6, &format!("methods: bit {}", named.join(", ")));
}
