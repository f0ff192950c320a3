// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::BTreeSet;

use super::*;

fn small(lines: Lines) -> Tpcc {
    Tpcc::scaled(3, 100, lines, 5)
}

/// Reads among all reads and writes of 20,000 transactions.
fn share_of_reads(lines: Lines) -> f64 {
    let steps = small(lines).transactions().take(20_000).flat_map(|t| t.steps);
    let (reads, all) = steps
        .fold((0u32, 0u32), |(reads, all), step| (reads + u32::from(matches!(step, Step::Read(_))), all + 1));
    f64::from(reads) / f64::from(all)
}

/// New-Order of 10 lines: 23 reads, 13 or 23 writes; Payment: 3.6 reads, 4 writes; 45 to 43. So
/// (45 * 23 + 43 * 3.6) / (45 * 36 + 43 * 7.6) = 0.6110, and 0.4964 with the stock written.
#[test]
fn both_readings_have_the_share_of_reads_that_arithmetic_gives() {
    let literal = share_of_reads(Lines::OrderLine);
    let standard = share_of_reads(Lines::OrderLineAndStock);
    assert!((literal - 0.6110).abs() < 0.002, "{literal}");
    assert!((standard - 0.4964).abs() < 0.002, "{standard}");
}

#[test]
fn transactions_come_as_45_to_43_with_ten_lines_an_order() {
    let all: Vec<_> = small(Lines::OrderLine).transactions().take(20_000).collect();
    let orders = all.iter().filter(|t| t.kind == Kind::NewOrder).count() as f64;
    assert!((orders / 20_000.0 - 45.0 / 88.0).abs() < 0.01, "{orders}");
    let is_line = |step: &&Step| matches!(step, Step::Write(row) if row.table == Table::OrderLine);
    let lines = all.iter().flat_map(|t| &t.steps).filter(is_line).count() as f64;
    assert!((lines / orders - 10.0).abs() < 0.1, "{}", lines / orders);
}

/// What is read is in the database from the beginning, and inserts are of rows that nobody wrote before.
#[test]
fn reads_find_their_rows_and_inserts_are_new() {
    let tpcc = small(Lines::OrderLineAndStock);
    let rows: BTreeSet<Row> = tpcc.rows().collect();
    assert_eq!(rows.len(), tpcc.rows().count(), "no key twice");
    // Items; for each warehouse itself, stock, districts with customers and names.
    assert_eq!(rows.len(), 1000 + 3 * (1 + 1000 + 10 * (1 + 30 + 10)));
    let mut inserted = BTreeSet::new();
    for step in tpcc.transactions().take(5000).flat_map(|t| t.steps) {
        match step {
            Step::Read(row) => assert!(rows.contains(&row), "{row:?}"),
            Step::Write(row) if !rows.contains(&row) => assert!(inserted.insert(row), "{row:?} twice"),
            Step::Write(_) => {}
        }
    }
    let tables: BTreeSet<Table> = inserted.iter().map(|row| row.table).collect();
    assert_eq!(
        tables.into_iter().collect::<Vec<_>>(),
        [Table::History, Table::NewOrder, Table::Order, Table::OrderLine]
    );
}

/// Clause 2.1.6: an item is hot if its number has many bits of a random one, so a quarter of the items gets most orders.
#[test]
fn items_are_skewed() {
    let tpcc = Tpcc::scaled(1, 10, Lines::OrderLine, 5);
    let mut counts = vec![0u32; tpcc.items as usize];
    for step in tpcc.transactions().take(20_000).flat_map(|t| t.steps) {
        if let Step::Read(Row { table: Table::Item, key }) = step {
            counts[(key & 0xFF_FFFF_FFFF) as usize] += 1;
        }
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let (hot, all): (u32, u32) = (counts[..2500].iter().sum(), counts.iter().sum());
    assert!(hot * 100 > all * 60, "{hot} of {all}");
}

#[test]
fn the_same_seed_gives_the_same_transactions() {
    let first = |seed| Tpcc { seed, ..small(Lines::OrderLine) }.transactions().take(100).collect::<Vec<_>>();
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));
}

/// Warehouse of a row: bits 44 to 59 of its key.
fn warehouse(row: &Row) -> u32 {
    (row.key >> 44 & 0xFFFF) as u32
}

/// Each terminal orders in its own warehouse, and what is inserted has numbers of its own, also where two terminals share a home.
#[test]
fn terminals_keep_their_home_warehouse() {
    let tpcc = small(Lines::OrderLine);
    let mut inserted = BTreeSet::new();
    let mut remote = 0;
    for (n, transaction) in tpcc.terminals(5).take(5000).enumerate() {
        let home = (n % 5) as u32 % 3;
        for step in &transaction.steps {
            match step {
                Step::Write(row) if matches!(row.table, Table::OrderLine | Table::History) => {
                    assert_eq!(warehouse(row), home);
                    assert!(inserted.insert(*row), "{row:?} twice");
                }
                Step::Read(row) if row.table == Table::Stock => remote += u32::from(warehouse(row) != home),
                _ => {}
            }
        }
    }
    assert!(inserted.len() > 20_000 && (100..400).contains(&remote), "{remote} of {}", inserted.len());
    let drawn: BTreeSet<u32> = tpcc
        .transactions()
        .take(50)
        .map(|t| match &t.steps[0] {
            Step::Read(row) | Step::Write(row) => warehouse(row),
        })
        .collect();
    assert_eq!(drawn.len(), 3, "without terminals every transaction draws one");
}
