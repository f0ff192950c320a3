// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Our target, through our own host library.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use saker::{AnyDriver, Kv};
use saker_host::group::{Form, Op};
use saker_host::kv_queue::Mapped;
use saker_host::{Done, Driver, KvClient, KvQueue, SubmitError, Ticket};
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;
use saker_tcp::{Server, ServerConfig};

use crate::Plan;

pub const PUT: &str = "stores, 64 at a time";
pub const GET: &str = "retrieves, 64 at a time";
pub const PUT_ROLLING: &str = "stores, always 64 in flight";
pub const GET_ROLLING: &str = "retrieves, always 64 in flight";
pub const GROUP: &str = "stores in groups of 4 KiB";
pub const LARGE_PUT: &str = "1-MiB stores, depth 8, MB/s";
pub const LARGE_GET: &str = "1-MiB retrieves, depth 8, MB/s";

/// As many keys as redis-benchmark is told to use.
pub const KEYS: u64 = 100_000;
const VALUE: [u8; 64] = [b'x'; 64];
const DEPTH: usize = 64;
/// Answers that are waited for before more commands are sent: all of them, as redis-benchmark does, or any.
const AT_A_TIME: usize = DEPTH;
const ROLLING: usize = 1;
const LARGE_BYTES: usize = 1 << 20;
const LARGE_KEYS: u64 = 64;
/// Values of that length in flight.
const LARGE_DEPTH: usize = 8;
/// Groups in flight.
const GROUPS: usize = 16;

pub struct Target {
    server: Server,
    /// The keys of redis-benchmark, in an order that skips about: made before anything is measured.
    keys: Vec<Key>,
}

fn key(n: u64) -> Key {
    let text = format!("key:{:012}", n * 7_919 % KEYS);
    Key::new(text.as_bytes()).expect("16 bytes")
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
        Self { server: Server::start(config).expect("the server starts"), keys: (0..KEYS).map(key).collect() }
    }

    /// Writes the whole flash once, so that its memory has been touched before anything is measured, and every pair.
    pub fn warm_up(&self) {
        let mut kv = self.open(LARGE_DEPTH);
        let value = vec![9; LARGE_BYTES];
        for n in 0..2048_u64 {
            kv.put_queued(&(n % LARGE_KEYS).to_le_bytes(), &value).expect("queued");
        }
        for key in &self.keys {
            kv.put_queued(key.as_bytes(), &VALUE).expect("queued");
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
        let mut host = self.open(64);
        host.put(b"idle", b"soon").expect("stored");
        let (before, asleep) = (busy(), duration.max(Duration::from_secs(2)));
        std::thread::sleep(asleep);
        (busy() - before).as_secs_f64() / asleep.as_secs_f64() * 100.0
    }

    /// Pairs a second.
    pub fn pairs(&self, plan: Plan) -> Vec<(String, f64)> {
        let mut rows = Vec::new();
        for (put, get, awaited) in [(PUT, GET, AT_A_TIME), (PUT_ROLLING, GET_ROLLING, ROLLING)] {
            rows.push((put.into(), self.stores(plan, awaited)));
            rows.push((get.into(), self.retrieves(plan, awaited)));
        }
        rows.push((GROUP.into(), self.groups(plan)));
        rows
    }

    fn stores(&self, plan: Plan, awaited: usize) -> f64 {
        let store = |queue: &mut KvQueue, key: &Key| queue.store(key, &VALUE, StoreOptions::NONE);
        commands(self.open(DEPTH).client(), (plan, awaited), &self.keys, store, |_| ())
    }

    fn retrieves(&self, plan: Plan, awaited: usize) -> f64 {
        let retrieve = |queue: &mut KvQueue, key: &Key| queue.retrieve(key, 64);
        commands(self.open(DEPTH).client(), (plan, awaited), &self.keys, retrieve, |_| ())
    }

    fn open(&self, depth: usize) -> Kv {
        Kv::open(&self.url(depth)).expect("connected")
    }

    /// Containers of 4 KiB, as many pairs as each takes.
    fn groups(&self, plan: Plan) -> f64 {
        let mut kv = self.open(GROUPS);
        let client = kv.client();
        assert!(client.has_groups(), "the target has groups");
        let (mut n, mut pairs, begun) = (0, 0_u64, Instant::now());
        while begun.elapsed() < plan.duration {
            let mut group = client.queue_mut().open_group(Form::All(Op::Store)).expect("a slot");
            while group.push(Op::Store, self.keys[n % self.keys.len()].as_bytes(), &VALUE).is_ok() {
                n += 1;
            }
            pairs += u64::from(group.len());
            client.queue_mut().send_group(group, None).expect("sent");
            if client.queue_mut().free_slots() == 0 {
                finish(client, 1, &mut |_| ());
            }
        }
        let left = client.queue_mut().in_flight();
        finish(client, left, &mut |_| ());
        pairs as f64 / begun.elapsed().as_secs_f64()
    }

    /// Megabytes a second. Buffers are made before and used again, as those of the copy are.
    pub fn large(&self, plan: Plan) -> Vec<(String, f64)> {
        let names: Vec<_> = (0..LARGE_KEYS).map(|n| Key::new(&n.to_le_bytes()).expect("8 bytes")).collect();
        let (stores, retrieves) = (self.large_stores(plan, &names), self.large_retrieves(plan, &names));
        let megabytes = LARGE_BYTES as f64 / 1e6;
        vec![(LARGE_PUT.into(), stores * megabytes), (LARGE_GET.into(), retrieves * megabytes)]
    }

    /// All from one mapped value.
    fn large_stores(&self, plan: Plan, names: &[Key]) -> f64 {
        let (mut kv, value) = (self.open(LARGE_DEPTH), vec![5; LARGE_BYTES]);
        let client = kv.client();
        let mut window = client.queue_mut().space().window().expect("a window");
        let stores = window.with_mapped_read(&value, |iova| {
            let value = Mapped { iova, bytes: LARGE_BYTES as u32 };
            let store = |queue: &mut KvQueue, key: &Key| queue.store_mapped(key, value, StoreOptions::NONE);
            commands(client, (plan, ROLLING), names, store, |_| ())
        });
        stores.expect("1 MiB can be mapped")
    }

    /// Into buffers that go round.
    fn large_retrieves(&self, plan: Plan, names: &[Key]) -> f64 {
        let spare = RefCell::new(vec![vec![0; LARGE_BYTES]; LARGE_DEPTH]);
        let retrieve = |queue: &mut KvQueue, key: &Key| {
            let buffer = spare.borrow_mut().pop().expect("as many as slots");
            queue.retrieve_owned(key, buffer).map_err(|returned| returned.error)
        };
        let taken = |done: Done<'_>| {
            assert_eq!(done.data().len(), LARGE_BYTES, "the whole value");
            spare.borrow_mut().push(done.into_vec());
        };
        commands(self.open(LARGE_DEPTH).client(), (plan, ROLLING), names, retrieve, taken)
    }
}

type Client = KvClient<AnyDriver>;

/// Commands a second of one kind, the keys round and round: whenever `awaited` answers have come, as many as slots are free.
fn commands(
    client: &mut Client,
    (plan, awaited): (Plan, usize),
    keys: &[Key],
    mut submit: impl FnMut(&mut KvQueue, &Key) -> Result<Ticket, SubmitError>,
    mut taken: impl FnMut(Done<'_>),
) -> f64 {
    let (mut n, begun) = (0, Instant::now());
    while begun.elapsed() < plan.duration {
        while client.queue_mut().free_slots() > 0 {
            submit(client.queue_mut(), &keys[n % keys.len()]).expect("a slot is free");
            n += 1;
        }
        finish(client, awaited, &mut taken);
    }
    let left = client.queue_mut().in_flight();
    finish(client, left, &mut taken);
    n as f64 / begun.elapsed().as_secs_f64()
}

/// Takes the answers of `count` commands at least.
fn finish(client: &mut Client, mut count: usize, taken: &mut impl FnMut(Done<'_>)) {
    client.queue_mut().ring();
    while count > 0 {
        client.driver_mut().drive();
        let mut take = |done: Done<'_>| {
            assert!(done.status.is_success(), "{}", done.status);
            taken(done);
        };
        while let Some(done) = client.queue_mut().poll(&mut take) {
            done.expect("answered");
            count = count.saturating_sub(1);
        }
    }
}
