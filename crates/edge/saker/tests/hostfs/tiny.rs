// SPDX-License-Identifier: Apache-2.0 OR MIT
//! File systems of a few megabytes, and images to fill them with.

use saker::{EngineKind, ImagePlan, NamespacePlan};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of the file system.
pub const BYTES: u64 = 26 << 20;
/// Bytes that are left when another file has taken the rest.
const LEFT_BYTES: u64 = 3 << 20;

const DIRECTORY: &str = "SAKER_TEST_TINY_DIR";

/// Runs the test of that name again, in a mount namespace of its own, over a file system of [`BYTES`]; `test` gets its
/// directory.
pub fn on_a_tiny_file_system(name: &str, test: impl FnOnce(&Path)) {
    if let Some(dir) = std::env::var_os(DIRECTORY) {
        return test(&PathBuf::from(dir));
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let script = format!(
        r#"mount -t tmpfs -o size={BYTES} tiny "${DIRECTORY}" || exit 77; exec "$0" --exact {name} --nocapture"#
    );
    let binary = std::env::current_exe().expect("a running test has a file");
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).arg(binary);
    match unshare.env(DIRECTORY, dir.path()).output() {
        // libtest succeeds, too, where no test has that name.
        Ok(out) if out.status.success() => {
            assert!(String::from_utf8_lossy(&out.stdout).contains("1 passed"), "no test is called {name}");
        }
        Ok(out) if out.status.code() == Some(101) => {
            panic!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
        }
        Ok(out) if out.status.code().is_none() => panic!("a signal has ended it: {out:?}"),
        other => eprintln!("skipped, mounting is not permitted here: {other:?}"),
    }
}

/// Another file takes nearly all that is free.
pub fn take_space(dir: &Path) {
    let mut file = File::create(dir.join("filler")).expect("creates");
    let stat = rustix::fs::statvfs(dir).expect("there is a file system");
    let bytes = (stat.f_bavail * stat.f_frsize).saturating_sub(LEFT_BYTES);
    file.write_all(&vec![1; bytes as usize]).expect("there is room");
}

/// Gives it back.
pub fn give_space(dir: &Path) {
    std::fs::remove_file(dir.join("filler")).expect("it is there");
}

/// Makes an image that is larger than the file system.
pub fn image(dir: &Path, engine: EngineKind, namespaces: &[NamespacePlan]) -> PathBuf {
    let path = dir.join("disk.img");
    let plan = ImagePlan::kv(64 << 20, "tiny", 3);
    ImagePlan { engine, namespaces: namespaces.to_vec(), ..plan }.create(&path).expect("creates");
    path
}
