// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a target counts is what a host has done: each command by opcode and status, over the log page and over HTTP.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use saker::{CommandClass, Counter, CounterOf};
use saker_nvme::admin::{self, GetLogPage, build};
use saker_nvme::fabrics::{self, ConnectData, fctype};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::nvm;
use saker_nvme::vendor_specific::{CounterEntry, LID_COUNTERS, command_name, status_detail, status_of};
use saker_nvme::{Key, Sqe, Status};
use saker_nvme_tcp::initiator::{Answer, Data};
use saker_tcp::Server;

use crate::loopback::raw::{RawQueue, dial};
use crate::loopback::support::{config, open, serve};

/// Class, opcode and status, and how often.
type Counts = BTreeMap<(CommandClass, u16, u16), u64>;

/// A namespace of pairs and one of blocks.
const BOTH: &str = "mem:?size=64MiB&profile=tiny&blocks=16MiB";
const ADMIN_ROOM: u32 = 64 << 10;

/// A host that keeps its own books.
struct Host {
    admin: RawQueue,
    io: RawQueue,
    counts: Counts,
    written: u64,
}

impl Host {
    fn new(server: &Server) -> Self {
        let (address, nqn) = (server.addresses()[0], &server.names()[0]);
        let (admin, cntlid) = RawQueue::admin(address, nqn);
        let (io, _) = RawQueue::connect(address, nqn, cntlid, (1, 32)).expect("connected");
        let mut host = Self { admin, io, counts: Counts::new(), written: 0 };
        // Both queues; enabling the controller and looking whether it is.
        for (code, times) in [(fctype::CONNECT, 2), (fctype::PROPERTY_SET, 1), (fctype::PROPERTY_GET, 1)] {
            (0..times).for_each(|_| host.count(CommandClass::Fabrics, code, Status::SUCCESS));
        }
        host
    }

    fn count(&mut self, class: CommandClass, opcode: u8, status: Status) {
        let opcode = u16::from(opcode);
        let named = if command_name(class, opcode).is_some() { opcode } else { CounterEntry::OTHER };
        *self.counts.entry((class, named, status_detail(status))).or_default() += 1;
    }

    fn io(&mut self, class: CommandClass, sqe: Sqe, data: Data) -> Answer {
        let answer = self.io.execute(sqe, data);
        self.count(class, sqe.opcode, answer.cqe.status());
        answer
    }

    fn admin(&mut self, sqe: Sqe, data: Data) -> Answer {
        let answer = self.admin.execute(sqe, data);
        self.count(CommandClass::Admin, sqe.opcode, answer.cqe.status());
        answer
    }

    fn store(&mut self, key: &str, bytes: u32, options: StoreOptions) -> Status {
        let sqe = kv::store(1, &Key::new(key.as_bytes()).expect("a key"), bytes, options);
        let status = self.io(CommandClass::Kv, sqe, Data::Send(vec![7; bytes as usize])).cqe.status();
        self.written += if status.is_success() { u64::from(bytes) } else { 0 };
        status
    }

    /// The page, which counts itself only afterwards.
    fn page(&mut self) -> Vec<Counter> {
        let log = GetLogPage {
            nsid: 0,
            lid: LID_COUNTERS,
            lsp: 0,
            retain_event: false,
            bytes: ADMIN_ROOM.into(),
            lsi: 0,
            offset: 0,
            offset_is_index: false,
            uuid_index: 0,
            csi: 1,
        };
        let answer = self.admin(build::get_log_page(&log), Data::Receive(ADMIN_ROOM));
        assert!(answer.cqe.status().is_success(), "{}", answer.cqe.status());
        Counter::of_page(&answer.data).expect("the page")
    }
}

fn told(counters: &[Counter]) -> Counts {
    let of = |counter: &Counter| match counter.of {
        CounterOf::Command { class, opcode, detail } if counter.name == "commands" && counter.value > 0 => {
            Some(((class, opcode, detail), counter.value))
        }
        _ => None,
    };
    counters.iter().filter_map(of).collect()
}

fn number(counters: &[Counter], name: &str) -> u64 {
    counters.iter().find(|counter| counter.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// The body of an answer.
fn fetch(address: SocketAddr, accept: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n").expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("read");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    body.to_owned()
}

/// Samples of a family, by their labels.
fn samples(text: &str, name: &str) -> BTreeMap<String, f64> {
    let of = |line: &str| {
        let (labels, value) = line.strip_prefix(name)?.strip_prefix('{')?.rsplit_once("} ")?;
        Some((labels.to_owned(), value.parse().expect("a number")))
    };
    text.lines().filter_map(of).collect()
}

fn every_opcode(host: &mut Host) {
    for opcode in (0..=u8::MAX).filter(|opcode| *opcode != fabrics::OPCODE) {
        for (class, nsid) in [(CommandClass::Kv, 1), (CommandClass::Nvm, 2), (CommandClass::Nvm, 77)] {
            host.io(class, Sqe::new(opcode, nsid), Data::None);
        }
        // It would be held, and Format is asked for in its own way.
        if ![admin::opcode::ASYNC_EVENT_REQUEST, admin::opcode::FORMAT_NVM].contains(&opcode) {
            host.admin(Sqe::new(opcode, 0), Data::None);
        }
    }
    for code in (0..=u8::MAX).filter(|code| *code != fctype::DISCONNECT) {
        let answer = host.io.execute(Sqe::new(fabrics::OPCODE, code.into()), Data::None);
        host.count(CommandClass::Fabrics, code, answer.cqe.status());
    }
}

fn plain_work(host: &mut Host) {
    for n in 0..40 {
        assert!(host.store(&format!("key{n}"), 100 + n, StoreOptions::NONE).is_success());
    }
    assert!(host.store("key1", 9, StoreOptions::MUST_NOT_EXIST).is(Status::KEY_EXISTS));
    assert!(host.store("none", 9, StoreOptions::MUST_EXIST).is(Status::KEY_DOES_NOT_EXIST));
    let key = |name: &str| Key::new(name.as_bytes()).expect("a key");
    for name in ["key3", "none"] {
        host.io(CommandClass::Kv, kv::retrieve(1, &key(name), 4096), Data::Receive(4096));
        host.io(CommandClass::Kv, kv::exist(1, &key(name)), Data::None);
        host.io(CommandClass::Kv, kv::delete(1, &key(name)), Data::None);
    }
    let range = nvm::BlockRange { slba: 3, blocks: 1 };
    let bytes = 4096;
    for block in [512, bytes] {
        host.io(CommandClass::Nvm, nvm::write(2, range, false).expect("a count"), Data::Send(vec![1; block]));
    }
    host.io(CommandClass::Kv, kv::flush(1), Data::None);
}

#[test]
fn metrics_equal_what_a_scripted_host_has_done() {
    let mut config = config(BOTH);
    config.metrics = Some("127.0.0.1:0".parse().expect("an address"));
    let server = Server::start(config).expect("the server starts");
    let mut host = Host::new(&server);
    plain_work(&mut host);
    let before = host.page();
    let work = [number(&before, "host_write_commands"), number(&before, "connected_queues")];
    assert!(number(&before, "host_written_bytes") >= host.written && work[0] >= 40 && work[1] == 2);
    every_opcode(&mut host);
    // A host that nobody knows, and one that is refused on its way.
    let wrong = RawQueue::connect(
        server.addresses()[0],
        "nqn.2014-08.org.example:other",
        ConnectData::ANY_CONTROLLER,
        (0, 32),
    );
    assert!(wrong.is_err());
    let again = RawQueue::connect(server.addresses()[0], &server.names()[0], 999, (1, 32));
    host.count(CommandClass::Fabrics, fctype::CONNECT, again.err().expect("refused"));
    let counts = host.counts.clone();
    assert_eq!(told(&host.page()), counts, "over the log page");
    let text = fetch(server.metrics_address().expect("asked for"), "text/plain");
    assert_eq!(over_http(&text), by_label(&host.counts, &server.names()[0]), "over HTTP");
    assert_durations(&text, &host.counts);
    assert!(text.contains("\nsaker_connections_refused_total 2\n"), "both refusals");
    server.stop().expect("stopped");
}

fn over_http(text: &str) -> BTreeMap<String, u64> {
    samples(text, "saker_commands_total")
        .into_iter()
        .filter(|(_, n)| *n > 0.0)
        .map(|(l, n)| (l, n as u64))
        .collect()
}

fn by_label(counts: &Counts, nqn: &str) -> BTreeMap<String, u64> {
    let label = |(class, opcode, detail): &(CommandClass, u16, u16)| {
        let (command, status) = (command_name(*class, *opcode).unwrap_or("other"), status_of(*detail));
        let class = class.name();
        format!("subsystem=\"{nqn}\",class=\"{class}\",command=\"{command}\",status=\"{status}\"")
    };
    counts.iter().map(|(of, count)| (label(of), *count)).collect()
}

/// Every command has a duration.
fn assert_durations(text: &str, counts: &Counts) {
    let timed: f64 = samples(text, "saker_command_duration_seconds_count").values().sum();
    assert_eq!(timed as u64, counts.values().sum::<u64>());
    let ends = samples(text, "saker_command_duration_seconds_bucket");
    let all: f64 =
        ends.iter().filter(|(labels, _)| labels.contains("le=\"+Inf\"")).map(|(_, count)| count).sum();
    assert_eq!(all, timed, "the last bucket has no end");
}

/// Whatever names hosts give themselves, and whatever opcodes they use, the rows are few, and none has a name of theirs.
#[test]
fn strangers_make_no_labels() {
    let mut config = config(BOTH);
    config.metrics = Some("127.0.0.1:0".parse().expect("an address"));
    let server = Server::start(config).expect("the server starts");
    let mut host = Host::new(&server);
    every_opcode(&mut host);
    let text = fetch(server.metrics_address().expect("asked for"), "application/openmetrics-text");
    assert!(text.ends_with("# EOF\n") && !text.contains("org.example"), "{text}");
    assert!(
        samples(&text, "saker_commands_total").len() < 250,
        "{}",
        samples(&text, "saker_commands_total").len()
    );
    server.stop().expect("stopped");
}

#[test]
fn the_endpoint_gives_metrics_and_nothing_else_to_a_few_at_a_time() {
    let mut config = config(BOTH);
    config.metrics = Some("127.0.0.1:0".parse().expect("an address"));
    let server = Server::start(config).expect("the server starts");
    let address = server.metrics_address().expect("asked for");
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(9000));
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
        ("nonsense\r\n\r\n", "400"),
        (long.as_str(), "431"),
    ] {
        let mut stream = dial(address);
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer[9..], status.as_bytes(), "{request:.20}");
    }
    // Silent clients make room for newcomers, the oldest first.
    let mut silent: Vec<_> = (0..60).map(|_| dial(address)).collect();
    let closed = silent[0].read(&mut [0; 1]);
    assert!(closed.is_err() || closed.is_ok_and(|bytes| bytes == 0), "it is closed");
    assert!(fetch(address, "text/plain").contains("saker_connections"), "whoever asks is answered");
    drop(silent);
    server.stop().expect("stopped");
}

/// A client of the endpoint that never reads nor ends does not keep the server from stopping; and library calls see the same page.
#[test]
fn the_host_library_reads_the_counters_of_any_device() {
    let server = serve(BOTH);
    let mut kv = open(&server, "");
    kv.put(b"key", &[1; 1000]).expect("stored");
    let over = kv.counters().expect("asked").expect("told");
    assert_eq!(number(&over, "host_written_bytes"), 1000);
    let stores = (CommandClass::Kv, u16::from(kv::opcode::STORE), 0);
    assert_eq!(told(&over).get(&stores), Some(&1));
    kv.close().expect("closed");
    for options in ["", "&threads=1", "&shards=2"] {
        let mut kv = saker::Kv::open(&format!("mem:?size=64MiB&profile=tiny{options}")).expect("opened");
        (0..10_u8).for_each(|n| kv.put(&[n], &[1; 100]).expect("stored"));
        let here = kv.counters().expect("asked").expect("told");
        assert_eq!(number(&here, "host_written_bytes"), 1000, "{options}");
        assert_eq!(number(&here, "life_host_written_bytes"), 1000, "{options}");
        kv.close().expect("closed");
    }
    server.stop().expect("stopped");
}
