// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A figure as SVG. Nothing is drawn over anything: legends take as many rows as they need, and names that have no room are
//! broken into lines, or left out where a table has them.

use crate::chart::axis::compact;
use crate::chart::figure::{Figure, Line};
use crate::chart::style::{self, GRID, INK, MUTED, PAPER};
use crate::chart::text::{cut, rows, width, wrapped};
use crate::plan::ChartKind;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::{Circle, Cross, EmptyElement, PathElement, Polygon, Rectangle, Text, TriangleMarker};
use plotters::prelude::{
    Cartesian2d, ChartBuilder, ChartContext, DrawingArea, IntoDrawingArea, IntoFont, LineSeries, SVGBackend,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, RGBColor, ShapeStyle, TextStyle};

/// Width in SVG units: narrow, so that letters can be read on a telephone.
const WIDTH: u32 = 420;
/// Height of axes and what is between them.
const BODY: u32 = 255;
const MARGIN: i32 = 10;
const TITLE: u32 = 16;
/// Letters of legends and axes.
const SMALL: u32 = 13;
/// Letters of numbers at bars.
const TINY: u32 = 11;
/// Left of the axis.
const LEFT: u32 = 54;
const FONT: &str = "sans-serif";
/// The name of a mark of published numbers.
const PUBLISHED: &str = "published";
/// From the middle of a mark of a published number to its corners.
const MARK: i32 = 6;
/// A mark, and air behind a name.
const BESIDE_NAME: i32 = 28;
/// Most lines of a name of a group of bars.
const NAME_LINES_MAX: usize = 3;
/// Height of a line.
const LINE: u32 = SMALL + 2;
/// How long an upright name is at most.
const UPRIGHT_MAX: i32 = 130;

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
    let (heading, groups) = (Heading::of(figure), GroupNames::of(figure));
    let below = 30 + groups.height.max(LINE);
    let size = (WIDTH, heading.height + BODY - 45 + below);
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    let (head, body) = root.split_vertically(heading.height);
    heading.draw(&head, figure)?;
    let mut builder = ChartBuilder::on(&body);
    builder.margin_right(16).margin_top(8).margin_bottom(4);
    builder.x_label_area_size(below).y_label_area_size(LEFT);
    let mut chart = builder.build_cartesian_2d(x_range(figure), y_range(figure))?;
    mesh(&mut chart, figure)?;
    if figure.kind == ChartKind::Lines {
        draw_lines(&mut chart, figure)?;
    } else {
        draw_bars(&mut chart, figure)?;
        groups.write(&root, &chart)?;
    }
    draw_published(&mut chart, figure)?;
    root.present()?;
    Ok(())
}

fn font(size: u32, colour: RGBColor) -> TextStyle<'static> {
    (FONT, size).into_font().color(&colour)
}

/// What stands above a chart: its title, each name with its mark, and what the vertical axis counts.
struct Heading {
    title: Vec<String>,
    names: Vec<String>,
    /// Left end and row of each name.
    places: Vec<(i32, usize)>,
    /// Where the legend begins.
    legend: i32,
    height: u32,
}

impl Heading {
    fn of(figure: &Figure) -> Self {
        let most = WIDTH as i32 - 2 * MARGIN;
        let title = wrapped(&figure.title, TITLE, most);
        let mut names: Vec<String> =
            figure.lines.iter().map(|line| cut(&line.name, SMALL, most - BESIDE_NAME)).collect();
        names.extend((!figure.published.is_empty()).then(|| PUBLISHED.to_owned()));
        let widths: Vec<i32> = names.iter().map(|name| width(name, SMALL) + BESIDE_NAME).collect();
        let places = rows(&widths, most);
        let count = places.last().map_or(0, |(_, row)| row + 1) as i32;
        let legend = MARGIN + title.len() as i32 * 20;
        let height = (legend + count * 18 + 24) as u32;
        Self { title, names, places, legend, height }
    }

    fn draw(&self, head: &Root<'_>, figure: &Figure) -> Drawn {
        for (n, line) in self.title.iter().enumerate() {
            head.draw(&Text::new(line.clone(), (MARGIN, MARGIN + 20 * n as i32), font(TITLE, INK)))?;
        }
        for (n, (name, (x, row))) in self.names.iter().zip(&self.places).enumerate() {
            let (x, y) = (MARGIN + x, self.legend + 18 * *row as i32);
            let mark = (x + 5, y + 8);
            if n < figure.lines.len() {
                marker(head, n, mark)?;
            } else {
                let [left, top, right, bottom] = diamond(mark);
                head.draw(&PathElement::new(vec![left, top, right, bottom, left], INK.stroke_width(2)))?;
            }
            head.draw(&Text::new(name.clone(), (x + 14, y), font(SMALL, MUTED)))?;
        }
        let y = self.height as i32 - 18;
        head.draw(&Text::new(figure.y.label.clone(), (MARGIN, y), font(SMALL, INK)))?;
        Ok(())
    }
}

/// The corners of a mark of a published number.
const fn diamond((x, y): (i32, i32)) -> [(i32, i32); 4] {
    [(x - MARK, y), (x, y - MARK), (x + MARK, y), (x, y + MARK)]
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
        return Ticked { ends: figure.x.ends(), ticks: apart(figure) };
    }
    let count = figure.groups.len();
    Ticked { ends: (0.0, count as f64), ticks: (0..count).map(|n| n as f64 + 0.5).collect() }
}

/// Ticks of the horizontal axis that are far enough apart for what stands at them.
fn apart(figure: &Figure) -> Vec<f64> {
    let ticks = figure.x.ticks();
    let widest = ticks.iter().map(|tick| width(&figure.x.text(*tick), SMALL) + 6).max().unwrap_or(1);
    let room = (plot_width() / ticks.len().max(1) as i32).max(1);
    let step = ((widest + room - 1) / room).max(1) as usize;
    ticks.into_iter().step_by(step).collect()
}

/// About so wide is what is between the axes.
const fn plot_width() -> i32 {
    (WIDTH - LEFT) as i32 - 16
}

fn y_range(figure: &Figure) -> Ticked {
    Ticked { ends: figure.y.ends(), ticks: figure.y.ticks() }
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
    let bars = figure.kind == ChartKind::Bars;
    let x_text = |place: &f64| if bars { String::new() } else { figure.x.text(*place) };
    let y_text = |place: &f64| figure.y.text(*place);
    let mut mesh = chart.configure_mesh();
    if bars {
        mesh.disable_x_mesh();
    }
    mesh.bold_line_style(GRID.stroke_width(1)).light_line_style(style::NONE);
    mesh.axis_style(MUTED.stroke_width(1)).label_style(font(SMALL, INK)).axis_desc_style(font(SMALL, INK));
    mesh.x_label_formatter(&x_text).y_label_formatter(&y_text);
    mesh.x_labels(24).y_labels(24).x_desc(figure.x.label.clone());
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

/// How wide a bar is, over a group, and where the bars of a line stand in it.
fn bar(figure: &Figure, n: usize) -> (f64, f64) {
    let width = 0.8 / figure.lines.len() as f64;
    (width, width * n as f64 - 0.4)
}

fn draw_bars(chart: &mut Chart<'_, '_>, figure: &Figure) -> Drawn {
    let floor = figure.y.ends().0;
    for (n, line) in figure.lines.iter().enumerate() {
        let style: ShapeStyle = style::series(n).filled();
        let (width, left) = bar(figure, n);
        for (x, y) in &line.points {
            let Some(top) = figure.y.place(*y) else { continue };
            let left = x + left;
            let bar = Rectangle::new([(left + width * 0.06, floor), (left + width * 0.94, top)], style);
            chart.draw_series([bar])?;
        }
        let room = (f64::from(plot_width()) * width / figure.groups.len() as f64) as i32;
        let marks: Vec<(f64, f64)> =
            figure.published.iter().filter(|(of, _)| *of == n).map(|(_, mark)| *mark).collect();
        write_values(chart, figure, (line, &marks), (width / 2.0 + left, room))?;
    }
    Ok(())
}

/// The number of each bar above it, upright where there is no room across, and nowhere where there is none at all or a published
/// number's mark stands.
fn write_values(
    chart: &mut Chart<'_, '_>,
    figure: &Figure,
    of: (&Line, &[(f64, f64)]),
    at: (f64, i32),
) -> Drawn {
    let ((line, marks), (middle, room)) = (of, at);
    let texts: Vec<String> = line.points.iter().map(|(_, y)| compact(*y)).collect();
    let is_across = texts.iter().all(|text| width(text, TINY) <= room);
    if !is_across && room < TINY as i32 {
        return Ok(());
    }
    for ((x, y), text) in line.points.iter().zip(texts) {
        let Some(top) = figure.y.place(*y) else { continue };
        let down = |place: f64| chart.plotting_area().map_coordinate(&(*x, place)).1;
        let height = 3 + if is_across { TINY as i32 } else { width(&text, TINY) };
        let text_ends = down(top) - height - MARK..=down(top) + MARK;
        let hides = |(at, value): &(f64, f64)| {
            at == x && figure.y.place(*value).is_some_and(|place| text_ends.contains(&down(place)))
        };
        if marks.iter().any(hides) {
            continue;
        }
        let here = EmptyElement::at((x + middle, top));
        let style = if is_across {
            font(TINY, INK).pos(Pos::new(HPos::Center, VPos::Bottom))
        } else {
            font(TINY, INK).transform(FontTransform::Rotate270).pos(Pos::new(HPos::Left, VPos::Center))
        };
        chart.draw_series([here + Text::new(text, (0, -3), style)])?;
    }
    Ok(())
}

/// The names of groups of bars: in lines that their groups have room for, or upright.
struct GroupNames {
    names: Vec<Vec<String>>,
    is_upright: bool,
    /// Room below the axis.
    height: u32,
}

impl GroupNames {
    fn of(figure: &Figure) -> Self {
        let room = plot_width() / figure.groups.len().max(1) as i32 - 4;
        let names: Vec<Vec<String>> = figure.groups.iter().map(|name| wrapped(name, SMALL, room)).collect();
        let lines = names.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let is_upright =
            lines > NAME_LINES_MAX || names.iter().flatten().any(|line| width(line, SMALL) > room);
        if !is_upright {
            return Self { names, is_upright, height: lines as u32 * LINE };
        }
        let names: Vec<Vec<String>> =
            figure.groups.iter().map(|name| vec![cut(name, SMALL, UPRIGHT_MAX)]).collect();
        let longest = names.iter().flatten().map(|name| width(name, SMALL)).max().unwrap_or(0);
        Self { names, is_upright, height: longest as u32 }
    }

    fn write(&self, root: &Root<'_>, chart: &Chart<'_, '_>) -> Drawn {
        let (across, down) = chart.plotting_area().get_pixel_range();
        let room = f64::from(across.end - across.start) / self.names.len().max(1) as f64;
        let style = if self.is_upright {
            font(SMALL, INK).transform(FontTransform::Rotate270).pos(Pos::new(HPos::Right, VPos::Center))
        } else {
            font(SMALL, INK).pos(Pos::new(HPos::Center, VPos::Top))
        };
        for (group, lines) in self.names.iter().enumerate() {
            let x = across.start + (room * (group as f64 + 0.5)) as i32;
            for (n, line) in lines.iter().enumerate() {
                let y = down.end + 7 + (LINE * n as u32) as i32;
                root.draw(&Text::new(line.clone(), (x, y), style.clone()))?;
            }
        }
        Ok(())
    }
}

/// Published numbers: hollow, so that what is behind them shows.
fn draw_published(chart: &mut Chart<'_, '_>, figure: &Figure) -> Drawn {
    for (n, (x, y)) in &figure.published {
        let x = match figure.kind {
            ChartKind::Lines => figure.x.place(*x),
            ChartKind::Bars => {
                let (width, left) = bar(figure, *n);
                Some(x + left + width / 2.0)
            }
        };
        let Some(at) = x.zip(figure.y.place(*y)) else { continue };
        let [left, top, right, bottom] = diamond((0, 0));
        let edge = vec![left, top, right, bottom, left];
        let filled = Polygon::new(edge.clone(), PAPER.filled());
        chart.draw_series([EmptyElement::at(at) + filled + PathElement::new(edge, INK.stroke_width(2))])?;
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

    /// Many long names: the drawing grows, and every name is there.
    #[test]
    fn legends_take_the_rows_that_they_need() {
        let mut figure = Figure::of(&plan(ChartKind::Bars), &series()).unwrap();
        let short = Heading::of(&figure).height;
        figure.lines = (0..9)
            .map(|n| Line { name: format!("a system with a long name {n}"), points: vec![(0.5, 1.0)] })
            .collect();
        assert!(Heading::of(&figure).height > short + 4 * 18);
        let text = svg(&figure);
        assert!((0..9).all(|n| text.contains(&format!("long name {n}"))));
        let heading = Heading::of(&figure);
        for (n, (x, row)) in heading.places.iter().enumerate() {
            let end = x + width(&heading.names[n], SMALL) + BESIDE_NAME;
            assert!(end <= WIDTH as i32, "{n} ends at {end}");
            let next = heading.places.get(n + 1).filter(|(_, other)| other == row);
            assert!(next.is_none_or(|(begin, _)| *begin >= end), "{n} and the next overlap");
        }
    }

    /// Names in lines are no wider than their groups; those of which a word is wider stand upright.
    #[test]
    fn names_of_groups_keep_to_their_groups() {
        let mut figure = Figure::of(&plan(ChartKind::Bars), &series()).unwrap();
        for (count, upright) in [(2, false), (3, false), (9, true)] {
            figure.groups = (0..count).map(|n| format!("with zipfian keys {n}")).collect();
            let (names, room) = (GroupNames::of(&figure), plot_width() / count);
            assert_eq!(names.is_upright, upright, "{count}");
            let fits = |line: &String| if upright { LINE as i32 <= room } else { width(line, SMALL) <= room };
            assert!(names.names.iter().flatten().all(fits), "{:?}", names.names);
            assert!(svg(&figure).contains("rotate(270") == upright);
        }
    }

    #[test]
    fn ticks_of_a_long_axis_leave_room_for_their_text() {
        let mut figure = Figure::of(&plan(ChartKind::Lines), &series()).unwrap();
        figure.x =
            crate::chart::axis::Axis::over("size (B)", crate::plan::Scale::Log2, [1.0, 1e9].into_iter());
        let ticks = apart(&figure);
        let widest = ticks.iter().map(|t| width(&figure.x.text(*t), SMALL)).max().unwrap();
        assert!(ticks.len() > 4 && widest * ticks.len() as i32 <= plot_width() + widest, "{ticks:?}");
    }

    /// A bar's number is left out where a mark would lie on it, and only there.
    #[test]
    fn marks_lie_on_no_number() {
        let mut figure = Figure::of(&plan(ChartKind::Bars), &series()).unwrap();
        let has_number = |figure: &Figure| svg(figure).contains("4.16 k");
        assert!(has_number(&figure));
        figure.published = vec![(0, (0.5, 4170.0))];
        assert!(!has_number(&figure));
        figure.published = vec![(0, (0.5, 64.0)), (1, (0.5, 4170.0))];
        assert!(has_number(&figure));
    }

    #[test]
    fn published_numbers_have_a_mark_and_a_name() {
        let mut figure = Figure::of(&plan(ChartKind::Lines), &series()).unwrap();
        assert!(!svg(&figure).contains(PUBLISHED));
        figure.published = vec![(0, (64.0, 2000.0))];
        let text = svg(&figure);
        assert!(text.contains(PUBLISHED) && text.contains("<polygon"));
    }
}
