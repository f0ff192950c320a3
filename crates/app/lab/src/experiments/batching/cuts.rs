// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a power cut takes of acknowledged pairs, and which batches it tears.

use super::{FLASH_BYTES, Parameters};
use crate::context::Context;
use crate::error::LabError;
use crate::report::Point;
use crate::rig::{DEPTH, Serial, connect, queue};
use saker_assembly::Build;
use saker_device::{Attachment, EngineKind};
use saker_host::group::{Form, Op};
use saker_host::session::{Hub, Options, Session, SyncError};
use saker_host::{BulkBuffer, Driver, HostError, KvClient, Patience};
use saker_nvme::Key;
use saker_nvme::group::{Ask, ToAsk};
use saker_profile::Profile;
use saker_sim::Seed;
use saker_world::Clocked;
use serde_json::json;
use std::sync::Arc;

/// How pairs are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    Single,
    Container,
    Synced,
    Group,
    Transaction,
    Bulk,
}

impl Ack {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Single, "singles"),
        (Self::Container, "containers"),
        (Self::Synced, "synced containers"),
        (Self::Group, "groups"),
        (Self::Transaction, "transactions"),
        (Self::Bulk, "bulk put"),
    ];
}

/// What cuts came to.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    pub ack: Ack,
    pub engine: EngineKind,
    pub batch: u32,
    /// States that were judged.
    pub states: u64,
    /// Most acknowledged pairs that one cut took.
    pub lost_max: u32,
    /// States with a batch of which a part is there.
    pub torn: u64,
}

/// Cuts each way with every engine.
pub fn all(cx: &Context<'_>, plan: &Parameters, series: &mut Vec<Point>) -> Result<Vec<Tally>, LabError> {
    let profile = cx.profile()?;
    let mut tallies = Vec::new();
    let asked = cx.operations(1).min(u64::from(plan.cut_pairs));
    let every = u64::from(plan.cut_pairs) / asked;
    for engine in EngineKind::ALL.iter().copied() {
        cx.note(format!("cuts with {}", engine.name()));
        for batch in plan.cut_batches.iter().copied() {
            // A scaled run has fewer pairs, but no fewer than two batches.
            let pairs = (asked as u32).max(2 * batch);
            for (ack, name) in Ack::ALL {
                let run = Run { plan, profile: &profile, engine, ack, batch, pairs, every, seed: cx.seed };
                let tally = run.cut()?;
                series.push(point(name, &tally));
                tallies.push(tally);
            }
        }
    }
    Ok(tallies)
}

fn point(name: &str, tally: &Tally) -> Point {
    let mut point = Point::at([
        ("cut_way", json!(name)),
        ("engine", json!(tally.engine.name())),
        ("batch", json!(tally.batch)),
    ]);
    point.add("cut_states", tally.states as f64);
    point.add("lost_pairs_max", f64::from(tally.lost_max));
    point.add("torn_states", tally.torn as f64);
    point
}

struct Run<'a> {
    plan: &'a Parameters,
    profile: &'a Profile,
    engine: EngineKind,
    ack: Ack,
    batch: u32,
    pairs: u32,
    /// Of so many places to cut at one is.
    every: u64,
    seed: u64,
}

impl Run<'_> {
    fn cut(&self) -> Result<Tally, LabError> {
        let build = Build::kv(self.profile, FLASH_BYTES, self.seed)?.with_engine(self.engine);
        let host = build.attach(2, DEPTH);
        let tally =
            Tally { ack: self.ack, engine: self.engine, batch: self.batch, states: 0, lost_max: 0, torn: 0 };
        let driver = Watched {
            device: Clocked(build.timed(host.clone())),
            run: self,
            build,
            turns: 0,
            acknowledged: None,
            tally,
            failed: None,
        };
        match self.ack {
            Ack::Container | Ack::Synced => self.by_session(&host, driver),
            _ => self.by_client(&host, driver),
        }
    }

    fn options(&self) -> Options {
        let volatile = !self.profile.power.capacitor.get();
        Options { batch: self.batch as u16, volatile, ..Options::default() }
    }

    fn by_client(&self, host: &Attachment, driver: Watched<'_>) -> Result<Tally, LabError> {
        let (mut client, _connection) = connect(host, driver)?;
        client.driver_mut().acknowledged = Some(0);
        let mut buffer = BulkBuffer::new(self.batch);
        let mut gathered = Vec::new();
        for n in 0..self.pairs {
            let (key, value) = self.pair(n)?;
            match self.ack {
                Ack::Bulk => client.bulk_put(&mut buffer, &key, &value)?,
                Ack::Single => client.put(&key, &value)?,
                _ => {
                    gathered.push((key, value));
                    if gathered.len() < self.batch as usize {
                        continue;
                    }
                    self.together(&mut client, &std::mem::take(&mut gathered))?;
                }
            }
            client.driver_mut().acknowledge(n + 1);
        }
        client.driver_mut().ended()
    }

    fn together<T: Driver>(
        &self,
        client: &mut KvClient<T>,
        pairs: &[(Key, Vec<u8>)],
    ) -> Result<(), LabError> {
        if self.ack == Ack::Transaction {
            let entries: Vec<ToAsk<'_>> =
                pairs.iter().map(|(key, value)| (Ask::Op(Op::Store), key.as_bytes(), &value[..])).collect();
            client.transaction(&entries)?.map_err(|refused| HostError::from(refused.status))?;
            return Ok(());
        }
        let mut group = client.begin(Form::All(Op::Store));
        for (key, value) in pairs {
            group.store(key, value)?;
        }
        Ok(group.commit()?.into_iter().try_for_each(|outcome| outcome.map(drop))?)
    }

    fn by_session(&self, host: &Attachment, mut driver: Watched<'_>) -> Result<Tally, LabError> {
        let queue = queue(host, &mut driver)?;
        driver.acknowledged = Some(0);
        let hub = Arc::new(Hub::new(vec![queue], self.options()));
        let patience = Patience { polls_max: 1_000_000 };
        let mut session = Session::new(hub, (0, 0), driver, 1 << 20, patience);
        for n in 0..self.pairs {
            let (key, value) = self.pair(n)?;
            session.put(&key, &value)?;
            let is_full = (n + 1).is_multiple_of(self.batch);
            if self.ack == Ack::Container {
                session.driver_mut().acknowledge(n + 1);
            } else if is_full {
                session.sync().map_err(unsynced)?;
                session.driver_mut().acknowledge(n + 1);
            }
        }
        session.driver_mut().ended()
    }

    fn pair(&self, n: u32) -> Result<(Key, Vec<u8>), LabError> {
        let mut key = n.to_be_bytes().to_vec();
        key.resize(self.plan.key_bytes, 7);
        Ok((Key::new(&key).map_err(HostError::from)?, vec![n as u8 + 1; self.plan.cut_value_bytes]))
    }
}

fn unsynced(error: SyncError) -> LabError {
    match error {
        SyncError::Unknown(error) => error.into(),
        SyncError::Failed(failed) => LabError::Missing(format!("{} synced writes", failed.len())),
    }
}

/// A device that is cut every so many turns and whenever a pair was acknowledged, and goes on.
struct Watched<'a> {
    device: Clocked,
    run: &'a Run<'a>,
    build: Build,
    turns: u64,
    /// Pairs so far; `None`: the run has not begun.
    acknowledged: Option<u32>,
    tally: Tally,
    failed: Option<LabError>,
}

impl Driver for Watched<'_> {
    fn drive(&mut self) {
        self.device.drive();
        if let Some(acknowledged) = self.acknowledged {
            self.turns += 1;
            if self.turns.is_multiple_of(self.run.plan.cut_turns * self.run.every) {
                self.judge(acknowledged);
            }
        }
    }
}

impl Watched<'_> {
    fn acknowledge(&mut self, pairs: u32) {
        self.acknowledged = Some(pairs);
        if u64::from(pairs).is_multiple_of(self.run.every) || pairs == self.run.pairs {
            self.judge(pairs);
        }
    }

    fn judge(&mut self, acknowledged: u32) {
        match self.left() {
            Ok(there) => {
                let lost = there.iter().take(acknowledged as usize).filter(|is_there| !**is_there).count();
                let is_torn = |batch: &[bool]| batch.iter().any(|is_there| *is_there != batch[0]);
                let torn = there.chunks(self.run.batch as usize).any(is_torn);
                self.tally.states += 1;
                self.tally.lost_max = self.tally.lost_max.max(lost as u32);
                self.tally.torn += u64::from(torn);
            }
            Err(e) => self.failed = Some(e),
        }
    }

    /// Which pairs a cut leaves now.
    fn left(&self) -> Result<Vec<bool>, LabError> {
        let seed = Seed(self.run.seed).index(self.turns).0;
        let mut left = Serial::left_by(self.build.clone(), &self.device.0, seed)?;
        let pairs = (0..self.run.pairs).map(|n| self.run.pair(n)).collect::<Result<Vec<_>, _>>()?;
        let keys: Vec<Key> = pairs.iter().map(|(key, _)| *key).collect();
        let found = left.client.multi_get(&keys)?;
        Ok(found.iter().zip(&pairs).map(|(found, (_, value))| found.as_ref() == Some(value)).collect())
    }

    fn ended(&mut self) -> Result<Tally, LabError> {
        self.failed.take().map_or(Ok(self.tally), Err)
    }
}
