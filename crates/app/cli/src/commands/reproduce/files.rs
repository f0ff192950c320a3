// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `--out` leaves in its directory.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use saker_lab::chart::{Figure, svg};
use saker_lab::page::{self, Run};
use saker_lab::report::SCHEMA;
use saker_lab::run::plan_of;
use saker_lab::{Check, Experiment, Origin, Settings};
use serde_json::json;

use super::super::target::Target;
use super::about::about;
use super::text::{after_fit, cell, in_variant, summary};
use crate::args::reproduce::Options;
use crate::error::{CliError, one_line};
use crate::output::{self, VERSION};

/// Writes `results.json`, `report.html` with a page for each experiment, `verdicts.md` and a chart for each figure.
///
/// # Errors
/// `File`; `Usage` for settings that make no sense.
pub fn write(
    directory: &Path,
    options: &Options,
    done: &[Experiment],
    times: &[Option<Duration>],
) -> Result<(), CliError> {
    std::fs::create_dir_all(directory).map_err(CliError::file("create", directory))?;
    let mut results = Vec::new();
    output::document(&mut results, SCHEMA, options.seed, &json!({ "experiments": done }))?;
    put(&directory.join("results.json"), &results)?;
    let settings = options.settings()?;
    // Results come in order: settings within experiments.
    let run = |(n, experiment)| Run {
        experiment,
        took: times.get(n).copied().flatten(),
        changed: settings
            .get(n % settings.len().max(1))
            .map_or(&[][..], |settings: &Settings| &settings.profile),
    };
    let runs: Vec<Run<'_>> = done.iter().enumerate().map(run).collect();
    for page in page::reproduce(&about(), &runs, &plan_of) {
        put(&directory.join(page.file), page.html.as_bytes())?;
    }
    put(&directory.join("verdicts.md"), verdicts(done).as_bytes())?;
    charts(directory, &runs)
}

/// The file that has each result as soon as it is there, a line for each: what a run that is ended leaves.
pub struct Saved {
    path: PathBuf,
    file: File,
    fault: Option<std::io::Error>,
}

impl Saved {
    /// A new file `finished.jsonl` in the directory.
    ///
    /// # Errors
    /// `File`.
    pub fn begin(directory: &Path) -> Result<Self, CliError> {
        std::fs::create_dir_all(directory).map_err(CliError::file("create", directory))?;
        let path = directory.join("finished.jsonl");
        let file = File::create(&path).map_err(CliError::file("create", &path))?;
        Ok(Self { path, file, fault: None })
    }

    /// Adds a result. The first fault is kept for [`Saved::end`].
    pub fn add(&mut self, experiment: &Experiment) {
        let line = json!(experiment).to_string() + "\n";
        if let Err(fault) = self.file.write_all(line.as_bytes()) {
            self.fault.get_or_insert(fault);
        }
    }

    /// Whether all were saved.
    ///
    /// # Errors
    /// `File`.
    pub fn end(self) -> Result<(), CliError> {
        self.fault.map_or(Ok(()), |fault| Err(CliError::file("write", &self.path)(fault)))
    }
}

/// Writes a file.
///
/// # Errors
/// As [`Target::write`].
pub fn put(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    Target::write(path, bytes)
}

fn charts(directory: &Path, runs: &[Run<'_>]) -> Result<(), CliError> {
    for (place, Run { experiment, .. }) in runs.iter().enumerate() {
        let name = page::name_of(runs, place);
        let charts = plan_of(&experiment.id).map(|plan| plan.charts).unwrap_or_default();
        for (n, figure) in charts.iter().filter_map(|c| Figure::of(c, &experiment.series)).enumerate() {
            put(&directory.join(format!("{name}-{}.svg", n + 1)), svg(&figure).as_bytes())?;
        }
    }
    Ok(())
}

/// The verdicts as a Markdown table.
fn verdicts(done: &[Experiment]) -> String {
    let sums: Vec<String> = summary(done).lines().map(|line| format!("- {line}\n")).collect();
    let mut text = format!("saker {VERSION}\n\n{}\n", sums.concat());
    for experiment in done {
        let Experiment { id, seed, scale, profile, checks, .. } = experiment;
        let title = plan_of(id).map_or_else(String::new, |plan| format!(": {}", plan.title));
        let _ = write!(text, "## {id}{title}\n\nSeed {seed}, scale 1/{scale}, profile {profile}.\n\n");
        let history = plan_of(id).map(|plan| plan.history).unwrap_or_default();
        for edit in history {
            let _ = writeln!(
                text,
                "- Changed after the first run: {} {}",
                one_line(&edit.edit),
                one_line(&edit.cause)
            );
        }
        for variant in plan_of(id).map(|plan| plan.variants).unwrap_or_default() {
            let changes: Vec<String> = variant.changes().iter().map(|change| format!("`{change}`")).collect();
            let changes = if changes.is_empty() { "nothing changed".to_owned() } else { changes.join(" ") };
            let _ = writeln!(text, "- Variant {}, by {changes}: {}.", variant.name, one_line(&variant.what));
        }
        for planted in plan_of(id).map(|plan| plan.planted).unwrap_or_default() {
            let changes: Vec<String> = planted.changes().iter().map(|change| format!("`{change}`")).collect();
            let (changes, does) = (changes.join(" "), one_line(&planted.does()));
            let _ = writeln!(text, "- {does}, by {changes}: {}.", one_line(&planted.what));
        }
        if !text.ends_with("\n\n") {
            text.push('\n');
        }
        text.push_str("| check | verdict | claim | published | measured | cause or remark |\n|---|---|---|---|---|---|\n");
        checks.iter().for_each(|check| text.push_str(&row(check)));
        text.push('\n');
    }
    text
}

fn row(check: &Check) -> String {
    let plain = |text: &str| one_line(text).replace('|', "\\|");
    let (published, measured) = (plain(&cell(&check.expected)), plain(&cell(&check.measured)));
    let (verdict, evidence) = (check.verdict.name(), check.evidence.name());
    let Check { id, tolerance, claim, note, .. } = check;
    let (claim, mut note) = (plain(claim), plain(note));
    if let Some(fit) = &check.after_fit {
        note = format!("After a fit: {}. {note}", plain(&after_fit(fit)));
    }
    for other in &check.variants {
        note += &format!(" In {}: {}", other.name, plain(&in_variant(other)));
    }
    let own = if check.origin == Origin::Own { ", own" } else { "" };
    format!(
        "| {id} | **{verdict}** ({evidence}{own}) | {claim} | {published} ({tolerance}) | {measured} | {note} |\n"
    )
}
