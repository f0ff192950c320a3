// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hosts that have to authenticate, over real sockets.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use saker::secrets::{HashId, Secret, random_bytes};
use saker::{Block, Kv, Saker, SakerOptions};
use saker_nvme::admin::{self, build};
use saker_nvme::fabrics::{
    self, AuthCommand, AuthDirection, Connect, ConnectData, DISCOVERY_NQN, auth_required, property,
};
use saker_nvme::{Key, Sqe, Status, kv};
use saker_nvme_tcp::initiator::Data;
use saker_tcp::{HostRules, Hosts, Server, ServerConfig};
use tempfile::TempDir;

use crate::loopback::raw::RawQueue;
use crate::loopback::support::{DEVICE, config, count, url};

const HOST: &str = "nqn.2026-11.dev.saker:host";

/// A folder with secrets: `host`, `ctrl`, `other`.
struct Secrets(TempDir);

impl Secrets {
    fn new() -> Self {
        let secrets = Self(tempfile::tempdir().expect("a folder"));
        for (n, name) in ["host", "ctrl", "other"].into_iter().enumerate() {
            let hash = (n > 0).then(|| HashId::ALL[n]);
            secrets.write(name, &[&Secret::generate(hash, &random_bytes())]);
        }
        secrets
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, secrets: &[&Secret]) {
        use std::os::unix::fs::PermissionsExt;
        let lines: String = secrets.iter().map(|secret| format!("{}\n", *secret.reveal())).collect();
        std::fs::write(self.path(name), lines).expect("written");
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(self.path(name), private).expect("private");
    }

    fn read(&self, name: &str) -> Secret {
        saker::secrets::read_secrets(&self.path(name)).expect("sound").remove(0)
    }

    fn options(&self, host: &str, ctrl: Option<&str>) -> String {
        let ctrl = ctrl.map(|name| format!("&ctrl_secret_file={}", shown(&self.path(name))));
        format!("secret_file={}&reconnect=0{}", shown(&self.path(host)), ctrl.unwrap_or_default())
    }

    fn config(&self, device: &str) -> ServerConfig {
        let mut config = config(device);
        (config.all_hosts.secret_file, config.all_hosts.ctrl_secret_file) =
            (Some(self.path("host")), Some(self.path("ctrl")));
        config
    }
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn start(config: ServerConfig) -> Server {
    Server::start(config).expect("the server starts")
}

fn round_trip(kv: &mut Kv) {
    kv.put(b"key", b"value").expect("stored");
    assert_eq!(kv.get(b"key").expect("read"), Some(b"value".to_vec()));
}

#[test]
fn the_right_secret_opens_every_door() {
    let secrets = Secrets::new();
    let server = start(secrets.config("mem:?size=1GiB&blocks=32MiB"));
    for ctrl in [None, Some("ctrl")] {
        let url = url(&server, &secrets.options("host", ctrl));
        round_trip(&mut Kv::open(&url).expect("authenticated"));
        // Several queues, each of which authenticates.
        let saker = Saker::open(&url, SakerOptions { sessions: 3, depth: 8, ..SakerOptions::default() });
        let saker = saker.expect("authenticated");
        saker.session().expect("a session").put(b"session", b"value").expect("stored");
        saker.close().expect("closed");
        Block::open(&url).expect("authenticated").write(0, &[1; 4096]).expect("written");
    }
    server.stop().expect("stopped");
}

#[test]
fn wrong_secrets_and_none_open_nothing() {
    let secrets = Secrets::new();
    let server = start(secrets.config(DEVICE));
    for (options, told) in [
        (secrets.options("other", None), "a response is wrong"),
        (secrets.options("host", Some("other")), "does not prove who it is"),
        ("reconnect=0".to_owned(), "add secret_file"),
        (
            format!("{}&hostnqn=nqn.2026-11.dev.saker:someone", secrets.options("other", None)),
            "a response is wrong",
        ),
        ("reconnect=0&secret_file=no/such/file".to_owned(), "cannot read the secret file"),
    ] {
        let error = Kv::open(&url(&server, &options)).expect_err(&options).to_string();
        assert!(error.contains(told) && error.lines().count() == 1, "{error}");
        assert!(!error.contains("DHHC"), "{error}");
    }
    server.stop().expect("stopped");
}

#[test]
fn a_target_that_asks_for_nothing_proves_nothing() {
    let secrets = Secrets::new();
    let server = start(config(DEVICE));
    round_trip(&mut Kv::open(&url(&server, &secrets.options("host", None))).expect("not asked"));
    let error = Kv::open(&url(&server, &secrets.options("host", Some("ctrl")))).expect_err("no proof");
    assert!(error.to_string().contains("does not offer to prove"), "{error}");
    server.stop().expect("stopped");
}

/// An admin queue that has not authenticated may do nothing else, and no queue comes behind it.
#[test]
fn before_it_nothing_works() {
    let secrets = Secrets::new();
    let server = start(secrets.config(DEVICE));
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    let (mut queue, cntlid) =
        RawQueue::connect(address, &nqn, ConnectData::ANY_CONTROLLER, (0, 32)).expect("connected");
    for opcode in 0..=0xFF {
        for fctype in 0..=16 {
            let mut sqe = Sqe::new(opcode, fctype);
            sqe.flags = 0x40;
            if Direction::of(&sqe) == Direction::None && !is_auth(&sqe) {
                let status = queue.execute(sqe, Data::None).cqe.status();
                assert_eq!(status, Status::AUTHENTICATION_REQUIRED, "{opcode:02X} {fctype:02X}");
            }
        }
    }
    for (sqe, data) in [
        (fabrics::property_get(property::CAP, true), Data::None),
        (fabrics::property_set(property::CC, false, 0x46_0061), Data::None),
        (fabrics::disconnect(), Data::None),
        (Sqe::new(admin::opcode::KEEP_ALIVE, 0), Data::None),
        (
            build::identify(&admin::Identify {
                nsid: 0,
                cns: 1,
                cntid: 0,
                specific_id: 0,
                csi: 0,
                uuid_index: 0,
            }),
            Data::Receive(4096),
        ),
        (kv::retrieve(1, &Key::new(b"key").expect("a key"), 16), Data::Receive(16)),
        (kv::store(1, &Key::new(b"key").expect("a key"), 4, kv::StoreOptions::NONE), Data::Send(vec![1; 4])),
        (Connect { qid: 1, sqsize: 31, ..Connect::default() }.encode(), Data::Send(vec![0; 1024])),
    ] {
        let status = queue.execute(sqe, data).cqe.status();
        assert_eq!(status, Status::AUTHENTICATION_REQUIRED, "{sqe:?}");
    }
    let second = RawQueue::connect(address, &nqn, cntlid, (1, 32)).map(drop);
    assert_eq!(second, Err(Status::COMMAND_SEQUENCE_ERROR), "a second queue");
    // Discovery is for everybody.
    drop(RawQueue::admin(address, DISCOVERY_NQN));
    server.stop().expect("stopped");
}

use saker_nvme::sqe::Direction as Towards;

/// Where the data of an entry goes.
struct Direction;

impl Direction {
    #[expect(non_upper_case_globals, reason = "as the type it stands for")]
    const None: Towards = Towards::None;

    fn of(sqe: &Sqe) -> Towards {
        Towards::of(if sqe.opcode == fabrics::OPCODE { sqe.fctype() } else { sqe.opcode })
    }
}

fn is_auth(sqe: &Sqe) -> bool {
    sqe.opcode == fabrics::OPCODE && [5, 6].contains(&sqe.fctype())
}

#[test]
fn connect_says_that_it_is_wanted() {
    let secrets = Secrets::new();
    let server = start(secrets.config(DEVICE));
    let (mut queue, _) =
        RawQueue::connect(server.addresses()[0], &server.names()[0], 0xFFFF, (0, 32)).expect("connected");
    // A protocol of another kind, and no bytes.
    for spoil in [
        |sqe: &mut Sqe| sqe.cdw10.set(0xEA01_0100),
        |sqe: &mut Sqe| sqe.cdw10.set(0xE901_0000),
        |sqe: &mut Sqe| sqe.cdw11.set(0),
    ] {
        let mut sqe = AuthCommand { direction: AuthDirection::Send, bytes: 8 }.encode();
        spoil(&mut sqe);
        assert_eq!(queue.execute(sqe, Data::Send(vec![0; 8])).cqe.status(), Status::INVALID_FIELD);
    }
    // More than any message has is not even taken in.
    let long = AuthCommand { direction: AuthDirection::Receive, bytes: 1 << 20 }.encode();
    assert_eq!(queue.execute(long, Data::Receive(1 << 20)).cqe.status(), Status::DATA_SGL_LENGTH_INVALID);
    assert_ne!(auth_required::TRANSACTION & 0xFFFF_0000, 0);
    server.stop().expect("stopped");
}

/// Half-open authentications end by themselves, and leave their places.
#[test]
fn half_open_ones_are_bounded_in_number_and_time() {
    let secrets = Secrets::new();
    let mut config = secrets.config(DEVICE);
    (config.handshakes_max, config.authentication_timeout) = (8, Duration::from_millis(700));
    let server = start(config);
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    let halves: Vec<RawQueue> = (0..count(600))
        .filter_map(|_| RawQueue::connect(address, &nqn, 0xFFFF, (0, 32)).ok().map(|(queue, _)| queue))
        .collect();
    // A host gets in meanwhile: the oldest of the others make room.
    round_trip(&mut Kv::open(&url(&server, &secrets.options("host", Some("ctrl")))).expect("authenticated"));
    let begun = Instant::now();
    for mut queue in halves {
        assert!(queue.is_closed_within(Duration::from_secs(5)), "half open after {:?}", begun.elapsed());
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
    server.stop().expect("stopped");
}

/// Each host has its own secret; one with two of them is taken with either.
#[test]
fn hosts_have_secrets_of_their_own() {
    let secrets = Secrets::new();
    let (old, new) = (secrets.read("host"), secrets.read("other"));
    secrets.write("both", &[&new, &old]);
    let mut config = config(DEVICE);
    config.hosts =
        Hosts::Named(vec![HOST.into(), "nqn.2026-11.dev.saker:b".into(), "nqn.2026-11.dev.saker:c".into()]);
    let rules = |name: &str, file: &str| HostRules {
        nqn: name.into(),
        secret_file: Some(secrets.path(file)),
        ..HostRules::default()
    };
    config.host_rules = vec![rules(HOST, "both"), rules("nqn.2026-11.dev.saker:b", "ctrl")];
    let server = start(config);
    let open = |name: &str, file: &str| {
        let options = format!("{}&hostnqn={name}", secrets.options(file, None));
        Kv::open(&url(&server, &options)).map(drop).is_ok()
    };
    for (name, file, is_right) in [
        (HOST, "host", true),
        (HOST, "other", true),
        (HOST, "ctrl", false),
        ("nqn.2026-11.dev.saker:b", "ctrl", true),
        ("nqn.2026-11.dev.saker:b", "host", false),
        ("nqn.2026-11.dev.saker:c", "host", true),
        ("nqn.2026-11.dev.saker:d", "host", false),
    ] {
        assert_eq!(open(name, file), is_right, "{name} with {file}");
    }
    server.stop().expect("stopped");
}

#[test]
fn settings_that_make_no_sense_are_named() {
    let secrets = Secrets::new();
    #[expect(clippy::type_complexity, reason = "a table of this test")]
    let spoil: [(fn(&mut ServerConfig), &str); 4] = [
        (|config| config.all_hosts.secret_file = Some("no/such/file".into()), "no/such/file"),
        (|config| config.all_hosts.secret_file = None, "without secret_file"),
        (|config| config.all_hosts.hashes = vec!["md5".into()], "sha256, sha384, sha512"),
        (|config| config.all_hosts.dh_groups = vec!["modp".into()], "null, ffdhe2048"),
    ];
    for (spoil, told) in spoil {
        let mut config = secrets.config(DEVICE);
        spoil(&mut config);
        let error = Server::start(config).expect_err(told).to_string();
        assert!(error.contains(told) && error.lines().count() == 1, "{error}");
    }
}

/// A connection that is lost is made again, and authenticates again.
#[test]
fn a_lost_connection_authenticates_again() {
    let secrets = Secrets::new();
    let mut first = secrets.config(DEVICE);
    let server = start(first.clone());
    first.listen = server.addresses().to_vec();
    let options = secrets.options("host", Some("ctrl")).replace("reconnect=0", "reconnect=20");
    let mut kv = Kv::open(&url(&server, &options)).expect("authenticated");
    round_trip(&mut kv);
    first.subsystems[0].nqn = Some(server.names()[0].clone());
    server.stop().expect("stopped");
    let server = start(first);
    assert_eq!(kv.get(b"key").expect("read over a new connection"), None);
    round_trip(&mut kv);
    server.stop().expect("stopped");
}

/// Half-open hosts, more than there are controllers, keep nobody out; they hold little, and go when their time is over.
#[test]
fn half_open_hosts_cannot_take_all_controllers() {
    let secrets = Secrets::new();
    let mut config = secrets.config(DEVICE);
    (config.handshakes_max, config.authentication_timeout) = (600, Duration::from_secs(4));
    let server = start(config);
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    let any = ConnectData::ANY_CONTROLLER;
    let halves: Vec<RawQueue> =
        (0..300).map(|_| RawQueue::connect(address, &nqn, any, (0, 32)).expect("half open").0).collect();
    let mut kv = Kv::open(&url(&server, &secrets.options("host", None))).expect("there is a controller left");
    round_trip(&mut kv);
    let number = |kv: &mut Kv, name: &str| {
        let counters = kv.counters().expect("an answer").expect("counters");
        counters.iter().find(|counter| counter.name == name).map_or(0, |counter| counter.value)
    };
    let half_open = number(&mut kv, "half_open_controllers");
    assert!((1..=128).contains(&half_open), "{half_open}");
    assert!(number(&mut kv, "controllers") <= 129);
    assert_eq!(server.memory_in_use(), 0, "none has more than each connection has for itself");
    let mut closed = 0;
    for mut queue in halves {
        closed += u32::from(queue.is_closed_within(Duration::from_secs(8)));
    }
    assert_eq!((closed, number(&mut kv, "half_open_controllers")), (300, 0));
    round_trip(&mut kv);
    server.stop().expect("stopped");
}

#[test]
fn failed_authentications_are_counted_one_each() {
    let secrets = Secrets::new();
    let server = start(secrets.config(DEVICE));
    let mut kv = Kv::open(&url(&server, &secrets.options("host", None))).expect("authenticated");
    for _ in 0..3 {
        Kv::open(&url(&server, &secrets.options("other", None))).expect_err("a wrong secret");
    }
    let counters = kv.counters().expect("an answer").expect("counters");
    let failures = counters.iter().find(|counter| counter.name == "authentication_failures");
    assert_eq!(failures.map(|counter| counter.value), Some(3));
    server.stop().expect("stopped");
}
