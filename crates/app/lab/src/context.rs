// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an experiment is given, and what it gives back.

use crate::error::LabError;
use crate::judge::Book;
use crate::plan::{Plan, Settings};
use crate::report::{Check, Point};
use crate::shared_runs::SharedRuns;
use saker_assembly::Build;
use saker_device::{EngineKind, Settings as EngineSettings};
use saker_profile::Profile;
use std::sync::mpsc::Sender;

/// What an experiment is given.
#[derive(Debug)]
pub struct Context<'a> {
    /// Its plan.
    pub plan: &'a Plan,
    /// The seed.
    pub seed: u64,
    /// How much smaller than published.
    pub scale: u32,
    pub(crate) settings: &'a Settings,
    /// What other experiments have run, too.
    pub(crate) runs: &'a SharedRuns,
    pub(crate) progress: Option<Sender<Progress>>,
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
    /// Nothing has happened for a while.
    Waiting,
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

    /// The plan's first profile with other numbers than it states, as changed for this run.
    ///
    /// # Errors
    /// A change that cannot be made.
    pub fn profile_with(&self, own: &[(&str, String)]) -> Result<Profile, LabError> {
        Ok(self.settings.profile_with(&self.plan.profiles[0], own)?)
    }

    /// Settings of an engine, as changed for this run.
    ///
    /// # Errors
    /// A change that cannot be made.
    pub fn settings_of(&self, engine: EngineKind) -> Result<EngineSettings, LabError> {
        Ok(self.settings.of_engine(engine)?)
    }

    /// A device with the settings of its engine, as changed for this run. Of a plan that [takes](Plan::takes) them.
    ///
    /// # Errors
    /// A change that cannot be made, or that the flash does not take.
    pub fn asked(&self, build: Build) -> Result<Build, LabError> {
        let settings = self.settings_of(build.engine)?;
        Ok(build.asked([&settings])?)
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
