// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs experiments, several at a time, and gives their results in the order asked for.

mod order;
mod room;
mod variants;

pub use crate::context::{Context, Outcome, Progress};
use crate::error::LabError;
use crate::experiments::{self, Entry};
use crate::fit;
use crate::plan::{FitPlan, Plan, Settings};
use crate::report::{AfterFit, Check, Experiment};
use crate::shared_runs::SharedRuns;
use order::in_turn;
use room::{MEMORY_MIB, Room, memory_mib};
pub use variants::VARIANT;

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

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
    run_noting(id, settings, &SharedRuns::default(), None)
}

fn run_noting(
    id: &str,
    settings: &Settings,
    runs: &SharedRuns,
    progress: Option<Sender<Progress>>,
) -> Result<Experiment, LabError> {
    let entry = experiments::ALL.iter().find(|e| e.plan().id == id);
    let entry = entry.ok_or_else(|| LabError::Unknown(id.to_owned()))?;
    run_plan(entry, &entry.plan(), settings, runs, progress)
}

/// Runs an experiment by a plan, which need not be the one that it has.
pub(crate) fn run_plan(
    entry: &Entry,
    plan: &Plan,
    settings: &Settings,
    runs: &SharedRuns,
    progress: Option<Sender<Progress>>,
) -> Result<Experiment, LabError> {
    plan.profiles.iter().try_for_each(|name| settings.check(name))?;
    settings.check_engines(&plan.id, &plan.takes)?;
    let (seed, scale) = (settings.seed.unwrap_or(1), settings.scale.unwrap_or(plan.default_scale).max(1));
    let context = Context { plan, seed, scale, settings, runs, progress };
    let Outcome { series, mut checks } = variants::run(entry, &context)?;
    if let Some(asked) = &plan.fit {
        after_fit(entry, &context, asked, &mut checks)?;
    }
    let profile = settings.describe(&plan.profiles);
    Ok(Experiment { id: plan.id.clone(), seed, scale, profile, series, checks })
}

/// Judges the claims of a plan's fit again, with the fitted numbers. The verdicts stay what they are.
fn after_fit(entry: &Entry, cx: &Context<'_>, asked: &FitPlan, checks: &mut [Check]) -> Result<(), LabError> {
    cx.note(format!("fit to {}", asked.figure));
    let figure = fit::figure(&asked.figure).ok_or_else(|| LabError::Unknown(asked.figure.clone()))?;
    let found = figure.fit(&cx.profile_named(&figure.profile)?)?;
    let mut settings = cx.settings.clone();
    settings.profile.extend(found.numbers.iter().map(|n| (n.path.clone(), n.value.to_string())));
    let again = Context { settings: &settings, progress: cx.progress.clone(), ..*cx };
    let with = format!("{}: {}", figure.name, found.told());
    for check in (entry.run)(&again)?.checks {
        let Some(role) = asked.claims.get(&check.id).copied() else { continue };
        if let Some(before) = checks.iter_mut().find(|before| before.id == check.id) {
            let (verdict, measured) = (check.verdict, check.measured);
            before.after_fit = Some(AfterFit { role, with: with.clone(), verdict, measured });
        }
    }
    Ok(())
}

/// How long nothing is told at most.
pub const SILENCE: Duration = Duration::from_secs(10);

/// A result that is there.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// Its place among all results.
    pub place: usize,
    /// The result.
    pub experiment: &'a Experiment,
    /// Time by the clock.
    pub took: Duration,
}

/// Runs each experiment with each of the settings on `threads` threads. `note` hears of progress on the caller's
/// thread, and at least every [`SILENCE`]; `done` is given each result as soon as it is there. Results come in order: settings within
/// experiments.
///
/// # Errors
/// The first [`LabError`] in that order.
pub fn run_all(
    ids: &[String],
    settings: &[Settings],
    threads: usize,
    note: &mut dyn FnMut(Progress),
    done: &mut dyn FnMut(&Finished<'_>),
) -> Result<Vec<Experiment>, LabError> {
    let work = in_turn(ids, settings);
    let sizes = work.iter().map(|(_, id, settings)| memory_mib(id, settings));
    let (room, runs) = (Room::new(MEMORY_MIB, sizes), SharedRuns::default());
    let (results, result) = channel::<(usize, Duration, Result<Experiment, LabError>)>();
    let (steps, step) = channel();
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, work.len().max(1)) {
            let (results, steps) = (results.clone(), steps.clone());
            let (work, room, runs) = (&work, &room, &runs);
            scope.spawn(move || {
                while let Some(turn) = room.begin() {
                    let (place, id, settings) = work[turn.n];
                    let begun = Instant::now();
                    let outcome = run_noting(id, settings, runs, Some(steps.clone()));
                    // What the next one may take is what this one has given back.
                    saker_runtime::give_memory_back();
                    drop(turn);
                    let _ = results.send((place, begun.elapsed(), outcome));
                    let _ = steps.send(Progress::Done { id: id.to_owned() });
                }
            });
        }
        drop((results, steps));
        loop {
            let progress = match step.recv_timeout(SILENCE) {
                Ok(progress) => progress,
                Err(RecvTimeoutError::Timeout) => Progress::Waiting,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            note(progress);
            for (place, took, outcome) in result.try_iter() {
                outcome.iter().for_each(|experiment| done(&Finished { place, experiment, took }));
                all.push((place, outcome));
            }
        }
    });
    all.sort_by_key(|(n, _)| *n);
    all.into_iter().map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_given_as_they_come() {
        let ids = ["bandslim-dlt".to_owned(), "compound-fig1".to_owned()];
        let (mut given, mut places) = (Vec::new(), Vec::new());
        let mut ends = 0;
        let mut note = |progress| ends += usize::from(matches!(progress, Progress::Done { .. }));
        let all = run_all(&ids, &[Settings::default()], 2, &mut note, &mut |done| {
            given.push(done.experiment.id.clone());
            places.push(done.place);
        });
        given.sort();
        places.sort_unstable();
        assert_eq!(places, [0, 1]);
        let all: Vec<_> = all.unwrap().into_iter().map(|e| e.id).collect();
        assert_eq!((given.as_slice(), all.as_slice(), ends), (&ids[..], &ids[..], 2));
    }
}
