// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a read that misses is made of, from the traces of its commands.

use saker_device::Part;
use saker_world::RunResult;
use std::fmt::Write as _;

/// One line of what each of a run's operations took: waits, read commands, NAND pages, and the parts of a command's time.
pub(super) fn of_reads(name: &str, run: &RunResult) -> String {
    let each = |n: u64| n as f64 / run.operations.max(1) as f64;
    let reads = &run.reads;
    let mut text = format!(
        "{name}: {:.1} us an operation, {:.2} read commands, {:.2} NAND pages",
        run.latency.mean() / 1e3,
        each(reads.commands),
        each(reads.nand_pages)
    );
    if reads.waits > 0 {
        let _ = write!(text, ", {:.2} waits one after the other", each(reads.waits));
    }
    if !run.traces.is_empty() {
        let _ = write!(text, "; a command is {}", parts(run));
    }
    text + "."
}

/// Mean microseconds of a command by part, longest first; what is less than a tenth of one is left out.
fn parts(run: &RunResult) -> String {
    let commands = run.traces.len() as f64;
    let mean = |part: Part| {
        let sum: u64 = run.traces.iter().map(|trace| trace.total(part).as_nanos()).sum();
        (sum as f64 / commands / 1e3, part.name())
    };
    let mut all: Vec<(f64, &str)> = Part::ALL.map(mean).into_iter().filter(|(us, _)| *us >= 0.1).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.iter().map(|(us, name)| format!("{us:.1} us {name}")).collect::<Vec<_>>().join(", ")
}
