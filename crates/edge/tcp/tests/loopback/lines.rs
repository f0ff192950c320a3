// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the log has of hosts: each line that they can cause, with whom it names and why.

use std::fmt::{Debug, Write as _};
use std::io::Write as _;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use saker::Kv;
use saker::secrets::{Secret, random_bytes};
use saker_nvme::admin::{SetFeatures, build, feature::fid};
use saker_nvme::fabrics::{self, ConnectData, property};
use saker_nvme_tcp::initiator::Data;
use saker_tcp::{HostRules, NamespaceLimits, Server, ServerConfig};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::loopback::raw::{RawQueue, dial, last_words, shaken};
use crate::loopback::support::{DEVICE, config, url};

/// How long a line may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// What all servers of this process have told since the first test of this file began.
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Keeper;

/// An event as one line: level, message and fields.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).expect("a string grows");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        write!(self.0, " {}={value}", field.name()).expect("a string grows");
    }
}

impl Subscriber for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("saker_tcp") && *metadata.level() <= tracing::Level::DEBUG
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        LINES.lock().unwrap_or_else(PoisonError::into_inner).push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn listen() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| tracing::subscriber::set_global_default(Keeper).expect("nobody else listens"));
}

/// Waits for a line that has all of these.
fn expect(parts: &[&str]) {
    let begun = Instant::now();
    loop {
        let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if lines.iter().any(|line| parts.iter().all(|part| line.contains(part))) {
            return;
        }
        let near: Vec<_> = lines.iter().filter(|line| line.contains(parts[0])).collect();
        assert!(begun.elapsed() < PATIENCE, "no line has {parts:?}: {near:#?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn start(config: ServerConfig) -> Server {
    listen();
    Server::start(config).expect("the server starts")
}

/// An admin queue of a host of that name, enabled.
fn admin(server: &Server, host: &str) -> RawQueue {
    RawQueue::admin_as(host, server.addresses()[0], &server.names()[0]).0
}

fn set_cc(queue: &mut RawQueue, cc: u64) {
    let set = fabrics::property_set(property::CC, false, cc);
    assert!(queue.execute(set, Data::None).cqe.status().is_success());
}

/// CC of an enabled controller, and its notice of shutdown.
const ENABLED: u64 = 0x46_0061;
const SHUTDOWN: u64 = 0x4000;

#[test]
fn controllers_are_enabled_reset_shut_down_and_silent() {
    const HOST: &str = "nqn.2026-11.dev.saker:lines-life";
    let server = start(config(DEVICE));
    let mut queue = admin(&server, HOST);
    expect(&[HOST, "INFO", "message=host connected", "cntlid=", "peer=127.0.0.1"]);
    expect(&[HOST, "INFO", "message=controller enabled"]);
    set_cc(&mut queue, 0);
    expect(&[HOST, "INFO", "message=controller reset"]);
    set_cc(&mut queue, ENABLED);
    set_cc(&mut queue, ENABLED | SHUTDOWN);
    expect(&[HOST, "INFO", "message=controller shuts down"]);
    drop(queue);
    expect(&[HOST, "INFO", "message=host disconnected"]);
    const SILENT: &str = "nqn.2026-11.dev.saker:lines-silent";
    let mut queue = admin(&server, SILENT);
    let timer = SetFeatures { nsid: 0, fid: fid::KEEP_ALIVE_TIMER, save: false, cdw11: 200 };
    assert!(queue.execute(build::set_features(&timer), Data::None).cqe.status().is_success());
    expect(&[SILENT, "WARN", "message=host is not heard of any more", "cntlid="]);
    expect(&[SILENT, "message=host disconnected", "why=the target closed it"]);
    server.stop().expect("stopped");
    expect(&["INFO", "message=stopped: all devices are closed"]);
}

#[test]
fn whoever_waits_for_a_limit_is_named_with_it() {
    const HOST: &str = "nqn.2026-11.dev.saker:lines-limits";
    let limited = |change: fn(&mut HostRules)| {
        let mut config = config(DEVICE);
        let mut rules = HostRules { nqn: HOST.into(), ..HostRules::default() };
        change(&mut rules);
        config.host_rules = vec![rules];
        start(config)
    };
    let work = |server: &Server, bytes: usize| {
        let mut kv = Kv::open(&url(server, &format!("hostnqn={HOST}&depth=32"))).expect("connected");
        (0..30_u32).for_each(|n| kv.put_queued(&n.to_le_bytes(), &vec![1; bytes]).expect("sent"));
        kv.drain().expect("stored");
    };
    let server = limited(|rules| rules.commands_per_second = Some(150));
    work(&server, 10);
    expect(&[HOST, "INFO", "message=host waits for its limit", "limit=commands_per_second"]);
    server.stop().expect("stopped");
    let server = limited(|rules| rules.bytes_per_second = Some(40 << 20));
    work(&server, 300_000);
    expect(&[HOST, "INFO", "message=host waits for its limit", "limit=bytes_per_second"]);
    server.stop().expect("stopped");
    let server = limited(|rules| rules.memory_max = Some(2 << 20));
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| work(&server, 1 << 20)))));
    expect(&[HOST, "INFO", "message=host waits for its limit", "limit=memory_max"]);
    server.stop().expect("stopped");
    let mut config = config(DEVICE);
    let limits = NamespaceLimits { nsid: 1, commands_per_second: Some(150), bytes_per_second: None };
    config.subsystems[0].namespaces = vec![limits];
    let server = start(config);
    work(&server, 10);
    let of_a_namespace = "message=host waits for a limit of a namespace";
    expect(&[HOST, "INFO", of_a_namespace, "nsid=1", "limit=commands_per_second"]);
    server.stop().expect("stopped");
}

fn secret_file(folder: &std::path::Path, name: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("{}\n", *Secret::generate(None, &random_bytes()).reveal()))
        .expect("written");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("private");
    path
}

/// Of a host that has no secret.
const NOBODY: &str = "nqn.2026-11.dev.saker:lines-no-secret";
/// Of a host that says nothing after its Connect.
const SLOW: &str = "nqn.2026-11.dev.saker:lines-unproved";

#[test]
fn failed_and_unfinished_authentications_are_told_with_their_causes() {
    const HOST: &str = "nqn.2026-11.dev.saker:lines-secret";
    let folder = tempfile::tempdir().expect("a folder");
    let [right, wrong] = ["right", "wrong"].map(|name| secret_file(folder.path(), name));
    let mut config = config(DEVICE);
    config.all_hosts.secret_file = Some(right);
    config.handshakes_max = 300;
    let server = start(config);
    let options = format!("hostnqn={HOST}&reconnect=0&secret_file={}", wrong.display());
    Kv::open(&url(&server, &options)).expect_err("a wrong secret");
    expect(&[HOST, "WARN", "message=authentication failed", "qid=0", "why="]);
    Kv::open(&url(&server, &format!("hostnqn={NOBODY}&reconnect=0"))).expect_err("no secret");
    expect(&[NOBODY, "WARN", "message=host left without authentication", "why=the host closed it"]);
    // More than half of the controllers.
    let half = || {
        let (address, nqn) = (server.addresses()[0], &server.names()[0]);
        RawQueue::connect_as(HOST, address, nqn, ConnectData::ANY_CONTROLLER, (0, 32)).expect("half open").0
    };
    let halves: Vec<_> = (0..130).map(|_| half()).collect();
    expect(&["WARN", "message=a host that has not authenticated makes room"]);
    drop(halves);
    server.stop().expect("stopped");
    let mut config = config_with(secret_file(folder.path(), "other"));
    config.authentication_timeout = Duration::from_millis(200);
    let server = start(config);
    let (address, nqn) = (server.addresses()[0], &server.names()[0]);
    let queue =
        RawQueue::connect_as(SLOW, address, nqn, ConnectData::ANY_CONTROLLER, (0, 32)).expect("half open");
    expect(&[SLOW, "message=host disconnected", "why=it did not authenticate in time"]);
    drop(queue);
    server.stop().expect("stopped");
}

fn config_with(secret: std::path::PathBuf) -> ServerConfig {
    let mut config = config(DEVICE);
    config.all_hosts.secret_file = Some(secret);
    config
}

#[test]
fn faults_of_the_medium_and_commands_that_fail_by_them() {
    let server = start(config("mem:?size=64MiB&profile=tiny&fault.seed=3&fault.read=1/2&fault.program=1/50"));
    let mut kv = Kv::open(&url(&server, "reconnect=0")).expect("connected");
    // More than the page buffer has, so that some have to be read from flash.
    let refused = (0..2_000_u32).filter(|n| kv.put(&n.to_le_bytes(), &[1; 1_000]).is_err()).count();
    let lost = (0..2_000_u32).filter(|n| kv.get(&n.to_le_bytes()).is_err()).count();
    assert!(lost > 0, "{refused} refused");
    // A thousand commands that fail hide nothing of another kind.
    expect(&["WARN", "message=command failed by a fault", "opcode=02h", "nsid=1", "status="]);
    expect(&["WARN", "message=the medium failed", "failures="]);
    expect(&["DEBUG", "message=background in the last second", "programmed="]);
    drop(kv);
    server.stop().expect("stopped");
}

#[test]
fn sockets_that_end_have_a_cause() {
    const HOST: &str = "nqn.2026-11.dev.saker:lines-ends";
    let mut config = config(DEVICE);
    (config.handshake_timeout, config.handshakes_max) = (Duration::from_millis(300), 4);
    let server = start(config);
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    let port = |stream: &std::net::TcpStream| format!("peer={}", stream.local_addr().expect("an address"));
    let mut late = shaken(address);
    let late_port = port(&late);
    last_words(&mut late);
    expect(&[
        late_port.as_str(),
        "INFO",
        "message=closed without a queue",
        "why=no queue was connected in time",
    ]);
    let flood: Vec<_> = (0..12).map(|_| dial(address)).collect();
    expect(&["message=closed without a queue", "why=its place was needed for a newcomer"]);
    drop(flood);
    let mut broken = shaken(address);
    broken.write_all(&[9; 200]).expect("sent");
    let broken_port = port(&broken);
    last_words(&mut broken);
    expect(&[broken_port.as_str(), "message=closed without a queue", "why=the host broke the protocol"]);
    let refused = RawQueue::connect_as(HOST, address, "nqn.2014-08.org.example:none", 0xFFFF, (0, 32));
    refused.map(drop).expect_err("no such subsystem");
    expect(&[HOST, "WARN", "message=refused", "why=there is no subsystem of that name"]);
    let (admin, cntlid) = RawQueue::admin_as(HOST, address, &nqn);
    let (queue, _) = RawQueue::connect_as(HOST, address, &nqn, cntlid, (1, 32)).expect("connected");
    expect(&[HOST, "DEBUG", "message=queue connected", "qid=1", "entries=32"]);
    drop(queue);
    expect(&[HOST, "DEBUG", "message=queue disconnected"]);
    drop(admin);
    server.stop().expect("stopped");
}
