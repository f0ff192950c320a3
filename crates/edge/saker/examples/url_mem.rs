// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sessions over a device in memory: `mem:`.
//!
//! `cargo run -p saker --example url_mem`

use saker::{Saker, SakerOptions};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Two threads, each with its own session; either sees at once what the other writes.
pub fn main() -> Outcome {
    let saker = Saker::open("mem:?size=256MiB&profile=tiny&threads=1", SakerOptions::default())?;
    let mut here = saker.session()?;
    let mut there = saker.session()?;
    here.put(b"colour", b"green")?;
    let seen = std::thread::scope(|scope| {
        let reader = scope.spawn(move || there.get(b"colour"));
        reader.join().expect("the reader does not panic")
    })?;
    assert_eq!(seen.as_deref(), Some(&b"green"[..]));
    // Everything written so far is on the device, whatever happens to this process.
    here.sync()?;
    drop(here);
    saker.close()?;
    println!("colour is green");
    Ok(())
}
