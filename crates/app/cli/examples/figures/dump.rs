// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Dumping n pairs takes O(n log n) time, and memory that does not grow beyond what opening takes.

use crate::child::{mb, spawn};
use crate::pairs::{Scratch, fill};
use crate::{Outcome, verdict};
use saker::Kv;

const PAIRS: [u64; 4] = [1_250_000, 2_500_000, 5_000_000, 10_000_000];
/// Memory that a dump may take beyond the opened device: buffers.
const MEMORY_BYTES_MAX: u64 = 64 << 20;
/// Twice the pairs take 2 log(2n) / log(n) = 2.1 times as long at these sizes; caches and noise the rest.
const RATIO_MAX: f64 = 2.5;

pub fn run() -> Outcome {
    let image = Scratch::image("dump.img", 4 << 30)?;
    let target = Scratch::file("dump.tsv");
    let (mut stored, mut last) = (0, None::<f64>);
    for pairs in PAIRS {
        let mut kv = Kv::open(&image.url())?;
        fill(&mut kv, stored, pairs, &[b'v'; 16])?;
        kv.close()?;
        stored = pairs;
        let opened = spawn(&["info", "--device", &image.url()])?;
        let file = target.path().to_string_lossy().into_owned();
        let taken = spawn(&["dump", &file, "--device", &image.url()])?;
        let seconds = taken.busy.saturating_sub(opened.busy).as_secs_f64();
        let ratio = last.map(|last| seconds / last);
        let more = taken.peak_bytes.saturating_sub(opened.peak_bytes);
        let holds = ratio.is_none_or(|r| r <= RATIO_MAX) && more <= MEMORY_BYTES_MAX;
        println!(
            "dump {pairs} pairs: {seconds:.2} s of a processor after opening ({:.2} s), {} to the size before; peak memory {} MB, \
             {} MB of it from opening: {}",
            opened.busy.as_secs_f64(),
            ratio.map_or("-".into(), |r| format!("{r:.2}")),
            mb(taken.peak_bytes),
            mb(opened.peak_bytes),
            verdict(holds),
        );
        last = Some(seconds);
    }
    Ok(())
}
