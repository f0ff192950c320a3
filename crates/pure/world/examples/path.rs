// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One kind of operation through the whole command path on one thread, for counting instructions: no clock is read. Host
//! library, queue pair, device and hash store are those of `mem:` with timing `off`.
//!
//! `valgrind --tool=callgrind target/dist/examples/path OP COUNT`, twice: the difference between two counts, divided by
//! that of the operations, is one operation. OP: `exist` (of nothing), `flush`, `put`, `queue` (pipelined puts), `get`, of 16-byte
//! keys and values; `group`: stores of 8 + 20 bytes, 64 a command, 8 commands in flight; `session`: puts over a session with
//! containers of 64; `ten`: 10 stores of 8 + 20 bytes a command, one in flight, as a group; `transaction`: as a transaction;
//! `conditions`: with a condition for each key; `virtual`: a put and then a get of each pair in virtual time, 4 modelled threads of depth 32.

use saker_assembly::Build;
use saker_assembly::port;
use saker_device::{Device, Untimed};
use saker_host::connect::KvQueueOptions;
use saker_host::group::{Form, Op as GroupOp};
use saker_host::session::{Hub, Options, Session};
use saker_host::transfer::Adaptive;
use saker_host::{
    ClientOptions, ConnectOptions, Connection, Driver, KvClient, KvQueue, KvStoreClient, Patience,
    TransferOptions, TransferPolicy,
};
use saker_nvme::Key;
use saker_nvme::group::{Ask, GroupMode, pack_transaction};
use saker_nvme::vendor_specific::PIGGYBACK_BYTES;
use saker_profile::Profile;
use saker_world::{Job, Op, StoreKind, run_virtual};
use std::sync::Arc;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const DEPTH: u16 = 64;
const GROUP: u64 = 64;
const GROUPS_IN_FLIGHT: usize = 8;
const TEN: u64 = 10;
const TRANSACTION: GroupMode = GroupMode { is_transaction: true, has_versions: false };

/// The device runs whenever the host waits.
struct Inline(Device<Untimed>);

impl Driver for Inline {
    #[inline]
    fn drive(&mut self) {
        self.0.advance();
    }
}

fn spread(n: u64) -> [u8; 8] {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

fn key(n: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&spread(n));
    key[8..].copy_from_slice(&n.to_le_bytes());
    key
}

fn open() -> Outcome<(Connection, Inline)> {
    let build = Build::kv(&Profile::builtin("default")?, 4 << 30, 1)?;
    let host = build.attach(2, 2 * DEPTH);
    let mut device = Inline(build.untimed(host.clone()));
    let connection = Connection::connect(port(&host), &mut device, ConnectOptions::default())?;
    Ok((connection, device))
}

fn client() -> Outcome<KvStoreClient<Inline>> {
    let (mut connection, device) = open()?;
    let options = ClientOptions { depth: DEPTH, ..ClientOptions::default() };
    let mut client = KvClient::open(&mut connection, device, 1, options)?;
    let methods = *client.queue_mut().available();
    client.queue_mut().set_transfer(in_one_command(), methods);
    Ok(KvStoreClient::new(client))
}

/// As a device that is opened by its URL.
fn in_one_command() -> TransferOptions {
    let policy = TransferPolicy::Adaptive(Adaptive::new(PIGGYBACK_BYTES as u32 + 1, 0));
    TransferOptions { policy, ..TransferOptions::default() }
}

fn singles(op: &str, count: u64) -> Outcome<()> {
    let mut kv = client()?;
    match op {
        "exist" => (0..count).try_for_each(|_| kv.exists(b"nothing").map(drop))?,
        "flush" => (0..count).try_for_each(|_| kv.flush())?,
        "put" => (0..count).try_for_each(|n| kv.put(&key(n), &[7; 16]))?,
        "queue" => (0..count).try_for_each(|n| kv.put_queued(&key(n), &[7; 16]))?,
        "get" => {
            kv.put(&key(0), &[7; 16])?;
            let mut value = [0; 16];
            (0..count).try_for_each(|_| kv.get_into(&key(0), &mut value).map(drop))?;
        }
        other => return Err(format!("no operation is called {other}").into()),
    }
    Ok(kv.drain()?)
}

fn fill(queue: &mut KvQueue, pairs: std::ops::Range<u64>) -> Outcome<()> {
    let mut group = queue.open_group(Form::All(GroupOp::Store))?;
    for n in pairs {
        group.push(GroupOp::Store, &spread(n), &[7; 20])?;
    }
    queue.send_group(group, None)?;
    Ok(())
}

fn groups(count: u64) -> Outcome<()> {
    let mut kv = client()?;
    let (client, mut next) = (kv.native(), 0);
    while next < count || client.queue_mut().in_flight() > 0 {
        let queue = client.queue_mut();
        while next < count && queue.in_flight() < GROUPS_IN_FLIGHT {
            fill(queue, next..next + GROUP)?;
            next += GROUP;
        }
        queue.ring();
        client.driver_mut().drive();
        while let Some(polled) = client.queue_mut().poll(|done| (done.status, done.result)) {
            let (status, failed) = polled?;
            assert!(status.is_success() && failed == 0, "{status}");
        }
    }
    Ok(())
}

/// Ten stores a command, and a condition for each of their keys if asked.
fn tens(count: u64, mode: GroupMode, conditions: bool) -> Outcome<()> {
    let (mut connection, mut device) = open()?;
    let sizes = KvQueueOptions { entries: u32::from(DEPTH) + 1, slots: DEPTH };
    let mut queue = connection.create_kv_queue(&mut device, 1, sizes)?;
    connection.set_transfer(&mut device, &mut queue, TransferOptions::default())?;
    for n in 0..count / TEN {
        let keys: Vec<_> = (n * TEN..n * TEN + TEN).map(spread).collect();
        let stores = keys.iter().map(|key| (Ask::Op(GroupOp::Store), &key[..], &[7; 20][..]));
        let absent = keys.iter().map(|key| (Ask::Absent, &key[..], &[][..]));
        let (form, payload) = pack_transaction(absent.filter(|_| conditions).chain(stores))?;
        queue.group_in_mode(form, mode, None, &payload)?;
        queue.ring();
        let status = loop {
            match queue.poll(|done| done.status) {
                Some(status) => break status?,
                None => device.drive(),
            }
        };
        assert!(status.is_success(), "{status}");
    }
    Ok(())
}

fn sessions(count: u64) -> Outcome<()> {
    let (mut connection, mut device) = open()?;
    let sizes = KvQueueOptions { entries: u32::from(DEPTH) + 1, slots: DEPTH };
    let mut queue = connection.create_kv_queue(&mut device, 1, sizes)?;
    connection.set_transfer(&mut device, &mut queue, TransferOptions::default())?;
    let hub = Arc::new(Hub::new(vec![queue], Options { volatile: false, ..Options::default() }));
    let mut session = Session::new(hub, (0, 0), device, 1 << 20, Patience::default());
    (0..count).try_for_each(|n| session.put(&Key::new(&key(n)).expect("16 bytes"), &[7; 16]))?;
    Ok(session.sync()?)
}

fn virtual_time(count: u64) -> Outcome<()> {
    let build = Build::kv(&Profile::builtin("default")?, 2 << 30, 1)?;
    let put = |n| Op::Put(key(n).to_vec(), vec![7; 16]);
    let get = |n: u64| Op::Get(key(n * 7919 % count).to_vec());
    let job = |operations, flush| Job {
        threads: 4,
        depth: 32,
        operations,
        flush,
        transfer: TransferOptions::default(),
    };
    let (puts, gets) = ((0..count).map(put).collect(), (0..count).map(get).collect());
    let results = run_virtual(StoreKind::Disk, &build, &[job(puts, true), job(gets, false)])?;
    assert!(results.iter().all(|r| r.errors == 0));
    Ok(())
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let (op, count) = (arguments.next().unwrap_or("exist".into()), arguments.next());
    let count: u64 = count.map_or(Ok(100_000), |n| n.parse())?;
    match op.as_str() {
        "group" => groups(count.next_multiple_of(GROUP)),
        "ten" => tens(count, GroupMode::PLAIN, false),
        "transaction" => tens(count, TRANSACTION, false),
        "conditions" => tens(count, TRANSACTION, true),
        "session" => sessions(count),
        "virtual" => virtual_time(count),
        op => singles(op, count),
    }
}
