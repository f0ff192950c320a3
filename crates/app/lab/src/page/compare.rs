// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The report of a comparison: the systems side by side, by size of value.

use crate::chart::Figure;
use crate::page::table::points;
use crate::page::{About, drawing, frame};
use crate::plan::ChartPlan;
use crate::report::Point;
use maud::{Markup, html};
use serde::Deserialize;

/// One timing and store of a comparison: its points are at `system` and `values`.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The timing.
    pub timing: String,
    /// What keeps the pairs.
    pub store: String,
    /// Why groups of values do not count, if some do not.
    pub invalid: Vec<String>,
    /// The points.
    pub series: Vec<Point>,
}

/// The committed charts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Charts {
    charts: Vec<ChartPlan>,
}

/// The page.
pub fn compare(about: &About, facts: &[(&str, String)], panels: &[Panel]) -> String {
    let charts: Charts =
        toml::from_str(include_str!("../../charts/compare.toml")).expect("committed charts are sound");
    let mut all = vec![("saker", about.version.clone())];
    all.extend_from_slice(facts);
    let body = html! { @for panel in panels { (section(&charts.charts, panel)) } };
    frame("HostKV and DiskKV, side by side", &all, body)
}

fn section(charts: &[ChartPlan], panel: &Panel) -> Markup {
    let figures: Vec<Figure> = charts.iter().filter_map(|c| Figure::of(c, &panel.series)).collect();
    html! { section {
        h2 { "Timing " (panel.timing) ", store " (panel.store) }
        @for why in &panel.invalid { p { span class="badge fail" { "does not count" } " " (why) } }
        div.charts { @for figure in &figures { (drawing(figure)) } }
        (points(&panel.series))
    } }
}
