// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A target is killed (SIGKILL) while a host formats its namespace and saves a feature: what was formatted is gone as a whole,
//! or there as a whole, and what was saved stays. `crates/edge/saker/tests/format_kill.rs` kills users of images.

#[path = "../../saker/tests/support/formats.rs"]
mod formats;

use crate::killed;
use formats::{Part, perform, verify};
use saker::{EngineKind, ImagePlan, Raw};
use saker_sim::{Rng, Seed};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    killed::serve();
}

/// Works until the target is killed in part `last` or soon afterwards; how many parts were acknowledged.
fn live_and_die(path: &Path, last: u64, moment: Duration) -> u64 {
    let (mut child, url) = killed::start("format_kill::child", path);
    let mut raw = Raw::open(&url).expect("opens");
    let (begins, begun) = channel();
    let killer = std::thread::spawn(move || {
        begun.recv().expect("it begins");
        std::thread::sleep(moment);
        child.kill().expect("kills");
        child.wait().expect("ends");
    });
    let mut ended = 0;
    loop {
        if ended == last {
            begins.send(()).expect("the killer waits");
        }
        if !perform(&mut raw, ended) {
            break;
        }
        ended += 1;
    }
    drop(begins);
    killer.join().expect("kills");
    assert!(ended >= last, "part {ended} failed before the kill");
    ended
}

fn round(engine: EngineKind, rng: &mut Rng) -> bool {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    ImagePlan { engine, ..ImagePlan::kv(4 << 20, "tiny", 1) }.create(&path).expect("creates");
    let last = rng.below(4) * 3 + [2, 2, 1][rng.below(3) as usize];
    let shift = rng.below(4);
    let ended = live_and_die(&path, last, Duration::from_micros(rng.below(3000 >> shift)));
    // Whoever looks comes over the network, too.
    let (mut child, url) = killed::start("format_kill::child", &path);
    let mut raw = Raw::open(&url).expect("opens");
    verify(&mut raw, ended);
    let _ = child.kill();
    child.wait().expect("ends");
    Part::of(ended).0 == Part::Format
}

#[test]
fn a_target_is_killed_in_formats_and_saves() {
    let is_soak = saker_testing::is_soak();
    let replay = saker_testing::Replay::campaign();
    let seed = replay.seed();
    let mut rng = Seed(seed).child("format kill").rng();
    let (kills, mut in_formats) = (if is_soak { 200 } else { 12 }, 0);
    for n in 0..kills {
        let engine = EngineKind::ALL[n % EngineKind::ALL.len()];
        println!("kill {n}, {}, seed {seed}", engine.name());
        in_formats += u32::from(round(engine, &mut rng));
    }
    println!("{kills} kills, {in_formats} in a Format");
    assert!(in_formats > 1, "{in_formats} of {kills} kills came in a Format");
}
