// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs experiments, several at a time, and gives their results in the order asked for.

mod variants;

pub use crate::context::{Context, Outcome, Progress};
use crate::error::LabError;
use crate::experiments::{self, Entry};
use crate::fit;
use crate::plan::{FitPlan, Plan, Settings};
use crate::report::{AfterFit, Check, Experiment};
pub use variants::VARIANT;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
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
    run_noting(id, settings, None)
}

fn run_noting(
    id: &str,
    settings: &Settings,
    progress: Option<Sender<Progress>>,
) -> Result<Experiment, LabError> {
    let entry = experiments::ALL.iter().find(|e| e.plan().id == id);
    let entry = entry.ok_or_else(|| LabError::Unknown(id.to_owned()))?;
    run_plan(entry, &entry.plan(), settings, progress)
}

/// Runs an experiment by a plan, which need not be the one that it has.
pub(crate) fn run_plan(
    entry: &Entry,
    plan: &Plan,
    settings: &Settings,
    progress: Option<Sender<Progress>>,
) -> Result<Experiment, LabError> {
    plan.profiles.iter().try_for_each(|name| settings.check(name))?;
    settings.check_engines(&plan.id, &plan.takes)?;
    let (seed, scale) = (settings.seed.unwrap_or(1), settings.scale.unwrap_or(plan.default_scale).max(1));
    let context = Context { plan, seed, scale, settings, progress };
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

/// Memory that experiments together may take by their plans, unless one alone takes more.
const MEMORY_MIB: u64 = 900;

/// Memory of an experiment at the scale that it is run at.
fn memory_mib(id: &str, settings: &Settings) -> u64 {
    plan_of(id).map_or(0, |plan| {
        let scale = settings.scale.unwrap_or(plan.default_scale).max(1);
        plan.memory_mib * u64::from(plan.default_scale) / u64::from(scale)
    })
}

/// Memory that is shared by what runs at once.
struct Room {
    most: u64,
    /// What is taken, and by how many.
    taken: Mutex<(u64, usize)>,
    given: Condvar,
}

impl Room {
    fn new(most: u64) -> Self {
        Self { most, taken: Mutex::new((0, 0)), given: Condvar::new() }
    }

    /// Waits until there is room, or nothing else runs.
    fn take(&self, mib: u64) -> u64 {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |(taken, runs): &mut (u64, usize)| *runs > 0 && *taken + mib > self.most;
        let mut taken = self.given.wait_while(taken, is_full).unwrap_or_else(PoisonError::into_inner);
        *taken = (taken.0 + mib, taken.1 + 1);
        mib
    }

    fn give(&self, mib: u64) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = (taken.0 - mib, taken.1 - 1);
        self.given.notify_all();
    }
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
    let work: Vec<(&str, &Settings)> =
        ids.iter().flat_map(|id| settings.iter().map(move |s| (id.as_str(), s))).collect();
    let (next, room) = (AtomicUsize::new(0), Room::new(MEMORY_MIB));
    let (results, result) = channel::<(usize, Duration, Result<Experiment, LabError>)>();
    let (steps, step) = channel();
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, work.len().max(1)) {
            let (results, steps, work, next, room) = (results.clone(), steps.clone(), &work, &next, &room);
            scope.spawn(move || {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some((id, settings)) = work.get(n).copied() else { break };
                    let taken = room.take(memory_mib(id, settings));
                    let begun = Instant::now();
                    let outcome = run_noting(id, settings, Some(steps.clone()));
                    room.give(taken);
                    let _ = results.send((n, begun.elapsed(), outcome));
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

    /// Three that take half each: never three at once, and one that takes more than there is runs alone.
    #[test]
    fn what_runs_at_once_fits_the_memory() {
        let (room, most) = (Room::new(100), AtomicUsize::new(0));
        let run = |mib| {
            let taken = room.take(mib);
            most.fetch_max(room.taken.lock().unwrap().0 as usize, Ordering::SeqCst);
            std::thread::yield_now();
            room.give(taken);
        };
        std::thread::scope(|scope| {
            (0..12).for_each(|n| drop(scope.spawn(move || (0..50).for_each(|_| run([50, 40, 20][n % 3])))))
        });
        assert!(most.load(Ordering::SeqCst) <= 100);
        run(500);
        assert_eq!(*room.taken.lock().unwrap(), (0, 0));
    }

    #[test]
    fn memory_follows_the_scale() {
        let at = |scale| memory_mib("bandslim-fig12", &Settings { scale, ..Settings::default() });
        assert_eq!((at(None), at(Some(100)), at(Some(1))), (640, 64, 6400));
    }

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
