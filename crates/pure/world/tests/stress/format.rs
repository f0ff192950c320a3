// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Power is cut, and the process killed, at every event of a Format and of the recovery from that: a namespace holds all it
//! held, or nothing, the other one all it held; and once nothing is left, nothing ever comes back.

use crate::stress::power::End;
use crate::stress::rig::{self, BLOCK, BLOCK_BYTES, KV, Rig, power_on};
use crate::stress::tier;
use saker_assembly::Build;
use saker_device::{Device, EngineKind, Timed};
use saker_flash::{FaultPlan, MemCells};
use saker_host::{Driver, RawData};
use saker_nvme::admin::{FormatNvm, build};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::nvm::{self, BlockRange};
use saker_nvme::{Key, NSID_ALL, Status};
use saker_segment_store::PageBuffer;
use saker_sim::Chance;
use saker_world::Clocked;

type Machine = Clocked;
type Left = (MemCells, PageBuffer);

const PAIRS: u8 = 24;
const BLOCKS: u32 = 32;
/// Stores on their way when the Format comes: executed before it, or refused.
const IN_FLIGHT: u8 = 6;
const VALUE_BYTES: usize = 700;

/// The device, and who wants to see it after each event.
struct Watched<'a, F> {
    machine: &'a mut Machine,
    see: F,
}

impl<F: FnMut(&Device<Timed>)> Driver for Watched<'_, F> {
    fn drive(&mut self) {
        let device = &mut self.machine.0;
        device.advance(device.now());
        (self.see)(device);
        if let Some(at) = device.next_deadline() {
            device.step(at);
            (self.see)(device);
        }
    }
}

fn key(n: u8) -> Key {
    Key::new(&[n, 7, n]).expect("three bytes")
}

fn put(rig: &mut Rig<Machine>, n: u8, version: u8) {
    let sqe = kv::store(KV, &key(n), VALUE_BYTES as u32, StoreOptions::NONE);
    let answer = rig.call(KV, sqe, RawData::ToDevice(&[version; VALUE_BYTES]));
    assert!(answer.status.is_success(), "{answer:?}");
}

fn write_blocks(rig: &mut Rig<Machine>, version: u8) {
    for first in (0..BLOCKS).step_by(8) {
        let range = BlockRange { slba: first.into(), blocks: 8 };
        let data = vec![version; 8 * BLOCK_BYTES as usize];
        let answer =
            rig.call(BLOCK, nvm::write(BLOCK, range, true).expect("8 blocks"), RawData::ToDevice(&data));
        assert!(answer.status.is_success(), "{answer:?}");
    }
}

fn flush(rig: &mut Rig<Machine>) {
    let answer = rig.call(KV, kv::flush(KV), RawData::Untouched);
    assert!(answer.status.is_success(), "{answer:?}");
}

/// What a namespace holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    /// The version of each pair or block.
    All(Vec<u8>),
    Mixture(Vec<Option<u8>>),
}

impl Held {
    fn of(versions: Vec<Option<u8>>) -> Self {
        if versions.iter().all(Option::is_none) {
            return Self::Nothing;
        }
        let all: Option<Vec<u8>> = versions.iter().copied().collect();
        all.map_or(Self::Mixture(versions), Self::All)
    }
}

fn pairs(rig: &mut Rig<Machine>) -> Held {
    let get = |n| {
        let answer = rig.call(KV, kv::retrieve(KV, &key(n), 1024), RawData::FromDevice(1024));
        if answer.status.is(Status::KEY_DOES_NOT_EXIST) {
            return None;
        }
        assert!(answer.status.is_success() && answer.dw0 as usize == VALUE_BYTES, "{answer:?}");
        let data = &answer.data[..VALUE_BYTES];
        assert!(data.iter().all(|b| *b == data[0]), "a torn value");
        Some(data[0])
    };
    Held::of((0..PAIRS).map(get).collect())
}

fn blocks(rig: &mut Rig<Machine>) -> Held {
    let get = |n| {
        let sqe = nvm::read(BLOCK, BlockRange { slba: u64::from(n), blocks: 1 }, false).expect("a block");
        let answer = rig.call(BLOCK, sqe, RawData::FromDevice(BLOCK_BYTES));
        assert!(answer.status.is_success(), "{answer:?}");
        let data = &answer.data[..BLOCK_BYTES as usize];
        assert!(data.iter().all(|b| *b == data[0]), "a torn block");
        (data[0] != 0).then_some(data[0])
    };
    Held::of((0..BLOCKS).map(get).collect())
}

/// Pairs of two versions, the second one not flushed, a block namespace, and stores on their way.
fn prepare(build: &Build) -> Rig<Machine> {
    let mut rig = Rig::<Machine>::new(build);
    for round in 1..=4 {
        (0..PAIRS).for_each(|n| put(&mut rig, n, round));
    }
    write_blocks(&mut rig, 5);
    flush(&mut rig);
    (0..PAIRS / 2).for_each(|n| put(&mut rig, n, 6));
    for n in 100..100 + IN_FLIGHT {
        let sqe = kv::store(KV, &key(n), VALUE_BYTES as u32, StoreOptions::NONE);
        rig.kv.raw(sqe, RawData::ToDevice(&[9; VALUE_BYTES])).expect("the queue has room");
    }
    rig.kv.ring();
    rig
}

/// What a cut leaves after each `stride`th event of a Format, and how many events it had.
fn format(rig: &mut Rig<Machine>, build: &Build, nsid: u32, end: End, stride: u64) -> (Vec<Left>, u64) {
    let (mut lefts, mut events) = (Vec::new(), 0);
    let see = |device: &Device<Timed>| {
        events += 1;
        if events % stride == 0 {
            lefts.push(end.leaves(build, device, events));
        }
    };
    let command = FormatNvm { nsid, format_index: 0, secure_erase: 0 };
    let mut watched = Watched { machine: &mut rig.machine, see };
    let (status, ..) =
        rig.connection.raw_admin(&mut watched, build::format_nvm(&command), 0).expect("an answer");
    assert!(status.is_success(), "{status:?}");
    let mut answered = 0;
    while answered < IN_FLIGHT {
        answered += u8::from(rig.kv.poll(|done| done.status.is_success()).is_some());
        rig.machine.drive();
    }
    (lefts, events)
}

struct Campaign<'a> {
    build: &'a Build,
    nsid: u32,
    what: String,
    /// After how many cuts everything was left, and nothing.
    whole: u32,
    gone: u32,
    seconds: u32,
}

impl Campaign<'_> {
    /// Whether a namespace that was formatted is empty; panics at anything but all or nothing.
    fn judge(&mut self, rig: &mut Rig<Machine>, at: &str) -> bool {
        let (pairs, blocks) = (pairs(rig), blocks(rig));
        let is_kv_whole = |pairs: &Held| match pairs {
            // Without a capacitor a cut brings back what the Flush covered, or newer.
            Held::All(versions) => (0..).zip(versions).all(|(n, v)| *v == 4 || (*v == 6 && n < PAIRS / 2)),
            _ => false,
        };
        let is_block_whole = blocks == Held::All(vec![5; BLOCKS as usize]);
        let what = format!("{}, {at}: {pairs:?}, {blocks:?}", self.what);
        match self.nsid {
            KV => {
                assert!(is_block_whole, "{what}: the other namespace");
                assert!(pairs == Held::Nothing || is_kv_whole(&pairs), "{what}");
                pairs == Held::Nothing
            }
            BLOCK => {
                assert!(is_kv_whole(&pairs), "{what}: the other namespace");
                assert!(blocks == Held::Nothing || is_block_whole, "{what}");
                blocks == Held::Nothing
            }
            _ => {
                // One command, one moment: both are there, or none.
                let (gone, whole) = ((Held::Nothing, Held::Nothing), is_kv_whole(&pairs) && is_block_whole);
                assert!(whole || (pairs, blocks) == gone, "{what}");
                !whole
            }
        }
    }

    /// Power comes back, `again` is cut in its recovery, and comes back again.
    fn recover(&mut self, left: Left, at: u64, again: bool) -> bool {
        let (media, ring) = left;
        let (mut seconds, mut step) = (Vec::new(), 0);
        let mut rig = power_on(self.build, media, &ring, |device| {
            step += 1;
            if again && step % tier(7, 1) == 0 {
                let end = if step % 2 == 0 { End::Cut } else { End::Killed };
                seconds.push((step, end.leaves(self.build, device, step)));
            }
        });
        let gone = self.judge(&mut rig, &format!("event {at}"));
        for (step, (media, ring)) in seconds {
            self.seconds += 1;
            let mut rig = power_on(self.build, media, &ring, |_| {});
            let gone_too = self.judge(&mut rig, &format!("event {at}, then {step} of the recovery"));
            assert!(gone_too || !gone, "{}: event {at}, then {step}: it is back", self.what);
        }
        gone
    }
}

fn campaign(engine: EngineKind, capacitor: bool, end: End, nsid: u32, faults: FaultPlan) {
    let build = Build { faults, ..rig::small_with(engine, capacitor, 3) };
    let what = format!("{engine:?}, capacitor {capacitor}, {end:?}, namespace {nsid:#x}");
    let mut rig = prepare(&build);
    let (lefts, events) = format(&mut rig, &build, nsid, end, tier(3, 1));
    let mut all = Campaign { build: &build, nsid, what, whole: 0, gone: 0, seconds: 0 };
    for (n, left) in lefts.into_iter().enumerate() {
        let gone = all.recover(left, n as u64, n % tier(9, 3) == 1);
        assert!(gone || all.gone == 0, "{}: event {n}: what was gone is back", all.what);
        *(if gone { &mut all.gone } else { &mut all.whole }) += 1;
    }
    assert!(all.judge(&mut rig, "when it was answered"), "{}", all.what);
    let gone = all.recover(end.leaves(&build, &rig.machine.0, 1), events, true);
    assert!(gone, "{}: what was acknowledged is undone", all.what);
    println!(
        "{}: {events} events, {} times all, {} nothing, {} cut again",
        all.what, all.whole, all.gone, all.seconds
    );
    assert!(all.gone > 3 && all.seconds > 3, "{} times nothing was left", all.gone);
    takes_new_content(rig, &build, end);
}

/// What is stored and flushed after the Format stays.
fn takes_new_content(mut rig: Rig<Machine>, build: &Build, end: End) {
    (0..PAIRS).for_each(|n| put(&mut rig, n, 8));
    write_blocks(&mut rig, 8);
    flush(&mut rig);
    let (media, ring) = end.leaves(build, &rig.machine.0, 2);
    let mut rig = power_on(build, media, &ring, |_| {});
    assert_eq!(pairs(&mut rig), Held::All(vec![8; PAIRS.into()]));
    assert_eq!(blocks(&mut rig), Held::All(vec![8; BLOCKS as usize]));
}

#[test]
fn a_cut_at_any_event_leaves_all_or_nothing() {
    for engine in EngineKind::ALL {
        campaign(*engine, true, End::Cut, KV, FaultPlan::default());
        campaign(*engine, false, End::Cut, KV, FaultPlan::default());
    }
}

#[test]
fn a_kill_at_any_event_leaves_all_or_nothing() {
    for engine in EngineKind::ALL {
        campaign(*engine, true, End::Killed, KV, FaultPlan::default());
        campaign(*engine, false, End::Killed, KV, FaultPlan::default());
    }
}

#[test]
fn blocks_and_all_namespaces_at_once() {
    for (engine, nsid) in
        [(EngineKind::HASH_STORE, BLOCK), (EngineKind::HASH_PLUS, NSID_ALL), (EngineKind::LSM, NSID_ALL)]
    {
        for capacitor in [true, false] {
            campaign(engine, capacitor, End::Cut, nsid, FaultPlan::default());
        }
        campaign(engine, true, End::Killed, nsid, FaultPlan::default());
    }
}

#[test]
fn erases_that_fail_leave_all_or_nothing() {
    let faults = FaultPlan { seed: 1, erase: Chance::one_in(3), ..FaultPlan::default() };
    for engine in EngineKind::ALL {
        let build = Build { faults, ..rig::small_with(*engine, true, 3) };
        let mut rig = prepare(&build);
        let (lefts, _) = format(&mut rig, &build, KV, End::Cut, tier(5, 1));
        let what = format!("{engine:?} with erases that fail");
        // Power comes back to a device that can erase.
        let build = Build { faults: FaultPlan::default(), ..build };
        let mut all = Campaign { build: &build, nsid: KV, what, whole: 0, gone: 0, seconds: 0 };
        for (n, left) in lefts.into_iter().enumerate() {
            all.recover(left, n as u64, false);
        }
        assert!(all.judge(&mut rig, "when it was answered"));
        assert!(all.recover(End::Cut.leaves(&build, &rig.machine.0, 1), 0, false), "{engine:?}: it is back");
    }
}
