// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How fast values go to the device by each method, timing `off`, paired with PRPs: rounds of both are interleaved and the
//! ratio is the median of the rounds' ratios.
//!
//! `cargo run --release -p saker --example methods -- [VALUE_BYTES] [ROUNDS] [METHOD]` (default 32 and 15). With a
//! method only its rounds run, at depth 1: for counting instructions on a machine whose clock says little.

use saker_assembly::Build;
use saker_assembly::port;
use saker_host::transfer::{Method, Pacing, TransferOptions};
use saker_host::{ClientOptions, ConnectOptions, Connection, KvClient};
use saker_nvme::Key;
use saker_profile::Profile;
use saker_world::Inline;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

const OPERATIONS: u64 = 100_000;
/// Bytes after which every page of the flash has been touched once.
const WARM_BYTES: u64 = 380 << 20;

struct Bench {
    client: KvClient<Inline>,
    connection: Connection,
}

impl Bench {
    fn new() -> Result<Self, Failure> {
        let build = Build::kv(&Profile::builtin("default")?, 320 << 20, 1)?;
        let host = build.attach(1, 64);
        let port = port(&host);
        let mut device = Inline(build.untimed(host));
        let mut connection = Connection::connect(port, &mut device, ConnectOptions::default())?;
        let client = KvClient::open(&mut connection, device, 1, ClientOptions::default())?;
        Ok(Self { client, connection })
    }

    /// Commands a second of one round.
    fn round(&mut self, method: Method, value: &[u8], pipelined: bool) -> Result<f64, Failure> {
        let options = TransferOptions::fixed(method, Pacing::Pipelined);
        self.client.set_transfer(&mut self.connection, options)?;
        let begun = Instant::now();
        for n in 0..OPERATIONS {
            let key = Key::from_padded(u128::from(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes(), 16)?;
            if pipelined { self.client.put_queued(&key, value)? } else { self.client.put(&key, value)? }
        }
        self.client.drain()?;
        Ok(OPERATIONS as f64 / begun.elapsed().as_secs_f64())
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let bytes: usize = arguments.next().map_or(Ok(32), |n| n.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(15), |n| n.parse())?;
    let (mut bench, value) = (Bench::new()?, vec![7; bytes]);
    if let Some(method) = arguments.next().and_then(|name| Method::of_name(&name)) {
        return (0..rounds).try_for_each(|_| bench.round(method, &value, false).map(drop));
    }
    for _ in 0..WARM_BYTES / (OPERATIONS * (bytes as u64 + 40)) {
        bench.round(Method::Prp, &value, true)?;
    }
    for pipelined in [false, true] {
        let others = Method::ALL.into_iter().filter(|m| *m != Method::Prp && m.takes(bytes as u32));
        for method in others {
            let (mut ratios, mut rates) = (Vec::new(), Vec::new());
            for n in 0..rounds {
                // Whoever comes second finds the other's garbage: take turns.
                let order = if n % 2 == 0 { [Method::Prp, method] } else { [method, Method::Prp] };
                let first = bench.round(order[0], &value, pipelined)?;
                let second = bench.round(order[1], &value, pipelined)?;
                let (prp, rate) = if n % 2 == 0 { (first, second) } else { (second, first) };
                ratios.push(rate / prp);
                rates.push(rate);
            }
            let depth = if pipelined { "pipelined" } else { "depth 1" };
            let (rate, ratio) = (median(rates) / 1e6, median(ratios));
            println!("{depth}, {bytes} bytes, {}: {rate:.2} M/s, {ratio:.3} of prp", method.name());
        }
    }
    Ok(())
}
