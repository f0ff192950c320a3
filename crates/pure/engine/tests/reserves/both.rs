// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages of records and pages of tables fail together, and one segment is free: each repair may need it.
//!
//! Repairs of one rank each leave a segment to the other in turn, not to both. So one of them must go on without, and what it needs
//! then must not wait for it. Records go first. Then a collection goes on in what that repair has left of its segment, and the
//! erase of the one that it empties waits for no table.

use std::collections::BTreeSet;

/// Who goes first, and what erases wait for.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Repairs of tables leave one segment while records wait.
    records_first: bool,
    /// Nothing is erased before tables are repaired.
    erases_wait_for_tables: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    free: u32,
    /// Whether a stream's segment has room for what failed.
    gc_has_room: bool,
    tables_have_room: bool,
    records_wait: bool,
    tables_wait: bool,
    /// A collection has emptied a segment.
    is_emptied: bool,
}

impl State {
    fn next(self, rules: Rules) -> Vec<Self> {
        let mut next = Vec::new();
        let take = |has_room: bool, left: u32| match has_room {
            true => Some(self.free),
            false => (self.free > left).then(|| self.free - 1),
        };
        if self.records_wait
            && let Some(free) = take(self.gc_has_room, 0)
        {
            next.push(Self { free, records_wait: false, gc_has_room: true, ..self });
        }
        let left = u32::from(rules.records_first && self.records_wait);
        if self.tables_wait
            && let Some(free) = take(self.tables_have_room, left)
        {
            next.push(Self { free, tables_wait: false, tables_have_room: true, ..self });
        }
        // It leaves the segments that are free to others.
        if !self.records_wait && !self.is_emptied && self.gc_has_room {
            next.push(Self { is_emptied: true, gc_has_room: false, ..self });
        }
        let may_erase = !(self.records_wait || self.tables_wait && rules.erases_wait_for_tables);
        if self.is_emptied && may_erase {
            next.push(Self { free: self.free + 1, is_emptied: false, ..self });
        }
        next
    }
}

/// States in which something waits to be repaired and nothing goes on.
fn stuck(rules: Rules) -> BTreeSet<State> {
    let rooms = [(false, false), (false, true), (true, false), (true, true)];
    let begin = |(gc_has_room, tables_have_room)| State {
        free: 1,
        gc_has_room,
        tables_have_room,
        records_wait: true,
        tables_wait: true,
        is_emptied: false,
    };
    let (mut open, mut seen, mut stuck) = (Vec::from(rooms.map(begin)), BTreeSet::new(), BTreeSet::new());
    while let Some(state) = open.pop() {
        if !seen.insert(state) {
            continue;
        }
        let next = state.next(rules);
        if next.is_empty() && (state.records_wait || state.tables_wait) {
            stuck.insert(state);
        }
        open.extend(next);
    }
    stuck
}

#[test]
fn one_segment_suffices_for_both_repairs() {
    let rules = Rules { records_first: true, erases_wait_for_tables: false };
    assert_eq!(stuck(rules), BTreeSet::new());
    // Without either rule it does not.
    for (records_first, erases_wait_for_tables) in [(false, false), (true, true), (false, true)] {
        let found = stuck(Rules { records_first, erases_wait_for_tables });
        println!("{records_first} {erases_wait_for_tables}: {found:?}");
        assert!(!found.is_empty());
    }
}
