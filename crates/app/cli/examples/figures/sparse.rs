// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A large image costs what is written to it.

use crate::child::{mb, status};
use crate::pairs::{Scratch, fill};
use crate::{Outcome, verdict};
use saker::Kv;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

const IMAGE_BYTES: u64 = 100_000_000_000;
const PAIRS: u64 = 250_000;
const VALUE_BYTES: usize = 4000;

pub fn run() -> Outcome {
    let begun = Instant::now();
    let image = Scratch::image("sparse.img", IMAGE_BYTES)?;
    let created = begun.elapsed();
    let disk = || std::fs::metadata(image.path()).map(|m| m.blocks() * 512);
    let empty = disk()?;
    println!("sparse, 100 GB: created in {:.2} s, {} MB on disk", created.as_secs_f64(), mb(empty));
    let begun = Instant::now();
    let mut kv = Kv::open(&image.url())?;
    println!("sparse: opened in {:.2} s, memory {} MB", begun.elapsed().as_secs_f64(), mb(status("VmRSS")));
    fill(&mut kv, 0, PAIRS, &[7; VALUE_BYTES])?;
    kv.flush()?;
    let written = PAIRS * (16 + VALUE_BYTES as u64);
    let anonymous = status("RssAnon");
    println!(
        "sparse: {} MB written, memory {} MB, {} MB of it not of the file",
        mb(written),
        mb(status("VmRSS")),
        mb(anonymous)
    );
    kv.close()?;
    let grown = disk()? - empty;
    println!(
        "sparse: {} MB more on disk, {:.2} times what was written: {}",
        mb(grown),
        grown as f64 / written as f64,
        verdict(grown <= written * 115 / 100 + (64 << 20))
    );
    Ok(())
}
