// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Power is cut at events of the device while transactions are carried out: what is found is before or behind a transaction, or it is torn.

use super::super::key;
use super::Parameters;
use super::driver::{Collected, KvCeph, Way};
use crate::error::LabError;
use crate::rig::{DEPTH, Serial, connect};
use saker_assembly::Build;
use saker_device::EngineKind;
use saker_host::{Driver, KvClient};
use saker_profile::Profile;
use saker_sim::Seed;
use saker_world::Clocked;
use std::collections::BTreeMap;

/// Flash of a device that is cut.
const FLASH_BYTES: u64 = 512 << 20;

/// One way on one device.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    pub plan: &'a Parameters,
    pub profile: &'a Profile,
    pub engine: EngineKind,
    pub way: Way,
    pub pairs: u32,
    /// Cuts, evenly spread over the events.
    pub cuts: u64,
    pub seed: u64,
}

/// States that cuts left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All that were judged.
    pub states: u64,
    /// Neither before nor behind the transaction in flight, or without an acknowledged one; once the driver has recovered.
    pub torn: u64,
    /// Those that were torn before the driver recovered.
    pub torn_before: u64,
}

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

impl Run<'_> {
    /// Cuts power so many times.
    ///
    /// # Errors
    /// What a device refuses.
    pub fn cut(&self) -> Result<Tally, LabError> {
        let (turns, _) = self.carry_out(u64::MAX)?;
        let every = (turns / self.cuts.max(1)).max(1);
        Ok(self.carry_out(every)?.1)
    }

    /// How many turns the device had, and what cuts left.
    fn carry_out(&self, every: u64) -> Result<(u64, Tally), LabError> {
        let build = Build::kv(self.profile, FLASH_BYTES, self.seed)?.with_engine(self.engine);
        let host = build.attach(2, DEPTH);
        let driver = Watched {
            device: Clocked(build.timed(host.clone())),
            run: self,
            build,
            every,
            turns: 0,
            states: None,
            tally: Tally::default(),
            failed: None,
        };
        let (mut client, _connection) = connect(&host, driver)?;
        let mut before = Pairs::new();
        for n in 0..self.plan.cut_transactions {
            let writes = self.transaction(n);
            let behind = applied(&before, &writes);
            client.driver_mut().states = Some((before, behind.clone()));
            KvCeph::new(&mut client, self.way, self.is_volatile()).submit(&writes)?;
            before = behind;
        }
        // All of them are acknowledged.
        client.driver_mut().states = Some((before.clone(), before));
        let watched = client.driver_mut();
        watched.judge();
        watched.failed.take().map_or(Ok((watched.turns, watched.tally)), Err)
    }

    fn is_volatile(&self) -> bool {
        !self.profile.power.capacitor.get()
    }

    /// Half of its keys are those of the one before, of which it removes one.
    fn transaction(&self, n: u32) -> Collected {
        let step = self.pairs.div_ceil(2);
        let name = |place| key(place, self.plan.key_bytes);
        let value = |place: u32| vec![(n * 31 + place + 1) as u8; self.plan.value_bytes];
        let first = n * step;
        let mut writes: Collected =
            (first..first + self.pairs).map(|place| (name(place), Some(value(place)))).collect();
        if n > 0 {
            writes.push((name(first - step), None));
        }
        writes
    }

    fn found<T: Driver>(&self, client: &mut KvClient<T>) -> Result<Pairs, LabError> {
        let all = self.plan.cut_transactions * self.pairs.div_ceil(2) + self.pairs;
        let mut pairs = Pairs::new();
        for place in 0..all {
            let key = key(place, self.plan.key_bytes);
            if let Some(value) = client.get_indirect(&key)? {
                pairs.insert(key, value);
            }
        }
        Ok(pairs)
    }
}

fn applied(pairs: &Pairs, writes: &Collected) -> Pairs {
    let mut pairs = pairs.clone();
    for (key, value) in writes {
        match value {
            Some(value) => _ = pairs.insert(key.clone(), value.clone()),
            None => _ = pairs.remove(key),
        }
    }
    pairs
}

/// A device that is cut every so many turns, and goes on.
struct Watched<'a> {
    device: Clocked,
    run: &'a Run<'a>,
    build: Build,
    every: u64,
    turns: u64,
    /// The pairs before the transaction in flight, and behind it.
    states: Option<(Pairs, Pairs)>,
    tally: Tally,
    failed: Option<LabError>,
}

impl Driver for Watched<'_> {
    fn drive(&mut self) {
        self.device.drive();
        if self.states.is_some() {
            self.turns += 1;
            if self.turns.is_multiple_of(self.every) {
                self.judge();
            }
        }
    }
}

impl Watched<'_> {
    fn judge(&mut self) {
        let Some((before, behind)) = &self.states else { return };
        match self.left(before, behind) {
            Ok((torn_before, torn)) => {
                self.tally.states += 1;
                self.tally.torn_before += u64::from(torn_before);
                self.tally.torn += u64::from(torn);
            }
            Err(e) => self.failed = Some(e),
        }
    }

    /// Whether what a cut leaves now is torn, and whether it is once the driver has recovered, in a recovery that is cut itself.
    fn left(&self, before: &Pairs, behind: &Pairs) -> Result<(bool, bool), LabError> {
        let run = self.run;
        let seed = Seed(run.seed).index(self.turns).0;
        let mut left = Serial::left_by(self.build.clone(), &self.device.0, seed)?;
        let is_torn = |pairs: &Pairs| pairs != before && pairs != behind;
        let torn_before = is_torn(&run.found(&mut left.client)?);
        KvCeph::new(&mut left.client, run.way, run.is_volatile()).recover()?;
        let mut again = left.after_cut(seed.rotate_left(1))?;
        KvCeph::new(&mut again.client, run.way, run.is_volatile()).recover()?;
        Ok((torn_before, is_torn(&run.found(&mut again.client)?)))
    }
}
