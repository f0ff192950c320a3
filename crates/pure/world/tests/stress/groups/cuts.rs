// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups in flight when power is cut or the process is killed: every operation that was reported counts, and what was not
//! reported is there wholly or not at all; over an engine whose groups are records the same for all operations of a group.

use super::{pack, small_with};
use crate::stress::cells::{self, Cell, KEYS, all, content};
use crate::stress::rig::{Machine, Rig, power_on};
use crate::stress::tier;
use saker_assembly::Build;
use saker_engine::EngineKind;
use saker_flash::{FaultPlan, PowerCut};
use saker_host::{Driver, Ticket};
use saker_long_keys::NarrowDigest;
use saker_nvme::Status;
use saker_nvme::group::results::ResultsReader;
use saker_nvme::group::{Form, Op};
use saker_segment_store::PowerHistory;
use saker_sim::{Chance, Rng, Seed};
use saker_world::Clocked;

type Timed = Rig<Clocked>;

/// A group in flight: the cells it writes with the version each then has, and those it reads.
struct Flight {
    ticket: Ticket,
    ops: Vec<(Op, usize, usize)>,
}

/// Every third key is too long for the engine: 17 to 50 bytes.
fn key(cell: usize) -> Vec<u8> {
    let mut key = cells::key(cell);
    if cell % 3 == 1 {
        key.resize(17 + cell % 34, b'+');
    }
    key
}

struct Run {
    seed: u64,
    rng: Rng,
    cells: Vec<Cell>,
    flights: Vec<Flight>,
    events: u64,
}

const IN_FLIGHT: usize = 3;

impl Run {
    fn new(seed: u64) -> Self {
        let rng = Seed(seed).child("groups").rng();
        Self { seed, rng, cells: all()[..KEYS].to_vec(), flights: Vec::new(), events: 0 }
    }

    /// A group of cells that no other group in flight names.
    fn submit(&mut self, rig: &mut Timed) {
        let forms = [Op::Store, Op::Store, Op::Store, Op::Delete, Op::Retrieve].map(Form::All);
        let form = forms.get(self.rng.below(6) as usize).copied().unwrap_or(Form::Mixed);
        let mut ops = Vec::new();
        for _ in 0..self.rng.below(9) + 1 {
            // Some are seldom written, so that collections find them alive.
            let cell = (0..4).map(|_| self.rng.below(KEYS as u64) as usize).min().expect("four of them");
            if self.cells[cell].busy {
                continue;
            }
            let op = match form {
                Form::All(op) => op,
                Form::Mixed => Op::from_number(self.rng.below(4) as u32 + 1).expect("a type"),
            };
            self.cells[cell].busy = true;
            let version = self.write(op, cell);
            ops.push((op, cell, version));
        }
        if ops.is_empty() {
            return;
        }
        let value = |cell: &usize, v: &usize| self.cells[*cell].versions[*v].clone().unwrap_or_default();
        let entries: Vec<_> = ops
            .iter()
            .map(|(op, cell, v)| (*op, key(*cell), if *op == Op::Store { value(cell, v) } else { vec![] }))
            .collect();
        let payload = pack(form, &entries);
        let ticket = rig.kv.group_both_ways(form, &payload, 16 << 10).expect("the queue is not full");
        self.flights.push(Flight { ticket, ops });
    }

    /// The version that the cell has once the operation is done.
    fn write(&mut self, op: Op, cell: usize) -> usize {
        let c = &mut self.cells[cell];
        match op {
            Op::Store => {
                let version = c.versions.len();
                let bytes = self.rng.below(520) as usize;
                c.versions.push(Some(content(self.seed, cell, version, bytes.max(8))));
            }
            Op::Delete => c.versions.push(None),
            Op::Retrieve | Op::Exist => return c.acked,
        }
        c.last()
    }

    /// Takes a completion: every operation must be answered as the model says.
    fn complete(&mut self, ticket: Ticket, status: Status, data: &[u8]) {
        let n = self.flights.iter().position(|f| f.ticket == ticket).expect("in flight");
        let flight = self.flights.remove(n);
        assert!(status.is_success(), "seed {}: {status}", self.seed);
        let mut results = ResultsReader::new(data).expect("results");
        for (op, cell, version) in flight.ops {
            let told = results.next().expect("one for each");
            let c = &mut self.cells[cell];
            let old = c.versions[c.acked].clone();
            let missing = op != Op::Store && old.is_none();
            assert_eq!(told.status.is(Status::KEY_DOES_NOT_EXIST), missing, "{op:?}");
            assert!(missing || told.status.is_success(), "seed {}: {}", self.seed, told.status);
            if op == Op::Retrieve && !missing {
                assert_eq!(told.value, old.as_deref());
            }
            c.acked = version;
            c.busy = false;
        }
    }

    fn poll(&mut self, rig: &mut Timed) {
        while let Some(polled) = rig.kv.poll(|d| (d.ticket, d.status, d.into_vec())) {
            let (ticket, status, data) = polled.expect("an answer to a command");
            self.complete(ticket, status, &data);
        }
    }
}

/// What a cut left: every reported operation, and of each group in flight all or nothing if it is `whole`. How many were left
/// in part.
fn check(run: &Run, rig: &mut Timed, whole: bool) -> usize {
    let mut versions = Vec::new();
    for (n, cell) in run.cells.iter().enumerate() {
        let found = get(rig, &key(n));
        match cell.judge(cell.acked, found.as_deref()) {
            Ok(version) => versions.push(version),
            Err(why) => panic!("seed {}, event {}, cell {n}: {why}", run.seed, run.events),
        }
    }
    let mut parts = 0;
    for flight in &run.flights {
        let writes = flight.ops.iter().filter(|(op, ..)| op.is_write());
        // A delete of what is not there leaves no trace to tell by.
        let visible = writes.filter(|(_, c, v)| run.cells[*c].versions[*v] != run.cells[*c].versions[v - 1]);
        let done: Vec<_> = visible.map(|(_, c, v)| versions[*c] == *v).collect();
        let is_part = done.iter().any(|d| *d != done[0]);
        assert!(!(whole && is_part), "event {}: half a group: {done:?}", run.events);
        parts += usize::from(is_part);
    }
    parts
}

fn get(rig: &mut Timed, key: &[u8]) -> Option<Vec<u8>> {
    let ticket = match saker_nvme::Key::new(key) {
        Ok(key) => rig.kv.retrieve(&key, 4096),
        Err(_) => rig.kv.retrieve_indirect(key, 4096),
    };
    let ticket = ticket.expect("room");
    let (status, _, _, data) = super::end(rig, ticket);
    assert!(status.is_success() || status.is(Status::KEY_DOES_NOT_EXIST), "{status}");
    status.is_success().then_some(data)
}

fn campaign(capacitor: bool, seed: u64, faults: FaultPlan, digest_bits: u32) {
    campaign_on(EngineKind::HASH_STORE, 3000, capacitor, seed, faults, digest_bits);
}

fn campaign_on(
    engine: EngineKind,
    groups_max: u64,
    capacitor: bool,
    seed: u64,
    faults: FaultPlan,
    digest_bits: u32,
) {
    let is_whole = [EngineKind::HASH_STORE, EngineKind::LSM, EngineKind::TREE].contains(&engine);
    let mut build = Build { faults: FaultPlan { seed, ..faults }, ..small_with(engine, capacitor, seed) };
    build.config.long_key_digest = NarrowDigest { bits: digest_bits };
    let (mut rig, mut run) = (Timed::new(&build), Run::new(seed));
    let (mut cuts, mut in_flight) = (0, 0);
    let (mut groups, mut parts) = (0, 0);
    let mut paused = 0;
    while groups < groups_max {
        // Background work has its turn when the medium is not busy with commands, so the host pauses now and then.
        if groups - paused > 60 && run.flights.is_empty() {
            rig.machine.rest();
            paused = groups;
        }
        while run.flights.len() < IN_FLIGHT && groups - paused <= 60 {
            run.submit(&mut rig);
            groups += 1;
        }
        rig.kv.ring();
        rig.machine.drive();
        run.events += 1;
        run.poll(&mut rig);
        if run.events.is_multiple_of(tier(41, 3)) {
            cuts += 1;
            in_flight += u64::from(!run.flights.is_empty());
            let device = &rig.machine.0;
            // Without a capacitor only a killed process keeps what no Flush covered.
            let (history, ring_kept) = if capacitor && cuts % 2 == 0 {
                (PowerHistory::Cut { ring_kept: true }, true)
            } else {
                (PowerHistory::Killed, true)
            };
            let cut = PowerCut { seed: Seed(seed).index(run.events).0, ring_kept };
            let (mut media, ring) = device.flash().cut(cut);
            media.set_history(history);
            parts += check(&run, &mut power_on(&build, media, &ring, |_| {}), is_whole);
        }
    }
    assert!(cuts > groups_max / 30 && in_flight > cuts / 2, "{cuts} cuts, {in_flight} with groups in flight");
    if !is_whole {
        assert!(parts > 0, "none of {cuts} cuts was inside a group");
        return;
    }
    let snapshot = rig.machine.0.stats();
    let store = snapshot.namespaces[0].store;
    if engine != EngineKind::HASH_STORE {
        let records = snapshot.namespaces[0].counters.iter().find(|(name, _)| *name == "group_records");
        assert!(records.is_some_and(|(_, n)| *n > groups_max / 4), "{engine:?}: {records:?}");
    }
    let copied = if engine == EngineKind::HASH_STORE { 20 } else { 0 };
    assert!(store.gc_records_copied > copied && store.checkpoints > 1, "{engine:?}: {store:?}");
}

#[test]
fn with_a_capacitor() {
    (0..tier(1, 10)).for_each(|seed| campaign(true, seed, FaultPlan::default(), 128));
}

#[test]
fn without_a_capacitor_when_killed() {
    (20..20 + tier(1, 10)).for_each(|seed| campaign(false, seed, FaultPlan::default(), 128));
}

#[test]
fn with_failing_programs() {
    let faults = FaultPlan { program: Chance::one_in(50), ..FaultPlan::default() };
    (40..40 + tier(1, 10)).for_each(|seed| campaign(true, seed, faults, 128));
}

/// All long keys share two envelopes: groups in flight change the same one.
#[test]
fn with_long_keys_that_collide() {
    let faults = FaultPlan { program: Chance::one_in(100), ..FaultPlan::default() };
    (60..60 + tier(1, 10)).for_each(|seed| campaign(true, seed, faults, 1));
}

/// The other engines, some of which carry groups out one by one: short keys and long ones, some of which collide.
#[test]
fn on_every_engine() {
    let faults = FaultPlan { program: Chance::one_in(100), ..FaultPlan::default() };
    for engine in EngineKind::ALL.iter().copied().filter(|e| *e != EngineKind::HASH_STORE) {
        for (seed, capacitor, bits) in [(80, true, 128), (81, false, 1)] {
            for seed in (0..tier(1, 10)).map(|n| seed + n * 2) {
                campaign_on(engine, tier(500, 3000), capacitor, seed, faults, bits);
            }
        }
    }
}
