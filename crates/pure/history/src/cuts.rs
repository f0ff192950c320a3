// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories that end in a power cut: what went before, and what recovery finds.

use super::bare::Bare;
use super::device::{DiskKv, attachment};
use super::script::{self, Step};
use super::small::Setup;
use super::tale::{MediaOps, Tale};
use super::{HistoryError, Side, tell};
use saker_assembly::Build;
use saker_device::{Costs, Device, timings};
use saker_flash::FaultPlan;
use std::collections::BTreeSet;

/// A history that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutTale {
    /// The program or erase at which power was cut, counted from 1.
    pub at: u64,
    /// Operations that ended before.
    pub operations: u64,
    /// Digest of what became of them, as of [`Tale::outcomes`].
    pub outcomes: u64,
    /// Media operations before the cut.
    pub media: MediaOps,
    /// Recovery, and a read of everything after it: its outcomes, state, media operations, metered units and time.
    pub recovered: Tale,
}

/// Numbers of the programs and erases at which a history is cut: so many, all over it.
///
/// # Errors
/// [`HistoryError`].
pub fn cut_points(setup: &Setup, count: u64) -> Result<Vec<u64>, HistoryError> {
    let MediaOps { programs, erases, .. } = tell(setup)?.media;
    // Steps of an odd length, so that cuts meet different work.
    Ok((1..=count).map(|n| (programs + erases) * n / (count + 1) + n % 7).collect())
}

/// Runs the history with power cut at program or erase number `at`, and recovers.
///
/// # Errors
/// [`HistoryError`].
pub fn tell_cut(setup: &Setup, at: u64) -> Result<CutTale, HistoryError> {
    let mut build = setup.build();
    build.faults = FaultPlan { seed: setup.seed, cut_at: at, ..build.faults };
    match setup.side {
        Side::Host => Err(HistoryError::NoCuts),
        Side::Device => of_device(setup, &build, at),
        Side::Engine => of_engine(setup, &build, at),
    }
}

fn of_device(setup: &Setup, build: &Build, at: u64) -> Result<CutTale, HistoryError> {
    let mut subject = DiskKv::new(build)?;
    script::play(&mut subject, setup);
    let (operations, outcomes) = subject.outcomes().told()?;
    let media = MediaOps::of(&subject.device().flash().stats());
    let flash = build.after_cut(subject.device().flash(), setup.seed, Some(timings(&build.profile)));
    let mut device = Device::timed(flash, build.device_config(), attachment(), Costs::of(&build.profile));
    while !device.is_booted() {
        let Some(next) = device.next_deadline() else { return Err(HistoryError::Stuck(operations)) };
        device.step(next);
    }
    if let Some((_, damage)) = device.damage().first() {
        return Err(HistoryError::Damaged(damage.clone()));
    }
    let mut subject = DiskKv::over(device, build)?;
    read_all(&mut subject);
    Ok(CutTale { at, operations, outcomes, media, recovered: subject.tale(BTreeSet::new())? })
}

fn of_engine(setup: &Setup, build: &Build, at: u64) -> Result<CutTale, HistoryError> {
    let mut subject = Bare::new(build);
    script::play(&mut subject, setup);
    let (operations, outcomes) = subject.outcomes().told()?;
    let media = MediaOps::of(&subject.flash.stats());
    let mut subject = Bare::recover(build.after_cut(&subject.flash, setup.seed, None), build)?;
    read_all(&mut subject);
    subject.keys_from(&[], usize::MAX);
    Ok(CutTale { at, operations, outcomes, media, recovered: subject.tale(BTreeSet::new())? })
}

/// Keys that a short history may have stored.
const KEYS: u64 = 1500;

fn read_all(subject: &mut impl script::Subject) {
    for n in 0..KEYS {
        subject.take(Step::Get(script::key(n)));
    }
    subject.take(Step::List(Vec::new()));
    subject.settle();
}
