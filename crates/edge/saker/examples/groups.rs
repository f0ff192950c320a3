// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How fast groups are on this machine, timing `off`: keys of 8 bytes, values of 20, 64 pairs a command, depth 8.
//!
//! `cargo run --release -p saker --example groups -- [PAIRS] [PHASES]` (default 16,000,000 pairs and the phases
//! `queue,bare,ready,thread,bare-ready,single`). `queue`: host, queue pair, device, hash store; `bare`: the same payloads packed,
//! parsed and given to a hash store of the same kind in one loop, without host, queue or device. `ready` and `bare-ready`: the
//! same where the store is told how many pairs will come (`prefault`); `thread`: so, with a thread of its own for the device.
//! `single`: one command a pair. On a shared machine times say little; count instructions of a phase with `valgrind
//! --tool=callgrind`.

use saker::Kv;
use saker_assembly::Build;
use saker_device::Quick;
use saker_engine::{
    Answers, Context, Engine, GroupOp, GroupSource, Groups, HashStore, HashStoreConfig, Hints, Job, KvError,
    Member, SourceError, Version,
};
use saker_flash::{Cells, Flash};
use saker_host::group::{Form, Op};
use saker_nvme::group::{Malformed, Packer, parse, parse_mut};
use saker_profile::Profile;
use saker_segment_store::{SegmentStore, Step};
use saker_sim::{Class, Free};
use std::time::Instant;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const PAIRS: u64 = 64;
const DEPTH: usize = 8;
const VALUE: [u8; 20] = [7; 20];

fn key(n: u64) -> [u8; 8] {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

fn report(what: &str, pairs: u64, begun: Instant) -> f64 {
    let rate = pairs as f64 / begun.elapsed().as_secs_f64() / 1e6;
    println!("{what}: {rate:.2} M pairs/s");
    rate
}

fn queue(pairs: u64, what: &str, url: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let mut kv = Kv::open(url)?;
    let client = kv.client();
    let begun = Instant::now();
    let mut next = 0;
    while next < pairs || client.queue_mut().in_flight() > 0 {
        let queue = client.queue_mut();
        while next < pairs && queue.in_flight() < DEPTH {
            let mut group = queue.open_group(Form::All(Op::Store))?;
            for n in next..next + PAIRS {
                group.push(Op::Store, &key(n), &VALUE)?;
            }
            queue.send_group(group, None)?;
            next += PAIRS;
        }
        queue.ring();
        saker_host::Driver::drive(client.driver_mut());
        while let Some(polled) = client.queue_mut().poll(|done| (done.status, done.result)) {
            let (status, failed) = polled?;
            assert!(status.is_success() && failed == 0, "{status}");
        }
    }
    let rate = report(what, pairs, begun);
    assert_eq!(kv.get(&key(pairs - 1))?.as_deref(), Some(&VALUE[..]));
    Ok(rate)
}

fn single(pairs: u64) -> Outcome {
    let mut kv = Kv::open("mem:?size=4GiB")?;
    let begun = Instant::now();
    for n in 0..pairs {
        kv.put_queued(&key(n), &VALUE)?;
    }
    kv.drain()?;
    report("single", pairs, begun);
    Ok(())
}

struct Packed<'a>(&'a [u8]);

impl GroupSource for Packed<'_> {
    type Malformed = Malformed;
    fn bytes(&self) -> u32 {
        self.0.len() as u32
    }
    fn lead_bytes(&self) -> u32 {
        0
    }
    fn only_writes(&self) -> bool {
        true
    }
    fn only_stores(&self) -> bool {
        true
    }
    fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        out.copy_from_slice(self.0);
        Ok(())
    }
    fn staged(&mut self) -> Result<&[u8], SourceError> {
        Ok(self.0)
    }
    fn parse(&self, payload: &[u8], visit: &mut impl FnMut(Member)) -> Result<(), Malformed> {
        let store = |e: saker_nvme::group::Entry| {
            visit(Member { op: GroupOp::Store, key: e.key, value: e.value });
        };
        parse(Form::All(Op::Store), payload, store).map(|_| ())
    }
    fn parse_mut(
        &self,
        payload: &mut [u8],
        visit: &mut impl FnMut(Member, &mut [u8]),
    ) -> Result<(), Malformed> {
        let store = |e: saker_nvme::group::Entry, bytes: &mut [u8]| {
            visit(Member { op: GroupOp::Store, key: e.key, value: e.value }, bytes);
        };
        parse_mut(Form::All(Op::Store), payload, store).map(|_| ())
    }
}

struct Count(u32);

impl Answers for Count {
    fn begin(&mut self, _: u32, _: Version) {}
    fn done(&mut self, result: Result<(), KvError>) {
        self.0 += u32::from(result.is_ok());
    }
    fn found(&mut self, _: u32) -> bool {
        false
    }
    fn value(&mut self, _: &[u8]) {}
}

fn bare(pairs: u64, is_told: bool) -> Result<f64, Box<dyn std::error::Error>> {
    let build = Build::kv(&Profile::builtin("default")?, 4 << 30, 1)?;
    let mut flash: Flash = build.flash_untimed();
    let g = build.shape.geometry;
    flash.pool_mut().set_quota(1, g.segments);
    let config = HashStoreConfig::new(1, &g, g.segments, true);
    let mut store = HashStore::new(config, &flash.view(1, Class::Foreground));
    if is_told {
        flash.media_mut().bring_in();
        store.reserve(pairs);
    }
    let mut buffer = vec![0; 4096];
    let begun = Instant::now();
    for first in (0..pairs).step_by(PAIRS as usize) {
        let mut packer = Packer::new(Form::All(Op::Store), &mut buffer).ok_or("no room")?;
        for n in first..first + PAIRS {
            packer.push(Op::Store, &key(n), &VALUE)?;
        }
        let bytes = packer.finish();
        let mut done = Count(0);
        let view = &mut flash.view(1, Class::Foreground);
        let step = store.group(&mut Packed(&buffer[..bytes]), &mut done, &mut Context::new(view, &mut Quick));
        assert!(matches!(step, Step::Done(Ok(()))) && u64::from(done.0) == PAIRS);
        while let Some((_, completion)) = flash.take_completion() {
            store.completed(&completion, &mut flash.view(1, Class::Background));
        }
        let view = &mut flash.view(1, Class::Background);
        if store.job(view).is_some() {
            let finished = view.finished();
            let _ = store.background(Job::UPKEEP, finished, &mut Context::new(view, &mut Free));
        }
        debug_assert!(flash.view(1, Class::Background).free_segments() > 0);
    }
    Ok(report(if is_told { "bare-ready" } else { "bare" }, pairs, begun))
}

fn tell(what: &str, rate: Option<f64>, bare: Option<f64>) {
    if let (Some(rate), Some(bare)) = (rate, bare) {
        println!("{what}: {:.0} %", 100.0 * rate / bare);
    }
}

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let pairs: u64 = arguments.next().map_or(Ok(16_000_000), |n| n.parse())?;
    let pairs = pairs.next_multiple_of(PAIRS);
    let phases = arguments.next().unwrap_or("queue,bare,ready,thread,bare-ready,single".into());
    let has = |name| phases.split(',').any(|p| p == name);
    let through_queue = if has("queue") { Some(queue(pairs, "queue", "mem:?size=4GiB")?) } else { None };
    let without = if has("bare") { Some(bare(pairs, false)?) } else { None };
    tell("queue/bare", through_queue, without);
    let told = format!("mem:?size=4GiB&prefault={pairs}");
    let ready = if has("ready") { Some(queue(pairs, "ready", &told)?) } else { None };
    let thread =
        if has("thread") { Some(queue(pairs, "thread", &format!("{told}&threads=1"))?) } else { None };
    let without = if has("bare-ready") { Some(bare(pairs, true)?) } else { None };
    tell("ready/bare-ready", ready, without);
    tell("thread/bare-ready", thread, without);
    if has("single") {
        single(pairs)?;
    }
    Ok(())
}
