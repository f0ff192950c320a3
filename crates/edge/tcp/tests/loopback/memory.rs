// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hosts that ask and do not read: they share a total, others work on, and what they held comes back.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use saker::Kv;
use saker_nvme::admin::{SetFeatures, build, feature::fid};
use saker_nvme::{Sqe, Status, kv};
use saker_nvme_tcp::initiator::Data;
use saker_tcp::{Server, ServerConfig};
use saker_testing::tier;

use crate::loopback::raw::RawQueue;
use crate::loopback::support::{config, count, open, value};

const MIB: usize = 1 << 20;
const VALUE: usize = 2 * MIB;
/// Values that each host asks for: more than sockets take.
const ASKED: u16 = 8;
const DEVICE: &str = "mem:?size=512MiB";

fn retrieve(cid: u16) -> Sqe {
    let mut sqe = Sqe::new(kv::opcode::RETRIEVE, 1).with_cid(cid);
    sqe.cdw2.set(u32::from_le_bytes(*b"long"));
    sqe.cdw10.set(VALUE as u32);
    sqe.cdw11.set(4);
    sqe
}

/// A host that has asked for long values and reads nothing.
struct Stuck {
    _admin: RawQueue,
    queue: RawQueue,
}

impl Stuck {
    fn new(address: SocketAddr, nqn: &str) -> Self {
        let (admin, cntlid) = RawQueue::admin(address, nqn);
        let (mut queue, _) = RawQueue::connect(address, nqn, cntlid, (1, 32)).expect("connected");
        rustix::net::sockopt::set_socket_recv_buffer_size(queue.stream(), 256 << 10).expect("an option");
        for cid in 0..ASKED {
            assert!(queue.protocol.submit(retrieve(cid), Data::Receive(VALUE as u32), 8192));
        }
        queue.send();
        Self { _admin: admin, queue }
    }

    /// Reads after all.
    fn read_all(&mut self, expected: &[u8]) {
        for _ in 0..ASKED {
            let answer = self.queue.answer();
            assert_eq!(answer.cqe.status(), Status::SUCCESS);
            assert!(answer.data == expected, "the value");
        }
    }
}

fn store(server_url: &str) -> Vec<u8> {
    let long = value(1, 1, VALUE);
    Kv::open(server_url).expect("open").put(b"long", &long).expect("stored");
    long
}

/// Waits until `is_so`, or fails.
fn wait(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A server whose connections have `bytes` beyond the floors of 64 KiB.
fn serve(bytes: usize) -> Server {
    let mut config = config(DEVICE);
    config.connections_max = 128;
    config.connections_memory_max = 128 * (64 << 10) + bytes;
    config.stop_timeout = Duration::from_millis(300);
    Server::start(config).expect("the server starts")
}

fn url(server: &Server) -> String {
    format!("tcp://{}/{}", server.addresses()[0], server.names()[0])
}

fn stuck(server: &Server) -> Stuck {
    Stuck::new(server.addresses()[0], &server.names()[0])
}

#[test]
fn who_does_not_read_is_waited_for_and_gets_everything() {
    let server = serve(64 * MIB);
    let long = store(&url(&server));
    let mut hosts: Vec<Stuck> = (0..8).map(|_| stuck(&server)).collect();
    wait("memory is taken", || server.memory_in_use() >= 8 * MIB);
    // Small commands need nothing of what is short, long ones find room.
    let mut other = open(&server, "");
    for n in 0..100_u32 {
        other.put(&n.to_le_bytes(), &long[..n as usize * 100]).expect("stored");
    }
    assert!(other.get(b"long").expect("read").as_ref() == Some(&long));
    assert!(server.memory_in_use() <= 64 * MIB);
    hosts.iter_mut().for_each(|host| host.read_all(&long));
    drop((hosts, other));
    wait("memory is given back", || server.memory_in_use() == 0);
    server.stop().expect("stopped");
}

#[test]
fn a_greedy_crowd_takes_no_more_than_the_total_and_keeps_nobody_from_work() {
    let server = serve(24 * MIB);
    let long = store(&url(&server));
    // Each could hold 16 MiB by itself.
    let hosts: Vec<Stuck> = (0..24).map(|_| stuck(&server)).collect();
    let mut other = open(&server, "timeout=60");
    for n in 0..20_u32 {
        other.put(&n.to_le_bytes(), b"at once").expect("stored");
        assert_eq!(other.get(&n.to_le_bytes()).expect("read"), Some(b"at once".to_vec()));
        assert!(server.memory_in_use() <= 24 * MIB, "{}", server.memory_in_use());
    }
    // Long values wait behind those of the crowd, until some of the crowd are closed that stand still.
    for n in 0..count(40) as u32 {
        other.put(&[n as u8], &long).expect("stored");
        assert!(other.get(&[n as u8]).expect("read").as_ref() == Some(&long));
        assert!(server.memory_in_use() <= 24 * MIB, "{}", server.memory_in_use());
    }
    drop((hosts, other));
    wait("memory is given back", || server.memory_in_use() == 0);
    server.stop().expect("stopped");
}

/// A host announces long values and does not send them: the memory that waits for these is shared as well.
#[test]
fn hosts_that_do_not_send_what_they_announced_keep_nobody_from_work() {
    let server = serve(16 * MIB);
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    let silent: Vec<_> = (0..12)
        .map(|_| {
            let (admin, cntlid) = RawQueue::admin(address, &nqn);
            let (mut queue, _) = RawQueue::connect(address, &nqn, cntlid, (1, 32)).expect("connected");
            let mut store = retrieve(0);
            store.opcode = kv::opcode::STORE;
            assert!(queue.protocol.submit(store, Data::Send(vec![1; VALUE]), 0));
            queue.send();
            (admin, queue)
        })
        .collect();
    wait("memory is taken", || server.memory_in_use() >= 14 * MIB);
    let long = value(2, 2, VALUE);
    let mut other = open(&server, "timeout=60");
    other.put(b"other", &long).expect("stored");
    assert!(other.get(b"other").expect("read").as_ref() == Some(&long));
    drop((silent, other));
    wait("memory is given back", || server.memory_in_use() == 0);
    server.stop().expect("stopped");
}

/// Its keep alive time is over, so the connections end, although it never takes what it has asked for.
#[test]
fn a_host_that_expires_without_reading_gives_its_memory_back() {
    let server = serve(64 * MIB);
    store(&url(&server));
    let mut host = stuck(&server);
    wait("memory is taken", || server.memory_in_use() > 0);
    let timer = SetFeatures { nsid: 0, fid: fid::KEEP_ALIVE_TIMER, save: false, cdw11: 300 };
    assert!(host._admin.execute(build::set_features(&timer), Data::None).cqe.status().is_success());
    wait("memory is given back", || server.memory_in_use() == 0);
    let mut rest = Vec::new();
    // The socket is closed or reset.
    let _ = host.queue.into_stream().read_to_end(&mut rest);
    assert!(rest.len() < usize::from(ASKED) * VALUE);
    server.stop().expect("stopped");
}

/// Where the test below finds a target that is a process of its own: this program, told to be one.
const CHILD: &str = "SAKER_TEST_MEMORY_MAX";

#[test]
#[ignore = "the process that the_memory_of_a_process_comes_back starts"]
fn a_process_that_serves() {
    let Some(max) = std::env::var(CHILD).ok().and_then(|max| max.parse().ok()) else { return };
    let mut config = ServerConfig { connections_memory_max: max, ..config(DEVICE) };
    config.connections_max = config.connections_max.min(max / (128 << 10));
    let server = Server::start(config).expect("the server starts");
    println!("\nserving {} {}", server.addresses()[0], server.names()[0]);
    // Until the parent kills it.
    std::thread::sleep(Duration::from_secs(600));
}

struct Process {
    child: Child,
    address: SocketAddr,
    nqn: String,
}

impl Process {
    fn start(memory_max: usize) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "loopback::memory::a_process_that_serves", "--ignored", "--nocapture"])
            .env(CHILD, memory_max.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let line = lines.map_while(Result::ok).find(|line| line.starts_with("serving ")).expect("it serves");
        let mut words = line.split(' ').skip(1);
        let address = words.next().and_then(|word| word.parse().ok()).expect("an address");
        Self { child, address, nqn: words.next().expect("a name").to_owned() }
    }

    /// Resident memory in bytes: now, and the most there was.
    fn resident(&self) -> (usize, usize) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("Linux");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
            line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
        };
        (field("VmRSS:"), field("VmHWM:"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Beside what connections hold: stacks, queues, and what an allocator needs to tell blocks apart.
const SLACK: usize = 24 * MIB;
/// What is not worth a search for free pages stays with the process (`tcp/src/heap.rs`).
const NOT_WORTH: usize = 16 * MIB;

#[test]
fn the_memory_of_a_process_comes_back() {
    let hosts = tier(40, 240);
    // In the long tier with what a target has by default.
    let max = if hosts == 240 { ServerConfig::empty().connections_memory_max } else { 192 * MIB };
    let process = Process::start(max);
    let url = format!("tcp://{}/{}", process.address, process.nqn);
    let long = store(&url);
    // What is brought in by a first long value stays, as far as it has been by now.
    assert!(Kv::open(&url).expect("open").get(b"long").expect("read").as_ref() == Some(&long));
    let (before, _) = process.resident();
    let crowd: Vec<Stuck> = (0..hosts).map(|_| Stuck::new(process.address, &process.nqn)).collect();
    std::thread::sleep(Duration::from_secs(2));
    let (_, most) = process.resident();
    let mut other = Kv::open(&format!("{url}?timeout=60")).expect("open");
    assert!(other.get(b"long").expect("read").as_ref() == Some(&long));
    drop((crowd, other));
    wait("memory is given back", || process.resident().0 < before + SLACK + NOT_WORTH);
    let (after, _) = process.resident();
    println!("{hosts} hosts: {} MiB before, {} at most, {} after", before / MIB, most / MIB, after / MIB);
    assert!(most <= before + max + SLACK, "{most} bytes at most, {before} before");
    assert!(
        most > before + SLACK + NOT_WORTH,
        "the hosts hold memory: {most} bytes at most, {before} before"
    );
}
