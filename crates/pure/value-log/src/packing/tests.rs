// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

const PAGE: u32 = 16_384;
const HEAD: u32 = 40;

fn by_dma(bytes: u32) -> Arriving {
    Arriving { bytes, head_bytes: HEAD, by_dma: true }
}

fn small(bytes: u32) -> Arriving {
    Arriving { by_dma: false, ..by_dma(bytes) }
}

fn end(at: u64) -> End {
    End {
        at,
        page_bytes: PAGE,
        open_bytes: 0,
        appended_bytes: 0,
        gap_bytes: 0,
        spared_bytes: 0,
        buffer_end: u64::MAX,
        program_price: 0,
        is_behind: true,
    }
}

fn value_at(place: Placement) -> Option<u64> {
    match place {
        Placement::Landed { value_at, .. } => Some(value_at),
        Placement::Packed => None,
    }
}

#[test]
fn names_lead_back() {
    for packing in Packing::ALL {
        assert_eq!(Packing::named(packing.name()), Some(packing));
    }
    assert_eq!(Packing::named("none"), None);
}

#[test]
fn block_gives_every_value_memory_pages_of_its_own() {
    let at = |value, from| value_at(Packing::Block.place(&value, &end(from))).expect("it lands");
    assert_eq!((at(small(8), 0), at(small(8), 4104), at(by_dma(2048), 4056)), (4096, 8192, 4096));
    // A head that does not fit any more, a value that would straddle, one that must.
    assert_eq!((at(by_dma(8), 4064), at(by_dma(8192), 8000), at(by_dma(20_000), 8000)), (8192, 8192, 16_384));
    assert_eq!(at(by_dma(8192), 12_000), 16_384);
}

#[test]
fn selective_lands_what_dma_brings() {
    let place = |value, from| Packing::Selective.place(&value, &end(from));
    assert_eq!(place(small(100), 96), Placement::Packed);
    assert_eq!(place(by_dma(100), 96), Placement::Landed { value_at: 4096, stays_open: false });
    assert_eq!(place(by_dma(100), 4056), Placement::Landed { value_at: 4096, stays_open: false });
    assert_eq!(place(by_dma(0), 96), Placement::Packed, "there is nothing to copy");
}

#[test]
fn backfilling_leaves_gaps_open() {
    let place = |value, from| Packing::Backfill.place(&value, &end(from));
    assert_eq!(place(by_dma(100), 96), Placement::Landed { value_at: 4096, stays_open: true });
    assert_eq!(place(small(100), 96), Placement::Packed);
}

#[test]
fn auto_leaves_a_page_of_gaps_open() {
    let lands = |end: End| Packing::Auto.place(&by_dma(2048), &end) != Placement::Packed;
    let gap = 4096 - 40 - 96;
    let open = |open_bytes| End { open_bytes, ..end(96) };
    assert!(lands(open(u64::from(PAGE) - gap)) && !lands(open(u64::from(PAGE) - gap + 8)));
    assert!(lands(End { at: 4056, ..open(u64::MAX) }), "there is no gap");
    let unfilled = |gap_bytes| End { gap_bytes, appended_bytes: 6400, ..end(96) };
    let most = u64::from(PAGE) + 100 - gap;
    assert!(lands(unfilled(most)) && !lands(unfilled(most + 1)));
    assert!(lands(End { buffer_end: 6144, ..end(96) }) && !lands(End { buffer_end: 6143, ..end(96) }));
}

#[test]
fn auto_for_time_weighs_a_gap_against_the_copy() {
    let lands = |end: End| Packing::AutoTime.place(&by_dma(2048), &end) != Placement::Packed;
    // More than a page is open, so nothing fills this gap of 3960 bytes; 529 of a price of 1024 cost as much as the copy.
    let priced = |program_price| End { program_price, open_bytes: u64::from(PAGE), ..end(96) };
    assert!(lands(priced(529)) && !lands(priced(530)));
    assert!(lands(End { open_bytes: 0, ..priced(u32::MAX) }), "others fill the gap");
    assert!(!lands(End { open_bytes: 0, buffer_end: 6143, ..priced(530) }), "the buffer does not hold it");
    assert!(lands(End { is_behind: false, ..priced(u32::MAX) }), "nobody waits for the page");
    assert!(lands(End { at: 4056, ..priced(u32::MAX) }), "there is no gap");
    assert!(!matches!(Packing::AutoTime.place(&small(8), &end(96)), Placement::Landed { .. }));
}

#[test]
fn gaps_that_stay_empty_must_have_paid() {
    let gap = 4096 - 40 - 96;
    for packing in [Packing::Auto, Packing::AutoTime] {
        let lands = |end: End| packing.place(&by_dma(2048), &end) != Placement::Packed;
        // 1000 bytes beyond the free page, at twice the price of a copy: to be spared twice that, this value included.
        let gap_bytes = u64::from(PAGE) + 1000 - gap;
        let spared = |spared_bytes| End {
            gap_bytes,
            spared_bytes,
            appended_bytes: 1 << 20,
            program_price: 2048,
            ..end(96)
        };
        assert!(lands(spared(4000 - 2048)) && !lands(spared(4000 - 2049)), "{packing:?}");
    }
}

#[test]
fn all_copies_everything() {
    assert_eq!(Packing::All.place(&by_dma(4096), &end(8)), Placement::Packed);
}
