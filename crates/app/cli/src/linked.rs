//! The backend of the `saker` program: where the crates that do the work are joined in.

mod blocks;
mod comparison;
mod conform;
mod experiments;
mod images;
mod opened;
mod salvage;
mod serve;
mod ycsb;

use std::path::Path;

use saker_lab::bench::BenchReport;
use saker_lab::run::{self as lab, Progress};
use saker_lab::{Experiment, Settings};
use saker_sim::profile::Profile;
use saker_workload::RecordSet;

use crate::backend::{Backend, SeePair};
use crate::commands::bench::BenchArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::create::CreateArgs;
use crate::commands::serve::{ServeArgs, Serving};
use crate::error::CliError;
use crate::report::{Calibrated, CheckReport, Comparison, CreateReport, Listed, LossReport};
use crate::store::{BlockStore, Store};

/// The devices and experiments that this build contains.
#[derive(Clone, Copy, Debug)]
pub struct Linked;

impl Backend for Linked {
    fn open(&self, url: &str) -> Result<Box<dyn Store>, CliError> {
        opened::open(url)
    }

    fn serve(&self, args: &ServeArgs, ready: &mut dyn FnMut(&Serving)) -> Result<(), CliError> {
        serve::serve(args, ready)
    }

    fn open_block(&self, url: &str) -> Result<Box<dyn BlockStore>, CliError> {
        blocks::open(url)
    }

    fn conform(
        &self,
        url: &str,
        heard: &mut dyn FnMut(&saker_conform::Finding),
    ) -> Result<saker_conform::Report, CliError> {
        conform::conform(url, heard)
    }

    fn info(&self, url: &str) -> Result<serde_json::Value, CliError> {
        opened::info(url)
    }

    fn create(&self, args: &CreateArgs) -> Result<CreateReport, CliError> {
        images::create(args)
    }

    fn check(&self, image: &Path) -> Result<CheckReport, CliError> {
        images::check(image)
    }

    fn salvage(&self, url: &str, uncertain: bool, see: SeePair<'_>) -> Result<LossReport, CliError> {
        salvage::salvage(url, uncertain, see)
    }

    fn repair(&self, old: &Path, new: &Path, progress: &mut dyn FnMut(u64)) -> Result<LossReport, CliError> {
        salvage::repair(old, new, progress)
    }

    fn compare(
        &self,
        args: &CompareArgs,
        records: Option<RecordSet>,
        note: &mut dyn FnMut(&str),
    ) -> Result<Comparison, CliError> {
        comparison::compare(args, records, note)
    }

    fn bench(&self, args: &BenchArgs, device: Option<&str>) -> Result<BenchReport, CliError> {
        experiments::bench(args, device)
    }

    fn calibrate(&self, profile: &Profile, passthrough: bool) -> Result<Calibrated, CliError> {
        experiments::calibrate(profile, passthrough)
    }

    fn experiments(&self) -> Vec<Listed> {
        lab::plans().map(|plan| Listed { id: plan.id, title: plan.title, source: plan.source }).collect()
    }

    fn reproduce(
        &self,
        ids: &[String],
        settings: &[Settings],
        threads: usize,
        note: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Experiment>, CliError> {
        lab::run_all(ids, settings, threads, note).map_err(|e| experiments::failed(&e, "reproduce"))
    }
}
