// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From points to lines and bars: what a chart shows, apart from how it looks.

use crate::chart::axis::Axis;
use crate::plan::{ChartKind, ChartPlan, Scale};
use crate::report::Point;
use crate::run::VARIANT;
use serde_json::Value;

/// A chart without looks.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its heading.
    pub title: String,
    /// Lines or bars.
    pub kind: ChartKind,
    /// The horizontal axis. Bars stand at 0.5, 1.5, ... of it.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Names of the groups of bars; empty for lines.
    pub groups: Vec<String>,
    /// The lines, or the bars of one colour.
    pub lines: Vec<Line>,
    /// What a publication states: the number of the line that it is about, and its place.
    pub published: Vec<(usize, (f64, f64))>,
}

/// One line, or the bars of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it is.
    pub name: String,
    /// Places along the axes' values, ascending.
    pub points: Vec<(f64, f64)>,
}

impl Figure {
    /// The chart that a plan draws over a series; nothing when no point belongs to it.
    pub fn of(plan: &ChartPlan, series: &[Point]) -> Option<Self> {
        let mut only: Vec<(&str, &Value)> =
            plan.only.iter().map(|(name, value)| (name.as_str(), value)).collect();
        // Of several variants the first one is drawn, unless the chart asks for another or tells them apart.
        let judged = series.first().and_then(|point| point.at.get(VARIANT));
        if let Some(judged) = judged.filter(|_| plan.by != VARIANT && !plan.only.contains_key(VARIANT)) {
            only.push((VARIANT, judged));
        }
        let chosen: Vec<&Point> =
            series.iter().filter(|p| p.is_at(&only) && p.get(&plan.y).is_some()).collect();
        let groups = if plan.kind == ChartKind::Bars { places(&chosen, &plan.x) } else { Vec::new() };
        let lines = lines(plan, &chosen, &groups);
        let published = published(plan, &lines, &groups);
        let values = |which: fn(&(f64, f64)) -> f64| {
            let stated = published.iter().map(|(_, point)| point);
            lines.iter().flat_map(|l: &Line| &l.points).chain(stated).map(which)
        };
        (!lines.is_empty()).then(|| Self {
            title: plan.title.clone(),
            kind: plan.kind,
            x: Axis::over(&plan.x_label, plan.x_scale, values(|p| p.0)),
            y: Axis::over(&plan.y_label, plan.y_scale, with_floor(plan, values(|p| p.1))),
            groups,
            lines: lines.clone(),
            published: published.clone(),
        })
    }
}

/// What a publication states of these lines, where it can be placed: a ratio needs our own point that it refers to.
fn published(plan: &ChartPlan, lines: &[Line], groups: &[String]) -> Vec<(usize, (f64, f64))> {
    let mut found = Vec::new();
    for stated in &plan.published {
        let line = |name: &String| lines.iter().position(|line| line.name == *name);
        let Some(of) = line(&stated.of) else { continue };
        for x in stated.at.iter().filter_map(|x| place_of(plan, x, groups)) {
            let base_x = stated.over_at.as_ref().map_or(Some(x), |at| place_of(plan, at, groups));
            let ours =
                |n: usize| lines[n].points.iter().find(|point| Some(point.0) == base_x).map(|point| point.1);
            let base = stated.over.as_ref().map_or(Some(1.0), |name| ours(line(name)?));
            found.extend(base.map(|base| (of, (x, base * stated.value))));
        }
    }
    found
}

/// Bars on a logarithmic axis need something to stand on: a tenth of the shortest.
fn with_floor(plan: &ChartPlan, values: impl Iterator<Item = f64> + Clone) -> impl Iterator<Item = f64> {
    let stands = plan.kind == ChartKind::Bars && plan.y_scale != Scale::Linear;
    let floor = values.clone().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min) / 3.0;
    values.chain((stands && floor.is_finite()).then_some(floor))
}

fn lines(plan: &ChartPlan, chosen: &[&Point], groups: &[String]) -> Vec<Line> {
    let of = |name: String| {
        let mine = chosen.iter().filter(|p| p.at.get(&plan.by).map(name_of).as_ref() == Some(&name));
        let mut points: Vec<(f64, f64)> =
            mine.filter_map(|p| Some((x_of(plan, p, groups)?, p.get(&plan.y)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Line { name, points }
    };
    places(chosen, &plan.by).into_iter().map(of).filter(|line| !line.points.is_empty()).collect()
}

fn x_of(plan: &ChartPlan, point: &Point, groups: &[String]) -> Option<f64> {
    place_of(plan, point.at.get(&plan.x)?, groups)
}

fn place_of(plan: &ChartPlan, value: &Value, groups: &[String]) -> Option<f64> {
    if plan.kind == ChartKind::Lines {
        return value.as_f64();
    }
    groups.iter().position(|g| *g == name_of(value)).map(|n| n as f64 + 0.5)
}

/// The values of a parameter in the order of their first points.
fn places(points: &[&Point], name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for text in points.iter().filter_map(|p| p.at.get(name)).map(name_of) {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

fn name_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::plan::Published;
    use serde_json::json;

    pub fn plan(kind: ChartKind) -> ChartPlan {
        ChartPlan {
            title: "Traffic".into(),
            kind,
            x: "value_bytes".into(),
            x_label: "value size (B)".into(),
            x_scale: Scale::Log2,
            y: "bytes".into(),
            y_label: "bytes per operation".into(),
            y_scale: Scale::Log10,
            by: "method".into(),
            only: [("depth".to_owned(), json!(1))].into(),
            published: Vec::new(),
        }
    }

    pub fn series() -> Vec<Point> {
        let sizes = [64, 32, 128];
        let place =
            |method: &'static str, size: u32| [("method", json!(method)), ("value_bytes", json!(size))];
        let point = |method: &'static str, size: u32, depth: u32| {
            let mut point = Point::at(place(method, size));
            point.at.insert("depth".into(), json!(depth));
            point.add(
                "bytes",
                f64::from(size) * f64::from(depth) + f64::from(u8::from(method == "prp")) * 4096.0,
            );
            point
        };
        let all = |depth| sizes.into_iter().flat_map(move |s| ["prp", "inline"].map(|m| point(m, s, depth)));
        all(1).chain(all(2)).collect()
    }

    #[test]
    fn lines_take_their_points_in_order_and_no_others() {
        let figure = Figure::of(&plan(ChartKind::Lines), &series()).unwrap();
        let inline = Line { name: "inline".into(), points: vec![(32.0, 32.0), (64.0, 64.0), (128.0, 128.0)] };
        assert_eq!((figure.lines.len(), &figure.lines[1]), (2, &inline));
    }

    #[test]
    fn bars_stand_in_groups() {
        let figure = Figure::of(&plan(ChartKind::Bars), &series()).unwrap();
        assert_eq!(figure.groups, ["64", "32", "128"]);
        assert_eq!(figure.lines[1].points, [(0.5, 64.0), (1.5, 32.0), (2.5, 128.0)]);
    }

    /// A ratio stands over our own line, in the group of its bar; what our run does not have is not drawn.
    #[test]
    fn published_numbers_stand_where_they_belong() {
        let mut chart = plan(ChartKind::Lines);
        let stated = |of: &str, over: Option<&str>, at: &[u32], value| Published {
            of: of.into(),
            over: over.map(str::to_owned),
            over_at: None,
            at: at.iter().map(|x| json!(x)).collect(),
            value,
            text: "half".into(),
        };
        chart.published = vec![
            stated("inline", Some("prp"), &[32, 64, 7], 0.5),
            stated("inline", None, &[64], 9000.0),
            stated("no line", None, &[64], 1.0),
            stated("inline", Some("no line"), &[64], 1.0),
        ];
        let figure = Figure::of(&chart, &series()).unwrap();
        let expected = [(1, (32.0, 2064.0)), (1, (64.0, 2080.0)), (1, (64.0, 9000.0))];
        assert_eq!(figure.published, expected);
        assert!(figure.y.ends().1 > 9000f64.log10(), "the axis reaches so far");
        chart.kind = ChartKind::Bars;
        assert_eq!(Figure::of(&chart, &series()).unwrap().published[0], (1, (1.5, 2064.0)));
    }

    #[test]
    fn a_chart_of_nothing_is_none() {
        let mut nothing = plan(ChartKind::Lines);
        nothing.y = "no such number".into();
        assert!(Figure::of(&nothing, &series()).is_none());
    }
}
