// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A comparison in tables: every number of every system.

use crate::output::{VERSION, table};
use crate::report::{Comparison, Metric, System, TimedRun};
use crate::size::grouped;

/// The whole text.
pub fn text(report: &Comparison) -> String {
    let Comparison { seed, profile, workload, runs, .. } = report;
    let head = format!("saker {VERSION}  seed {seed}  profile {profile}\n{workload}\n");
    let all = runs.iter().fold(head, |text, run| text + "\n" + &side_by_side(run, report));
    if report.is_grid() { all + &grids(runs) } else { all }
}

/// Stores per second by threads and depth, for each timing and group of values.
fn grids(runs: &[TimedRun]) -> String {
    let mut shown: Vec<Backing<'_>> = Vec::new();
    let mut text = String::new();
    for run in runs {
        let place = place(run);
        if !shown.contains(&place) {
            shown.push(place);
            text += &("\n".to_owned() + &grid(runs, place));
        }
    }
    text
}

/// Timing, store and values.
type Backing<'r> = (&'r str, &'r str, &'r str);

fn place(run: &TimedRun) -> Backing<'_> {
    (&run.timing, &run.store, &run.values)
}

fn grid(runs: &[TimedRun], here: Backing<'_>) -> String {
    let mine = || runs.iter().filter(|run| place(run) == here);
    let names = mine().next().into_iter().flat_map(|run| run.systems.iter().map(|s| s.name.clone()));
    let head = format!("{}, {}, values {}: puts per second", here.0, here.1, here.2);
    let mut rows = vec![[head].into_iter().chain(names).collect::<Vec<_>>()];
    rows.extend(mine().map(|run| {
        let rate = |s: &System| s.metrics.iter().find(|m| m.name == GRID_METRIC).map(|m| number(m.value));
        let cells = run.systems.iter().map(|s| rate(s).unwrap_or_else(|| "-".to_owned()));
        [format!("threads {}, QD {}", run.threads, run.qd)].into_iter().chain(cells).collect()
    }));
    table(&rows)
}

/// The number that grids show.
const GRID_METRIC: &str = "put_operations_per_s";

/// A row for each number, a column for each system.
fn side_by_side(run: &TimedRun, report: &Comparison) -> String {
    let values = report.label(run);
    let note = run.invalid.as_ref().map_or(String::new(), |why| format!(" (INVALID: {why})"));
    let names = run.systems.iter().map(|s| s.name.clone());
    let mut rows = vec![
        [format!("{}, {}, values {values}{note}", run.timing, run.store)]
            .into_iter()
            .chain(names)
            .collect::<Vec<_>>(),
    ];
    let metrics = run.systems.first().map_or(&[][..], |s| &s.metrics);
    rows.extend(metrics.iter().map(|metric| row(metric, run)));
    table(&rows) + &lag(run)
}

/// How far the device was behind the clock.
pub fn lag(run: &TimedRun) -> String {
    let (Some(events), Some(late)) = (run.events, run.late_events) else { return String::new() };
    format!("lag: {} of {} device events came more than 5 us late\n", grouped(late), grouped(events))
}

/// One number of every system, found by name.
fn row(metric: &Metric, run: &TimedRun) -> Vec<String> {
    let of = |metrics: &[Metric]| metrics.iter().find(|m| m.name == metric.name).map(|m| number(m.value));
    let cells = run.systems.iter().map(|s| of(&s.metrics).unwrap_or_else(|| "-".to_owned()));
    [metric.name.clone()].into_iter().chain(cells).collect()
}

/// A number for people: whole ones with commas, others with three digits after the point.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        grouped(value as u64)
    } else {
        format!("{value:.3}")
    }
}
