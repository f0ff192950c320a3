// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs experiments, several at a time, and gives their results in the order asked for.

pub use crate::context::{Context, Outcome, Progress};
use crate::error::LabError;
use crate::experiments::{self, Entry};
use crate::fit;
use crate::plan::{FitPlan, Plan, Settings};
use crate::report::{AfterFit, Check, Experiment};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

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
    let Outcome { series, mut checks } = (entry.run)(&context)?;
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
    done: &mut dyn FnMut(&Experiment),
) -> Result<Vec<Experiment>, LabError> {
    let work: Vec<(&str, &Settings)> =
        ids.iter().flat_map(|id| settings.iter().map(move |s| (id.as_str(), s))).collect();
    let next = AtomicUsize::new(0);
    let (results, result) = channel::<(usize, Result<Experiment, LabError>)>();
    let (steps, step) = channel();
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, work.len().max(1)) {
            let (results, steps, work, next) = (results.clone(), steps.clone(), &work, &next);
            scope.spawn(move || {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some((id, settings)) = work.get(n).copied() else { break };
                    let outcome = run_noting(id, settings, Some(steps.clone()));
                    let _ = results.send((n, outcome));
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
            for (n, outcome) in result.try_iter() {
                outcome.iter().for_each(&mut *done);
                all.push((n, outcome));
            }
        }
    });
    all.sort_by_key(|(n, _)| *n);
    all.into_iter().map(|(_, outcome)| outcome).collect()
}
