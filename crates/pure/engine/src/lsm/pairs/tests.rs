// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

fn inside(key: &[u8], version: u64, value: &[u8]) -> (Entry, Vec<u8>) {
    let addr = RecordAddr::inside(key.len() as u8, value.len() as u32);
    (Entry { key: Key::new(key).unwrap(), version, addr, stamp: 0 }, value.to_vec())
}

fn other(key: &[u8], version: u64, addr: RecordAddr, stamp: u64) -> (Entry, Vec<u8>) {
    (Entry { key: Key::new(key).unwrap(), version, addr, stamp }, Vec::new())
}

fn block(entries: &[(Entry, Vec<u8>)]) -> Vec<u8> {
    let (mut open, mut page) = (Open::default(), Vec::new());
    entries.iter().for_each(|(e, value)| open.push(e, With::Value(value), &mut page));
    let bytes = open.bytes(&page);
    open.close(7, 3, &mut page);
    assert!(open.is_empty() && page.len() == bytes);
    page
}

#[test]
fn golden_bytes() {
    let bytes = block(&[
        inside(b"ab", 0x0102, b"xyz"),
        other(b"c", 9, RecordAddr::NONE, 77),
        other(b"d", 8, RecordAddr::new(64, 32, 1), 0x0506),
    ]);
    assert_eq!(bytes[4..HEAD], [7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 62, 0, 0, 0, 3, 0, 0, 3]);
    assert_eq!(bytes[24..41], *b"\x02\x01\0\0\0\0\0\x02ab\x03\0\0\x80xyz");
    assert_eq!(bytes[41..54], *b"\x09\0\0\0\0\0\0\x01c\0\0\0\0");
    assert_eq!(bytes[54..67], *b"\x08\0\0\0\0\0\0\x01d\0\0\0\x40");
    assert_eq!(bytes[67..75], RecordAddr::new(64, 32, 1).word().to_le_bytes());
    assert_eq!(bytes[75..80], [6, 5, 0, 0, 0]);
    assert_eq!(bytes[80..], [0, 0, 17, 0, 30, 0]);
    let long = long(&inside(b"ab", 0x0102, b"xyz").0, b"xyz", 7, 3);
    assert_eq!(long[16..HEAD], [17, 0, 0, 0, 1, 0, 0, 4]);
    assert_eq!(long[HEAD..], bytes[24..41]);
}

#[test]
fn entries_are_found_and_their_values_with_them() {
    let entries = [
        inside(b"a", 9, b"new"),
        inside(b"a", 4, b""),
        other(b"b", 7, RecordAddr::NONE, 0),
        other(b"bcdefghijk", 2, RecordAddr::new(640, 64, 10), 5),
        inside(b"d", 1, &[5; 300]),
    ];
    let bytes = block(&entries);
    let block = Pairs::open(&bytes, 7, 3, 1000).unwrap();
    assert_eq!((block.count(), block.bytes()), (5, bytes.len()));
    for (n, (e, value)) in entries.iter().enumerate() {
        let found = block.get(n).unwrap();
        assert_eq!((found.key, found.version, found.addr), (e.key, e.version, e.addr));
        let (content, base) = block.values();
        let at = if e.is_inside() { (found.stamp - u64::from(base)) as usize } else { 0 };
        assert_eq!(&content[at..at + value.len()], value);
        assert!(!e.is_inside() || block.value(&found) == value);
        assert!(e.is_inside() || found.stamp == e.stamp);
    }
    assert_eq!(block.get(5), None);
    let found = |key: &[u8], version| block.lower_bound(&Key::new(key).unwrap(), version);
    assert_eq!((found(b"a", u64::MAX), found(b"a", 9), found(b"a", 8), found(b"a", 3)), (0, 0, 1, 2));
    assert_eq!((found(b"b", 8), found(b"c", 8), found(b"d", 0), found(b"A", 0)), (2, 4, 5, 0));
}

#[test]
fn another_place_and_any_flipped_bit_are_seen() {
    let bytes = block(&[inside(b"a", 9, b"value"), inside(b"b", 4, b"other")]);
    assert!(Pairs::open(&bytes, 8, 3, 0).is_none() && Pairs::open(&bytes, 7, 4, 0).is_none());
    for bit in 0..bytes.len() * 8 {
        let mut bad = bytes.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(Pairs::open(&bad, 7, 3, 0).is_none(), "bit {bit}");
    }
}

#[test]
fn a_long_pair_says_how_long_it_is() {
    let (e, value) = inside(b"key", 6, &[9; 5000]);
    let bytes = long(&e, &value, 7, 3);
    let (found, _, whole) = open_long(&bytes[..LONG_HEAD], 7, 3, 100).unwrap();
    assert_eq!((found.key, found.version, found.addr), (e.key, e.version, e.addr));
    let at = found.stamp as usize - 100;
    assert_eq!((&bytes[at..], whole as usize), (&value[..], bytes.len()));
    assert!(open_long(&bytes, 8, 3, 0).is_none() && open_long(&bytes, 7, 4, 0).is_none());
    assert!(block::open(&bytes, Kind::Long, 7, 3).is_some());
}
