// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `docs/capacity.md` says that a device holds, written once more, beside what it takes and what it says itself.

use saker_engine::EngineKind;
use saker_engine_suite::full::{holds_what_it_says, is_near, tolerance};
use saker_engine_suite::{Size, Subject};

/// Bytes of the tests' keys.
const KEY_BYTES: u64 = 10;

/// Terms of the formulas, in bytes.
#[derive(Clone, Copy, Debug)]
struct Terms {
    page: u64,
    segment: u64,
    segments: u64,
    value: u64,
    pairs: u64,
}

impl Terms {
    /// A record of the log: a head of 24 bytes, key and value, in whole words.
    fn record(self) -> u64 {
        (24 + KEY_BYTES + self.value).next_multiple_of(8)
    }

    /// Segments of a checkpoint with so many bytes of entries.
    fn checkpoint(self, bytes: u64) -> u64 {
        let lost = 8200.min(self.segment / 4 + 8) + 48;
        (bytes + bytes / 16 + 4096).div_ceil(self.segment - lost)
    }

    fn hash_store(self) -> u64 {
        let usable = self.segments.saturating_sub(5 + 2 * self.checkpoint(24 * self.pairs));
        usable * (self.segment - self.record().max(296)) * 93 / 100
    }

    /// What ordered stores have left when so many segments and bytes are kept back.
    fn ordered(self, segments: u64, bytes: u64) -> u64 {
        let usable = (self.segments.saturating_sub(segments) * self.segment).saturating_sub(bytes);
        (u128::from(usable) * u128::from(self.segment - self.record().max(296)) / u128::from(self.segment))
            as u64
            * 90
            / 100
    }

    fn lsm(self) -> u64 {
        let entries = 41 * self.pairs;
        let tables = entries * 5 / 4;
        self.ordered(7 + 2 * (1 + self.checkpoint(tables / self.page * 8)), 2 * tables.max(4 * self.page))
    }

    fn tree(self) -> u64 {
        let nodes = 37 * self.pairs * 3 / 2;
        self.ordered(8 + 2 * (1 + self.checkpoint(28 * self.segments)), 2 * nodes)
    }

    /// A hash FTL of that grain with a table of so many bytes, and so many bytes of it for a pair if it grows with
    /// them.
    fn hash_ftl(self, grain: u64, table: u64, mappings: u64) -> u64 {
        let record = (16 + KEY_BYTES + self.value).next_multiple_of(grain);
        let longest = record.max(self.page.min(1024));
        let usable = self.segments.saturating_sub(9) * (self.segment - longest + grain);
        let spare = usable * 7 / 100;
        usable.saturating_sub(spare + table + spare / record * mappings)
    }

    fn capacity(self, kind: EngineKind) -> u64 {
        let fixed = self.segments * self.segment / 64;
        match kind.name() {
            "hash_store" => self.hash_store(),
            "lsm" => self.lsm(),
            "tree" => self.tree(),
            "hash_plus" => {
                let full = self.segments * self.segment * 2 / 15;
                self.hash_ftl(64, full.min(17 * self.pairs), 8)
            }
            "hash_doubling" => self.hash_ftl(512, fixed * 3 / 2 * 5 / 4, 0),
            _ => self.hash_ftl(512, fixed, 0),
        }
    }

    fn bytes_of_a_pair(self, kind: EngineKind) -> u64 {
        let head = 16 + KEY_BYTES + self.value;
        match kind.name() {
            "hash_store" | "lsm" | "tree" => self.record(),
            "hash_plus" => head.next_multiple_of(64),
            _ => head.next_multiple_of(512),
        }
    }
}

/// The most pairs that the formula lets in.
fn predicted(kind: EngineKind, size: Size, value: u64) -> u64 {
    let Size(page, _, segments) = size;
    let terms = Terms {
        page: page.into(),
        segment: size.segment_bytes(),
        segments: segments.into(),
        value,
        pairs: 0,
    };
    let fits = |pairs: u64| {
        let terms = Terms { pairs, ..terms };
        pairs * terms.bytes_of_a_pair(kind) <= terms.capacity(kind)
    };
    let (mut low, mut high) = (0, terms.segment * terms.segments);
    while high - low > 1 {
        let n = low + (high - low) / 2;
        if fits(n) { low = n } else { high = n }
    }
    low
}

fn holds_what_is_said(kind: EngineKind, size: Size, value: u64) {
    let stored = holds_what_it_says(Subject::new(kind), size, value as u32).expect("every engine takes that");
    let formula = predicted(kind, size, value);
    assert!(
        is_near(stored, formula, tolerance(Subject::new(kind))),
        "{kind:?} {size:?} {value} bytes: {stored} stored, {formula} by the formula"
    );
}

/// A test for each engine.
macro_rules! formulas {
    ($($name:ident $kind:ident;)*) => {
        $(#[test]
        fn $name() {
            a_device_holds_what_the_formula_and_it_itself_say(EngineKind::$kind);
        })*
    };
}

saker_engine::for_each_engine!(formulas);

fn a_device_holds_what_the_formula_and_it_itself_say(kind: EngineKind) {
    for size in [Size(1024, 64, 200), Size(4096, 64, 120)] {
        for value in [20, 100, 1000, 10_000, size.segment_bytes() / 3] {
            holds_what_is_said(kind, size, value);
        }
    }
}
