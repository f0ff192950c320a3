// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Exist of a missing key by our driver over vfio-user: the same loop as `interop/spdk_speed.c`, which has SPDK's, and the same line
//! at the end.
//!
//! `cargo run --release -p saker-vfio-client --example exist_speed -- SOCKET DEPTH COMMANDS`

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use saker_nvme::{Key, Status, kv};
use saker_vfio_client::Function;

const ENTRIES: u32 = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket, depth, commands] = arguments.as_slice() else {
        return Err("usage: exist_speed SOCKET DEPTH COMMANDS".into());
    };
    let (depth, commands): (u32, usize) = (depth.parse()?, commands.parse()?);
    if depth == 0 || depth >= ENTRIES || commands < depth as usize {
        return Err("a depth of 1 to 63, and as many commands at least".into());
    }
    let mut function = Function::open(Path::new(socket), 256)?;
    function.enable()?;
    if !function.is_mapped() {
        return Err("the server has to poll".into());
    }
    let mut pair = function.create_pair(1, ENTRIES, false)?;
    let exist = kv::exist(1, &Key::new(b"nobody")?);
    let mut since = vec![Instant::now(); depth as usize];
    let mut latencies = Vec::with_capacity(commands);
    let (mut submitted, mut idle) = (0, (0..depth as u16).collect::<Vec<_>>());
    let (cpu, begun) = (cpu_time(), Instant::now());
    while latencies.len() < commands {
        let is_ringing = submitted < commands && !idle.is_empty();
        while submitted < commands
            && let Some(cid) = idle.pop()
        {
            since[usize::from(cid)] = Instant::now();
            pair.submit(&exist.with_cid(cid)).map_err(|_| "the queue is full")?;
            submitted += 1;
        }
        if is_ringing {
            pair.ring();
        }
        let before = latencies.len();
        while let Some(cqe) = pair.poll() {
            if cqe.status() != Status::KEY_DOES_NOT_EXIST {
                return Err(format!("{:?}", cqe.status()).into());
            }
            latencies.push(since[usize::from(cqe.cid.get())].elapsed());
            idle.push(cqe.cid.get());
        }
        if latencies.len() > before {
            pair.ring_cq();
        }
    }
    let (time, cpu) = (begun.elapsed(), cpu_time() - cpu);
    latencies.sort_unstable();
    let each = |time: Duration| time.as_nanos() / commands as u128;
    println!(
        "ours depth {depth}: {} ns a command, {} ns CPU, latency {} ns median, {} ns p99",
        each(time),
        each(cpu),
        latencies[commands / 2].as_nanos(),
        latencies[commands / 100 * 99].as_nanos()
    );
    Ok(())
}

/// What this thread has used.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
