//! Runs experiments, several at a time, and gives their results in the order asked for.

use crate::error::LabError;
use crate::experiments::{self, Entry};
use crate::judge::Book;
use crate::plan::{Plan, Settings};
use crate::report::{Check, Experiment, Point};
use saker_device::LsmTuning;
use saker_sim::profile::Profile;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

/// What an experiment is given.
#[derive(Debug)]
pub struct Context<'a> {
    /// Its plan.
    pub plan: &'a Plan,
    /// The seed.
    pub seed: u64,
    /// How much smaller than published.
    pub scale: u32,
    settings: &'a Settings,
    progress: Option<Sender<Progress>>,
}

/// What has happened meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// An experiment has come to this step.
    Step {
        /// The experiment.
        id: String,
        /// The step.
        text: String,
    },
    /// An experiment has ended.
    Done {
        /// The experiment.
        id: String,
    },
}

/// What an experiment gives back.
#[derive(Debug)]
pub struct Outcome {
    /// The points.
    pub series: Vec<Point>,
    /// The verdicts.
    pub checks: Vec<Check>,
}

impl<'a> Context<'a> {
    /// Operations of each run: the published number by the scale, but at least `least`.
    pub fn operations(&self, least: u64) -> u64 {
        (self.plan.operations / u64::from(self.scale.max(1))).max(least)
    }

    /// The plan's first profile, as changed for this run.
    ///
    /// # Errors
    /// A change that cannot be made.
    pub fn profile(&self) -> Result<Profile, LabError> {
        self.profile_named(&self.plan.profiles[0])
    }

    /// A profile as changed for this run.
    ///
    /// # Errors
    /// An unknown name, or a change that cannot be made.
    pub fn profile_named(&self, name: &str) -> Result<Profile, LabError> {
        Ok(self.settings.profile_named(name)?)
    }

    /// Settings of the LSM engine, as changed for this run.
    ///
    /// # Errors
    /// A change that cannot be made.
    pub fn lsm(&self) -> Result<LsmTuning, LabError> {
        Ok(self.settings.lsm()?)
    }

    /// Original's table over the cache of the hash FTLs, if it was changed for this run.
    ///
    /// # Errors
    /// A change that cannot be made.
    pub fn table_to_cache(&self) -> Result<Option<u64>, LabError> {
        Ok(self.settings.table_to_cache()?)
    }

    /// A book for the plan's claims.
    pub fn book(&self) -> Book<'a> {
        Book::new(self.plan)
    }

    /// Tells where the experiment is.
    pub fn note(&self, text: impl Into<String>) {
        if let Some(progress) = &self.progress {
            // Nobody listening is no reason to stop.
            let _ = progress.send(Progress::Step { id: self.plan.id.clone(), text: text.into() });
        }
    }
}

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
