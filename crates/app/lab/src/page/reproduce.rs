// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The report of experiments: each claim beside its measurement.

use crate::chart::Figure;
use crate::page::table::{plain, points};
use crate::page::{drawing, frame};
use crate::plan::Plan;
use crate::report::{Check, Experiment, Origin, Verdict};
use maud::{Markup, html};
use serde_json::Value;

/// What a report says of the program that made it.
#[derive(Clone, Debug)]
pub struct About {
    /// Version of the program.
    pub version: String,
}

/// The page. `plan_of` knows the titles and charts of experiments.
pub fn reproduce(
    about: &About,
    experiments: &[Experiment],
    plan_of: &dyn Fn(&str) -> Option<Plan>,
) -> String {
    let checks = || experiments.iter().flat_map(|e| &e.checks);
    let count = |verdict| {
        let of = |origin| checks().filter(|c| c.verdict == verdict && c.origin == origin).count();
        match of(Origin::Own) {
            0 => of(Origin::Published).to_string(),
            own => format!("{} published, {own} own", of(Origin::Published)),
        }
    };
    let facts = [
        ("saker", about.version.clone()),
        ("experiments", experiments.len().to_string()),
        ("pass", count(Verdict::Pass)),
        ("fail", count(Verdict::Fail)),
        ("cannot follow", count(Verdict::CannotFollow)),
    ];
    let body = html! {
        (contents(experiments, plan_of))
        @for experiment in experiments { (section(experiment, plan_of(&experiment.id).as_ref())) }
    };
    frame("Published claims, measured", &facts, body)
}

fn contents(experiments: &[Experiment], plan_of: &dyn Fn(&str) -> Option<Plan>) -> Markup {
    html! { section {
        p { "A claim passes when the measurement lies within its tolerance. A miss stays a miss, with its measured cause. "
            "\u{201c}Cannot follow\u{201d} marks a claim that contradicts the arithmetic of its own publication. "
            "Times are those of the named profile in virtual time; the same seed gives the same numbers on any machine." }
        div.wide { table {
            thead { tr { th { "experiment" } th { "what it shows" } th { "verdicts" } } }
            tbody { @for e in experiments { tr {
                td { a href={ "#" (e.id) } { (e.id) } }
                td { (plan_of(&e.id).map_or(String::new(), |p| p.title)) }
                td { (verdicts(e)) }
            } } }
        } }
    } }
}

fn verdicts(experiment: &Experiment) -> Markup {
    let count = |verdict| experiment.checks.iter().filter(|c| c.verdict == verdict).count();
    html! { @for verdict in [Verdict::Pass, Verdict::Fail, Verdict::CannotFollow] {
        @if count(verdict) > 0 { span class={ "badge " (verdict.name()) } { (count(verdict)) " " (words(verdict)) } " " }
    } }
}

const fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::CannotFollow => "cannot follow",
        other => other.name(),
    }
}

fn section(experiment: &Experiment, plan: Option<&Plan>) -> Markup {
    let title = plan.map_or(String::new(), |p| p.title.clone());
    let charts = plan.map_or(&[][..], |p| &p.charts);
    html! { section id=(experiment.id) {
        h2 { (experiment.id) @if !title.is_empty() { ": " (title) } }
        p.source {
            @if let Some(plan) = plan { (plan.source) " \u{b7} " }
            "profile " (experiment.profile) " \u{b7} seed " (experiment.seed) " \u{b7} scale 1/" (experiment.scale)
        }
        @if let Some(plan) = plan { @if !plan.fixed.is_empty() { p.fixed { (plan.fixed) } } }
        @if let Some(plan) = plan { @for edit in &plan.history { p.fixed {
            "Changed after the first run: " (edit.edit) " " (edit.cause)
        } } }
        (checks(&experiment.checks))
        div.charts { @for figure in charts.iter().filter_map(|c| Figure::of(c, &experiment.series)) { (drawing(&figure)) } }
        @if !experiment.series.is_empty() {
            details { summary { "All " (experiment.series.len()) " points" } (points(&experiment.series)) }
        }
    } }
}

fn checks(checks: &[Check]) -> Markup {
    html! { div.wide { table.checks {
        thead { tr { th { "check" } th { "claim" } th { "published" } th { "measured" } th { "verdict" } } }
        tbody { @for check in checks { tr {
            td { code { (check.id) } }
            td { (check.claim) div.note { (check.source) } @if !check.note.is_empty() { div.note { (check.note) } } }
            td.values { (values(&check.expected)) span.evidence { (check.tolerance) } }
            td.values { (values(&check.measured)) }
            td { span class={ "badge " (check.verdict.name()) } { (words(check.verdict)) }
                 span.evidence { (check.evidence.name()) @if check.origin == Origin::Own { ", own" } }
                 @if let Some(fit) = &check.after_fit { div.note {
                     "after a fit: " span class={ "badge " (fit.verdict.name()) } { (words(fit.verdict)) } " (" (fit.role.name()) ") "
                     (fit.with)
                 } } }
        } } }
    } } }
}

/// Numbers, or the parts of an order with those marked that do not hold.
fn values(value: &Value) -> Markup {
    let Value::Array(items) = value else { return html! { (plain(value)) } };
    if items.iter().all(|item| item["what"].is_string()) {
        return html! { ul { @for item in items { (part(item)) } } };
    }
    html! { (items.iter().map(plain).collect::<Vec<_>>().join(" \u{b7} ")) }
}

fn part(item: &Value) -> Markup {
    let missed = item["holds"] == false;
    html! { li class=[missed.then_some("missed")] { (plain(&item["what"])) ": " strong { (plain(&item["value"])) } } }
}
