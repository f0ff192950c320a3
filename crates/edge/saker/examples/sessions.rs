// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How fast sessions write on this machine, timing `off`: 16-byte values, containers of 64, one application thread and one
//! device thread; HostKV and DiskKV alone in the same run.
//!
//! `cargo run --release -p saker --example sessions -- [PAIRS] [KEY_BYTES] [ROUNDS] [TOLD]`: 2,000,000 pairs, keys of 8 and then
//! of 16 bytes, five rounds unless told otherwise; `ROUNDS` of 0 is one of sessions alone, for a profiler. With 1 for `TOLD` all
//! three stores are told how many pairs will come (`prefault`).

use saker::EngineKind;
use saker::{AnyDevice, DeviceThread, Kv, Saker, SakerOptions};
use saker_assembly::Build;
use saker_assembly::port;
use saker_device::NamespaceKind;
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::{BlockSegments, HostKv, KvBlockQueue, Op, Work};
use saker_host::{ConnectOptions, Connection, Spin};
use saker_profile::Profile;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What is stored.
#[derive(Clone, Copy)]
struct Load {
    pairs: u64,
    /// Stores know how many pairs will come.
    is_told: bool,
}

impl Load {
    fn url(self) -> String {
        let told = if self.is_told { self.pairs } else { 0 };
        format!("mem:?size=4GiB&threads=1&depth=256&prefault={told}")
    }
}

const VALUE: [u8; 16] = [7; 16];
/// Bytes of an extent of HostKV's flash.
const EXTENT_BYTES: u64 = 8 << 20;

fn key<const K: usize>(n: u64) -> [u8; K] {
    let mut key = [0; K];
    let words = [n.wrapping_mul(0x9e37_79b9_7f4a_7c15), n];
    key.iter_mut().zip(words.iter().flat_map(|word| word.to_le_bytes())).for_each(|(to, from)| *to = from);
    key
}

/// Millions of operations per second.
fn rate(pairs: u64, begun: Instant) -> f64 {
    pairs as f64 / begun.elapsed().as_secs_f64() / 1e6
}

fn sessions<const K: usize>(load: Load) -> Outcome<f64> {
    let saker = Saker::open(&load.url(), SakerOptions { sessions: 1, ..SakerOptions::default() })?;
    let mut session = saker.session()?;
    let begun = Instant::now();
    (0..load.pairs).try_for_each(|n| session.put(&key::<K>(n), &VALUE))?;
    session.sync()?;
    let rate = rate(load.pairs, begun);
    drop(session);
    saker.close()?;
    Ok(rate)
}

fn disk_kv<const K: usize>(load: Load) -> Outcome<f64> {
    let mut kv = Kv::open(&load.url())?;
    let begun = Instant::now();
    (0..load.pairs).try_for_each(|n| kv.put_queued(&key::<K>(n), &VALUE))?;
    kv.drain()?;
    let rate = rate(load.pairs, begun);
    kv.close()?;
    Ok(rate)
}

fn host_kv<const K: usize>(load: Load) -> Outcome<f64> {
    let build = Build::block(&Profile::builtin("default")?, 4 << 30, 1)?;
    let host = build.attach(1, 256);
    let mut device = AnyDevice::Untimed(Box::new(build.untimed(host.clone())));
    if load.is_told {
        device.bring_in(0);
    }
    let thread = DeviceThread::start(device);
    let mut connection = Connection::connect(port(&host), &mut Spin, ConnectOptions::default())?;
    let queue = connection.create_kv_queue(&mut Spin, 1, KvQueueOptions { entries: 257, slots: 256 })?;
    let NamespaceKind::Block { block_bytes, blocks, .. } = build.config.namespaces[0].kind else {
        return Err("namespace 1 has blocks".into());
    };
    let blocks = KvBlockQueue::new(queue, block_bytes, blocks).with_vwc(connection.controller().vwc);
    let mut medium = BlockSegments::new(blocks, EXTENT_BYTES);
    medium.take_empty();
    let mut store = HostKv::over(EngineKind::HASH_STORE, medium);
    if load.is_told {
        store.reserve(load.pairs);
    }
    let begun = Instant::now();
    let mut open = 0u64;
    for n in 0..load.pairs {
        if store.submit(Op::Put(key::<K>(n).to_vec(), VALUE.to_vec()), Work::Free).is_err() {
            open += 1;
        }
        if n % 64 == 63 {
            store.ring();
            store.advance(Work::Free, &mut |_, _| open -= 1);
            store.background(64, Work::Free);
        }
    }
    while open > 0 {
        store.ring();
        store.advance(Work::Free, &mut |_, _| open -= 1);
        store.background(64, Work::Free);
    }
    let rate = rate(load.pairs, begun);
    drop(thread.stop());
    Ok(rate)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare<const K: usize>(load: Load, count: usize) -> Outcome<()> {
    println!("keys of {K} bytes");
    let mut rounds = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..count {
        let (host, disk, saker) = (host_kv::<K>(load)?, disk_kv::<K>(load)?, sessions::<K>(load)?);
        println!("HostKV {host:.2} M/s, DiskKV {disk:.2} M/s, DiskKV with sessions {saker:.2} M/s");
        for (values, value) in rounds.iter_mut().zip([host, disk, saker, saker / host]) {
            values.push(value);
        }
    }
    if count == 0 {
        println!("DiskKV with sessions {:.2} M/s", sessions::<K>(load)?);
        return Ok(());
    }
    let [host, disk, saker, ratio] = rounds.map(median);
    println!(
        "medians: HostKV {host:.2}, DiskKV {disk:.2}, with sessions {saker:.2} M/s, {ratio:.2} times HostKV"
    );
    Ok(())
}

fn main() -> Outcome<()> {
    let number = |n: usize| std::env::args().nth(n).map(|arg| arg.parse::<u64>()).transpose();
    let (pairs, rounds) = (number(1)?.unwrap_or(2_000_000), number(3)?.unwrap_or(5) as usize);
    let key_bytes = number(2)?;
    let load = Load { pairs, is_told: number(4)? == Some(1) };
    if key_bytes != Some(16) {
        compare::<8>(load, rounds)?;
    }
    if key_bytes != Some(8) {
        compare::<16>(load, rounds)?;
    }
    Ok(())
}
