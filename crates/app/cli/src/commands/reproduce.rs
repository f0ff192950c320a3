//! `saker reproduce`

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::context::{Context, Exit};
use crate::error::{CliError, one_line};
use crate::output::{VERSION, table};
use crate::report::{Check, Experiment, Listed, Verdict};

/// Arguments of `saker reproduce`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Each experiment checks claims of its paper: pass, fail, or cannot_follow for a claim against the paper's own \
arithmetic. The exit code is 1 when a claim fails. Scale N runs with 1/N of the published data and memory.

Examples:
  saker reproduce list
  saker reproduce run fig-9 fig-10 --scale 64
  saker reproduce all --json")]
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
        settings: Settings,
    },
    /// Run every experiment
    All {
        #[command(flatten)]
        settings: Settings,
    },
}

#[derive(Args, Clone, Copy, Debug)]
struct Settings {
    /// Run with 1/N of the published data and memory; otherwise each at its own scale
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    scale: Option<u32>,
    /// The seed; otherwise each with its own
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// Lists or runs experiments.
///
/// # Errors
/// `Usage` for an unknown name, and those of the backend.
pub fn run(args: &ReproduceArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let known = cx.backend.experiments();
    match &args.action {
        Action::List => list(&known, cx),
        Action::Run { ids, settings } => {
            ids.iter().try_for_each(|id| ensure_known(id, &known))?;
            experiments(ids, *settings, cx)
        }
        Action::All { .. } if known.is_empty() => {
            Err(CliError::failed("this build has no experiments", "use a release of saker"))
        }
        Action::All { settings } => {
            experiments(&known.into_iter().map(|l| l.id).collect::<Vec<_>>(), *settings, cx)
        }
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

fn experiments(ids: &[String], settings: Settings, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let mut done = Vec::new();
    for id in ids {
        let experiment = cx.backend.reproduce(id, settings.scale, settings.seed)?;
        if !cx.global.json {
            cx.print(text(&experiment))?;
        }
        done.push(experiment);
    }
    let failed = count(&done, Verdict::Fail);
    if cx.global.json {
        crate::output::document(
            cx.streams.output,
            "saker.reproduce.v1",
            settings.seed,
            &json!({ "experiments": done }),
        )?;
    } else {
        let (passed, cannot) = (count(&done, Verdict::Pass), count(&done, Verdict::CannotFollow));
        cx.print(format!("{passed} pass, {failed} fail, {cannot} cannot_follow\n"))?;
    }
    Ok(if failed == 0 { Exit::Good } else { Exit::No })
}

fn count(done: &[Experiment], verdict: Verdict) -> usize {
    done.iter().flat_map(|e| &e.checks).filter(|c| c.verdict == verdict).count()
}

fn text(experiment: &Experiment) -> String {
    let Experiment { id, seed, scale, profile, checks, .. } = experiment;
    let head = ["check", "verdict", "expected", "measured", "tolerance", "claim"].map(str::to_owned).to_vec();
    let rows: Vec<_> = [head].into_iter().chain(checks.iter().map(row)).collect();
    let notes = checks.iter().filter(|c| !c.note.is_empty());
    let notes: String = notes.map(|c| format!("{}: {}\n", c.id, one_line(&c.note))).collect();
    format!(
        "{id}  saker {VERSION}  seed {seed}  scale 1/{scale}  profile {profile}\n{}{notes}\n",
        table(&rows)
    )
}

fn row(check: &Check) -> Vec<String> {
    let (expected, measured) = (cell(&check.expected), cell(&check.measured));
    let verdict = check.verdict.name().to_owned();
    let (tolerance, claim) = (check.tolerance.clone(), one_line(&check.claim));
    vec![check.id.clone(), verdict, expected, measured, tolerance, claim]
}

fn cell(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), one_line)
}
