// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What all stores do, one job after the other.

use super::Parameters;
use crate::error::LabError;
use crate::experiments::plus::timed::Case;
use crate::rig;
use saker_sim::{Rng, Seed};
use saker_workload::{Distribution, KeyForm, KeySpace, Picker};
use saker_world::{Job, Op};

const KEY_BYTES: usize = 8;
/// What a value holds changes no count and no time; filler takes no memory in cells.
const FILLER: u8 = 7;

/// A job: its name, whose keys, and how many of a hundred operations are gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What it is called in points.
    pub name: &'static str,
    /// The distribution of its keys.
    pub keys: &'static str,
    gets_percent: u64,
    /// Whether it is told.
    pub counts: bool,
}

const fn phase(name: &'static str, keys: &'static str, gets_percent: u64, counts: bool) -> Phase {
    Phase { name, keys, gets_percent, counts }
}

/// In order, behind the filling.
pub const PHASES: [Phase; 9] = [
    phase("warm", "uniform", 100, false),
    phase("gets", "uniform", 100, true),
    phase("warm", "zipfian", 100, false),
    phase("gets", "zipfian", 100, true),
    phase("settle", "uniform", 0, false),
    phase("puts", "uniform", 0, true),
    phase("mixed", "uniform", 50, true),
    phase("puts", "zipfian", 0, true),
    phase("mixed", "zipfian", 50, true),
];

/// The filling, then each phase.
pub fn all(plan: &Parameters, case: &Case) -> Result<Vec<Job>, LabError> {
    let (pairs, value_bytes) = (case.size.pairs, case.value_bytes as usize);
    let keys = KeySpace::new(case.seed, KEY_BYTES, KeyForm::Hashed)?;
    let put = |n: u64| Op::Put(keys.key(n), vec![FILLER; value_bytes]);
    let mut jobs = vec![rig::job(plan.clients, 1, (0..pairs).map(put).collect())];
    let mut rng = Seed(case.seed).child("plus-dftl").rng();
    for phase in PHASES {
        let mut picker = picker(plan, case, phase)?;
        let operations = if phase.name == "settle" { pairs } else { case.size.operations };
        let one = |rng: &mut Rng, picker: &mut Picker| {
            let number = picker.pick(rng);
            if rng.below(100) < phase.gets_percent { Op::Get(keys.key(number)) } else { put(number) }
        };
        let operations = (0..operations).map(|_| one(&mut rng, &mut picker)).collect();
        jobs.push(rig::job(plan.clients, 1, operations));
    }
    Ok(jobs)
}

fn picker(plan: &Parameters, case: &Case, phase: Phase) -> Result<Picker, LabError> {
    let keys = match phase.keys {
        "zipfian" => Distribution::Scrambled { theta: plan.theta },
        _ => Distribution::Uniform,
    };
    Ok(keys.picker(case.seed, case.size.pairs)?)
}
