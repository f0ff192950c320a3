// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A configuration that is read again while hosts work: what is connected stays, and what is new holds.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use saker::Kv;
use saker::secrets::{Secret, random_bytes};
use saker_tcp::{HostRules, NamespaceLimits, Server, ServerConfig};

use crate::loopback::support::{DEVICE, config, count, url};

const NAMES: [&str; 3] = ["nqn.2026-11.dev.saker:a", "nqn.2026-11.dev.saker:b", "nqn.2026-11.dev.saker:c"];

fn write(path: &Path, secrets: &[&Secret]) {
    use std::os::unix::fs::PermissionsExt;
    let lines: String = secrets.iter().map(|secret| format!("{}\n", *secret.reveal())).collect();
    std::fs::write(path, lines).expect("written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("private");
}

/// Rules of each host; `n` changes what they are.
fn rules(secret: &Path, n: u32) -> Vec<HostRules> {
    let of = |(index, name): (usize, &&str)| HostRules {
        nqn: (*name).into(),
        secret_file: Some(secret.into()),
        dh_groups: vec!["null".into()],
        commands_per_second: (n % 3 == 1).then_some(5_000 + 1_000 * index as u64),
        bytes_per_second: (n % 4 == 2).then_some(64 << 20),
        memory_max: (n % 2 == 1).then_some(4 << 20),
        // The last one may only read for a while.
        read_only: (index == 2).then_some(n % 2 == 1),
        admin: Some(if n.is_multiple_of(2) { vec![] } else { vec!["format".into()] }),
        connections_max: (n % 5 == 4).then_some(2),
        ..HostRules::default()
    };
    NAMES.iter().enumerate().map(of).collect()
}

/// Also when something fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn changed(server: &Server, first: &ServerConfig, secret: &Path, n: u32) {
    let mut config = first.clone();
    config.host_rules = rules(secret, n);
    config.subsystems[0].namespaces = vec![NamespaceLimits {
        nsid: 1,
        commands_per_second: (n % 3 == 2).then_some(20_000),
        bytes_per_second: None,
    }];
    let fixed = server.reload(&config).expect("sound");
    assert!(fixed.is_empty(), "{fixed:?} were to change with a start");
}

fn open(server: &Server, name: &str, secret: &Path) -> Kv {
    let secret = secret.to_str().expect("UTF-8");
    let options = format!("hostnqn={name}&secret_file={secret}&reconnect=0");
    Kv::open(&url(server, &options)).expect("connected")
}

/// Writes and reads what it wrote; a host that may only read for a while reads on. How many rounds.
fn work(kv: &mut Kv, host: u32, is_over: &AtomicBool) -> u32 {
    let mut n = 0_u32;
    let mut stored = None;
    while !is_over.load(Ordering::Relaxed) {
        let value = vec![host as u8; 100 + (n as usize % 40) * 1_000];
        match kv.put(&host.to_le_bytes(), &value) {
            Ok(()) => stored = Some(value),
            Err(error) => {
                assert!(host == 2 && error.to_string().contains("rotected"), "host {host}: {error}")
            }
        }
        assert_eq!(kv.get(&host.to_le_bytes()).expect("read"), stored, "host {host}");
        n += 1;
    }
    n
}

#[test]
fn limits_rights_and_secrets_change_under_load_and_no_connection_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let [served, old, new] = ["served", "old", "new"].map(|name| folder.path().join(name));
    let [first, second] = [(); 2].map(|()| Secret::generate(None, &random_bytes()));
    write(&old, &[&first]);
    write(&new, &[&second]);
    write(&served, &[&first]);
    let mut config = config(DEVICE);
    config.host_rules = rules(&served, 0);
    let server = Server::start(config.clone()).expect("the server starts");
    let mut hosts = NAMES.map(|name| open(&server, name, &old));
    let (is_over, rounds) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        let _stop = Stop(&is_over);
        for (n, kv) in (0..).zip(&mut hosts) {
            let (is_over, rounds) = (&is_over, &rounds);
            scope.spawn(move || rounds.fetch_add(work(kv, n, is_over), Ordering::Relaxed));
        }
        for n in 1..=count(300) as u32 {
            // Half way the new secret comes in front of the old one.
            let secrets = if n < 15 { vec![&first] } else { vec![&second, &first] };
            write(&served, &secrets);
            changed(&server, &config, &served, n);
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    assert!(rounds.into_inner() > 100, "they worked");
    // What is connected stays although its secret is gone; new connections need the new one.
    write(&served, &[&second]);
    changed(&server, &config, &served, 0);
    for kv in &mut hosts {
        assert_eq!(kv.reconnects(), 0);
        kv.get(b"still").expect("there");
    }
    let with_old = format!("hostnqn={}&secret_file={}&reconnect=0", NAMES[0], old.display());
    Kv::open(&url(&server, &with_old)).expect_err("the old secret is gone");
    drop(open(&server, NAMES[0], &new));
    drop(hosts);
    server.stop().expect("stopped");
}

/// Commands that wait for a rate go as soon as it is gone.
#[test]
fn who_waits_for_a_limit_goes_when_it_is_lifted() {
    let mut config = config(DEVICE);
    let limited = HostRules { nqn: NAMES[0].into(), bytes_per_second: Some(1), ..HostRules::default() };
    config.host_rules = vec![limited];
    let server = Server::start(config.clone()).expect("the server starts");
    let mut kv = Kv::open(&url(&server, &format!("hostnqn={}&reconnect=0", NAMES[0]))).expect("connected");
    kv.put(b"first", &[1; 100_000]).expect("goes and is owed");
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| kv.put(b"second", &[2; 100_000]));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waits.is_finished(), "it waits a day");
        config.host_rules.clear();
        server.reload(&config).expect("sound");
        waits.join().expect("no panic").expect("stored");
    });
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    drop(kv);
    server.stop().expect("stopped");
}
