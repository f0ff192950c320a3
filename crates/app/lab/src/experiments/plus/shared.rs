// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs that several experiments look at: a device is prepared once, and each workload runs once on a copy of it.

use super::ran::Ran;
use super::timed::{Case, Cell, Conditioned, conditioned};
use crate::error::LabError;
use saker_profile::Profile;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Prepared devices that are kept: each has as much memory as its flash.
const KEPT: usize = 2;

/// A case, its device as long as it is kept, and its runs.
struct Entry {
    profile: Profile,
    case: Case,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    device: Option<Conditioned>,
    runs: Vec<Arc<Ran>>,
}

/// The last one used comes last.
static ALL: Mutex<Vec<Arc<Entry>>> = Mutex::new(Vec::new());

/// Runs of a case, each done once.
///
/// # Errors
/// [`LabError`] of the preparation or of a run.
pub fn runs(profile: &Profile, case: Case, cells: &[Cell]) -> Result<Vec<Arc<Ran>>, LabError> {
    let entry = entry(profile, case);
    let runs = {
        let mut state = lock(&entry.state);
        cells.iter().map(|cell| state.run(&entry, *cell)).collect()
    };
    forget();
    runs
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn entry(profile: &Profile, case: Case) -> Arc<Entry> {
    let mut all = lock(&ALL);
    let known = all.iter().position(|e| e.case == case && e.profile == *profile).map(|n| all.remove(n));
    let new = || Entry { profile: profile.clone(), case, state: Mutex::default() };
    let entry = known.unwrap_or_else(|| Arc::new(new()));
    all.push(Arc::clone(&entry));
    entry
}

/// Devices that were not used lately go; their runs stay.
fn forget() {
    let mut kept = 0;
    for entry in lock(&ALL).iter().rev() {
        // One that is in use now is not looked at.
        let Ok(mut state) = entry.state.try_lock() else { continue };
        kept += usize::from(state.device.is_some());
        if kept > KEPT {
            state.device = None;
        }
    }
}

impl State {
    fn run(&mut self, of: &Entry, cell: Cell) -> Result<Arc<Ran>, LabError> {
        if let Some(known) = self.runs.iter().find(|r| (r.workload, r.keys) == (cell.1, cell.2)) {
            return Ok(Arc::clone(known));
        }
        let device = match &mut self.device {
            Some(device) => device,
            none => none.insert(conditioned(&of.profile, of.case.clone())?),
        };
        let ran = Arc::new(device.run(cell)?);
        self.runs.push(Arc::clone(&ran));
        Ok(ran)
    }
}
