// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two documents of experiments, compared: verdicts first, then numbers.

use crate::report::{Check, Experiment, Point};
use serde::Serialize;
use serde_json::{Map, Value};

/// One difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The experiment, and its profile where that matters.
    pub experiment: String,
    /// The check or the place of the point.
    pub place: String,
    /// What differs there.
    pub what: String,
    /// In the first document; null if it has none.
    pub before: Value,
    /// In the second document; null if it has none.
    pub after: Value,
    /// Change of a number in per cent of the first.
    pub percent: Option<f64>,
}

/// All differences, in the order of the first document. Numbers that differ by at most `tolerance_percent` of the first
/// count as equal; verdicts never do.
pub fn diff(before: &[Experiment], after: &[Experiment], tolerance_percent: f64) -> Vec<Change> {
    let count = |all: &[Experiment], id: &str| all.iter().filter(|e| e.id == id).count();
    // Swept experiments share an id and go by their profiles; one that is alone is itself, whatever was set in it.
    let alone = |id: &str| count(before, id) == 1 && count(after, id) == 1;
    let same = |a: &Experiment, b: &Experiment| a.id == b.id && (a.profile == b.profile || alone(&a.id));
    let mut changes = Vec::new();
    for a in before {
        match after.iter().find(|b| same(a, b)) {
            Some(b) => changes.extend(of_experiment(a, b)),
            None => changes.push(change(a, "", "experiment", Value::from("run"), Value::Null)),
        }
    }
    let new = after.iter().filter(|b| !before.iter().any(|a| same(a, b)));
    changes.extend(new.map(|b| change(b, "", "experiment", Value::Null, Value::from("run"))));
    let large = |c: &Change| c.percent.is_none_or(|percent| percent.abs() > tolerance_percent);
    changes.into_iter().filter(large).collect()
}

fn of_experiment(a: &Experiment, b: &Experiment) -> Vec<Change> {
    let head = [
        ("profile", a.profile.clone(), b.profile.clone()),
        ("seed", a.seed.to_string(), b.seed.to_string()),
        ("scale", a.scale.to_string(), b.scale.to_string()),
    ];
    let mut changes: Vec<Change> = head
        .into_iter()
        .filter(|(_, x, y)| x != y)
        .map(|(what, x, y)| change(a, "", what, Value::from(x), Value::from(y)))
        .collect();
    changes.extend(checks(a, b));
    changes.extend(points(a, b));
    changes
}

fn checks(a: &Experiment, b: &Experiment) -> Vec<Change> {
    let row = |c: &Check| {
        Map::from_iter([("verdict".into(), c.verdict.name().into()), ("measured".into(), c.measured.clone())])
    };
    let rows = |e: &Experiment| e.checks.iter().map(|c| (c.id.clone(), row(c))).collect::<Vec<_>>();
    tables(a, &rows(a), &rows(b))
}

fn points(a: &Experiment, b: &Experiment) -> Vec<Change> {
    let row = |p: &Point| (place(&p.at), p.values.clone());
    let rows = |e: &Experiment| e.series.iter().map(row).collect::<Vec<_>>();
    tables(a, &rows(a), &rows(b))
}

fn place(at: &Map<String, Value>) -> String {
    let part = |(name, value): (&String, &Value)| {
        format!("{name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    at.iter().map(part).collect::<Vec<_>>().join(" ")
}

type Row = (String, Map<String, Value>);

/// Differences between rows of the same name.
fn tables(experiment: &Experiment, a: &[Row], b: &[Row]) -> Vec<Change> {
    let empty = Map::new();
    let find = |rows: &[Row], name: &str| rows.iter().find(|(n, _)| n == name).map(|(_, row)| row.clone());
    let names = a.iter().chain(b.iter().filter(|(n, _)| find(a, n).is_none())).map(|(n, _)| n);
    let of = |name: &String| {
        let (x, y) =
            (find(a, name).unwrap_or_else(|| empty.clone()), find(b, name).unwrap_or_else(|| empty.clone()));
        rows(experiment, name, &flat(&x), &flat(&y))
    };
    names.flat_map(of).collect()
}

fn rows(experiment: &Experiment, name: &str, x: &Map<String, Value>, y: &Map<String, Value>) -> Vec<Change> {
    let keys = x.keys().chain(y.keys().filter(|k| !x.contains_key(*k)));
    let value = |row: &Map<String, Value>, key: &String| row.get(key).cloned().unwrap_or(Value::Null);
    keys.filter(|k| value(x, k) != value(y, k))
        .map(|k| change(experiment, name, k, value(x, k), value(y, k)))
        .collect()
}

/// Nested values with their paths, so that each number is compared by itself. Parts of an order go by what they say.
fn flat(row: &Map<String, Value>) -> Map<String, Value> {
    let mut all = Map::new();
    for (key, value) in row {
        match value {
            Value::Object(inner) => {
                all.extend(flat(inner).into_iter().map(|(k, v)| (format!("{key}: {k}"), v)));
            }
            Value::Array(items) => all.extend(items.iter().enumerate().map(|(n, item)| entry(key, n, item))),
            other => drop(all.insert(key.clone(), other.clone())),
        }
    }
    all
}

fn entry(key: &str, n: usize, item: &Value) -> (String, Value) {
    match item["what"].as_str() {
        Some(what) => (format!("{key}: {what}"), item["value"].clone()),
        None => (format!("{key}[{n}]"), item.clone()),
    }
}

fn change(experiment: &Experiment, place: &str, what: &str, before: Value, after: Value) -> Change {
    let percent = match (before.as_f64(), after.as_f64()) {
        (Some(x), Some(y)) if x != 0.0 => Some((y - x) / x.abs() * 100.0),
        _ => None,
    };
    let experiment = format!("{} ({})", experiment.id, experiment.profile);
    Change { experiment, place: place.to_owned(), what: what.to_owned(), before, after, percent }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Evidence, Verdict};
    use serde_json::json;

    fn experiment() -> Experiment {
        let mut point = Point::at([("method", json!("prp")), ("value_bytes", json!(32))]);
        point.add("latency_us", 10.0);
        let check = Check {
            id: "AC-1".into(),
            claim: String::new(),
            source: String::new(),
            tolerance: "ORD".into(),
            expected: json!("less"),
            measured: json!([{ "what": "a", "value": 1.0 }, { "what": "b", "value": 2 }]),
            verdict: Verdict::Pass,
            evidence: Evidence::Reproduced,
            origin: crate::report::Origin::Published,
            after_fit: None,
            variants: Vec::new(),
            note: String::new(),
        };
        let (id, profile) = ("x".to_owned(), "tiny".to_owned());
        Experiment { id, seed: 1, scale: 1, profile, series: vec![point], checks: vec![check] }
    }

    fn texts(changes: &[Change]) -> Vec<String> {
        changes.iter().map(|c| format!("{}/{}: {} -> {}", c.place, c.what, c.before, c.after)).collect()
    }

    #[test]
    fn equal_documents_do_not_differ() {
        assert!(diff(&[experiment()], &[experiment()], 0.0).is_empty());
    }

    #[test]
    fn verdicts_and_numbers_are_found_where_they_are() {
        let mut other = experiment();
        other.checks[0].verdict = Verdict::Fail;
        other.checks[0].measured = json!([{ "what": "a", "value": 1.0 }, { "what": "b", "value": 3 }]);
        other.series[0].add("latency_us", 11.0);
        let changes = diff(&[experiment()], &[other], 0.0);
        let expected = [
            "AC-1/measured: b: 2 -> 3",
            "AC-1/verdict: \"pass\" -> \"fail\"",
            "method=prp value_bytes=32/latency_us: 10 -> 11",
        ];
        assert_eq!(texts(&changes), expected);
        assert_eq!(changes[2].percent, Some(10.0));
    }

    #[test]
    fn small_changes_count_as_equal_but_verdicts_do_not() {
        let mut other = experiment();
        other.series[0].add("latency_us", 10.4);
        assert!(diff(&[experiment()], &[other.clone()], 5.0).is_empty());
        other.checks[0].verdict = Verdict::Fail;
        assert_eq!(texts(&diff(&[experiment()], &[other], 5.0)), ["AC-1/verdict: \"pass\" -> \"fail\""]);
    }

    #[test]
    fn another_profile_is_one_difference_and_numbers_are_compared() {
        let mut other = experiment();
        other.profile = "tiny with firmware.fetch_ns=5000".into();
        other.series[0].add("latency_us", 11.0);
        let expected = [
            "/profile: \"tiny\" -> \"tiny with firmware.fetch_ns=5000\"",
            "method=prp value_bytes=32/latency_us: 10 -> 11",
        ];
        assert_eq!(texts(&diff(&[experiment()], &[other.clone()], 0.0)), expected);
        // Of a sweep, the one with the same profile is meant.
        let swept = [other, experiment()];
        assert_eq!(texts(&diff(&[experiment()], &swept, 0.0)), ["/experiment: null -> \"run\""]);
        assert!(diff(&swept, &swept, 0.0).is_empty());
    }

    #[test]
    fn missing_and_new_experiments_and_points_are_named() {
        let mut other = experiment();
        other.id = "y".into();
        assert_eq!(diff(&[experiment()], &[other], 0.0).len(), 2);
        let mut fewer = experiment();
        fewer.series.clear();
        assert_eq!(
            texts(&diff(&[experiment()], &[fewer], 0.0)),
            ["method=prp value_bytes=32/latency_us: 10 -> null"]
        );
        let mut reseeded = experiment();
        reseeded.seed = 2;
        assert_eq!(texts(&diff(&[experiment()], &[reseeded], 0.0)), ["/seed: \"1\" -> \"2\""]);
    }
}
