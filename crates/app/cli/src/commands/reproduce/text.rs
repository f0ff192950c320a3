// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Experiments as text for a terminal.

use saker_lab::{Check, Experiment, Verdict};
use serde_json::Value;

use crate::error::one_line;
use crate::output::VERSION;

/// How many checks have that verdict.
pub fn count(done: &[Experiment], verdict: Verdict) -> usize {
    done.iter().flat_map(|e| &e.checks).filter(|c| c.verdict == verdict).count()
}

/// The last line.
pub fn summary(done: &[Experiment]) -> String {
    let [passed, failed, cannot] =
        [Verdict::Pass, Verdict::Fail, Verdict::CannotFollow].map(|verdict| count(done, verdict));
    format!("{passed} pass, {failed} fail, {cannot} cannot_follow\n")
}

/// An experiment: its parameters, and a block for each check.
pub fn experiment(experiment: &Experiment) -> String {
    let Experiment { id, seed, scale, profile, checks, .. } = experiment;
    let head = format!("{id}  saker {VERSION}  seed {seed}  scale 1/{scale}  profile {profile}\n");
    head + &checks.iter().map(block).collect::<String>() + "\n"
}

fn block(check: &Check) -> String {
    let Check { id, claim, tolerance, expected, measured, verdict, note, .. } = check;
    let line = |name: &str, text: &str| format!("    {name:<9}  {}\n", one_line(text));
    let mut text = format!("  {id}  {}  {}\n", verdict.name(), one_line(claim));
    text += &line("published", &format!("{} ({tolerance})", cell(expected)));
    text += &line("measured", &cell(measured));
    if !note.is_empty() {
        text += &line("note", note);
    }
    text
}

/// A value on one line.
pub fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        Value::Array(items) if items.iter().any(|item| item["what"].is_string()) => {
            let part = |item: &Value| format!("{}: {}", cell(&item["what"]), cell(&item["value"]));
            items.iter().map(part).collect::<Vec<_>>().join("; ")
        }
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
