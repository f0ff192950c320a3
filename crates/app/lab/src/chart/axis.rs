// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How an axis counts: where values lie on it, where its ticks are and what they say.

use crate::plan::Scale;

/// An axis over a range of values. Positions on it are transformed values, so that drawing is always linear.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Name and unit.
    pub label: String,
    scale: Scale,
    min: f64,
    max: f64,
}

/// Ticks that a linear axis aims at.
const TICKS: f64 = 6.0;

impl Axis {
    /// An axis that shows all of `values`; a linear one begins at zero unless something lies below.
    pub fn over(label: &str, scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let usable = |v: &f64| v.is_finite() && (scale == Scale::Linear || *v > 0.0);
        let bounds = |(min, max): (f64, f64), v: f64| (min.min(v), max.max(v));
        let (mut min, mut max) = values.filter(usable).fold((f64::INFINITY, f64::NEG_INFINITY), bounds);
        if min > max {
            (min, max) = (1.0, 1.0);
        }
        if scale == Scale::Linear {
            (min, max) = (min.min(0.0), max * 1.08);
        }
        let mut axis = Self { label: marked(label, scale), scale, min, max };
        if axis.place(min) == axis.place(max) {
            axis.max = max * 2.0 + f64::from(u8::from(max == 0.0));
        }
        axis
    }

    /// Where a value lies; nothing if it has no place on this axis.
    pub fn place(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => value,
            Scale::Log2 => value.log2(),
            Scale::Log10 => value.log10(),
        };
        place.is_finite().then_some(place)
    }

    /// Both ends as positions, with a little air.
    pub fn ends(&self) -> (f64, f64) {
        let (from, to) = (self.place(self.min).unwrap_or(0.0), self.place(self.max).unwrap_or(1.0));
        let air = match self.scale {
            Scale::Linear => 0.0,
            Scale::Log2 | Scale::Log10 => (to - from) * 0.04,
        };
        (from - air, to + air)
    }

    /// Positions of ticks.
    pub fn ticks(&self) -> Vec<f64> {
        let (from, to) = self.ends();
        match self.scale {
            Scale::Linear => linear_ticks(from, to),
            Scale::Log2 => whole(from, to),
            Scale::Log10 => log_ticks(from, to),
        }
    }

    /// What stands at a tick.
    pub fn text(&self, place: f64) -> String {
        match self.scale {
            Scale::Linear => compact(place),
            Scale::Log2 => binary(place.exp2()),
            Scale::Log10 => compact(10f64.powf(place)),
        }
    }
}

/// The label, which says so when the axis does not count in equal steps.
fn marked(label: &str, scale: Scale) -> String {
    match scale {
        Scale::Linear => label.to_owned(),
        Scale::Log2 | Scale::Log10 => format!("{label}, logarithmic"),
    }
}

fn whole(from: f64, to: f64) -> Vec<f64> {
    (from.ceil() as i32..=to.floor() as i32).map(f64::from).collect()
}

/// Tenfolds, with 2 and 5 between them when there are few.
fn log_ticks(from: f64, to: f64) -> Vec<f64> {
    let tenfolds = whole(from, to);
    if to - from > 2.2 {
        return tenfolds;
    }
    let steps = [1.0f64, 2.0, 5.0].map(f64::log10);
    let all = (from.floor() as i32..=to.ceil() as i32).flat_map(|n| steps.map(|s| f64::from(n) + s));
    all.filter(|t| (from..=to).contains(t)).collect()
}

fn linear_ticks(from: f64, to: f64) -> Vec<f64> {
    let rough = (to - from) / TICKS;
    let tenfold = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * tenfold).into_iter().find(|s| *s >= rough);
    let step = step.unwrap_or(rough);
    let first = (from / step).ceil() as i64;
    let last = (to / step).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// A number with three digits at most: `950`, `1.5 k`, `2 M`.
pub fn compact(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, " G"),
        v if v >= 1e6 => (value / 1e6, " M"),
        v if v >= 1e3 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 || v == 0.0 => 2,
        _ => 3,
    };
    let text = format!("{scaled:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// A number of bytes: `32`, `1 Ki`, `1.5 Mi`.
fn binary(value: f64) -> String {
    match value {
        v if v >= 1048576.0 => format!("{} Mi", compact(v / 1048576.0)),
        v if v >= 1024.0 => format!("{} Ki", compact(v / 1024.0)),
        v => compact(v),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, values: &[f64]) -> Axis {
        Axis::over("size (B)", scale, values.iter().copied())
    }

    fn texts(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|t| axis.text(t)).collect()
    }

    #[test]
    fn ticks_are_where_people_look() {
        assert_eq!(texts(&axis(Scale::Log2, &[256.0, 4096.0])), ["256", "512", "1 Ki", "2 Ki", "4 Ki"]);
        assert_eq!(texts(&axis(Scale::Log10, &[1.0, 1000.0])), ["1", "10", "100", "1 k"]);
        assert_eq!(texts(&axis(Scale::Log10, &[10.0, 60.0])), ["10", "20", "50"]);
        assert_eq!(texts(&axis(Scale::Linear, &[3.0, 10.0])), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(&axis(Scale::Linear, &[0.0, 0.5])), ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]);
    }

    #[test]
    fn every_value_is_inside() {
        for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
            let axis = axis(scale, &[3.0, 77.0, 4000.0]);
            let (from, to) = axis.ends();
            for value in [3.0, 77.0, 4000.0] {
                assert!((from..=to).contains(&axis.place(value).unwrap()), "{scale:?} {value}");
            }
        }
    }

    #[test]
    fn nothing_and_one_value_still_make_an_axis() {
        for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
            for values in [&[][..], &[5.0], &[0.0], &[f64::NAN]] {
                let (from, to) = axis(scale, values).ends();
                assert!(from < to, "{scale:?} {values:?}");
            }
        }
        assert_eq!(axis(Scale::Log10, &[1.0]).place(0.0), None);
        let label = |scale| axis(scale, &[1.0]).label;
        assert_eq!(
            (label(Scale::Linear), label(Scale::Log2)),
            ("size (B)".into(), "size (B), logarithmic".into())
        );
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.123, 1.5, 12.34, 123.4, 1500.0, 2e6, 3.21e9].map(compact);
        assert_eq!(shown, ["0", "0.123", "1.5", "12.3", "123", "1.5 k", "2 M", "3.21 G"]);
    }
}
