// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making an image on a host file system that is full or fails: an error that says so, and no file.

use saker::image::faults::{self, HostFault, HostPlan};
use saker::{ImagePlan, Kv, check_image};
use std::path::Path;

fn plan() -> ImagePlan {
    ImagePlan::kv(4 << 20, "tiny", 3)
}

/// Creates with a failure at a call, which may never come; what was said, and the calls there were.
fn create(path: &Path, fault: HostFault, at: u64) -> (Option<String>, u64) {
    faults::plan(Some(HostPlan { fault, at, calls: 1 }));
    let made = plan().create(path);
    let calls = faults::calls();
    faults::plan(None);
    (made.err().map(|error| error.to_string()), calls)
}

#[test]
fn a_creation_that_fails_at_any_call_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    for fault in HostFault::ALL {
        let harmless = matches!(fault, HostFault::Short | HostFault::Interrupted);
        for at in 1.. {
            let (said, calls) = create(&path, fault, at);
            let struck = calls >= at;
            match said {
                None => {
                    assert!(harmless || !struck, "{fault:?} at call {at} is an error");
                    let (report, pairs) = check_image(&path, &mut |_| {}).expect("checks");
                    assert!(report.is_sound() && pairs == 0, "{:?}", report.findings);
                    std::fs::remove_file(&path).expect("it was made");
                }
                Some(said) => {
                    assert!(struck && !harmless, "{fault:?} at call {at}: {said}");
                    assert!(said.contains("disk.img"), "{said}");
                    assert!(said.contains("no room") == (fault == HostFault::Full), "{fault:?}: {said}");
                    let left = std::fs::read_dir(dir.path()).expect("lists").count();
                    assert_eq!(left, 0, "{fault:?} at call {at} leaves a file");
                }
            }
            if !struck {
                assert!(at > 1, "{fault:?} has a call to strike");
                break;
            }
        }
    }
    plan().create(&path).expect("creates");
    Kv::open(&format!("file:{}", path.display())).expect("opens").close().expect("closes");
}
