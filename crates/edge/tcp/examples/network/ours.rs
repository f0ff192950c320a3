//! Our target, through our own host library.

use std::time::{Duration, Instant};

use saker_host::group::{Form, Op};
use saker_realtime::{Kv, Raw};
use saker_tcp::{Server, ServerConfig};

use saker_host::{KvQueue, RawData, SubmitError, Ticket};
use saker_nvme::{Key, kv};

use crate::Plan;

pub const PUT: &str = "stores, depth 64";
pub const GET: &str = "retrieves, depth 64";
pub const GROUP: &str = "stores in groups of 4 KiB";
pub const LARGE_PUT: &str = "1-MiB stores, depth 8, MB/s";
pub const LARGE_GET: &str = "1-MiB retrieves, depth 8, MB/s";

/// As many keys as redis-benchmark is told to use.
pub const KEYS: u64 = 100_000;
const VALUE: [u8; 64] = [b'x'; 64];
const LARGE_BYTES: usize = 1 << 20;
const LARGE_KEYS: u64 = 64;
/// Groups in flight.
const GROUPS: usize = 16;

pub struct Target {
    server: Server,
}

/// The keys of redis-benchmark, in an order that skips about.
fn key(n: u64) -> Vec<u8> {
    format!("key:{:012}", n.wrapping_mul(7_919) % KEYS).into_bytes()
}

/// Processor time of this process so far.
fn busy() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // utime and stime in ticks of 10 ms (proc(5)).
    let ticks: u64 = [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

impl Target {
    pub fn start(polls: bool) -> Self {
        let mut config = ServerConfig::new("mem:?size=1GiB");
        config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
        config.busy_poll = polls;
        Self { server: Server::start(config).expect("the server starts") }
    }

    /// Writes the whole flash once, so that its memory has been touched before anything is measured.
    pub fn warm_up(&self) {
        let mut kv = Kv::open(&self.url(8)).expect("connected");
        let value = vec![9; LARGE_BYTES];
        for n in 0..2048_u64 {
            kv.put_queued(&(n % LARGE_KEYS).to_le_bytes(), &value).expect("queued");
        }
        kv.drain().expect("stored");
    }

    pub fn stop(self) {
        self.server.stop().expect("the server stops");
    }

    fn url(&self, depth: usize) -> String {
        format!("tcp://{}/{}?depth={depth}", self.server.addresses()[0], self.server.names()[0])
    }

    /// Percent of a core that the process uses while a host is connected and asks nothing.
    pub fn idle_percent(&self, duration: Duration) -> f64 {
        let mut host = Kv::open(&self.url(64)).expect("connected");
        host.put(b"idle", b"soon").expect("stored");
        let (before, asleep) = (busy(), duration.max(Duration::from_secs(2)));
        std::thread::sleep(asleep);
        (busy() - before).as_secs_f64() / asleep.as_secs_f64() * 100.0
    }

    /// Pairs a second.
    pub fn pairs(&self, plan: Plan) -> Vec<(String, f64)> {
        let (store, retrieve) = (self.stores(plan), self.retrieves(plan));
        vec![(PUT.into(), store), (GET.into(), retrieve), (GROUP.into(), self.groups(plan))]
    }

    fn stores(&self, plan: Plan) -> f64 {
        self.singles(plan, |queue, key| queue.store(key, &VALUE, kv::StoreOptions::NONE))
    }

    fn retrieves(&self, plan: Plan) -> f64 {
        self.singles(plan, |queue, key| queue.retrieve(key, 64))
    }

    /// Commands of one kind, 64 in flight.
    fn singles(
        &self,
        plan: Plan,
        mut submit: impl FnMut(&mut KvQueue, &Key) -> Result<Ticket, SubmitError>,
    ) -> f64 {
        let mut kv = Kv::open(&self.url(64)).expect("connected");
        let client = kv.client();
        let (mut n, begun) = (0_u64, Instant::now());
        while begun.elapsed() < plan.duration {
            while client.queue_mut().free_slots() > 0 {
                submit(client.queue_mut(), &Key::new(&key(n)).expect("16 bytes")).expect("a slot is free");
                n += 1;
            }
            finish(client, 1);
        }
        let left = client.queue_mut().in_flight();
        finish(client, left);
        n as f64 / begun.elapsed().as_secs_f64()
    }

    /// Containers of 4 KiB, as many pairs as each takes.
    fn groups(&self, plan: Plan) -> f64 {
        let mut kv = Kv::open(&self.url(GROUPS)).expect("connected");
        let client = kv.client();
        assert!(client.has_groups(), "the target has groups");
        let (mut n, mut pairs, begun) = (0_u64, 0_u64, Instant::now());
        while begun.elapsed() < plan.duration {
            let mut group = client.queue_mut().open_group(Form::All(Op::Store)).expect("a slot");
            while group.push(Op::Store, &key(n), &VALUE).is_ok() {
                n += 1;
            }
            pairs += u64::from(group.len());
            client.queue_mut().send_group(group, None).expect("sent");
            if client.queue_mut().free_slots() == 0 {
                finish(client, 1);
            }
        }
        let left = client.queue_mut().in_flight();
        finish(client, left);
        pairs as f64 / begun.elapsed().as_secs_f64()
    }

    /// Megabytes a second.
    pub fn large(&self, plan: Plan) -> Vec<(String, f64)> {
        let mut raw = Raw::open(&self.url(8)).expect("connected");
        let (nsid, value) = (raw.nsid(), vec![5; LARGE_BYTES]);
        let names: Vec<_> = (0..LARGE_KEYS).map(|n| Key::new(&n.to_le_bytes()).expect("8 bytes")).collect();
        let stores = rate(plan, |_| {
            let store = |key| {
                let sqe = kv::store(nsid, key, LARGE_BYTES as u32, kv::StoreOptions::default());
                (sqe, RawData::ToDevice(&value))
            };
            let done = raw.io(names.iter().map(store), |done| done.status).expect("answered");
            assert!(done.iter().all(|status| status.is_success()));
            LARGE_KEYS
        });
        let retrieves = rate(plan, |_| {
            let retrieve = |key| {
                let sqe = kv::retrieve(nsid, key, LARGE_BYTES as u32);
                (sqe, RawData::ValueFromDevice(LARGE_BYTES as u32))
            };
            let done = raw.io(names.iter().map(retrieve), |done| done.result).expect("answered");
            assert!(done.iter().all(|bytes| *bytes == LARGE_BYTES as u32));
            LARGE_KEYS
        });
        let megabytes = LARGE_BYTES as f64 / 1e6;
        vec![(LARGE_PUT.into(), stores * megabytes), (LARGE_GET.into(), retrieves * megabytes)]
    }
}

/// Takes the answers of `count` commands at least.
fn finish(client: &mut saker_host::KvClient<saker_realtime::AnyTurn>, mut count: usize) {
    use saker_host::Turn;
    client.queue_mut().ring();
    while count > 0 {
        client.turn_mut().turn();
        while let Some(done) = client.queue_mut().poll(|done| done.status) {
            let status = done.expect("answered");
            assert!(status.is_success(), "{status}");
            count = count.saturating_sub(1);
        }
    }
}

/// Repeats `some`, which says how much it did, for the time of the plan.
fn rate(plan: Plan, mut some: impl FnMut(u64) -> u64) -> f64 {
    let (mut done, begun) = (0, Instant::now());
    while begun.elapsed() < plan.duration {
        done += some(done);
    }
    done as f64 / begun.elapsed().as_secs_f64()
}
