// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an operator sees of `saker serve`: its log, its metrics, `saker top`, and counters that outlive a kill.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use saker::Kv;
use serde_json::Value;

fn saker() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_saker"));
    command.env_remove("SAKER_DEVICE").env_remove("RUST_BACKTRACE");
    command
}

/// A target whose log is kept.
struct Target {
    child: Child,
    url: String,
    metrics: String,
    log: Option<JoinHandle<String>>,
}

impl Target {
    fn start(args: &[&str]) -> Self {
        let always = ["serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"];
        let mut command = saker();
        let mut child =
            command.args(always).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut line = |head: &str| lines.next().unwrap().unwrap().strip_prefix(head).unwrap().to_owned();
        let (url, metrics) = (line("serving "), line("metrics http://"));
        let mut errors = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).unwrap();
            text
        });
        Self { child, url, metrics, log: Some(log) }
    }

    fn address(&self) -> String {
        self.url.strip_prefix("tcp://").unwrap().split('/').next().unwrap().to_owned()
    }

    /// Ends it with a signal; what the log had.
    fn end(mut self, signal: &str) -> String {
        let line = format!("kill {signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
        self.child.wait().unwrap();
        self.log.take().unwrap().join().unwrap()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(args: &[&str]) -> String {
    let output = saker().args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const DEVICE: &str = "mem:?profile=tiny&size=16MiB";

#[test]
fn a_hosts_visit_is_in_the_log_as_lines_or_as_objects() {
    for (format, more) in [("text", &[][..]), ("json", &["--log-format", "json"])] {
        let target = Target::start(&[&["--url", DEVICE, "--log", "debug"], more].concat());
        let mut kv = Kv::open(&target.url).unwrap();
        kv.put(b"a secret key", b"a secret value").unwrap();
        kv.format().unwrap();
        kv.close().unwrap();
        let wrong = format!("tcp://{}/nqn.2014-08.org.example:none", target.address());
        assert!(Kv::open(&wrong).is_err());
        let log = target.end("-TERM");
        for part in [
            "serving",
            "host connected",
            "queue connected",
            "controller enabled",
            "namespace formatted",
            "host disconnected",
            "refused",
            "there is no subsystem of that name",
            "stopped",
        ] {
            assert!(log.contains(part), "{format}: no {part} in\n{log}");
        }
        assert!(!log.contains("secret"), "{log}");
        if format == "json" {
            for line in log.lines() {
                let object: Value =
                    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
                assert!(object["level"].is_string() && object["message"].is_string(), "{line}");
            }
        }
    }
}

#[test]
fn a_flood_of_strangers_is_a_few_lines_and_a_count() {
    let target = Target::start(&["--url", DEVICE]);
    let strangers = 600_u64;
    for _ in 0..strangers {
        drop(TcpStream::connect(target.address()).unwrap());
    }
    // All of them are counted, whether or not they had a line.
    let all = Instant::now() + Duration::from_secs(20);
    while !metrics(&target).contains(&format!("saker_connections_accepted_total {strangers}\n")) {
        assert!(Instant::now() < all, "{}", metrics(&target));
        std::thread::sleep(Duration::from_millis(50));
    }
    let log = target.end("-TERM");
    let told = log.lines().filter(|line| line.contains("closed without a queue")).count() as u64;
    assert!((1..=64).contains(&told), "{told} lines");
    let left_out = log.lines().filter(|line| line.contains("lines were left out"));
    let counts =
        left_out.filter_map(|line| line.split("left_out=").nth(1)?.split(' ').next()?.parse::<u64>().ok());
    assert_eq!(told + counts.sum::<u64>(), strangers, "{log}");
}

fn metrics(target: &Target) -> String {
    let (address, path) = target.metrics.split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_panic_is_in_the_log_as_everything_else() {
    let mut child = saker()
        .args(["serve", "--url", DEVICE, "--listen", "127.0.0.1:0", "--log-format", "json", "--log", "error"])
        .env(saker::panics::PANIC_VARIABLE, "listener")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(saker::panics::PANIC_EXIT_CODE));
    let object: Value = serde_json::from_str(&log).unwrap_or_else(|error| panic!("{error}: {log}"));
    assert!(object["message"].as_str().unwrap().contains("internal error in thread"), "{log}");
}

#[test]
fn slow_commands_and_levels_are_as_asked() {
    let slow = "mem:?profile=saker-low&size=256MiB&timing=real";
    let target = Target::start(&["--url", slow, "--slow-ms", "1", "--log", "warn"]);
    let mut kv = Kv::open(&target.url).unwrap();
    kv.put(b"large", &vec![1; 1_500_000]).unwrap();
    kv.close().unwrap();
    let log = target.end("-TERM");
    assert!(
        log.contains("slow command") && log.contains("took_us=") && !log.contains("host connected"),
        "{log}"
    );
    let quiet = Target::start(&["--url", DEVICE, "--quiet"]);
    Kv::open(&quiet.url).unwrap().close().unwrap();
    assert_eq!(quiet.end("-TERM"), "");
    let refused = saker().args(["serve", "--url", DEVICE, "--log", "loud"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
}

/// What was done until a second before the kill is in the image.
#[test]
fn counters_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("disk.img").display().to_string();
    run(&["create", &image, "--size", "16MiB", "--profile", "tiny"]);
    let file = format!("file:{image}?readonly");
    let life = || -> Value {
        let info: Value = serde_json::from_str(&run(&["info", "--json", "--device", &file])).unwrap();
        info["info"]["life"].clone()
    };
    let mut stored = 0;
    for kill in 1..=2_u64 {
        let target = Target::start(&["--image", &image, "--quiet"]);
        let mut kv = Kv::open(&target.url).unwrap();
        (0..200_u32).for_each(|n| kv.put(&n.to_le_bytes(), &[1; 100]).unwrap());
        stored += 200;
        // The target writes them each second, also when nothing is asked any more.
        std::thread::sleep(Duration::from_millis(2_500));
        target.end("-KILL");
        let life = life();
        assert_eq!(
            (&life["host_write_commands"], &life["host_written_bytes"]),
            (&stored.into(), &(stored * 100).into())
        );
        assert_eq!(
            (&life["power_cycles"], &life["unsafe_shutdowns"]),
            (&kill.into(), &(kill - 1).into()),
            "{life}"
        );
    }
}

#[test]
fn top_tells_what_a_target_does_in_lines_and_in_objects() {
    let target = Target::start(&["--url", DEVICE, "--quiet"]);
    let mut kv = Kv::open(&target.url).unwrap();
    let top = |more: &[&str]| {
        let mut command = saker();
        command.args(["top", &target.url, "--interval", "0.5", "--count", "2"]).args(more);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    for more in [&[][..], &["--json"]] {
        let mut child = top(more);
        while child.try_wait().unwrap().is_none() {
            kv.put(b"key", &[3; 500]).unwrap();
        }
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        if more.is_empty() {
            assert!(lines.len() == 3 && lines[0].contains("writes/s"), "{text}");
            assert!(lines[1].split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() > 0.0, "{text}");
        } else {
            let look: Value = serde_json::from_str(lines[1]).unwrap();
            assert_eq!(look["schema"], "saker.top.v1");
            assert!(
                look["writes_per_s"].as_f64().unwrap() > 0.0 && look["latency_us"]["p99"].as_f64().is_some()
            );
            assert!(look["commands"].as_array().unwrap().iter().any(|of| of[0] == "kv Store"), "{text}");
        }
    }
    let none = saker().args(["top", "mem:", "--device", "mem:"]).output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    let info = run(&["info", "--device", &target.url]);
    assert!(info.lines().any(|line| line.starts_with("counters.commands.kv.Store.Successful")), "{info}");
}
