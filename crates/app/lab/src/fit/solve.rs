// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Least squares of relative errors within bounds: Levenberg's and Marquardt's way, with differences for derivatives.

use super::points::Measured;
use super::{FitError, Free};

/// What is fitted: relative errors of points by numbers.
pub trait Model {
    /// The errors with these numbers, in the order of the points.
    ///
    /// # Errors
    /// [`FitError`].
    fn errors(&mut self, at: &[u64], points: &[Measured]) -> Result<Vec<f64>, FitError>;
}

/// A number, and its interval unless it is at a bound.
pub type Found = (u64, Option<(f64, f64)>);

const STEPS_MAX: usize = 60;
/// Where steps are too damped to move anything.
const DAMPING_MAX: f64 = 1e9;
/// A derivative below that, over the whole range of a number, is none.
const LEAST_EFFECT: f64 = 1e-6;
/// Columns of derivatives with a cosine beyond that point the same way.
const ALIKE: f64 = 0.999_999;
/// Part of the range that a difference is taken over.
const DIFFERENCE: f64 = 1.0 / 500.0;

/// Two-sided 95 % of Student's distribution by degrees of freedom, from 1 to 30; then the normal one's.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
const NORMAL: f64 = 1.96;

struct State {
    at: Vec<u64>,
    errors: Vec<f64>,
    sum: f64,
}

impl State {
    fn new(model: &mut dyn Model, at: Vec<u64>, points: &[Measured]) -> Result<Self, FitError> {
        let errors = model.errors(&at, points)?;
        let sum = errors.iter().map(|e| e * e).sum();
        Ok(Self { at, errors, sum })
    }
}

/// The best of what is found from the middle and from a tenth of the ranges. There are more points than numbers.
///
/// # Errors
/// `Untold` or `Alike` where the points say too little; else the model's.
pub fn solve(model: &mut dyn Model, free: &[Free], points: &[Measured]) -> Result<Vec<Found>, FitError> {
    let start =
        |part: u64| free.iter().map(|n| n.bounds.0 + (n.bounds.1 - n.bounds.0) / part).collect::<Vec<_>>();
    let mut best: Option<State> = None;
    for part in [2, 10] {
        let state = State::new(model, start(part), points)?;
        if best.is_none() {
            let derivatives = derivatives(model, free, points, &state)?;
            told(free, &derivatives)?;
        }
        let found = descend(model, free, points, state)?;
        if best.as_ref().is_none_or(|best| found.sum < best.sum) {
            best = Some(found);
        }
    }
    let best = best.expect("there are two starts");
    let derivatives = derivatives(model, free, points, &best)?;
    intervals(free, points.len(), &best, &derivatives)
}

fn descend(
    model: &mut dyn Model,
    free: &[Free],
    points: &[Measured],
    mut now: State,
) -> Result<State, FitError> {
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let columns = derivatives(model, free, points, &now)?;
        let moved = loop {
            let next = step(free, &now, &columns, damping);
            if damping > DAMPING_MAX || next == now.at {
                break false;
            }
            let next = State::new(model, next, points)?;
            if next.sum < now.sum {
                now = next;
                damping = (damping / 10.0).max(1e-9);
                break true;
            }
            damping *= 10.0;
        };
        if !moved {
            break;
        }
    }
    Ok(now)
}

/// The next numbers: those at a bound that would go beyond it stay.
fn step(free: &[Free], now: &State, columns: &[Vec<f64>], damping: f64) -> Vec<u64> {
    let n = free.len();
    let gradient: Vec<f64> = columns.iter().map(|c| dot(c, &now.errors)).collect();
    let stays = |k: usize| {
        (now.at[k] == free[k].bounds.0 && gradient[k] >= 0.0)
            || (now.at[k] == free[k].bounds.1 && gradient[k] <= 0.0)
    };
    let moving: Vec<usize> = (0..n).filter(|k| !stays(*k)).collect();
    let matrix = |a: usize, b: usize| {
        let entry = dot(&columns[moving[a]], &columns[moving[b]]);
        if a == b { entry * (1.0 + damping) } else { entry }
    };
    let right: Vec<f64> = moving.iter().map(|k| -gradient[*k]).collect();
    let by = linear(moving.len(), &matrix, right).unwrap_or_default();
    let mut next = now.at.clone();
    for (k, by) in moving.into_iter().zip(by) {
        let (least, most) = free[k].bounds;
        next[k] = (now.at[k] as f64 + by).round().clamp(least as f64, most as f64) as u64;
    }
    next
}

/// Errors by each number: differences towards the middle of its range.
fn derivatives(
    model: &mut dyn Model,
    free: &[Free],
    points: &[Measured],
    now: &State,
) -> Result<Vec<Vec<f64>>, FitError> {
    let mut columns = Vec::new();
    for (k, n) in free.iter().enumerate() {
        let range = n.bounds.1 - n.bounds.0;
        let by = ((range as f64 * DIFFERENCE) as u64).max(1);
        let mut at = now.at.clone();
        let is_high = at[k] - n.bounds.0 > range / 2;
        at[k] = if is_high { at[k] - by } else { at[k] + by };
        let width = if is_high { -(by as f64) } else { by as f64 };
        let errors = model.errors(&at, points)?;
        columns.push(errors.iter().zip(&now.errors).map(|(there, here)| (there - here) / width).collect());
    }
    Ok(columns)
}

/// Whether the points tell each number, and any two apart.
fn told(free: &[Free], columns: &[Vec<f64>]) -> Result<(), FitError> {
    let length = |column: &[f64]| dot(column, column).sqrt();
    for (n, column) in free.iter().zip(columns) {
        if length(column) * ((n.bounds.1 - n.bounds.0) as f64) < LEAST_EFFECT {
            return Err(FitError::Untold(n.path.clone()));
        }
    }
    for (a, one) in columns.iter().enumerate() {
        for (b, other) in columns.iter().enumerate().skip(a + 1) {
            if dot(one, other).abs() > ALIKE * length(one) * length(other) {
                return Err(FitError::Alike(format!("{} and {}", free[a].path, free[b].path)));
            }
        }
    }
    Ok(())
}

/// Intervals by the residuals of the points and the derivatives at what was found.
fn intervals(
    free: &[Free],
    points: usize,
    best: &State,
    columns: &[Vec<f64>],
) -> Result<Vec<Found>, FitError> {
    let is_bound = |k: &usize| best.at[*k] == free[*k].bounds.0 || best.at[*k] == free[*k].bounds.1;
    let inner: Vec<usize> = (0..free.len()).filter(|k| !is_bound(k)).collect();
    let freedom = points - free.len();
    let variance = best.sum / freedom as f64;
    let student = STUDENT.get(freedom - 1).copied().unwrap_or(NORMAL);
    let matrix = |a: usize, b: usize| dot(&columns[inner[a]], &columns[inner[b]]);
    let mut found: Vec<Found> = best.at.iter().map(|value| (*value, None)).collect();
    for (place, k) in inner.iter().enumerate() {
        let unit = (0..inner.len()).map(|n| if n == place { 1.0 } else { 0.0 }).collect();
        let names =
            || FitError::Alike(free.iter().map(|n| n.path.as_str()).collect::<Vec<_>>().join(" and "));
        let inverse = linear(inner.len(), &matrix, unit).ok_or_else(names)?;
        let half = student * (variance * inverse[place]).sqrt();
        found[*k].1 = Some((best.at[*k] as f64 - half, best.at[*k] as f64 + half));
    }
    Ok(found)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The solution of a system of linear equations, by elimination with the largest pivot. `None`: it has no single one.
fn linear(n: usize, matrix: &dyn Fn(usize, usize) -> f64, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = (0..n).map(|a| (0..n).map(|b| matrix(a, b)).collect()).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|a, b| rows[*a][k].abs().total_cmp(&rows[*b][k].abs()))?;
        rows.swap(k, pivot);
        right.swap(k, pivot);
        if rows[k][k] == 0.0 || !rows[k][k].is_finite() {
            return None;
        }
        let (upper, lower) = rows.split_at_mut(k + 1);
        for (row, below) in lower.iter_mut().zip(k + 1..) {
            let factor = row[k] / upper[k][k];
            row.iter_mut().zip(&upper[k]).skip(k).for_each(|(to, from)| *to -= factor * from);
            right[below] -= factor * right[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|b| rows[k][b] * right[b]).sum();
        right[k] = (right[k] - known) / rows[k][k];
    }
    Some(right)
}
