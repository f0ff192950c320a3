// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loading a file of 1 GB takes memory for the index, not for the file; so does dumping it.

use crate::child::{mb, spawn};
use crate::pairs::Scratch;
use crate::{Outcome, verdict};
use saker::Kv;
use std::io::{BufWriter, Write};
use std::path::Path;

const FILE_BYTES: u64 = 1_000_000_000;
const VALUE_BYTES: usize = 1000;
/// Memory beyond what an empty device and the index take: buffers, and what the allocator keeps.
const MEMORY_BYTES_MAX: u64 = 128 << 20;

pub fn run() -> Outcome {
    for format in ["tsv", "jsonl"] {
        let source = Scratch::file(&format!("load.{format}"));
        let records = write(source.path(), format)?;
        let image = Scratch::image(&format!("load-{format}.img"), 3 << 30)?;
        let empty = spawn(&["info", "--device", &image.url()])?;
        let file = source.path().to_string_lossy().into_owned();
        let taken = spawn(&["load", &file, "--device", &image.url()])?;
        let index = index_bytes(&image)?;
        report(&format!("load {format}, {records} records"), taken.peak_bytes, empty.peak_bytes, index);
        let opened = spawn(&["info", "--device", &image.url()])?;
        let back = Scratch::file(&format!("back.{format}"));
        let file = back.path().to_string_lossy().into_owned();
        let taken = spawn(&["dump", &file, "--device", &image.url()])?;
        report(&format!("dump {format}"), taken.peak_bytes, opened.peak_bytes, 0);
    }
    Ok(())
}

fn report(what: &str, peak: u64, base: u64, index: u64) {
    let more = peak.saturating_sub(base + index);
    println!(
        "{what}: peak memory {} MB, {} MB of it from opening, {} MB index: {}",
        mb(peak),
        mb(base),
        mb(index),
        verdict(more <= MEMORY_BYTES_MAX)
    );
}

/// Writes a file of [`FILE_BYTES`]; its records.
fn write(path: &Path, format: &str) -> Result<u64, Box<dyn std::error::Error>> {
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    let value = "v".repeat(VALUE_BYTES);
    let (mut bytes, mut records) = (0, 0);
    while bytes < FILE_BYTES {
        let line = match format {
            "jsonl" => format!("{{\"key\":\"key{records:013}\",\"value\":\"{value}\"}}\n"),
            _ => format!("key{records:013}\t{value}\n"),
        };
        out.write_all(line.as_bytes())?;
        (bytes, records) = (bytes + line.len() as u64, records + 1);
    }
    out.flush()?;
    Ok(records)
}

fn index_bytes(image: &Scratch) -> Result<u64, Box<dyn std::error::Error>> {
    let mut kv = Kv::open(&image.url())?;
    let bytes = kv.stats().map_or(0, |s| s.namespaces[0].memory.total());
    kv.close()?;
    Ok(bytes)
}
