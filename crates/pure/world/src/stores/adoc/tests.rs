// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rules, row by row.

use super::*;

const OPTIONS: AdocOptions = AdocOptions {
    period: Duration::from_nanos(1_000_000_000),
    buffer: 128,
    buffers: (64, 512),
    jobs: 2,
    jobs_max: 8,
    when_none_waits: WhenNoneWaits::Larger,
    slowdown_trigger: 20,
    soft_limit: 1000,
};

/// Each row of the table by itself, and what wins where two rows meet.
#[test]
fn the_rules() {
    use Step::{Half, Keep, More};
    let at =
        |flush_rate, immutables, level1_tables, debt| Seen { flush_rate, immutables, level1_tables, debt };
    for (seen, expected) in [
        (at(10.0, 1, 0, 0), (More, Keep)),
        (at(10.0, 2, 0, 0), (More, More)),
        (at(10.0, 0, 0, 0), (Keep, More)),
        (at(5.0, 1, 19, 999), (More, Keep)),
        (at(4.9, 1, 0, 0), (Half, More)),
        (at(4.9, 1, 20, 0), (More, More)),
        (at(10.0, 1, 20, 0), (More, Keep)),
        (at(4.9, 2, 0, 1000), (More, Half)),
        (at(10.0, 0, 0, 1000), (More, Half)),
    ] {
        assert_eq!(steps(&OPTIONS, &seen, 10.0), expected, "{seen:?}");
    }
    let smaller = AdocOptions { when_none_waits: WhenNoneWaits::Smaller, ..OPTIONS };
    assert_eq!(steps(&smaller, &at(10.0, 0, 0, 0), 10.0), (Keep, Half));
    assert_eq!(steps(&smaller, &at(4.9, 0, 0, 0), 10.0), (Half, Half));
    assert_eq!(steps(&smaller, &at(4.9, 1, 0, 0), 10.0), (Half, More));
}

#[test]
fn a_quarter_of_the_threads_flush() {
    assert_eq!([1, 2, 3, 4, 6, 8, 16].map(compacting), [1, 1, 2, 3, 5, 6, 12]);
}
