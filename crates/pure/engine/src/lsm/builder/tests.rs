// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use saker_value_log::RecordAddr;

/// Pages of blocks of the fullest table of so many pages.
fn filled(page_bytes: u32, pages: u32) -> (Table, u64) {
    let entry = |n: u64| Entry {
        key: Key::new(&n.to_be_bytes()).unwrap(),
        version: n,
        addr: RecordAddr::new(64, 32, 8),
        stamp: 1,
    };
    let mut builder = Builder::new(1, entry(0).key, page_bytes, 10, Layout::Slots);
    let full = (0..).find(|n| {
        let is_full = builder.is_full(&entry(*n), pages);
        if !is_full {
            builder.push(entry(*n), With::NOTHING);
        }
        is_full
    });
    (ended(builder).0, full.unwrap())
}

/// The table that a builder was making, and the bytes of all its pages.
fn ended(mut builder: Builder) -> (Table, Vec<u8>) {
    builder.seal();
    let pages: Vec<_> = builder.take_pages().collect();
    let written = Written { pages: vec![PageAddr(7); pages.len()], pinned: Vec::new() };
    (builder.finish(written).0, pages.concat())
}

#[test]
fn a_table_fills_all_blocks_of_its_pages() {
    let in_block = |bytes: usize| (bytes - block::HEAD) / (8 + Entry::FIXED_BYTES);
    for (page_bytes, pages, blocks) in [
        (16 << 10, 1, vec![4096; 4]),
        (16 << 10, 3, vec![4096; 12]),
        (4096, 2, vec![4096; 2]),
        (512, 3, vec![512; 3]),
        // Over a block namespace out-of-band bytes are a part of the last block.
        ((16 << 10) - 64, 2, [[4096, 4096, 4096, 4032]; 2].concat()),
    ] {
        let (table, entries) = filled(page_bytes, pages);
        assert_eq!((table.pages.len(), table.index.len()), (pages as usize, blocks.len()));
        let fit: usize = blocks.into_iter().map(in_block).sum();
        assert_eq!((entries, table.entries), (fit as u64, entries));
    }
}

fn inside(n: u64, bytes: u32) -> Entry {
    let key = Key::new(&n.to_be_bytes()).unwrap();
    Entry { key, version: n + 1, addr: RecordAddr::inside(8, bytes), stamp: 0 }
}

/// All pages of the fullest packed table of so many pages, with values of that length.
fn packed(block_bytes: u32, page_bytes: u32, pages: u32, bytes: u32) -> (Table, Vec<u8>) {
    let mut builder = Builder::new(1, inside(0, bytes).key, page_bytes, 10, Layout::Packed(block_bytes));
    for n in (0..).take_while(|n| *n < 10_000) {
        if builder.is_full(&inside(n, bytes), pages) {
            break;
        }
        builder.push(inside(n, bytes), With::Value(&vec![n as u8; bytes as usize]));
    }
    let (table, mut data) = ended(builder);
    data.truncate(table.pages.len() * page_bytes as usize);
    (table, data)
}

/// What each block of a table has: how many pairs, and whether it crosses pages.
fn blocks(table: &Table, data: &[u8], page_bytes: u32) -> Vec<(usize, bool)> {
    let blocks = (0..table.index.len()).map(|n| {
        let (start, end) = table.index.span(n, data.len() as u32).unwrap();
        let crosses = start / page_bytes != (end - 1) / page_bytes;
        let bytes = &data[start as usize..end as usize];
        let pairs = pairs::Pairs::open(bytes, 1, n as u32, start);
        if crosses || pairs.is_none() {
            let (e, _, whole) = pairs::open_long(bytes, 1, n as u32, start).unwrap();
            assert!(block::open(bytes, Kind::Long, 1, n as u32).is_some());
            assert!(e.addr.value_bytes_inside() < whole && start + whole <= end);
            return (1, true);
        }
        (pairs.unwrap().count(), false)
    });
    blocks.collect()
}

#[test]
fn packed_blocks_are_as_long_as_told_and_short_pairs_cross_no_page() {
    for (block_bytes, page_bytes) in [(4096, 16 << 10), (1024, 4096), (4096, 4096), (512, 512)] {
        let (table, data) = packed(block_bytes, page_bytes, 3, 20);
        let found = blocks(&table, &data, page_bytes);
        let in_block = (block_bytes as usize - block::HEAD) / (20 + 22);
        assert!(found.iter().all(|(count, crosses)| !crosses && *count <= in_block));
        assert_eq!((table.pages.len(), found[0].0), (3, in_block), "{block_bytes} {page_bytes}");
        assert_eq!(found.iter().map(|(n, _)| *n as u64).sum::<u64>(), table.entries);
        assert_eq!(table.inside, Inside::of(table.entries, table.entries * 56));
        // A block of what is left of a page, and at most an eighth of it empty.
        assert!(table.entries as usize * 42 > data.len() * 3 / 4);
    }
}

/// Over a block namespace a get then reads one block of it.
#[test]
fn blocks_of_short_pairs_lie_between_multiples_of_their_length() {
    for (block_bytes, page_bytes) in [(4096, (16 << 10) - 64), (4096, 16 << 10), (1024, 4096)] {
        let (table, data) = packed(block_bytes, page_bytes, 5, 40);
        let spans = (0..table.index.len()).map(|n| table.index.span(n, data.len() as u32).unwrap());
        let of_page = |at: u32| (at / page_bytes, at % page_bytes / block_bytes);
        for (n, (start, end)) in spans.enumerate() {
            assert_eq!(of_page(start), of_page(end - 1), "block {n} of {block_bytes} on {page_bytes}");
            let bytes = &data[start as usize..end as usize];
            let pairs = pairs::Pairs::open(bytes, 1, n as u32, start).expect("as it was written");
            assert!(bytes.len() - pairs.bytes() <= block_bytes as usize / EMPTY_PART, "little is empty");
        }
        assert_eq!(table.pages.len(), 5);
    }
}

#[test]
fn long_pairs_cross_pages_and_leave_little_empty() {
    for (page_bytes, bytes) in [(4096, 3000), (4096, 10_000), (16 << 10, 4096), (512, 500)] {
        let (table, data) = packed(4096.min(page_bytes), page_bytes, 40, bytes);
        let found = blocks(&table, &data, page_bytes);
        assert!(found.iter().any(|(_, crosses)| *crosses), "{page_bytes} {bytes}");
        assert_eq!(found.iter().map(|(n, _)| *n as u64).sum::<u64>(), table.entries);
        assert!(table.entries * u64::from(bytes + 100) * 8 / 7 > 38 * u64::from(page_bytes));
    }
}

#[test]
fn a_pair_that_is_longer_than_a_table_is_a_table() {
    let (table, _) = packed(512, 512, 1, 2000);
    assert_eq!((table.entries, table.pages.len()), (1, 4));
}
