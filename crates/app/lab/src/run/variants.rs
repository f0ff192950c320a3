// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An experiment under each of the conditions that its plan names.

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::experiments::Entry;
use crate::plan::{Plan, Settings, Variant};
use crate::report::InVariant;
use crate::settings::setting;

/// The name of a point's place by variant.
pub const VARIANT: &str = "variant";

/// Runs every variant. The verdicts are those of the first; what the others come to stands beside them.
pub(super) fn run(entry: &Entry, cx: &Context<'_>) -> Result<Outcome, LabError> {
    let mut variants = cx.plan.variants.iter();
    let Some(first) = variants.next() else { return (entry.run)(cx) };
    let mut judged = run_one(entry, cx, first)?;
    for variant in variants {
        let other = run_one(entry, cx, variant)?;
        judged.series.extend(other.series);
        for (check, other) in judged.checks.iter_mut().zip(other.checks) {
            let (verdict, measured, note) = (other.verdict, other.measured, other.note);
            check.variants.push(InVariant { name: variant.name.clone(), verdict, measured, note });
        }
    }
    Ok(judged)
}

fn run_one(entry: &Entry, cx: &Context<'_>, variant: &Variant) -> Result<Outcome, LabError> {
    cx.note(format!("variant {}", variant.name));
    let mut parameters = cx.plan.parameters.clone();
    parameters.extend(variant.parameters.clone());
    let plan = Plan { parameters, ..cx.plan.clone() };
    let mut profile = Vec::new();
    for text in &variant.set {
        profile.push(setting(text)?);
    }
    profile.extend(cx.settings.profile.clone());
    let settings = Settings { profile, ..cx.settings.clone() };
    let own = Context { plan: &plan, settings: &settings, progress: cx.progress.clone(), ..*cx };
    let mut outcome = (entry.run)(&own)?;
    saker_runtime::give_memory_back();
    for point in &mut outcome.series {
        point.at.insert(VARIANT.to_owned(), variant.name.as_str().into());
    }
    Ok(outcome)
}
