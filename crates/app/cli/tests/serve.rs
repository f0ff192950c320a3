// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker serve` as a process: it says when it is ready, stops in order, and a kill loses nothing that was acknowledged.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use saker::{EngineKind, Kv};

/// A target of its own, killed when the test ends.
struct Target {
    child: Child,
    url: String,
}

impl Target {
    fn start(args: &[&str]) -> Self {
        Self::begin(saker().arg("serve").args(args))
    }

    fn begin(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("the program starts: {error}"));
        let mut line = String::new();
        let output = child.stdout.take().map(BufReader::new);
        output.map(|mut output| output.read_line(&mut line)).transpose().unwrap_or_default();
        let url = line.trim_end().strip_prefix("serving ").unwrap_or_default().to_owned();
        assert!(url.starts_with("tcp://"), "the readiness line: {line:?}");
        Self { child, url }
    }

    fn image(image: &Path) -> Self {
        Self::start(&["--image", &image.display().to_string(), "--listen", "127.0.0.1:0"])
    }

    fn signal(&self, name: &str) {
        let line = format!("kill {name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &line]).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn saker() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_saker"));
    // A panic is one line without a backtrace.
    command.env_remove("SAKER_DEVICE").env_remove("RUST_BACKTRACE");
    command
}

fn run(args: &[&str]) -> String {
    let output = saker().args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn image(directory: &Path, profile: &str) -> std::path::PathBuf {
    let image = directory.join("disk.img");
    run(&["create", &image.display().to_string(), "--size", "512MiB", "--profile", profile]);
    image
}

/// A path is a path, whatever is in it: with options of the command line and a scrub, too.
#[test]
fn an_image_may_have_any_name() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a?b.img", "what?readonly", "??", "x#1 & 100%3F=y.img"] {
        let path = directory.path().join(name);
        let image = path.display().to_string();
        run(&["create", &image, "--size", "16MiB", "--profile", "tiny"]);
        for more in [
            &[][..],
            &["--timing", "real"],
            &["--scrub", "1GiB", "--fault", "seed=7", "--fault", "read=1/1000000"],
        ] {
            let served = ["--image", &image, "--listen", "127.0.0.1:0"];
            let target = Target::start(&[&served, more].concat());
            run(&["put", "key", "value", "--device", &target.url]);
            assert_eq!(run(&["get", "key", "--device", &target.url]), "value", "{name}");
        }
        run(&["check", &image]);
    }
    let entries = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(entries, 4, "nothing else was made");
}

/// Every engine over the network. `tests/e2e/conform.rs` has them in memory and in an image.
#[test]
fn every_engine_conforms_over_the_network() {
    for engine in EngineKind::ALL.iter().map(|kind| kind.name()) {
        let device = format!("mem:?size=64MiB&profile=tiny&engine={engine}");
        let listen = ["--listen", "127.0.0.1:0"];
        let target = Target::begin(saker().arg("serve").args(listen).env("SAKER_DEVICE", device));
        let report = run(&["conform", &target.url]);
        let counts = report.lines().last().unwrap_or_default();
        assert!(counts.contains(" 0 failed, "), "{engine}: {report}");
    }
}

#[test]
fn the_variable_names_what_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let image = image(directory.path(), "default").display().to_string();
    let serve = |device: &str, more: &[&str]| {
        let listen = ["--listen", "127.0.0.1:0"];
        Target::begin(saker().arg("serve").args(listen).args(more).env("SAKER_DEVICE", device))
    };
    let target = serve(&format!("file:{image}"), &["--timing", "off"]);
    run(&["put", "--device", &target.url, "k", "v"]);
    target.signal("-TERM");
    drop(target);
    assert_eq!(run(&["get", "--device", &format!("file:{image}"), "k"]), "v");
    // What is named comes first.
    let target = serve("mem:", &["--image", &image]);
    assert_eq!(run(&["get", "--device", &target.url, "k"]), "v");
    drop(target);
    let config = directory.path().join("saker.toml");
    std::fs::write(&config, "listen = [\"127.0.0.1:0\"]\n").unwrap();
    let target = serve("mem:?size=64MiB&profile=tiny", &["--config", &config.display().to_string()]);
    run(&["put", "--device", &target.url, "k", "v"]);
}

#[test]
fn two_images_are_two_subsystems() {
    let directory = tempfile::tempdir().unwrap();
    let images = ["one.img", "two.img"].map(|name| directory.path().join(name).display().to_string());
    for image in &images {
        run(&["create", image, "--size", "16MiB", "--profile", "tiny"]);
    }
    let target = Target::start(&["--image", &images[0], "--image", &images[1], "--listen", "127.0.0.1:0"]);
    run(&["put", "--device", &target.url, "k", "v"]);
}

#[test]
fn every_command_works_over_the_network_and_a_stop_leaves_a_clean_image() {
    let directory = tempfile::tempdir().unwrap();
    let image = image(directory.path(), "default");
    let mut target = Target::image(&image);
    let url = target.url.clone();
    run(&["put", "--device", &url, "greeting", "hello"]);
    assert_eq!(run(&["get", "--device", &url, "greeting"]), "hello");
    run(&["exists", "--device", &url, "greeting"]);
    let records = directory.path().join("records.tsv");
    std::fs::write(&records, (0..1000).map(|n| format!("key{n}\tvalue {n}\n")).collect::<String>()).unwrap();
    run(&["load", "--device", &url, &records.display().to_string()]);
    assert_eq!(run(&["list", "--device", &url]).lines().count(), 1001);
    run(&["delete", "--device", &url, "greeting"]);
    assert!(run(&["info", "--device", &url, "--json"]).contains("Saker key-value SSD"));
    target.signal("-TERM");
    assert!(target.child.wait().unwrap().success(), "an orderly end");
    let local = format!("file:{}", image.display());
    assert_eq!(run(&["get", "--device", &local, "key77"]), "value 77");
    run(&["check", &image.display().to_string()]);
}

#[test]
fn strangers_are_refused_unless_somebody_says_so() {
    let refused =
        saker().args(["serve", "--url", "mem:?size=512MiB", "--listen", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--allow-host"));
    let nothing = saker().arg("serve").output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
    let host = "nqn.2014-08.org.example:friend";
    let target = Target::start(&[
        "--url",
        "mem:?size=512MiB",
        "--listen",
        "127.0.0.1:0",
        "--allow-host",
        host,
        "--nqn",
        "nqn.2026-11.dev.saker:t",
    ]);
    assert!(target.url.ends_with("/nqn.2026-11.dev.saker:t"));
    let error = Kv::open(&target.url).expect_err("another host").to_string();
    assert!(error.contains("Connect Invalid Host"), "{error}");
    Kv::open(&format!("{}?hostnqn={host}", target.url)).expect("the friend");
}

#[test]
fn too_little_memory_for_the_connections_is_refused_with_what_is_enough() {
    for memory in ["0", "64MiB"] {
        let mut command = saker();
        command.args([
            "serve",
            "--url",
            "mem:?size=512MiB",
            "--listen",
            "127.0.0.1:0",
            "--connections-memory-max",
            memory,
        ]);
        let refused = command.output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(
            said.lines().count() == 1 && said.contains("1024 connections need at least 75497472"),
            "{said}"
        );
    }
}

/// Writes until the target dies; what was acknowledged by then.
fn write_until_killed(url: &str, target: &Target, kill_at: u32) -> (u32, u32) {
    let mut kv = Kv::open(&format!("{url}?reconnect=0&timeout=5")).expect("open");
    for n in 0..kill_at * 2 {
        if n == kill_at {
            target.signal("-KILL");
        }
        if let Err(error) = kv.put(&n.to_le_bytes(), &value(n)) {
            let text = error.to_string();
            assert!(text.contains("not known") || text.contains("cannot be reached"), "{text}");
            return (n, n);
        }
    }
    panic!("a killed target goes on");
}

fn value(n: u32) -> Vec<u8> {
    (0..n % 5000).map(|at| (at ^ n) as u8).collect()
}

#[test]
fn a_kill_under_load_loses_nothing_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    for (round, profile) in ["default", "saker-low"].into_iter().enumerate() {
        let sub = directory.path().join(profile);
        std::fs::create_dir(&sub).unwrap();
        let image = image(&sub, profile);
        let target = Target::image(&image);
        let (acknowledged, unknown) = write_until_killed(&target.url, &target, 400 + 57 * round as u32);
        drop(target);
        let target = Target::image(&image);
        let mut kv = Kv::open(&target.url).expect("open again");
        for n in 0..acknowledged {
            assert!(kv.get(&n.to_le_bytes()).expect("read") == Some(value(n)), "key {n}, profile {profile}");
        }
        // The write whose outcome is not known is whole or not there.
        let last = kv.get(&unknown.to_le_bytes()).expect("read");
        assert!(last.is_none() || last == Some(value(unknown)));
    }
}

#[test]
fn a_host_goes_on_after_the_target_came_back() {
    let directory = tempfile::tempdir().unwrap();
    let image = image(directory.path(), "default");
    let target = Target::image(&image);
    let url = target.url.clone();
    let address = url.trim_start_matches("tcp://").split('/').next().unwrap().to_owned();
    let mut kv = Kv::open(&format!("{url}?reconnect=20")).expect("open");
    kv.put(b"before", b"1").expect("stored");
    drop(target);
    let again = std::thread::spawn(move || {
        Target::start(&["--image", &image.display().to_string(), "--listen", &address])
    });
    assert_eq!(kv.get(b"before").expect("reads are sent again"), Some(b"1".to_vec()));
    kv.put(b"after", b"2").expect("stored");
    assert_eq!(kv.reconnects(), 1);
    drop(again.join().expect("the target came back"));
}

/// What an allocator keeps of a crowd, and pages of the image that the first hosts had not touched.
const MEMORY_SLACK_BYTES: usize = 16 << 20;

/// Resident memory and open descriptors of a target.
fn footprint(target: &Target) -> (usize, usize) {
    let process = format!("/proc/{}", target.child.id());
    let statm = std::fs::read_to_string(format!("{process}/statm")).unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    (pages * 4096, std::fs::read_dir(format!("{process}/fd")).unwrap().count())
}

/// Once the hosts that are gone are gone for the target too.
fn settled(target: &Target, descriptors: usize) -> (usize, usize) {
    for _ in 0..500 {
        if footprint(target).1 == descriptors {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    footprint(target)
}

#[test]
fn memory_that_is_asked_for_beforehand_is_there_before_hosts_are() {
    let resident = |more: &str| {
        let url = format!("mem:?size=64MiB&profile=tiny{more}");
        footprint(&Target::start(&["--url", &url, "--listen", "127.0.0.1:0"])).0
    };
    let (without, with) = (resident(""), resident("&prefault=1000"));
    assert!(with > without + (60 << 20), "{without} without, {with} with");
}

/// Pages that the system has made for a process so far.
fn faults(target: &Target) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", target.child.id())).unwrap();
    stat.rsplit(") ").next().unwrap().split(' ').nth(7).unwrap().parse().unwrap()
}

/// A transfer of a MiB has 256 pages on each side. To make them anew takes longer than the transfer, and nobody else is served meanwhile.
#[test]
#[cfg(target_env = "gnu")]
fn long_transfers_use_memory_that_is_there() {
    let target = Target::start(&["--url", "mem:?size=512MiB&prefault=1000", "--listen", "127.0.0.1:0"]);
    let mut kv = Kv::open(&target.url).unwrap();
    let value = vec![7; 1 << 20];
    let mut rounds = |times: u8| {
        let before = faults(&target);
        for n in 0..times {
            kv.put(&[n % 4], &value).unwrap();
            let keys: [&[u8]; 1] = [&[n % 4]];
            assert!(kv.get(keys[0]).unwrap().as_ref() == Some(&value));
            assert!(kv.multi_get(&keys).unwrap().pop().unwrap().as_ref() == Some(&value));
        }
        faults(&target) - before
    };
    rounds(16);
    let made = rounds(50);
    assert!(made < 50 * 128, "{made} pages for 150 transfers");
}

fn connect_and_leave(url: &str) {
    let mut kv = Kv::open(url).unwrap();
    kv.put(b"key", &[7; 10_000]).unwrap();
    assert_eq!(kv.get(b"key").unwrap().map(|value| value.len()), Some(10_000));
}

/// 64 hosts with 32 commands under way each.
fn crowd(url: &str) {
    let mut hosts: Vec<Kv> = (0..64).map(|_| Kv::open(url).unwrap()).collect();
    for (n, kv) in hosts.iter_mut().enumerate() {
        (0..32_u8).for_each(|at| kv.put_queued(&[n as u8, at], &[at; 4_000]).unwrap());
    }
    hosts.iter_mut().for_each(|kv| kv.drain().unwrap());
}

#[test]
fn descriptors_and_memory_of_a_target_return_to_the_start() {
    let is_soak = saker_testing::is_soak();
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("disk.img").display().to_string();
    run(&["create", &image, "--size", "16MiB", "--profile", "tiny"]);
    let target = Target::start(&["--image", &image, "--listen", "127.0.0.1:0"]);
    let url = format!("{}?depth=32", target.url);
    let descriptors = footprint(&target).1;
    // So small a device that it is written over: what is mapped of the image is resident before memory is looked at.
    (0..100).for_each(|_| connect_and_leave(&url));
    let (memory, open) = settled(&target, descriptors);
    assert_eq!(open, descriptors);
    (0..if is_soak { 5_000 } else { 500 }).for_each(|_| connect_and_leave(&url));
    crowd(&url);
    let (after, open) = settled(&target, descriptors);
    assert_eq!(open, descriptors);
    assert!(after < memory + MEMORY_SLACK_BYTES, "{memory} bytes before, {after} after");
}

/// Every kind of thread and task of a target, told to panic at its first work.
#[test]
fn a_panic_of_any_thread_ends_the_process_with_a_line_and_a_code_of_its_own() {
    for kind in ["subsystem", "guest", "stranger", "acceptor", "listener"] {
        let mut child = saker()
            .args([
                "serve",
                "--url",
                "mem:?profile=tiny&size=16MiB",
                "--listen",
                "127.0.0.1:0",
                "--log",
                "error",
            ])
            .env(saker::panics::PANIC_VARIABLE, kind)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if let Some(url) = line.trim_end().strip_prefix("serving ") {
            let error = Kv::open(&format!("{url}?reconnect=0&timeout=5"));
            assert!(error.is_err(), "{kind}: a target that dies serves nobody");
        }
        expect_panic(child, kind);
    }
}

/// Threads that are not the target's.
#[test]
fn a_panic_of_a_device_thread_ends_the_process_too() {
    for url in ["mem:?profile=tiny&size=16MiB&threads=1", "mem:?profile=tiny&size=64MiB&threads=1&shards=2"] {
        let child = saker()
            .args(["put", "--device", url, "key", "value"])
            .env(saker::panics::PANIC_VARIABLE, "device")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        expect_panic(child, "device");
    }
}

/// The process ends by itself, soon.
fn expect_panic(mut child: Child, kind: &str) {
    let begun = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > std::time::Duration::from_secs(20) {
            let _ = child.kill();
            panic!("{kind}: the process lives on");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(saker::panics::PANIC_EXIT_CODE), "{kind}: {text}");
    assert!(
        text.lines().count() == 1 && text.contains("internal error") && text.contains(kind),
        "{kind}: {text}"
    );
}

/// What a command says when it refuses, with its exit code.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let output = saker().args(args).output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty(), "{args:?}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn settings_change_while_a_device_is_served_and_info_shows_them() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("disk.img").display().to_string();
    let packing = ["--set", "packing=backfill", "--set", "min_blob_size=64"];
    let create = ["create", &image, "--size", "64MiB", "--profile", "tiny", "--engine", "lsm"];
    run(&[&create[..], &packing].concat());
    let target = Target::start(&["--image", &image, "--listen", "127.0.0.1:0"]);
    let (device, set) = (["--device", &target.url], ["set", "slowdown=off", "bloom_bits_per_key=5"]);
    run(&[&set[..], &device].concat());
    let row = |text: &str, name: &str| {
        let row =
            text.lines().find(|line| line.starts_with(&format!("settings.{name} "))).unwrap().to_owned();
        row.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    let info = run(&[&["info"][..], &device].concat());
    assert_eq!([row(&info, "slowdown"), row(&info, "bloom_bits_per_key")], ["off (live)", "5 (live)"]);
    assert_eq!([row(&info, "packing"), row(&info, "min_blob_size")], ["backfill (kept)", "64 (stored)"]);
    assert_eq!(row(&info, "max_write_buffer_number"), "2 (at open)");
    assert!(info.lines().any(|line| line.split_whitespace().eq(["writes.condition", "normal"])), "{info}");
    let json = run(&[&["set", "slowdown=on", "--json"][..], &device].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["schema"], &json["settings"]["slowdown"]), (&"saker.set.v1".into(), &"on".into()));
    for (asked, what) in [
        (
            "write_buffer_size=1MiB",
            "setting `write_buffer_size` is chosen when the device is opened; change one of",
        ),
        ("min_blob_size=128", "setting `min_blob_size` is chosen when a namespace is made; change one of"),
        ("weight=1", "engine lsm has no setting `weight`; change one of level0_file_num_compaction_trigger"),
        ("slowdown=perhaps", "setting `slowdown=perhaps`; write on or off"),
        ("bloom_bits_per_key=65", "setting `bloom_bits_per_key=65`; write 0 to 64"),
        ("slowdown", "`slowdown` changes no setting; write it as NAME=VALUE"),
    ] {
        let (code, told) = refused(&[&["set", asked][..], &device].concat());
        assert!(code == Some(2) && told.contains(what) && told.lines().count() == 1, "{told}");
    }
    target.signal("-TERM");
    drop(target);
    // What is live is forgotten, what is kept is not; and a device of one command is not asked.
    let file = format!("file:{image}");
    let info: serde_json::Value = serde_json::from_str(&run(&["info", "--json", "--device", &file])).unwrap();
    let settings = &info["info"]["settings"];
    assert_eq!(settings["bloom_bits_per_key"], serde_json::json!({ "value": "10", "kind": "live" }));
    assert_eq!(settings["packing"], serde_json::json!({ "value": "backfill", "kind": "kept" }));
    for device in [&file[..], "mem:?engine=lsm"] {
        let (code, told) = refused(&["set", "slowdown=off", "--device", device]);
        assert!(code == Some(2) && told.contains("put the setting in the URL"), "{told}");
    }
}
