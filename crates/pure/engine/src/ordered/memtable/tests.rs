// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

fn e(key: &[u8], version: u64) -> Entry {
    Entry { key: Key::new(key).unwrap(), version, addr: RecordAddr::new(8 * version, 32, 1), stamp: 1 }
}

fn inside(table: &mut Memtable, key: &[u8], version: u64, value: &[u8]) -> Option<Entry> {
    let stamp = table.take_value(|values| values.extend_from_slice(value));
    let addr = RecordAddr::inside(key.len() as u8, value.len() as u32);
    table.insert(Entry { key: Key::new(key).unwrap(), version, addr, stamp })
}

#[test]
fn values_are_beside_their_keys_and_count() {
    let mut table = Memtable::default();
    assert_eq!(inside(&mut table, b"a", 1, b"first"), None);
    inside(&mut table, b"b", 2, b"");
    let old = inside(&mut table, b"a", 3, &[7; 100]).unwrap();
    let record = |bytes: u64| (24 + 1 + bytes).next_multiple_of(8);
    assert_eq!(table.bytes(), 2 * ENTRY_BYTES + 8 + 104);
    assert_eq!(table.inside(), Inside::of(2, record(0) + record(100)));
    table.keep(old);
    assert_eq!(table.inside(), Inside::of(3, record(0) + record(100) + record(5)));
    let values: Vec<_> = table.range(Position::Start).map(|e| table.value(&e).to_vec()).collect();
    assert_eq!(values, [vec![7; 100], b"first".to_vec(), vec![]]);
    table.insert(e(b"a", 4));
    assert_eq!(table.inside(), Inside::of(2, record(0) + record(5)));
}

#[test]
fn older_entries_follow_their_newest() {
    let mut table = Memtable::default();
    for version in [1, 5, 9] {
        if let Some(old) = table.insert(e(b"b", version)) {
            table.keep(old);
        }
    }
    table.insert(e(b"a", 2));
    table.insert(e(b"c", 3));
    let versions: Vec<_> = table.range(Position::Start).map(|e| e.version).collect();
    assert_eq!(versions, [2, 9, 5, 1, 3]);
    let b = Key::new(b"b").unwrap();
    let at = |version| table.get(&b, version).map(|e| e.version);
    assert_eq!(
        [at(u64::MAX), at(9), at(8), at(5), at(4), at(0)],
        [Some(9), Some(9), Some(5), Some(5), Some(1), None]
    );
    let from: Vec<_> = table.range(Position::At(b)).map(|e| e.version).collect();
    assert_eq!(from, [9, 5, 1, 3]);
    assert_eq!(table.len(), 5);
}
