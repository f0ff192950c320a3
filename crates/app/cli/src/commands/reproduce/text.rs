// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Experiments as text for a terminal.

use saker_lab::report::{AfterFit, FitRole, InVariant};
use saker_lab::{Check, Experiment, Origin, Verdict};
use serde_json::Value;

use crate::error::one_line;
use crate::output::VERSION;

/// How many checks have that verdict.
pub fn count(done: &[Experiment], verdict: Verdict) -> usize {
    done.iter().flat_map(|e| &e.checks).filter(|c| c.verdict == verdict).count()
}

/// How many checks of that origin have that verdict.
fn count_of(done: &[Experiment], verdict: Verdict, origin: Origin) -> usize {
    let checks = done.iter().flat_map(|e| &e.checks);
    checks.filter(|c| c.verdict == verdict && c.origin == origin).count()
}

/// The last lines: published claims, our own if there are any, what a fit changes if there is one, and the sum.
pub fn summary(done: &[Experiment]) -> String {
    let line = |count: &dyn Fn(Verdict) -> usize| {
        let [passed, failed, cannot] = [Verdict::Pass, Verdict::Fail, Verdict::CannotFollow].map(count);
        format!("{passed} pass, {failed} fail, {cannot} cannot_follow\n")
    };
    let mut text = String::new();
    if done.iter().flat_map(|e| &e.checks).any(|c| c.origin == Origin::Own) {
        for origin in [Origin::Published, Origin::Own] {
            text += &format!("{}: {}", origin.name(), line(&|verdict| count_of(done, verdict, origin)));
        }
    }
    let fits: Vec<_> = done.iter().flat_map(|e| &e.checks).filter_map(|c| c.after_fit.as_ref()).collect();
    let of = |role| fits.iter().filter(move |fit| fit.role == role);
    if !fits.is_empty() {
        let held = of(FitRole::Prediction).filter(|fit| fit.verdict == Verdict::Pass).count();
        let (predictions, fitted) = (of(FitRole::Prediction).count(), of(FitRole::Fitted).count());
        text +=
            &format!("after a fit, not counted: {fitted} fitted, {held} of {predictions} predictions hold\n");
    }
    text + &line(&|verdict| count(done, verdict))
}

/// What a check comes to after a fit, on one line.
pub fn after_fit(fit: &AfterFit) -> String {
    format!(
        "{} ({}) with {}: {}",
        fit.verdict.name(),
        fit.role.name(),
        one_line(&fit.with),
        cell(&fit.measured)
    )
}

/// What a check comes to in a variant, behind the variant's name.
pub fn in_variant(other: &InVariant) -> String {
    let text = format!("{}: {}. {}", other.verdict.name(), cell(&other.measured), one_line(&other.note));
    text.trim_end().to_owned()
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
    if let Some(fit) = &check.after_fit {
        text += &line("after fit", &after_fit(fit));
    }
    if !note.is_empty() {
        text += &line("note", note);
    }
    for other in &check.variants {
        text += &line(&other.name, &in_variant(other));
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
