// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A host file system that is full, at the program: what `create`, `put` and `serve` say, and that writing goes on by
//! itself.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use saker::{EngineKind, Kv};
use saker_host::{HostError, KvError};

const DIRECTORY: &str = "SAKER_TEST_TINY_DIR";
const BYTES: u64 = 26 << 20;

/// Runs the test of that name again, in a mount namespace of its own, over a small file system in memory.
fn on_a_tiny_file_system(name: &str, test: impl FnOnce(&Path)) {
    if let Some(dir) = std::env::var_os(DIRECTORY) {
        return test(&PathBuf::from(dir));
    }
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        r#"mount -t tmpfs -o size={BYTES} tiny "${DIRECTORY}" || exit 77; exec "$0" --exact {name} --nocapture"#
    );
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    match unshare.arg(std::env::current_exe().unwrap()).env(DIRECTORY, dir.path()).output() {
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

fn saker(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_saker"));
    command.args(args).env_remove("SAKER_DEVICE");
    command
}

/// Another file takes all that is free but so much.
fn leave(dir: &Path, bytes: u64) {
    let mut file = File::create(dir.join("filler")).unwrap();
    let block = [1; 64 << 10];
    while file.write_all(&block).is_ok() {}
    let taken = file.metadata().unwrap().len();
    file.set_len(taken - bytes).unwrap();
}

fn give_back(dir: &Path) {
    std::fs::remove_file(dir.join("filler")).unwrap();
}

fn create(dir: &Path, engine: &str) -> String {
    let image = dir.join("disk.img").display().to_string();
    let args = ["create", &image, "--size", "64MiB", "--profile", "tiny", "--engine", engine];
    assert!(saker(&args).status().unwrap().success());
    image
}

struct Target {
    child: Child,
    url: String,
}

impl Target {
    fn start(image: &str) -> Self {
        let mut serve = saker(&["serve", "--image", image, "--listen", "127.0.0.1:0"]);
        let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim_end().strip_prefix("serving ").unwrap().to_owned();
        Self { child, url }
    }

    /// Stops it in order; what it has said on standard error.
    fn stop(mut self) -> String {
        let kill = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(kill.unwrap().success() && self.child.wait().unwrap().success());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn value(n: u32) -> Vec<u8> {
    n.to_le_bytes().repeat(300)
}

fn serves_again_with_room(dir: &Path, engine: EngineKind) {
    let image = create(dir, engine.name());
    let target = Target::start(&image);
    let mut kv = Kv::open(&target.url).unwrap();
    let put = |kv: &mut Kv, n: u32| kv.put(&n.to_be_bytes(), &value(n));
    leave(dir, 2 << 20);
    let refused = (0..).find(|n| match put(&mut kv, *n) {
        Ok(()) => false,
        Err(HostError::Kv(KvError::NotReady)) => true,
        Err(error) => panic!("{engine:?}: {error}"),
    });
    let refused = refused.unwrap();
    (0..200)
        .for_each(|_| assert_eq!(put(&mut kv, refused), Err(HostError::Kv(KvError::NotReady)), "{engine:?}"));
    (0..refused)
        .for_each(|n| assert_eq!(kv.get(&n.to_be_bytes()), Ok(Some(value(n))), "{engine:?}: pair {n}"));
    give_back(dir);
    (refused..refused + 2000).for_each(|n| assert_eq!(put(&mut kv, n), Ok(()), "{engine:?}: pair {n}"));
    kv.flush().unwrap();
    kv.close().unwrap();
    let said = target.stop();
    let lines = |what: &str| said.lines().filter(|line| line.contains(what)).count();
    assert_eq!((lines("is full"), lines("writes go on")), (1, 1), "{engine:?}: {said}");
    assert!(said.contains("disk.img: the file system at ") && said.contains("(tmpfs)"), "{said}");
    let mut kv = Kv::open(&format!("file:{image}")).unwrap();
    (0..refused + 2000)
        .for_each(|n| assert_eq!(kv.get(&n.to_be_bytes()), Ok(Some(value(n))), "{engine:?}: {n}"));
    kv.close().unwrap();
    std::fs::remove_file(image).unwrap();
}

/// Without the repair each store is answered Capacity Exceeded from then on, and nothing is said.
#[test]
fn a_target_goes_on_when_its_file_system_has_room() {
    on_a_tiny_file_system("hostfs::a_target_goes_on_when_its_file_system_has_room", |dir| {
        EngineKind::ALL.iter().for_each(|engine| serves_again_with_room(dir, *engine));
    });
}

#[test]
fn commands_say_which_file_system_is_full() {
    on_a_tiny_file_system("hostfs::commands_say_which_file_system_is_full", |dir| {
        let image = create(dir, "hash_store");
        leave(dir, 0);
        let other = dir.join("other.img").display().to_string();
        let made = saker(&["create", &other, "--size", "16MiB", "--profile", "tiny"]).output().unwrap();
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        assert_eq!((made.status.code(), said.lines().count()), (Some(1), 1), "{said}");
        assert!(said.contains("other.img") && said.contains("no room"), "{said}");
        assert!(!Path::new(&other).exists(), "no half file is left");
        let url = format!("file:{image}");
        let load = saker(&["put", "--device", &url, "key", "value"]).output().unwrap();
        // One pair fits the page buffer, and the page buffer is on the disk.
        assert!(load.status.success(), "{}", String::from_utf8_lossy(&load.stderr));
        let got = saker(&["get", "--device", &url, "key"]).output().unwrap();
        assert!(got.status.success() && got.stdout.starts_with(b"value"), "{got:?}");
        let pairs: String = (0..4000).map(|n| format!("{n}\t{}\n", "x".repeat(500))).collect();
        give_back(dir);
        let file = dir.join("pairs.tsv");
        std::fs::write(&file, pairs).unwrap();
        leave(dir, 0);
        let load = saker(&["load", &file.display().to_string(), "--device", &url]).output().unwrap();
        let said = String::from_utf8_lossy(&load.stderr).into_owned();
        assert_eq!(load.status.code(), Some(1), "{said}");
        assert_eq!(said.lines().filter(|line| line.contains("is full (")).count(), 1, "{said}");
        assert!(said.contains("disk.img") && said.contains("make room"), "{said}");
        give_back(dir);
        let load = saker(&["load", &file.display().to_string(), "--device", &url]).output().unwrap();
        assert!(load.status.success(), "{}", String::from_utf8_lossy(&load.stderr));
        assert!(saker(&["check", &image]).status().unwrap().success());
    });
}
