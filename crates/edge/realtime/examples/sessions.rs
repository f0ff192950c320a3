//! How fast sessions write on this machine, timing `off`: 16-byte values, containers of 64, one application thread and one
//! device thread; HostKV and DiskKV alone in the same run.
//!
//! `cargo run --release -p saker-realtime --example sessions -- [PAIRS]` (2,000,000)

use saker_device::NamespaceKind;
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::{BlockMedium, HostKv, Op};
use saker_host::{ConnectOptions, Connection, Spin};
use saker_realtime::EngineKind;
use saker_realtime::{AnyDevice, DeviceThread, Kv, Saker, SakerOptions};
use saker_sim::Free;
use saker_sim::profile::Profile;
use saker_world::build::port;
use saker_world::{Build, KvBlockQueue};
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const URL: &str = "mem:?size=4GiB&threads=1&depth=256";
const VALUE: [u8; 16] = [7; 16];
/// Bytes of an extent of HostKV's flash.
const EXTENT_BYTES: u64 = 8 << 20;

fn key(n: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    key[8..].copy_from_slice(&n.to_le_bytes());
    key
}

/// Millions of operations per second.
fn rate(pairs: u64, begun: Instant) -> f64 {
    pairs as f64 / begun.elapsed().as_secs_f64() / 1e6
}

fn sessions(pairs: u64) -> Outcome<f64> {
    let saker = Saker::open(URL, SakerOptions { sessions: 1, ..SakerOptions::default() })?;
    let mut session = saker.session()?;
    let begun = Instant::now();
    (0..pairs).try_for_each(|n| session.put(&key(n), &VALUE))?;
    session.sync()?;
    let rate = rate(pairs, begun);
    drop(session);
    saker.close()?;
    Ok(rate)
}

fn disk_kv(pairs: u64) -> Outcome<f64> {
    let mut kv = Kv::open(URL)?;
    let begun = Instant::now();
    (0..pairs).try_for_each(|n| kv.put_queued(&key(n), &VALUE))?;
    kv.drain()?;
    let rate = rate(pairs, begun);
    kv.close()?;
    Ok(rate)
}

fn host_kv(pairs: u64) -> Outcome<f64> {
    let build = Build::block(&Profile::builtin("default")?, 4 << 30, 1)?;
    let host = build.attach(1, 256);
    let device = AnyDevice::Memory(Box::new(build.untimed(host.clone())));
    let thread = DeviceThread::start(device);
    let mut connection = Connection::connect(port(&host), &mut Spin, ConnectOptions::default())?;
    let queue = connection.create_kv_queue(&mut Spin, 1, KvQueueOptions { entries: 257, slots: 256 })?;
    let NamespaceKind::Block { block_bytes, blocks } = build.config.namespaces[0].kind else {
        return Err("namespace 1 has blocks".into());
    };
    let mut medium = BlockMedium::new(KvBlockQueue::new(queue, block_bytes, blocks), EXTENT_BYTES);
    medium.take_empty();
    let mut store = HostKv::over(EngineKind::HashStore, medium);
    let begun = Instant::now();
    let mut open = 0u64;
    for n in 0..pairs {
        if store.submit(Op::Put(key(n).to_vec(), VALUE.to_vec()), &mut Free).is_err() {
            open += 1;
        }
        if n % 64 == 63 {
            store.queue_mut().ring();
            store.advance(&mut Free, |_, _| open -= 1);
        }
    }
    while open > 0 {
        store.queue_mut().ring();
        store.advance(&mut Free, |_, _| open -= 1);
    }
    let rate = rate(pairs, begun);
    drop(thread.stop());
    Ok(rate)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Outcome<()> {
    let pairs = std::env::args().nth(1).map_or(Ok(2_000_000), |n| n.parse())?;
    let mut rounds = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..5 {
        let (host, disk, saker) = (host_kv(pairs)?, disk_kv(pairs)?, sessions(pairs)?);
        println!("HostKV {host:.2} M/s, DiskKV {disk:.2} M/s, DiskKV with sessions {saker:.2} M/s");
        for (values, value) in rounds.iter_mut().zip([host, disk, saker, saker / host]) {
            values.push(value);
        }
    }
    let [host, disk, saker, ratio] = rounds.map(median);
    println!(
        "medians: HostKV {host:.2}, DiskKV {disk:.2}, with sessions {saker:.2} M/s, {ratio:.2} times HostKV"
    );
    Ok(())
}
