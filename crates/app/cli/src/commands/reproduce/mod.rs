// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker reproduce`

mod about;
mod diff;
mod files;
mod spread;
mod text;

use std::time::Duration;

use saker_lab::run::Finished;
use saker_lab::{Experiment, Verdict};
use serde_json::json;

use crate::args::reproduce::{Action, Options, ReproduceArgs};
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::experiments as work;
use crate::output::{self, table};
use crate::progress::Steps;
use crate::report::Listed;

pub use text::count;

/// Lists, runs or compares experiments.
///
/// # Errors
/// `Usage` for an unknown name, `File` for files that cannot be used, and those of the
/// experiments.
pub fn run(args: &ReproduceArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let known = work::experiments();
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
        Action::Spread(args) => spread::run(args, cx),
    }
}

fn ensure_known(id: &str, known: &[Listed]) -> Result<(), CliError> {
    if known.iter().any(|l| l.id == id) {
        return Ok(());
    }
    Err(CliError::usage(format!("there is no experiment `{id}`"), "see `saker reproduce list`"))
}

/// The experiments there are.
///
/// # Errors
/// `Output`.
pub fn list(known: &[Listed], cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
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
    let mut steps = Steps::new(cx.shows_progress(), cx.global.quiet, (ids.len() * settings.len()) as u64);
    let mut saved = options.out.as_deref().map(files::Saved::begin).transpose()?;
    let mut times = vec![None; ids.len() * settings.len()];
    let mut keep = |finished: &Finished<'_>| {
        times[finished.place] = Some(finished.took);
        saved.iter_mut().for_each(|saved| saved.add(finished.experiment));
    };
    let mut note = |progress| {
        if let Some(line) = steps.note(&progress) {
            cx.note(&line);
        }
    };
    let done = work::reproduce(ids, &settings, options.threads as usize, &mut note, &mut keep);
    steps.finish();
    saved.map_or(Ok(()), files::Saved::end)?;
    tell(options, &done?, &times, cx)
}

/// What experiments found, and how long each took; the answer is no when a claim fails.
///
/// # Errors
/// `File` for the results, `Output`.
pub fn tell(
    options: &Options,
    done: &[Experiment],
    times: &[Option<Duration>],
    cx: &mut Context<'_, '_>,
) -> Result<Exit, CliError> {
    if let Some(directory) = &options.out {
        files::write(directory, options, done, times)?;
        cx.note(&format!("see {}", directory.join("report.html").display()));
    }
    show(done, options.seed, cx)?;
    Ok(if count(done, Verdict::Fail) == 0 { Exit::Good } else { Exit::No })
}

fn show(done: &[Experiment], seed: Option<u64>, cx: &mut Context<'_, '_>) -> Result<(), CliError> {
    if cx.global.json {
        let body = json!({ "experiments": done });
        return output::document(cx.streams.output, saker_lab::report::SCHEMA, seed, &body);
    }
    done.iter().try_for_each(|experiment| cx.print(text::experiment(experiment)))?;
    cx.print(text::summary(done))
}
