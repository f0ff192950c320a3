// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs experiments, several at a time, and gives their results in the order asked for.

pub use crate::context::{Context, Outcome, Progress};
use crate::error::LabError;
use crate::experiments::{self, Entry};
use crate::plan::{Plan, Settings};
use crate::report::Experiment;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

/// The plans of all experiments, in the order in which they are listed.
pub fn plans() -> impl Iterator<Item = Plan> {
    experiments::ALL.iter().map(Entry::plan)
}

/// The plan of an experiment.
pub fn plan_of(id: &str) -> Option<Plan> {
    plans().find(|plan| plan.id == id)
}

/// Runs one experiment on the caller's thread.
///
/// # Errors
/// [`LabError`].
pub fn run(id: &str, settings: &Settings) -> Result<Experiment, LabError> {
    run_noting(id, settings, None)
}

fn run_noting(
    id: &str,
    settings: &Settings,
    progress: Option<Sender<Progress>>,
) -> Result<Experiment, LabError> {
    let entry = experiments::ALL.iter().find(|e| e.plan().id == id);
    let entry = entry.ok_or_else(|| LabError::Unknown(id.to_owned()))?;
    let plan = entry.plan();
    plan.profiles.iter().try_for_each(|name| settings.check(name))?;
    settings.check_engines(&plan.id, &plan.takes)?;
    let (seed, scale) = (settings.seed.unwrap_or(1), settings.scale.unwrap_or(plan.default_scale).max(1));
    let context = Context { plan: &plan, seed, scale, settings, progress };
    let Outcome { series, checks } = (entry.run)(&context)?;
    let profile = settings.describe(&plan.profiles);
    Ok(Experiment { id: plan.id.clone(), seed, scale, profile, series, checks })
}

/// Runs each experiment with each of the settings on `threads` threads. `note` hears of progress on the caller's
/// thread. Results come in order: settings within experiments.
///
/// # Errors
/// The first [`LabError`] in that order.
pub fn run_all(
    ids: &[String],
    settings: &[Settings],
    threads: usize,
    note: &mut dyn FnMut(Progress),
) -> Result<Vec<Experiment>, LabError> {
    let work: Vec<(&str, &Settings)> =
        ids.iter().flat_map(|id| settings.iter().map(move |s| (id.as_str(), s))).collect();
    let next = AtomicUsize::new(0);
    let (results, result) = channel();
    let (steps, step) = channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, work.len().max(1)) {
            let (results, steps, work, next) = (results.clone(), steps.clone(), &work, &next);
            scope.spawn(move || {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some((id, settings)) = work.get(n).copied() else { break };
                    let outcome = run_noting(id, settings, Some(steps.clone()));
                    let _ = steps.send(Progress::Done { id: id.to_owned() });
                    let _ = results.send((n, outcome));
                }
            });
        }
        drop((results, steps));
        step.iter().for_each(note);
    });
    let mut all: Vec<_> = result.iter().collect();
    all.sort_by_key(|(n, _)| *n);
    all.into_iter().map(|(_, outcome)| outcome).collect()
}
