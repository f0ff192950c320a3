// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table: medians of rounds, as text, as a page, as JSON.

use crate::rows::Row;
use crate::work::{COLUMNS, Shape};
use std::fmt::Write as _;

/// A row's rounds.
pub struct Measured {
    /// Which row.
    pub row: Row,
    /// Thousands a second, by round and column.
    pub rounds: Vec<[Option<f64>; COLUMNS.len()]>,
    /// Bytes that its files take at the end; `None`: it has none.
    pub disk: Option<u64>,
    /// Bytes by which the process's memory has grown with it.
    pub memory: u64,
}

impl Measured {
    /// The median of a column.
    pub fn median(&self, column: usize) -> Option<f64> {
        let mut rates: Vec<f64> = self.rounds.iter().filter_map(|round| round[column]).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    }
}

/// A number of thousands with three digits that count.
fn thousands(rate: Option<f64>) -> String {
    rate.map_or_else(
        || "-".to_owned(),
        |rate| if rate < 10.0 { format!("{rate:.1}") } else { format!("{rate:.0}") },
    )
}

fn mebibytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{}", bytes >> 20))
}

/// The table in Markdown.
pub fn table(shape: Shape, measured: &[Measured]) -> String {
    let mut text = String::from("| thousands a second |");
    COLUMNS.iter().for_each(|column| _ = write!(text, " {column} |"));
    text.push_str(" MiB of files | MiB of memory | an acknowledged write survives |\n|---|");
    text.push_str(&"--:|".repeat(COLUMNS.len() + 2));
    text.push_str("---|\n");
    for m in measured {
        let _ = write!(text, "| {} |", m.row.name);
        (0..COLUMNS.len()).for_each(|n| _ = write!(text, " {} |", thousands(m.median(n))));
        let _ =
            writeln!(text, " {} | {} | {} |", mebibytes(m.disk), mebibytes(Some(m.memory)), m.row.survives);
    }
    let user = shape.pairs * (16 + shape.value_bytes as u64);
    let _ =
        writeln!(text, "\n{} pairs of 16 + {} bytes are {} MiB.", shape.pairs, shape.value_bytes, user >> 20);
    text
}

/// Bars of one column, the longest 50 characters.
pub fn bars(column: usize, measured: &[Measured]) -> String {
    let most = measured.iter().filter_map(|m| m.median(column)).fold(0.0, f64::max);
    let mut text = format!("{}, thousands a second\n", COLUMNS[column]);
    for m in measured {
        let Some(rate) = m.median(column) else { continue };
        let bar = "#".repeat((50.0 * rate / most.max(1e-9)).round() as usize);
        let _ = writeln!(text, "{:>24} {:>9} {bar}", m.row.name, thousands(Some(rate)));
    }
    text
}

/// All of it as one document.
pub fn json(shape: Shape, measured: &[Measured]) -> serde_json::Value {
    let row = |m: &Measured| {
        let medians: serde_json::Map<_, _> =
            COLUMNS.iter().enumerate().map(|(n, name)| ((*name).to_owned(), m.median(n).into())).collect();
        serde_json::json!({
            "name": m.row.name, "survives": m.row.survives, "medians": medians, "rounds": m.rounds,
            "file_bytes": m.disk, "memory_bytes": m.memory,
        })
    };
    serde_json::json!({
        "version": 1, "pairs": shape.pairs, "value_bytes": shape.value_bytes, "operations": shape.operations,
        "rows": measured.iter().map(row).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_gaps() {
        let round = |put| [Some(put), None, None, None, None, None, None];
        let m = Measured {
            row: crate::rows::ALL[0],
            rounds: vec![round(3.0), round(100.0), round(5.0)],
            disk: None,
            memory: 3 << 20,
        };
        assert_eq!((m.median(0), m.median(1)), (Some(5.0), None));
        let shape = Shape { pairs: 1 << 20, value_bytes: 16, operations: 1, scan_pairs: 100 };
        let table = table(shape, &[m]);
        assert!(table.contains("| hash_store | 5.0 | - | - | - | - | - | - | - | 3 |"), "{table}");
    }
}
