// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The verdicts of plus-dftl.

use super::row::{Ran, Row};
use crate::context::Context;
use crate::judge::Part;
use crate::report::Check;

const READS: &str = "translation_reads";
const WRITES: &str = "translation_writes";

/// The map in memory, smaller tables, the largest one, Original, Plus.
pub fn of(cx: &Context<'_>, rows: &[Row]) -> Vec<Check> {
    let [memory, tables @ .., all, original, plus] = rows else { panic!("a store is missing") };
    let first = tables.first().expect("a smaller table");
    let mut book = cx.book();
    let none = ["uniform", "zipfian"].map(|keys| {
        let reads = all.ran("gets", keys).per_operation(READS);
        Part::within(format!("translation reads a get, {keys}"), reads, 0.0, 0.001)
    });
    book.order("AC-plus-dftl-1", &none, format!("{}.", memories(rows)));
    let implied: Vec<Part> = tables.iter().flat_map(|table| implied(table, memory)).collect();
    book.order("AC-plus-dftl-2", &implied, told(tables));
    let fewer = tables.iter().map(|table| {
        let of = |keys| table.ran("gets", keys).per_operation(READS);
        let name = format!("translation reads a get, zipfian over uniform: {}", table.store);
        Part::within(name, of("zipfian") / of("uniform"), 0.0, 0.75)
    });
    book.order("AC-plus-dftl-3", &fewer.collect::<Vec<_>>(), "");
    book.order("AC-plus-dftl-4", &times(memory, first, all), tails(rows, "gets"));
    let few: Vec<Part> = tables.iter().flat_map(|table| few(table, memory)).collect();
    book.order("AC-plus-dftl-5", &few, amplified(rows));
    let mut fewest = vec![Part::within(
        format!("memory: {} over {}", original.store, all.store),
        original.memory_bytes() / all.memory_bytes(),
        0.95,
        1.05,
    )];
    fewest.extend([original, plus].into_iter().flat_map(|ftl| against(all, ftl)));
    book.order("AC-plus-dftl-6", &fewest, tails(rows, "mixed"));
    book.finish()
}

/// Translation pages of uniform gets, and what they cost in pages of flash.
fn implied(table: &Row, memory: &Row) -> [Part; 2] {
    let (ran, plain) = (table.ran("gets", "uniform"), memory.ran("gets", "uniform"));
    let (h, s) = (table.entries as f64 / ran.mapped(), ran.blocks() - 1.0);
    let reads = ran.per_operation(READS);
    let pages = (ran.pages_read() - plain.pages_read()) / reads;
    let name = |what: &str| format!("{what}: {}", table.store);
    [
        Part::within(
            name("translation reads a get over implied"),
            reads / ((1.0 - h) * (1.0 + s * h)),
            0.9,
            1.1,
        ),
        Part::within(name("flash pages for a translation read"), pages, 0.85, 1.02),
    ]
}

fn times(memory: &Row, table: &Row, all: &Row) -> [Part; 4] {
    let ratio = |row: &Row, of: fn(Ran<'_>) -> f64| {
        of(row.ran("gets", "uniform")) / of(memory.ran("gets", "uniform"))
    };
    let rate = |ran: Ran<'_>| ran.result.rate();
    let name = |what: &str, row: &Row| format!("{what}: {} over {}", row.store, memory.store);
    [
        Part::within(name("throughput", table), ratio(table, rate), 0.6, 0.9),
        Part::within(name("p99", table), ratio(table, |ran| ran.get_us(0.99)), 1.1, f64::MAX),
        Part::within(name("throughput", all), ratio(all, rate), 0.98, 1.02),
        Part::within(name("p99.9", all), ratio(all, |ran| ran.get_us(0.999)), 0.95, 1.05),
    ]
}

/// Translation pages that uniform puts write, and write amplification.
fn few(table: &Row, memory: &Row) -> [Part; 2] {
    let (ran, plain) = (table.ran("puts", "uniform"), memory.ran("puts", "uniform"));
    let writes = ran.per_operation(WRITES);
    let amplified = ran.result.write_amplification() / plain.result.write_amplification();
    let is_few = writes > 0.0 && writes <= 1.0 / 64.0;
    [
        Part::new(format!("translation writes a put: {}", table.store), writes, is_few),
        Part::within(
            format!("write amplification: {} over {}", table.store, memory.store),
            amplified,
            0.0,
            1.1,
        ),
    ]
}

fn against(all: &Row, ftl: &Row) -> [Part; 2] {
    let ratio =
        |phase: &str, of: fn(Ran<'_>) -> f64| of(all.ran(phase, "uniform")) / of(ftl.ran(phase, "uniform"));
    let read = ratio("gets", |ran| ran.pages_read());
    let programmed = ratio("puts", |ran| ran.pages_programmed());
    let name = |what: &str| format!("{what}: {} over {}", all.store, ftl.store);
    [
        Part::new(name("pages read a get"), read, read < 1.0),
        Part::new(name("pages programmed a put"), programmed, programmed < 1.0),
    ]
}

fn joined(rows: &[Row], of: impl Fn(&Row) -> String) -> String {
    rows.iter().map(of).collect::<Vec<_>>().join("; ")
}

fn memories(rows: &[Row]) -> String {
    let kib = |row: &Row| format!("{} {:.0}", row.store, row.memory_bytes() / 1024.0);
    format!("KiB of memory in the device: {}", joined(rows, kib))
}

fn told(tables: &[Row]) -> String {
    let of = |row: &Row| {
        let ran = row.ran("gets", "uniform");
        let (entries, mapped) = (row.entries, ran.mapped());
        format!(
            "{}: {entries} entries for {mapped:.0} mapped blocks, {:.2} blocks a get",
            row.store,
            ran.blocks()
        )
    };
    format!("{}.", joined(tables, of))
}

fn amplified(rows: &[Row]) -> String {
    let of = |row: &Row| {
        let ran = row.ran("puts", "uniform");
        format!("{} {:.2}", row.store, ran.result.write_amplification())
    };
    format!("NAND bytes for a byte of uniform puts: {}.", joined(rows, of))
}

/// Rates, pages and quantiles of a phase with gets, uniform keys.
fn tails(rows: &[Row], phase: &str) -> String {
    let of = |row: &Row| {
        let ran = row.ran(phase, "uniform");
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|q| ran.get_us(q));
        let (rate, pages) = (ran.result.rate() / 1e3, ran.pages_read());
        format!("{} {rate:.1}, {pages:.2}, {p50:.0}, {p99:.0}, {p999:.0}", row.store)
    };
    format!(
        "Uniform {phase}, kops, pages read an operation, p50, p99 and p99.9 of gets in us: {}.",
        joined(rows, of)
    )
}
