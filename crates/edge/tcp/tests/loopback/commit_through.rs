// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions over the network that survive a power cut of the target once they are answered.

use saker::EngineKind;
use saker_testing::tier;

use super::commit_through_cases as cases;
use super::support::{open, serve};

#[test]
fn what_was_answered_survives_cuts_of_the_target() {
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("disk.img");
        let mut answered = 0;
        for cut_at in (2..tier(12, 200)).step_by(5) {
            cases::image(&path, engine);
            let device = format!("file:{}", path.display());
            let server = serve(&format!("{device}?fault.cut={cut_at}&fault.seed={cut_at}"));
            let mut kv = open(&server, "");
            let last = cases::until_cut(&mut kv);
            answered += last;
            drop(kv);
            // There is no power, so an error is right.
            let _ = server.stop();
            let server = serve(&device);
            let mut kv = open(&server, "");
            cases::is_there(&mut kv, last, &format!("{}, cut at {cut_at}", engine.name()));
            kv.close().expect("closes");
            server.stop().expect("stops");
            std::fs::remove_file(&path).expect("removes");
        }
        assert!(answered > 0, "{}: nothing was answered before any cut", engine.name());
    }
}
