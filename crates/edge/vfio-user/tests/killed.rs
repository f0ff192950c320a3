// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SIGKILL of the server, and of the client: what was acknowledged is there afterwards.
//!
//! The one that dies is this program once more, told by variables what to do.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use saker_sim::seed::Seed;
use saker_testing::{Replay, tier};
use saker_vfio_user::{Served, Server};

use crate::rig::Rig;

const WHAT: &str = "SAKER_VFIO_CHILD";
const FOLDER: &str = "SAKER_VFIO_FOLDER";

/// The process that dies. As a test of its own it does nothing.
#[test]
fn child() {
    let (Ok(what), Ok(folder)) = (std::env::var(WHAT), std::env::var(FOLDER)) else { return };
    let folder = Path::new(&folder);
    if what.ends_with("server") {
        let url = format!("file:{}", folder.join("disk.img").display());
        let socket = folder.join("socket");
        let served =
            Served { url, socket, nqn: None, busy_poll: what.starts_with("polling"), memory_buffer: false };
        let _server = Server::start(&[served]).unwrap();
        say("ready");
        std::thread::sleep(Duration::from_secs(600));
    } else {
        let first: u64 = what.parse().unwrap();
        let mut kv = saker::Kv::open(&format!("vfio-user:{}", folder.join("socket").display())).unwrap();
        for n in first.. {
            kv.put(&key(n), &value(n)).unwrap();
            say(&n.to_string());
        }
    }
}

/// Past what a test's output goes through, line by line.
fn say(what: &str) {
    use std::io::Write;
    let mut out = std::fs::OpenOptions::new().append(true).open("/proc/self/fd/1").unwrap();
    out.write_all(format!("said {what}\n").as_bytes()).unwrap();
}

fn key(n: u64) -> Vec<u8> {
    format!("key-{n:08}").into_bytes()
}

fn value(n: u64) -> Vec<u8> {
    vec![n as u8; 40 + (n * 37 % 3000) as usize]
}

pub struct Spawned {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Spawned {
    pub fn new(what: &str, folder: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "killed::child", "--nocapture"]).env(WHAT, what).env(FOLDER, folder);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next thing that it says; nothing once it is dead.
    pub fn next(&mut self) -> Option<String> {
        self.lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("said ").map(str::to_owned))
    }

    pub fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let said = std::iter::from_fn(|| self.next()).collect();
        self.child.wait().unwrap();
        said
    }
}

#[test]
fn a_killed_server_has_lost_nothing_that_was_acknowledged() {
    let replay = Replay::campaign();
    let mut rng = Seed(replay.seed()).child("server").rng();
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("disk.img");
    saker::create_image(&image, 64 << 20, "tiny", 1).unwrap();
    let mut acknowledged = 0;
    for round in 0..tier(5, 200) {
        let mut server = Spawned::new("server", folder.path());
        assert_eq!(server.next().as_deref(), Some("ready"));
        let url = format!("vfio-user:{}?reconnect=0", folder.path().join("socket").display());
        let mut kv = saker::Kv::open(&url).unwrap();
        let kill_after = Duration::from_micros(500 + rng.below(60_000));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(kill_after);
            server.kill()
        });
        // Keys are few, so that an image of this size holds them all.
        while kv.put(&key(acknowledged % 2000), &value(acknowledged)).is_ok() {
            acknowledged += 1;
        }
        killer.join().unwrap();
        drop(kv);
        let mut kv = saker::Kv::open(&format!("file:{}", image.display())).unwrap();
        for n in acknowledged.saturating_sub(1999)..acknowledged {
            let found = kv.get(&key(n % 2000)).unwrap();
            // The one write that was not answered may be there.
            let is_newer = n + 2000 == acknowledged && found == Some(value(acknowledged));
            assert!(found == Some(value(n)) || is_newer, "round {round}: {n} of {acknowledged}");
        }
        kv.close().unwrap();
    }
    assert!(acknowledged > 0);
}

#[test]
fn a_killed_client_has_lost_nothing_that_was_acknowledged() {
    let replay = Replay::campaign();
    let mut rng = Seed(replay.seed()).child("client").rng();
    let mut rig = Rig::new("mem:?size=256MiB&profile=tiny", false);
    let mut next = 0_u64;
    for round in 0..tier(5, 200) {
        let mut client = Spawned::new(&next.to_string(), rig.folder.path());
        let mut last = next;
        for _ in 0..1 + rng.below(30) {
            last = client.next().unwrap().parse().unwrap();
        }
        last = client.kill().last().map_or(last, |n| n.parse().unwrap_or(last));
        let mut kv = saker::Kv::open(&format!("vfio-user:{}", rig.socket.display())).unwrap();
        for n in next..=last {
            assert_eq!(kv.get(&key(n)).unwrap(), Some(value(n)), "round {round}");
        }
        kv.close().unwrap();
        next = last + 2;
    }
    rig.stop();
}
