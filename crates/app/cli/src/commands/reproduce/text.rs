//! Experiments as text for a terminal.

use saker_lab::{Check, Experiment, Verdict};
use serde_json::Value;

use crate::error::one_line;
use crate::output::{VERSION, table};

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

/// An experiment: its parameters, a row for each check, and the notes.
pub fn experiment(experiment: &Experiment) -> String {
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

/// A value on one line.
pub fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        Value::Object(parts) => {
            parts.iter().map(|(name, part)| format!("{name}: {}", cell(part))).collect::<Vec<_>>().join("; ")
        }
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
