// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Medians, ratios, and the two forms they are told in.

use crate::clock::Took;
use crate::store::{Bytes, Durability};
use crate::work::{PHASES, Shape, Times};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// All repetitions of a column.
pub struct Column {
    durability: Durability,
    options: [String; 2],
    times: [Vec<Times>; 2],
    memory_bytes: [u64; 2],
    bytes: [Bytes; 2],
}

/// The place of a side in pairs.
const fn side(ours: bool) -> usize {
    if ours { 0 } else { 1 }
}

impl Column {
    pub fn new(durability: Durability) -> Self {
        let (options, times, memory_bytes, bytes) = Default::default();
        Self { durability, options, times, memory_bytes, bytes }
    }

    pub fn options(&mut self, ours: bool, options: String) {
        self.options[side(ours)] = options;
    }

    /// A repetition, bytes of its settled fill, and the memory at its end.
    pub fn add(&mut self, ours: bool, (times, bytes): (Times, Bytes), memory_bytes: u64) {
        self.times[side(ours)].push(times);
        self.memory_bytes[side(ours)] = memory_bytes;
        self.bytes[side(ours)] = bytes;
    }

    /// Bytes written, and kept, for each of so many bytes of keys and values; `None`: that side was left out.
    fn amplifications(&self, ours: bool, pair_bytes: u64) -> [Option<f64>; 2] {
        let Bytes { written, kept } = self.bytes[side(ours)];
        [written, kept].map(|bytes| (bytes > 0).then(|| bytes as f64 / pair_bytes.max(1) as f64))
    }

    /// The median of one side's phase, by `pick`.
    fn median(&self, ours: bool, phase: usize, pick: fn(&Took) -> f64) -> Option<f64> {
        median(self.times[side(ours)].iter().map(|times| pick(&times[phase])).collect())
    }

    /// How many times as fast as RocksDB we are.
    fn ratio(&self, phase: usize, pick: fn(&Took) -> f64) -> Option<f64> {
        Some(self.median(false, phase, pick)? / self.median(true, phase, pick)?)
    }
}

pub fn median(mut all: Vec<f64>) -> Option<f64> {
    all.sort_by(f64::total_cmp);
    let high = *all.get(all.len() / 2)?;
    Some(if all.len().is_multiple_of(2) { f64::midpoint(all[all.len() / 2 - 1], high) } else { high })
}

/// What is told of bytes.
const AMPLIFICATIONS: [&str; 2] = ["bytes written for a byte stored", "bytes kept for a byte stored"];

fn told(cell: Option<f64>) -> String {
    cell.map_or("-".to_owned(), |x| format!("{x:.3}"))
}

/// The run.
pub struct Report {
    shape: Shape,
    /// Bytes of all pairs.
    pair_bytes: u64,
    repetitions: u32,
    /// Memory is not brought in before each.
    is_cold: bool,
    pub columns: Vec<Column>,
}

const fn wall(took: &Took) -> f64 {
    took.wall_us
}

const fn cpu(took: &Took) -> f64 {
    took.cpu_us
}

impl Report {
    pub fn new(shape: Shape, pair_bytes: u64, (repetitions, is_cold): (u32, bool)) -> Self {
        Self { shape, pair_bytes, repetitions, is_cold, columns: Vec::new() }
    }

    fn heading(&self) -> String {
        let s = self.shape;
        let memory = if self.is_cold { "memory as it comes" } else { "memory brought in before each" };
        format!(
            "{} pairs of 16 + {} bytes, {} reads, {} scans of {} pairs; medians of {} alternated repetitions, {memory}",
            s.pairs, s.value_bytes, s.reads, s.scans, s.scan_pairs, self.repetitions
        )
    }

    /// A table for people.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.heading());
        for column in &self.columns {
            let _ = writeln!(text, "\n{}", column.durability.name());
            for (name, options) in ["saker", "rocksdb"].iter().zip(&column.options) {
                let _ = writeln!(text, "  {name}: {}", if options.is_empty() { "left out" } else { options });
            }
            let mib = column.memory_bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
            let _ = writeln!(
                text,
                "  memory at the end: saker {:.1} MiB (modelled), rocksdb {:.1} MiB",
                mib[0], mib[1]
            );
            let [ours, theirs] = [true, false].map(|ours| column.amplifications(ours, self.pair_bytes));
            for (n, what) in AMPLIFICATIONS.iter().enumerate() {
                let [ours, theirs] = [ours[n], theirs[n]].map(told);
                let _ = writeln!(text, "  {what}, of the settled fill: saker {ours}, rocksdb {theirs}");
            }
            let head = ["us/op saker", "rocksdb", "ratio", "cpu us/op saker", "rocksdb", "ratio"];
            let _ = write!(text, "  {:<14}", "phase");
            for name in head {
                let _ = write!(text, "{name:>17}");
            }
            text.push('\n');
            for (n, phase) in PHASES.iter().enumerate() {
                let _ = write!(text, "  {phase:<14}");
                for pick in [wall, cpu] {
                    let cells =
                        [column.median(true, n, pick), column.median(false, n, pick), column.ratio(n, pick)];
                    for cell in cells {
                        let _ = write!(text, "{:>17}", told(cell));
                    }
                }
                text.push('\n');
            }
        }
        text
    }

    /// The same as one document.
    pub fn json(&self) -> Value {
        let columns = self.columns.iter().map(|column| {
            let phases = PHASES.iter().enumerate().map(|(n, phase)| {
                let sides = |pick| {
                    json!({"saker": column.median(true, n, pick), "rocksdb": column.median(false, n, pick),
                    "ratio": column.ratio(n, pick)})
                };
                json!({"phase": phase, "wall_us": sides(wall), "cpu_us": sides(cpu)})
            });
            let [ours, theirs] = [true, false].map(|ours| column.amplifications(ours, self.pair_bytes));
            json!({
                "write_amplification": {"saker": ours[0], "rocksdb": theirs[0]},
                "space_amplification": {"saker": ours[1], "rocksdb": theirs[1]},
                "durability": column.durability.name(),
                "options": {"saker": column.options[0], "rocksdb": column.options[1]},
                "memory_bytes": {"saker": column.memory_bytes[0], "rocksdb": column.memory_bytes[1]},
                "phases": phases.collect::<Vec<_>>(),
            })
        });
        json!({"version": 1, "what": self.heading(), "columns": columns.collect::<Vec<_>>()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(us: f64) -> Times {
        [Took { wall_us: us, cpu_us: 2.0 * us }; PHASES.len()]
    }

    #[test]
    fn ratios_are_of_medians() {
        let mut column = Column::new(Durability::Wal);
        [1.0, 9.0, 2.0]
            .iter()
            .for_each(|us| column.add(true, (times(*us), Bytes { written: 30, kept: 20 }), 1));
        assert_eq!(column.ratio(0, wall), None, "nothing to compare with");
        [3.0, 5.0].iter().for_each(|us| column.add(false, (times(*us), Bytes::default()), 1));
        assert_eq!((column.median(true, 0, wall), column.median(false, 0, wall)), (Some(2.0), Some(4.0)));
        assert_eq!((column.ratio(3, wall), column.median(true, 0, cpu)), (Some(2.0), Some(4.0)));
        assert_eq!(median(Vec::new()), None);
        assert_eq!(column.amplifications(true, 10), [Some(3.0), Some(2.0)]);
        assert_eq!(column.amplifications(false, 10), [None, None]);
    }
}
