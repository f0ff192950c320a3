// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A profile of one's own: the board of BandSlim with a faster page, against the board as it is.
//!
//! `cargo run -p saker-lab --example own_profile`

use saker_host::Method;
use saker_lab::rig::{Cell, stores};
use saker_profile::Profile;

const STORES: u64 = 500;

/// A profile is TOML text; this one begins as a built-in one. Each number carries its source.
fn own_profile() -> Result<Profile, Box<dyn std::error::Error>> {
    let text = Profile::builtin_text("cosmos-plus")?.replace("\"cosmos-plus\"", "\"my-board\"");
    let mut profile = Profile::parse(&text)?;
    profile.set("transfer.page_dma_ns", "500")?;
    Ok(Profile::parse(&profile.to_toml())?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for profile in [Profile::builtin("cosmos-plus")?, own_profile()?] {
        for method in [Method::Prp, Method::Inline] {
            let run = stores(&profile, 1, STORES, &Cell::transfer(method, 256))?;
            let mean_us = run.result.latency.mean() / 1e3;
            println!("{:<12} {:<7} {mean_us:.2} us for 256 B", profile.name, method.name());
        }
    }
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
