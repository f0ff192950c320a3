// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a bus of another process costs: round trips of a command without data, one at a time and pipelined, to a device on a
//! thread of this process, and to the same device behind a vfio-user socket whose doorbells are mapped.
//!
//! Both are polled, by the same loop, in turns within one run: rounds of the two alternate. A round is the fastest of many short
//! stretches, so that other work of the machine takes no part in it; medians of rounds are compared.
//! Run it as `cargo run --release -p saker-vfio-user --example round_trips`.

use std::error::Error;
use std::time::Instant;

use saker::{AnyDevice, DeviceThread, DeviceUrl, build_device};
use saker_link::{Cqe, HostQueuePair, Sqe, offset};
use saker_nvme::admin::{CreateCq, CreateSq, build};
use saker_nvme::regs::Csts;
use saker_nvme::{Key, kv};
use saker_vfio_client::Function;
use saker_vfio_client::function::enabled;
use saker_vfio_user::{Served, Server};

const URL: &str = "mem:?size=64MiB&profile=tiny";
const ENTRIES: u32 = 64;
const ROUNDS: usize = 15;
/// Stretches of a round, and commands of each.
const STRETCHES: usize = 400;
const COMMANDS: u32 = 128;
/// Looks at a queue before the core is given away for a moment: somebody else may have taken that of the device.
const SPINS: u32 = 2_000;
/// Commands in flight of the pipelined rounds.
const DEPTH: u32 = 32;

fn main() -> Result<(), Box<dyn Error>> {
    for depth in [1, DEPTH] {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            times[0].push(here(depth)?);
            times[1].push(there(depth)?);
        }
        let [here, there] = times.map(median);
        let ratio = there / here;
        println!(
            "depth {depth:2}: in process {here:6.0} ns, by vfio-user {there:6.0} ns a command, ratio {ratio:.2}"
        );
    }
    Ok(())
}

/// A round at a device on a thread of this process. Nobody else polls meanwhile.
fn here(depth: u32) -> Result<f64, Box<dyn Error>> {
    let (thread, mut pair) = in_process()?;
    let time = round(&mut pair, depth);
    drop(thread.stop());
    Ok(time)
}

/// A round at a device behind a socket.
fn there(depth: u32) -> Result<f64, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("socket");
    let served =
        Served { url: URL.into(), socket: socket.clone(), nqn: None, busy_poll: true, memory_buffer: false };
    let server = Server::start(&[served])?;
    let mut function = Function::open(&socket, 256)?;
    function.enable()?;
    assert!(function.is_mapped(), "a server that polls lets its doorbells be mapped");
    let mut pair = function.create_pair(1, ENTRIES, false)?;
    let time = round(&mut pair, depth);
    drop((pair, function));
    server.stop()?;
    Ok(time)
}

/// Nanoseconds a command.
fn round(pair: &mut HostQueuePair, depth: u32) -> f64 {
    (0..STRETCHES).map(|_| stretch(pair, depth)).fold(f64::INFINITY, f64::min)
}

fn stretch(pair: &mut HostQueuePair, depth: u32) -> f64 {
    let key = Key::new(b"nobody").expect("six bytes");
    let exist = kv::exist(1, &key);
    let (mut submitted, mut completed, mut spins) = (0, 0, 0);
    let begun = Instant::now();
    while completed < COMMANDS {
        let before = submitted;
        while submitted < COMMANDS && submitted - completed < depth {
            pair.submit(&exist.with_cid(submitted as u16)).expect("there is room");
            submitted += 1;
        }
        if submitted > before {
            pair.ring();
        }
        let before = completed;
        while pair.poll().is_some() {
            completed += 1;
        }
        if completed > before {
            pair.ring_cq();
            spins = 0;
            continue;
        }
        spins += 1;
        if spins > SPINS {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
    begun.elapsed().as_nanos() as f64 / f64::from(COMMANDS)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A device on a thread of this process, and a queue pair to it.
fn in_process() -> Result<(DeviceThread, HostQueuePair), Box<dyn Error>> {
    let (device, host, _) = build_device(&DeviceUrl::parse(URL)?)?;
    assert!(matches!(device, AnyDevice::Untimed(_)), "the server's device is of this kind");
    let thread = DeviceThread::start(device);
    let mut admin = HostQueuePair::new(&host.space, &host.doorbells, 0, 32, 32)?;
    host.registers.store_u32(offset::AQA, 0x001F_001F)?;
    host.registers.store_u64(offset::ASQ, admin.sq_iova())?;
    host.registers.store_u64(offset::ACQ, admin.cq_iova())?;
    host.registers.store_u32(offset::CC, enabled().0)?;
    while !Csts(host.registers.load_u32(offset::CSTS)?).rdy() {}
    let pair = HostQueuePair::new(&host.space, &host.doorbells, 1, ENTRIES, ENTRIES)?;
    create(&mut admin, &pair);
    // Its memory and that of the pair are the device's as long as that lives.
    std::mem::forget(admin);
    Ok((thread, pair))
}

fn create(admin: &mut HostQueuePair, pair: &HostQueuePair) {
    let (qid, entries, contiguous) = (1, ENTRIES, true);
    let (interrupts_enabled, interrupt_vector) = (false, 0);
    let cq =
        CreateCq { qid, entries, contiguous, interrupts_enabled, interrupt_vector, base: pair.cq_iova() };
    let sq = CreateSq { qid, entries, contiguous, priority: 0, cqid: 1, base: pair.sq_iova() };
    for sqe in [build::create_cq(&cq), build::create_sq(&sq)] {
        let cqe = answered(admin, &sqe);
        assert!(cqe.status().is_success(), "{:?}", cqe.status());
    }
}

fn answered(admin: &mut HostQueuePair, sqe: &Sqe) -> Cqe {
    admin.submit(sqe).expect("there is room");
    admin.ring();
    loop {
        if let Some(cqe) = admin.poll() {
            admin.ring_cq();
            return cqe;
        }
    }
}

const _: () = assert!(DEPTH < ENTRIES);
