// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker serve --scrub`: its rate, its report, what it finds, and hosts at work meanwhile.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use saker::{EngineKind, ImagePlan, Kv, scrub};
use saker_testing::tier;
use serde_json::Value;

/// How long a line of the log may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A target that scrubs its image, and the lines of its log as they come.
struct Target {
    child: Child,
    url: String,
    log: Receiver<Value>,
}

impl Target {
    fn start(image: &Path, bytes_per_second: u64, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_saker"));
        command.env_remove("SAKER_DEVICE").args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
        command.arg("--image").arg(image).args(["--scrub", &format!("{bytes_per_second}B")]).args(more);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (told, log) = channel();
        let errors = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                let object = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                // Nobody listens any more at the end of a test.
                let _ = told.send(object);
            }
        });
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let url = first.trim_end().strip_prefix("serving ").unwrap().to_owned();
        Self { child, url, log }
    }

    /// Waits until the log says something of a scrub; the object.
    fn scrubbed(&self) -> Value {
        loop {
            let object = self.log.recv_timeout(PATIENCE).expect("a line of the log");
            if object["message"].as_str().unwrap().starts_with("scrub ") {
                return object;
            }
        }
    }

    fn has_ended(&self) -> Option<Value> {
        self.log.try_iter().find(|object| object["message"].as_str().unwrap().starts_with("scrub "))
    }

    /// Ends it in order.
    fn end(mut self) {
        let line = format!("kill -TERM {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An image with some hundred programmed pages, and the bytes that a scrub reads of it.
fn image(folder: &Path, engine: EngineKind) -> (PathBuf, u64) {
    let path = folder.join(format!("{}.img", engine.name()));
    ImagePlan { engine, ..ImagePlan::kv(4 << 20, "tiny", 7) }.create(&path).unwrap();
    let mut kv = Kv::open(&url(&path)).unwrap();
    (0..600).for_each(|n| kv.put(&key(n), &[n as u8; 700]).unwrap());
    kv.close().unwrap();
    let bytes = scrub(&url(&path), None, &mut |_| true).unwrap().bytes;
    assert!(bytes > 100 * 2112, "{bytes}");
    (path, bytes)
}

fn url(path: &Path) -> String {
    format!("file:{}", path.display())
}

fn key(n: u32) -> Vec<u8> {
    format!("key {n:05}").into_bytes()
}

#[test]
fn a_pass_keeps_its_rate_and_says_what_it_has_read() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = image(folder.path(), EngineKind::HASH_STORE);
    let target = Target::start(&path, bytes, &[]);
    let report = target.scrubbed();
    // Nobody has written meanwhile, so another scrub beside it reads the same.
    let other = scrub(&url(&path), None, &mut |_| true).unwrap();
    assert_eq!((&report["sound"], &report["bytes"]), (&other.sound.into(), &other.bytes.into()), "{report}");
    assert_eq!(report["level"], "INFO");
    assert_eq!(report["image"], url(&path));
    let took_ms = report["took_ms"].as_u64().unwrap();
    assert!(took_ms >= 950 * other.bytes / bytes, "a second for all of it: {report}");
    target.end();
}

#[test]
fn what_is_spoilt_while_it_is_served_is_an_error_of_the_log_and_no_wrong_value() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = image(folder.path(), EngineKind::HASH_STORE);
    // Two seconds, so that its last page is spoilt before it comes there. Errors alone are told.
    let target = Target::start(&path, bytes / 2, &["--quiet"]);
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let data = std::fs::read(&path).unwrap();
    let at = data.iter().rposition(|byte| *byte != 0).unwrap();
    file.write_all_at(&[data[at] ^ 4], at as u64).unwrap();
    let place = target.scrubbed();
    assert_eq!((&place["level"], &place["message"]), (&"ERROR".into(), &"scrub found damage".into()));
    assert!(place["place"].as_str().unwrap().contains("page "), "{place}");
    let report = target.scrubbed();
    assert_eq!((&report["level"], &report["damaged"]), (&"ERROR".into(), &1.into()), "{report}");
    let mut kv = Kv::open(&target.url).unwrap();
    let mut lost = 0;
    for n in 0..600 {
        match kv.get(&key(n)) {
            Ok(value) => assert_eq!(value, Some(vec![n as u8; 700]), "{n}"),
            Err(_) => lost += 1,
        }
    }
    assert!(lost <= 1, "one byte costs one pair at most: {lost}");
    drop(kv);
    target.end();
    assert!(!saker::verify_image(&path, &mut |_| {}).unwrap().report.is_sound());
}

/// Puts, deletes and Formats of a host while the pass goes on. Nothing is called damaged, and what the host has is right.
#[test]
fn beside_hosts_that_write_delete_and_format_nothing_is_called_damaged() {
    let folder = tempfile::tempdir().unwrap();
    for engine in EngineKind::ALL {
        let (path, bytes) = image(folder.path(), *engine);
        let target = Target::start(&path, bytes * 1000 / tier(400, 10_000), &[]);
        let mut kv = Kv::open(&target.url).unwrap();
        let (mut round, mut report) = (0u32, None);
        while report.is_none() {
            for n in 0..300 {
                kv.put(&key(n), &[(n + round) as u8; 700]).unwrap();
                if n % 3 == 0 {
                    assert!(kv.delete(&key(n)).unwrap(), "{}", engine.name());
                }
            }
            assert_eq!(kv.get(&key(1)).unwrap(), Some(vec![(1 + round) as u8; 700]), "{}", engine.name());
            if round % 4 == 3 {
                kv.format().unwrap();
                assert_eq!(kv.get(&key(1)).unwrap(), None);
            }
            round += 1;
            report = target.has_ended();
        }
        let report = report.unwrap();
        assert_eq!(report["level"], "INFO", "{}: {report}", engine.name());
        assert!(report["sound"].as_u64().unwrap() > 0, "{}: {report}", engine.name());
        kv.close().unwrap();
        target.end();
        assert!(saker::verify_image(&path, &mut |_| {}).unwrap().report.is_sound(), "{}", engine.name());
    }
}

#[test]
fn the_end_waits_for_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = image(folder.path(), EngineKind::HASH_STORE);
    let target = Target::start(&path, 1, &[]);
    let begun = Instant::now();
    target.end();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
