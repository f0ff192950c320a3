// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page of an experiment: each claim beside its measurement, the charts, what was fixed, and how to run it again.

use crate::chart::Figure;
use crate::page::given::{About, FIRST, Run, seconds, words};
use crate::page::papers::Paper;
use crate::page::table::{plain, points};
use crate::page::{drawing, frame};
use crate::plan::{ChartPlan, Plan};
use crate::report::{Check, Experiment, Origin, Point};
use crate::settings::typed;
use maud::{Markup, html};
use serde_json::Value;

/// Names of the pages before and behind.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub before: Option<&'a str>,
    pub after: Option<&'a str>,
}

/// The page.
pub fn page(about: &About, run: &Run<'_>, plan: Option<&Plan>, around: Around<'_>) -> String {
    let Experiment { id, seed, scale, profile, series, checks } = run.experiment;
    let heading = plan.map_or_else(|| id.clone(), |plan| format!("{id}: {}", plan.title));
    let mut facts = vec![
        ("published in", plan.map_or_else(|| Paper::of(id).citation.to_owned(), |plan| plan.source.clone())),
        ("profile", profile.clone()),
        ("seed", seed.to_string()),
        ("scale", format!("1/{scale}")),
        ("run time", run.took.map_or_else(|| "not known".to_owned(), seconds)),
        ("saker", about.version.clone()),
    ];
    facts.extend(about.commit.clone().map(|commit| ("commit", commit)));
    facts.extend([("date", about.date.clone()), ("machine", about.machine.clone())]);
    let charts = plan.map_or(&[][..], |p| &p.charts);
    let body = html! {
        (links(around))
        section { h2 { "Claims" } @for check in checks { (claim(check)) } }
        (drawn(charts, series))
        @if let Some(plan) = plan { (set_up(plan)) }
        section {
            h2 { "Run it again" }
            pre { code { (command(run, plan)) } }
        }
        @if !series.is_empty() { section {
            details { summary { "All " (series.len()) " points" } (points(series)) }
        } }
        (links(around))
    };
    frame(&heading, &facts, body)
}

fn links(around: Around<'_>) -> Markup {
    let to = |name: &str| format!("{name}.html");
    html! { nav {
        a href=(FIRST) { "Contents" }
        @if let Some(name) = around.before { a href=(to(name)) { "\u{2190} " (name) } }
        @if let Some(name) = around.after { a href=(to(name)) { (name) " \u{2192}" } }
    } }
}

fn claim(check: &Check) -> Markup {
    html! { article.claim id=(check.id) {
        h3 {
            code { (check.id) } " "
            span class={ "badge " (check.verdict.name()) } { (words(check.verdict)) } " "
            span.evidence { (check.evidence.name()) @if check.origin == Origin::Own { ", own" } }
        }
        p { (check.claim) }
        div.sides {
            div { h4 { "published" } (values(&check.expected)) div.note { (check.tolerance) " \u{b7} " (check.source) } }
            div { h4 { "measured" } (values(&check.measured)) }
        }
        @if !check.note.is_empty() { p.note { strong { (if check.verdict.name() == "fail" { "Cause" } else { "Remark" }) ": " } (check.note) } }
        @if let Some(fit) = &check.after_fit { p.note {
            strong { "After a fit" } " (" (fit.role.name()) ", no verdict): "
            span class={ "badge " (fit.verdict.name()) } { (words(fit.verdict)) } " with " (fit.with)
        } }
        @for other in &check.variants { div.note {
            p { strong { "In " (other.name) } " (no verdict): "
                span class={ "badge " (other.verdict.name()) } { (words(other.verdict)) } " " (other.note) }
            (values(&other.measured))
        } }
    } }
}

fn drawn(charts: &[ChartPlan], series: &[Point]) -> Markup {
    let figures: Vec<(&ChartPlan, Figure)> =
        charts.iter().filter_map(|chart| Some((chart, Figure::of(chart, series)?))).collect();
    html! { @if !figures.is_empty() { section {
        h2 { "Charts" }
        div.charts { @for (chart, figure) in &figures {
            div {
                (drawing(figure))
                @if !figure.published.is_empty() { p.note { "\u{25c7} published: " (told(chart)) } }
            }
        } }
    } } }
}

/// What the published points of a chart are.
fn told(chart: &ChartPlan) -> String {
    let all: Vec<&str> = chart.published.iter().map(|published| published.text.as_str()).collect();
    all.join("; ") + "."
}

fn set_up(plan: &Plan) -> Markup {
    html! { section {
        h2 { "Set-up and knobs" }
        @if !plan.fixed.is_empty() { p { (plan.fixed) } }
        div.wide { table {
            thead { tr { th { "parameter" } th { "value" } } }
            tbody {
                tr { td { "operations as published" } td { (plain(&plan.operations.into())) } }
                @for (name, value) in &plan.parameters { tr { td { code { (name) } } td { (value.to_string()) } } }
            }
        } }
        p.note {
            "Numbers of the profile are changed by " code { "--set profile.KEY=VALUE" } ", swept by " code { "--sweep" }
            @if !plan.takes.is_empty() { "; settings are taken of " (plan.takes.join(", ")) }
            ". Parameters stand in the committed plan."
        }
        @if !plan.variants.is_empty() {
            h3 { "Variants, of which the first is judged" }
            ul { @for variant in &plan.variants { li {
                (variant.name) ": " (variant.what) " "
                @for change in variant.changes() { span.note { code { (change) } " " } }
            } } }
        }
        @if !plan.planted.is_empty() {
            h3 { "What turns a check red, or moves it" }
            ul { @for planted in &plan.planted { li {
                (planted.what) ". " (planted.does()) " "
                @for change in planted.changes() { span.note { code { (change) } " " } }
            } } }
        }
        @if !plan.history.is_empty() {
            h3 { "Changed after the first run" }
            ol { @for edit in &plan.history { li { (edit.edit) " " span.note { (edit.cause) } } } }
        }
    } }
}

/// What is typed for this run alone.
fn command(run: &Run<'_>, plan: Option<&Plan>) -> String {
    let Experiment { id, seed, scale, .. } = run.experiment;
    let mut text = format!("saker reproduce run {id}");
    if *seed != 1 {
        text += &format!(" --seed {seed}");
    }
    if plan.is_none_or(|plan| plan.default_scale != *scale) {
        text += &format!(" --scale {scale}");
    }
    for (path, value) in run.changed {
        text += &format!(" --set '{}'", typed(path, value));
    }
    text + " --out report"
}

/// Numbers, or the parts of an order with those marked that do not hold.
fn values(value: &Value) -> Markup {
    let Value::Array(items) = value else { return html! { div.values { (plain(value)) } } };
    if items.iter().all(|item| item["what"].is_string()) {
        return html! { ul.values { @for item in items { (part(item)) } } };
    }
    html! { div.values { (items.iter().map(plain).collect::<Vec<_>>().join(" \u{b7} ")) } }
}

fn part(item: &Value) -> Markup {
    let missed = item["holds"] == false;
    html! { li class=[missed.then_some("missed")] { (plain(&item["what"])) ": " strong { (plain(&item["value"])) } } }
}
