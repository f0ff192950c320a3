// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A figure as SVG.

use crate::chart::figure::{Figure, Line};
use crate::chart::style::{self, GRID, INK, MUTED};
use crate::plan::ChartKind;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::{Circle, Cross, EmptyElement, PathElement, Rectangle, Text, TriangleMarker};
use plotters::prelude::{
    Cartesian2d, ChartBuilder, ChartContext, DrawingArea, IntoDrawingArea, IntoFont, LineSeries, SVGBackend,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, RGBColor, ShapeStyle, TextStyle};

/// Width and height in SVG units.
pub const SIZE: (u32, u32) = (600, 370);
/// Room for the heading and the legend.
const HEAD: u32 = 66;
/// Room right of the lines for their names: a line to the name, and the name at so much a letter.
const NAMES: (u32, u32) = (24, 8);
/// Least distance between two names.
const NAME_STEP: i32 = 17;
const FONT: &str = "sans-serif";

type Root<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Ticked, Ticked>>;
/// Drawing to a string does not fail; the type says it could.
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws a figure.
///
/// # Panics
/// Never: a string takes everything.
pub fn svg(figure: &Figure) -> String {
    let mut text = String::new();
    draw(figure, &mut text).expect("a string takes everything");
    text
}

fn draw(figure: &Figure, text: &mut String) -> Drawn {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    let (head, body) = root.split_vertically(HEAD);
    heading(&head, figure)?;
    let lines = figure.kind == ChartKind::Lines;
    let mut builder = ChartBuilder::on(&body);
    builder.margin_right(if lines { room_for_names(figure) } else { 16 }).margin_left(8).margin_bottom(6);
    builder.x_label_area_size(50).y_label_area_size(74);
    let mut chart = builder.build_cartesian_2d(x_range(figure), y_range(figure))?;
    mesh(&mut chart, figure)?;
    if lines {
        draw_lines(&mut chart, figure)?;
        names(&root, &chart, figure)?;
    } else {
        draw_bars(&mut chart, figure)?;
    }
    root.present()?;
    Ok(())
}

fn room_for_names(figure: &Figure) -> u32 {
    let letters = figure.lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
    NAMES.0 + NAMES.1 * letters as u32
}

fn font(size: u32, colour: RGBColor) -> TextStyle<'static> {
    (FONT, size).into_font().color(&colour)
}

/// A linear axis that knows its ticks.
struct Ticked {
    ends: (f64, f64),
    ticks: Vec<f64>,
}

impl Ranged for Ticked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.ends.0) / (self.ends.1 - self.ends.0);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.ends.0..self.ends.1
    }
}

fn x_range(figure: &Figure) -> Ticked {
    if figure.kind == ChartKind::Lines {
        return Ticked { ends: figure.x.ends(), ticks: figure.x.ticks() };
    }
    let count = figure.groups.len();
    Ticked { ends: (0.0, count as f64), ticks: (0..count).map(|n| n as f64 + 0.5).collect() }
}

fn y_range(figure: &Figure) -> Ticked {
    Ticked { ends: figure.y.ends(), ticks: figure.y.ticks() }
}

/// The heading, and below it each name with its colour and marker.
fn heading(head: &Root<'_>, figure: &Figure) -> Drawn {
    head.draw(&Text::new(figure.title.clone(), (10, 8), font(19, INK)))?;
    let mut x = 14;
    for (n, line) in figure.lines.iter().enumerate() {
        marker(head, n, (x, 47))?;
        head.draw(&Text::new(line.name.clone(), (x + 11, 39), font(15, MUTED)))?;
        x += 32 + 8 * line.name.chars().count() as i32;
    }
    Ok(())
}

fn marker(area: &Root<'_>, n: usize, at: (i32, i32)) -> Drawn {
    let style = style::series(n).filled();
    match n % 4 {
        0 => area.draw(&Circle::new(at, 4, style))?,
        1 => area.draw(&Rectangle::new([(at.0 - 4, at.1 - 4), (at.0 + 4, at.1 + 4)], style))?,
        2 => area.draw(&TriangleMarker::new(at, 5, style))?,
        _ => area.draw(&Cross::new(at, 4, style::series(n).stroke_width(2)))?,
    }
    Ok(())
}

fn mesh(chart: &mut Chart<'_, '_>, figure: &Figure) -> Drawn {
    let group = |place: &f64| figure.groups.get(*place as usize).cloned().unwrap_or_default();
    let bars = figure.kind == ChartKind::Bars;
    let x_text = |place: &f64| if bars { group(place) } else { figure.x.text(*place) };
    let y_text = |place: &f64| figure.y.text(*place);
    let mut mesh = chart.configure_mesh();
    if bars {
        mesh.disable_x_mesh();
    }
    mesh.bold_line_style(GRID.stroke_width(1)).light_line_style(style::NONE);
    mesh.axis_style(MUTED.stroke_width(1)).label_style(font(14, INK)).axis_desc_style(font(15, INK));
    mesh.x_label_formatter(&x_text).y_label_formatter(&y_text);
    mesh.x_labels(24).y_labels(24).x_desc(figure.x.label.clone()).y_desc(figure.y.label.clone());
    mesh.draw()?;
    Ok(())
}

/// The points of a line where they lie on the axes.
fn placed(figure: &Figure, line: &Line) -> Vec<(f64, f64)> {
    line.points.iter().filter_map(|(x, y)| Some((figure.x.place(*x)?, figure.y.place(*y)?))).collect()
}

fn draw_lines(chart: &mut Chart<'_, '_>, figure: &Figure) -> Drawn {
    for (n, line) in figure.lines.iter().enumerate() {
        let points = placed(figure, line);
        chart.draw_series(LineSeries::new(points.iter().copied(), style::series(n).stroke_width(2)))?;
        let style = style::series(n);
        for at in points {
            let here = EmptyElement::at(at);
            match n % 4 {
                0 => chart.draw_series([here + Circle::new((0, 0), 4, style.filled())])?,
                1 => chart.draw_series([here + Rectangle::new([(-4, -4), (4, 4)], style.filled())])?,
                2 => chart.draw_series([here + TriangleMarker::new((0, 0), 5, style.filled())])?,
                _ => chart.draw_series([here + Cross::new((0, 0), 4, style.stroke_width(2))])?,
            };
        }
    }
    Ok(())
}

/// The name of each line at its right end, moved apart where ends are close.
fn names(root: &Root<'_>, chart: &Chart<'_, '_>, figure: &Figure) -> Drawn {
    let end = |n: usize| {
        let last = *placed(figure, &figure.lines[n]).last()?;
        let (x, y) = chart.plotting_area().map_coordinate(&last);
        Some((n, x, y))
    };
    let mut ends: Vec<_> = (0..figure.lines.len()).filter_map(end).collect();
    ends.sort_by_key(|(.., y)| *y);
    let places = apart(&ends.iter().map(|(.., y)| *y).collect::<Vec<_>>());
    for ((n, x, y), place) in ends.into_iter().zip(places) {
        let name = figure.lines[n].name.clone();
        let colour = style::series(n);
        root.draw(&PathElement::new(vec![(x + 6, y), (x + 14, place)], colour.stroke_width(1)))?;
        let anchored = font(15, colour).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(name, (x + 17, place), anchored))?;
    }
    Ok(())
}

/// Ascending places at least a step apart, each as near to the wanted one as a shift of its crowd allows.
fn apart(wanted: &[i32]) -> Vec<i32> {
    // A crowd is a run of names that touch: its first place and its members.
    let mut crowds: Vec<(i32, Vec<i32>)> = Vec::new();
    for y in wanted {
        crowds.push((*y, vec![*y]));
        while let [.., above, last] = &mut crowds[..] {
            if above.0 + NAME_STEP * above.1.len() as i32 <= last.0 {
                break;
            }
            above.1.append(&mut last.1);
            let middle = |(n, y): (usize, &i32)| y - NAME_STEP * n as i32;
            above.0 = above.1.iter().enumerate().map(middle).sum::<i32>() / above.1.len() as i32;
            crowds.pop();
        }
    }
    let places =
        |(first, members): (i32, Vec<i32>)| (0..members.len() as i32).map(move |n| first + NAME_STEP * n);
    crowds.into_iter().flat_map(places).collect()
}

fn draw_bars(chart: &mut Chart<'_, '_>, figure: &Figure) -> Drawn {
    let width = 0.8 / figure.lines.len() as f64;
    let floor = figure.y.ends().0;
    for (n, line) in figure.lines.iter().enumerate() {
        let style: ShapeStyle = style::series(n).filled();
        for (x, y) in &line.points {
            let Some(top) = figure.y.place(*y) else { continue };
            let left = x - 0.4 + width * n as f64;
            let bar = Rectangle::new([(left + width * 0.06, floor), (left + width * 0.94, top)], style);
            chart.draw_series([bar])?;
            let anchored = font(12, INK).pos(Pos::new(HPos::Center, VPos::Bottom));
            let text = crate::chart::axis::compact(*y);
            let here = EmptyElement::at((left + width * 0.5, top));
            chart.draw_series([here + Text::new(text, (0, -3), anchored)])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::figure::tests::{plan, series};

    #[test]
    fn a_chart_shows_what_it_is_about() {
        for kind in [ChartKind::Lines, ChartKind::Bars] {
            let text = svg(&Figure::of(&plan(kind), &series()).unwrap());
            for part in ["Traffic", "value size (B)", "bytes per operation", "prp", "inline"] {
                assert!(text.contains(part), "{kind:?} lacks {part}");
            }
            assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        }
    }

    #[test]
    fn every_point_is_drawn() {
        let lines = svg(&Figure::of(&plan(ChartKind::Lines), &series()).unwrap());
        // Three points and the mark of the legend.
        assert_eq!(lines.matches("<circle").count(), 4);
        assert!(lines.matches("<polyline").count() >= 2);
        let bars = svg(&Figure::of(&plan(ChartKind::Bars), &series()).unwrap());
        assert!(bars.contains(">4.16 k\n") || bars.contains("4.16 k"), "bars carry their values");
    }

    #[test]
    fn text_of_users_is_no_markup() {
        let mut chart = plan(ChartKind::Lines);
        chart.title = "<script>alert(1)</script>".into();
        let text = svg(&Figure::of(&chart, &series()).unwrap());
        assert!(!text.contains("<script>"));
    }

    #[test]
    fn names_keep_their_distance_and_order() {
        let places = apart(&[100, 100, 103, 200]);
        assert!(places.windows(2).all(|w| w[1] - w[0] >= NAME_STEP), "{places:?}");
        assert_eq!(places[3], 200);
        assert_eq!(places[..3].iter().sum::<i32>() / 3, 101);
        assert!(apart(&[]).is_empty());
    }
}
