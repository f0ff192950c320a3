// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sessions over a KV SSD of this machine, through Linux's NVMe driver: `/dev/ngXnY`.
//!
//! `cargo run -p saker --example url_linux -- /dev/ng0n1`

use saker::{Saker, SakerOptions};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Runs the example.
pub fn main() -> Outcome {
    match std::env::args().nth(1).filter(|device| device.starts_with("/dev/")) {
        Some(device) => run(&device),
        None => {
            println!("no device named; `ls /dev/ng*` shows those of this machine");
            Ok(())
        }
    }
}

/// Stores a pair and reads it back.
pub fn run(device: &str) -> Outcome {
    let saker = Saker::open(device, SakerOptions { sessions: 1, depth: 16, ..SakerOptions::default() })?;
    let mut session = saker.session()?;
    session.put(b"colour", b"green")?;
    session.sync()?;
    println!("colour is {:?}", session.get(b"colour")?);
    drop(session);
    saker.close()?;
    Ok(())
}
