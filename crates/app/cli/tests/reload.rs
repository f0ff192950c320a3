// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SIGHUP to `saker serve` while hosts work: their connections and commands go on, and what is new holds from then on.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use saker::{EngineKind, ImagePlan, Kv};

use crate::target::{Target, run, saker};

const READ: &str = "the configuration was read again";
const REFUSED: &str = "the configuration stays as it was";
const FIRST: &str = "nqn.2026-11.dev.saker:first";
const SECOND: &str = "nqn.2026-11.dev.saker:second";

/// A configuration file in a folder of its own, with secrets beside it.
struct Config {
    folder: tempfile::TempDir,
    device: String,
}

impl Config {
    fn new(device: &str) -> Self {
        let config = Self { folder: tempfile::tempdir().unwrap(), device: device.into() };
        ["a", "b"].iter().for_each(|name| config.secret(name));
        config
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn secret(&self, name: &str) {
        run(&["secret", "generate", "--quiet", "--output", self.path(name).to_str().unwrap()]);
    }

    /// A file with the secrets of others, best first.
    fn joined(&self, name: &str, others: &[&str]) {
        let text: String = others.iter().map(|o| std::fs::read_to_string(self.path(o)).unwrap()).collect();
        if !self.path(name).exists() {
            self.secret(name);
        }
        std::fs::write(self.path(name), text).unwrap();
    }

    /// A host that has to prove that it has the secret of that name.
    fn host(&self, nqn: &str, secret: &str, more: &str) -> String {
        let secret = self.path(secret);
        format!(
            "[[host]]\nnqn = \"{nqn}\"\nsecret_file = \"{}\"\ndh_groups = [\"null\"]\n{more}\n",
            secret.display()
        )
    }

    fn write(&self, top: &str, hosts: &str) {
        let always = "listen = [\"127.0.0.1:0\"]\nlog_format = \"json\"\n";
        let subsystem = format!("[[subsystem]]\nurl = \"{}\"\n", self.device);
        std::fs::write(self.path("saker.toml"), format!("{always}{top}\n{hosts}\n{subsystem}")).unwrap();
    }

    fn options(&self, nqn: &str, secret: &str) -> String {
        format!("hostnqn={nqn}&reconnect=0&secret_file={}", self.path(secret).display())
    }
}

fn hang_up(target: &mut Target, expected: &str) -> serde_json::Value {
    target.signal("-HUP");
    target.line(expected)
}

/// Puts and gets until it is over; what it read is what it wrote.
fn work(kv: &mut Kv, key: &[u8], is_over: &AtomicBool, rounds: &AtomicU64) {
    while !is_over.load(Ordering::Relaxed) {
        let n = rounds.fetch_add(1, Ordering::Relaxed);
        let value = vec![n as u8; 1 + (n as usize * 977) % 30_000];
        kv.put(key, &value).expect("stored");
        assert_eq!(kv.get(key).expect("read").as_ref(), Some(&value));
    }
}

/// Also when something fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does something while a host works, which no connection is taken from.
fn beside_a_host(url: &str, during: impl FnOnce(&AtomicU64)) {
    let mut kv = Kv::open(url).expect("connected");
    let (is_over, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _stop = Stop(&is_over);
        let worker = scope.spawn(|| work(&mut kv, b"of the host that works", &is_over, &rounds));
        during(&rounds);
        is_over.store(true, Ordering::Relaxed);
        worker.join().expect("it worked to the end");
    });
    assert!(rounds.into_inner() > 10, "it worked");
    assert_eq!(kv.reconnects(), 0, "no connection was lost");
    kv.close().expect("closed");
}

/// Rounds in so much time.
fn rounds_in(time: Duration, rounds: &AtomicU64) -> u64 {
    let (before, begun) = (rounds.load(Ordering::Relaxed), Instant::now());
    std::thread::sleep(time);
    let took = begun.elapsed().as_secs_f64() / time.as_secs_f64();
    ((rounds.load(Ordering::Relaxed) - before) as f64 / took) as u64
}

#[test]
fn hosts_secrets_and_limits_are_new_and_who_works_goes_on() {
    let config = Config::new("mem:?profile=tiny&size=16MiB");
    config.joined("of first", &["a"]);
    let first = |more: &str| config.host(FIRST, "of first", more);
    config.write("", &first(""));
    let mut target = Target::configured(&config.path("saker.toml"));
    let (with_a, with_b) =
        (target.with(&config.options(FIRST, "a")), target.with(&config.options(FIRST, "b")));
    let second = target.with(&config.options(SECOND, "b"));
    beside_a_host(&with_a, |rounds| {
        let refused = Kv::open(&second).expect_err("nobody knows it").to_string();
        assert!(refused.contains("Invalid Host"), "{refused}");
        config.write("", &(first("") + &config.host(SECOND, "b", "")));
        hang_up(&mut target, READ);
        Kv::open(&second).expect("it is known now").close().expect("closed");

        // A limit, and none again.
        config.write("", &first("commands_per_second = 40"));
        hang_up(&mut target, READ);
        let waits = target.line("host waits for its limit");
        assert_eq!((&waits["limit"], &waits["host"]), (&"commands_per_second".into(), &FIRST.into()));
        let limited = rounds_in(Duration::from_millis(600), rounds);
        assert!(limited <= 16, "12 rounds of two commands, and two that have begun: {limited}");
        config.write("", &first(""));
        hang_up(&mut target, READ);
        let free = rounds_in(Duration::from_millis(600), rounds);
        assert!(free > 2 * limited, "{free} without a limit, {limited} with it");

        // Another secret, with the old one for a while.
        config.joined("of first", &["b", "a"]);
        hang_up(&mut target, READ);
        [&with_a, &with_b].iter().for_each(|url| drop(Kv::open(url).expect("both are right")));
        config.joined("of first", &["b"]);
        hang_up(&mut target, READ);
        Kv::open(&with_a).expect_err("the old secret is gone");
        Kv::open(&with_b).expect("the new one is right");

        config.write("connections_max = 500", &first(""));
        let later = hang_up(&mut target, "the configuration was read again; some settings change later");
        assert_eq!(
            (&later["with_a_new_start"], &later["level"]),
            (&"connections_max".into(), &"WARN".into())
        );
    });
    target.end();
}

#[test]
fn an_unsound_configuration_is_named_and_the_old_one_stays() {
    let config = Config::new("mem:?profile=tiny&size=16MiB");
    let first = config.host(FIRST, "a", "");
    config.write("", &first);
    let mut target = Target::configured(&config.path("saker.toml"));
    let url = target.with(&config.options(FIRST, "a"));
    let readable = config.path("readable");
    std::fs::copy(config.path("b"), &readable).unwrap();
    std::fs::set_permissions(&readable, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let unsound = [
        ("listen = 7", String::new(), "line 3"),
        ("surprise = true", String::new(), "surprise"),
        ("log = \"loud\"", String::new(), "loud"),
        ("tls = true", String::new(), "TLS"),
        ("", config.host(FIRST, "no such file", ""), "no such file"),
        ("", config.host(FIRST, "readable", ""), "readable"),
        ("", config.host(FIRST, "a", "memory_max = 5"), "line 4, host nqn.2026-11.dev.saker:first"),
        ("", config.host(FIRST, "a", "commands_per_second = 0"), "commands_per_second"),
        ("", config.host(FIRST, "a", "admin = [\"everything\"]"), "everything"),
        ("connections_memory_max = 1", String::new(), "1024 connections"),
    ];
    beside_a_host(&url, |_| {
        for (top, hosts, expected) in &unsound {
            config.write(top, hosts);
            expect_refusal(&mut target, &config, expected);
            drop(Kv::open(&url).expect("as before"));
        }
        std::fs::remove_file(config.path("saker.toml")).unwrap();
        expect_refusal(&mut target, &config, "saker.toml");
        config.write("", &first);
        hang_up(&mut target, READ);
    });
    target.end();
}

/// The log names what is wrong; asked beforehand, the command says the same.
fn expect_refusal(target: &mut Target, config: &Config, expected: &str) {
    let refused = hang_up(target, REFUSED);
    let error = refused["error"].as_str().unwrap();
    assert!(error.contains(expected) && refused["level"] == "ERROR", "{expected}: {refused}");
    let path = config.path("saker.toml");
    let checked = saker().args(["serve", "--check-config", "--config"]).arg(&path).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(!checked.status.success() && said.contains(expected), "{expected}: {said}");
}

/// Its configuration is read again and again, with other limits and secrets each time, until it is over.
fn hang_up_until(target: &mut Target, config: &Config, is_over: &AtomicBool) -> u32 {
    let mut times = 0;
    while !is_over.load(Ordering::Relaxed) {
        times += 1;
        let limit = match times % 4 {
            0 => "",
            1 => "commands_per_second = 3000",
            2 => "bytes_per_second = 50000000",
            _ => "memory_max = 2097152\nconnections_max = 64",
        };
        config.joined("served", if times % 2 == 0 { &["a"] } else { &["b", "a"] });
        config.write(
            "",
            &format!("{}{}", config.host(FIRST, "served", limit), config.host(SECOND, "a", limit)),
        );
        hang_up(target, READ);
        std::thread::sleep(Duration::from_millis(5));
    }
    times
}

fn backup(url: &str, file: &Path) {
    let mut command = saker();
    command.args(["backup", url, file.to_str().unwrap(), "--quiet"]).stdout(Stdio::null());
    assert!(command.status().unwrap().success(), "backup");
}

/// What a backup has is of one moment: every pair has the number of the same round.
fn restored(file: &Path, keys: u32) {
    let image = file.with_extension("img");
    ImagePlan { engine: EngineKind::LSM, ..ImagePlan::kv(16 << 20, "tiny", 7) }.create(&image).unwrap();
    let url = format!("file:{}", image.display());
    run(&["restore", file.to_str().unwrap(), &url, "--quiet"]);
    let mut kv = Kv::open(&url).unwrap();
    (0..keys).for_each(|n| assert!(kv.get(format!("key{n}").as_bytes()).unwrap().is_some(), "{n}"));
    kv.close().unwrap();
}

#[test]
fn beside_backups_and_hosts_that_authenticate() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("disk.img");
    ImagePlan { engine: EngineKind::LSM, ..ImagePlan::kv(16 << 20, "tiny", 7) }.create(&image).unwrap();
    let config = Config::new(&format!("file:{}", image.display()));
    config.joined("served", &["a"]);
    config.write("", &(config.host(FIRST, "served", "") + &config.host(SECOND, "a", "")));
    let mut target = Target::configured(&config.path("saker.toml"));
    let url = target.with(&config.options(FIRST, "a"));
    let second = target.with(&config.options(SECOND, "a"));
    let mut kv = Kv::open(&second).unwrap();
    (0..300_u32).for_each(|n| kv.put(format!("key{n}").as_bytes(), &[n as u8; 900]).unwrap());
    let is_over = AtomicBool::new(false);
    beside_a_host(&url, |_| {
        std::thread::scope(|scope| {
            let _stop = Stop(&is_over);
            let hups = scope.spawn(|| hang_up_until(&mut target, &config, &is_over));
            let opened = scope.spawn(|| {
                (0..saker_testing::tier(12, 200)).for_each(|_| drop(Kv::open(&url).expect("authenticated")));
            });
            for n in 0..saker_testing::tier(2, 20) {
                let file = folder.path().join(format!("{n}.bak"));
                backup(&second, &file);
                restored(&file, 300);
            }
            opened.join().expect("all of them");
            is_over.store(true, Ordering::Relaxed);
            assert!(hups.join().expect("each was told of") > 3);
        });
    });
    kv.close().unwrap();
    target.end();
    run(&["check", image.to_str().unwrap()]);
}

/// A configuration whose image is not there is not sound, and is as soon as it is; a server that has it open is no obstacle.
#[test]
fn an_image_that_is_not_there_is_named_beforehand() {
    let dir = tempfile::tempdir().unwrap();
    let (image, config) = (dir.path().join("disk.img"), dir.path().join("saker.toml"));
    let text = format!("listen = [\"127.0.0.1:0\"]\n[[subsystem]]\nurl = \"file:{}\"\n", image.display());
    std::fs::write(&config, text).unwrap();
    let check = || saker().args(["serve", "--check-config", "--config"]).arg(&config).output().unwrap();
    let checked = check();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(!checked.status.success() && said.contains("disk.img"), "{said}");
    saker::create_image(&image, 8 << 20, "tiny", 1).unwrap();
    assert!(check().status.success());
    let open = Kv::open(&format!("file:{}", image.display())).unwrap();
    assert!(check().status.success(), "it is in use, as by a server");
    drop(open);
}

/// A limit of a namespace that is not there limits nothing, which is told.
#[test]
fn a_limit_of_no_namespace_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("saker.toml");
    let text = "listen = [\"127.0.0.1:0\"]\nlog = \"warn\"\nlog_format = \"json\"\n[[subsystem]]\nurl = \"mem:?size=16MiB&profile=tiny\"\n\
        [[subsystem.namespace]]\nnsid = 1\nbytes_per_second = 100000000\n[[subsystem.namespace]]\nnsid = 7\ncommands_per_second = 1000\n";
    std::fs::write(&config, text).unwrap();
    let mut target = Target::configured(&config);
    let line = target.line("a limit is for a namespace that is not there");
    assert_eq!((&line["level"], &line["nsid"]), (&"WARN".into(), &7.into()), "{line}");
    target.end();
}

/// Whatever is wrong, the error tells the file, the line, and the subsystem or host.
#[test]
fn what_is_wrong_has_its_file_line_and_subsystem() {
    let dir = tempfile::tempdir().unwrap();
    saker::create_image(&dir.path().join("disk.img"), 8 << 20, "tiny", 1).unwrap();
    let disk = "[[subsystem]]\nurl = \"file:disk.img\"\n";
    let host = "[[host]]\nnqn = \"nqn.2026-11.org.example:a\"\n";
    let cases = [
        ("slow = 5\n".to_owned() + disk, "line 1: unknown field `slow`"),
        (format!("log = \"info\"\nlisten = [\"here\"]\n{disk}"), "line 2: "),
        (format!("\nlog = \"loud\"\n{disk}"), "line 2: `loud` says no levels"),
        (format!("connections_max = 0\n{disk}"), "line 1: connections_max is 0"),
        (format!("connections_memory_max = 9\n{disk}"), "line 1: connections_memory_max is 9"),
        (
            format!("listen = [\"127.0.0.1:4420\", \"127.0.0.1:4420\"]\n{disk}"),
            "line 1: 127.0.0.1:4420 has another use",
        ),
        (
            format!("listen = [\"127.0.0.1:4420\"]\nmetrics = \"127.0.0.1:4420\"\n{disk}"),
            "line 2: 127.0.0.1:4420 has another use",
        ),
        (format!("allow_hosts = [\"x\"]\n{disk}"), "line 1: `x` is no NVMe qualified name"),
        (
            format!("{disk}[all_hosts]\nsecret_file = \"none\"\n"),
            "line 3, all_hosts: cannot read the secret file none",
        ),
        (
            format!("{disk}{host}commands_per_second = 0\n"),
            "line 3, host nqn.2026-11.org.example:a: commands_per_second is 0",
        ),
        (format!("{disk}{host}{host}"), "line 5, host nqn.2026-11.org.example:a: it has rules already"),
        (
            format!("{disk}nqn = \"bad\"\n"),
            "line 1, subsystem file:disk.img: `bad` is no NVMe qualified name",
        ),
        (format!("{disk}{disk}"), "line 3, subsystem file:disk.img: its image is served already"),
        (
            format!("{disk}[[subsystem]]\nurl = \"file:./disk.img?cache=1MiB\"\n"),
            "line 3, subsystem file:./disk.img?cache=1MiB: its image is served already",
        ),
        (
            "log = \"info\"\n[[subsystem]]\nurl = \"fil:x\"\n".into(),
            "line 2, subsystem fil:x: device URL `fil:x`",
        ),
        (
            "[[subsystem]]\nurl = \"file:none.img\"\n".into(),
            "line 1, subsystem file:none.img: cannot open `none.img`",
        ),
        (
            format!("{disk}[[subsystem.namespace]]\nnsid = 1\nbytes_per_second = 0\n"),
            "line 1, subsystem file:disk.img, namespace 1: bytes_per_second is 0",
        ),
        (
            format!("{disk}[subsystem.redis]\nlisten = \"0.0.0.0:6379\"\n"),
            "line 1, subsystem file:disk.img: redis: 0.0.0.0:6379 can be reached",
        ),
    ];
    for (text, expected) in cases {
        std::fs::write(dir.path().join("saker.toml"), &text).unwrap();
        let mut command = saker();
        command.args(["serve", "--check-config", "--config", "saker.toml"]).current_dir(dir.path());
        let checked = command.output().unwrap();
        let said = String::from_utf8_lossy(&checked.stderr);
        let in_place = said.contains(&format!("saker.toml: {expected}"))
            || said.contains(&format!("configuration, {expected}"));
        assert!(
            !checked.status.success() && in_place && said.trim_end().lines().count() == 1,
            "{expected}: {said}"
        );
    }
    let second = "[[subsystem]]\nurl = \"file:disk.img?readonly\"\n";
    for (text, is_sound) in [(format!("{second}{second}"), true), (format!("{disk}{second}"), false)] {
        std::fs::write(dir.path().join("saker.toml"), text).unwrap();
        let mut command = saker();
        command.args(["serve", "--check-config", "--config", "saker.toml"]).current_dir(dir.path());
        assert_eq!(command.output().unwrap().status.success(), is_sound, "readers share an image");
    }
}
