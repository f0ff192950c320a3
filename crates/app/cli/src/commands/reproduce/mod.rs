//! `saker reproduce`

mod diff;
mod files;
mod text;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use saker_lab::settings::{SettingError, Sweep, setting, sweep};
use saker_lab::{Experiment, Settings, Verdict};
use serde_json::json;

use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::output::{self, table};
use crate::progress::Steps;
use crate::report::Listed;

pub use text::count;

/// Arguments of `saker reproduce`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Each experiment checks claims of its paper: pass, fail, or cannot_follow for a claim against the paper's own \
arithmetic. A miss stays a miss, with its measured cause. The exit code is 1 when a claim fails, or when two \
documents differ. Scale N runs with 1/N of the published operations.

Examples:
  saker reproduce list
  saker reproduce run bandslim-fig8 bandslim-fig10 --scale 64
  saker reproduce all --out report
  saker reproduce all --json > before.json
  saker reproduce run bandslim-fig8 --set profile.firmware.fetch_ns=500
  saker reproduce run bandslim-fig8 --sweep profile.host.submit_ns=500,1500,4500
  saker reproduce diff before.json after.json")]
pub struct ReproduceArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Clone, Debug, Subcommand)]
enum Action {
    /// List the experiments
    List,
    /// Run some experiments
    Run {
        /// Their names
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Run every experiment
    All {
        #[command(flatten)]
        options: Options,
    },
    /// Compare two results: verdicts and numbers
    Diff(diff::DiffArgs),
}

#[derive(Args, Clone, Debug)]
struct Options {
    /// Run with 1/N of the published operations; otherwise each at its own scale
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    scale: Option<u32>,
    /// The seed; otherwise 1
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Replace a number of the profile, profile.KEY=VALUE (see `saker profile show`), or a setting of an engine: lsm.NAME=VALUE, hash_ftl.table_to_cache=N
    #[arg(long, value_name = "SETTING")]
    set: Vec<String>,
    /// Run with each of several values: profile.KEY=A,B,C; several sweeps combine
    #[arg(long, value_name = "SETTING")]
    sweep: Vec<String>,
    /// Write results.json, report.html, verdicts.md and the charts into DIR
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Experiments that run at the same time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
}

impl Options {
    /// One for each combination of the sweeps' values.
    fn settings(&self) -> Result<Vec<Settings>, CliError> {
        let wrong = |e: SettingError| CliError::usage(e.to_string(), "see `saker reproduce --help`");
        let profile = self.set.iter().map(|text| setting(text)).collect::<Result<_, _>>().map_err(wrong)?;
        let sweeps: Vec<Sweep> =
            self.sweep.iter().map(|text| sweep(text)).collect::<Result<_, _>>().map_err(wrong)?;
        Ok(Settings { scale: self.scale, seed: self.seed, profile }.swept(&sweeps))
    }
}

/// Lists, runs or compares experiments.
///
/// # Errors
/// `Usage` for an unknown name, `File` for files that cannot be used, and those of the backend.
pub fn run(args: &ReproduceArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let known = cx.backend.experiments();
    match &args.action {
        Action::List => list(&known, cx),
        Action::Run { ids, options } => {
            ids.iter().try_for_each(|id| ensure_known(id, &known))?;
            experiments(ids, options, cx)
        }
        Action::All { .. } if known.is_empty() => {
            Err(CliError::failed("this build has no experiments", "use a release of saker"))
        }
        Action::All { options } => {
            experiments(&known.into_iter().map(|l| l.id).collect::<Vec<_>>(), options, cx)
        }
        Action::Diff(args) => diff::run(args, cx),
    }
}

fn ensure_known(id: &str, known: &[Listed]) -> Result<(), CliError> {
    if known.iter().any(|l| l.id == id) {
        return Ok(());
    }
    Err(CliError::usage(format!("there is no experiment `{id}`"), "see `saker reproduce list`"))
}

fn list(known: &[Listed], cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    if cx.global.json {
        cx.document("saker.reproduce.list.v1", &json!({ "experiments": known }))?;
    } else {
        let head = ["id", "source", "title"].map(str::to_owned).to_vec();
        let rows = known.iter().map(|l| vec![l.id.clone(), l.source.clone(), l.title.clone()]);
        cx.print(table(&[head].into_iter().chain(rows).collect::<Vec<_>>()))?;
    }
    Ok(Exit::Good)
}

fn experiments(ids: &[String], options: &Options, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let settings = options.settings()?;
    let steps = Steps::new(cx.shows_progress(), (ids.len() * settings.len()) as u64);
    let backend = cx.backend;
    let done =
        backend.reproduce(ids, &settings, options.threads as usize, &mut |progress| steps.note(&progress));
    steps.finish();
    let done = done?;
    if let Some(directory) = &options.out {
        files::write(directory, options.seed, &done)?;
        cx.note(&format!("see {}", directory.join("report.html").display()));
    }
    show(&done, options.seed, cx)?;
    Ok(if count(&done, Verdict::Fail) == 0 { Exit::Good } else { Exit::No })
}

fn show(done: &[Experiment], seed: Option<u64>, cx: &mut Context<'_, '_>) -> Result<(), CliError> {
    if cx.global.json {
        let body = json!({ "experiments": done });
        return output::document(cx.streams.output, saker_lab::report::SCHEMA, seed, &body);
    }
    done.iter().try_for_each(|experiment| cx.print(text::experiment(experiment)))?;
    cx.print(text::summary(done))
}
