// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sessions over an image file: `file:`. What was synced is there at the next opening, also after a kill.
//!
//! `cargo run -p saker --example url_file -- [IMAGE]` (a temporary file)

use saker::{Saker, SakerOptions, create_image};
use std::path::Path;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Runs the example.
pub fn main() -> Outcome {
    match std::env::args().nth(1) {
        Some(image) if !image.starts_with('-') => run(Path::new(&image)),
        _ => run(&tempfile::tempdir()?.path().join("disk.img")),
    }
}

/// Counts the runs in an image, which it makes if there is none.
pub fn run(image: &Path) -> Outcome {
    if !image.exists() {
        create_image(image, 16 << 20, "tiny", 1)?;
    }
    let saker = Saker::open(&format!("file:{}", image.display()), SakerOptions::default())?;
    let mut session = saker.session()?;
    let runs = session.get(b"runs")?.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    session.put_durable(b"runs", &(runs + 1).to_le_bytes())?;
    drop(session);
    saker.close()?;
    println!("{} held {runs} runs", image.display());
    Ok(())
}
