// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables of points.

use crate::report::Point;
use maud::{Markup, html};
use serde_json::Value;

/// Every point of a series: its place, then its numbers.
pub fn points(series: &[Point]) -> Markup {
    let places = names(series, |p| p.at.keys());
    let numbers = names(series, |p| p.values.keys());
    html! {
        div.wide { table {
            thead { tr {
                @for name in &places { th { (name) } }
                @for name in &numbers { th.number { (name) } }
            } }
            tbody { @for point in series { tr {
                @for name in &places { td { (point.at.get(name).map_or(String::new(), plain)) } }
                @for name in &numbers { td.number { (point.values.get(name).map_or(String::new(), plain)) } }
            } } }
        } }
    }
}

fn names<'a, K>(series: &'a [Point], keys: fn(&'a Point) -> K) -> Vec<String>
where
    K: Iterator<Item = &'a String>,
{
    let mut found: Vec<String> = Vec::new();
    for name in series.iter().flat_map(keys) {
        if !found.contains(name) {
            found.push(name.clone());
        }
    }
    found
}

/// A value for people: text without quotes, numbers with thousands and three digits behind the point.
pub fn plain(value: &Value) -> String {
    match (value.as_str(), value.as_f64()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) => shown(number),
        _ => value.to_string(),
    }
}

fn shown(number: f64) -> String {
    let text = format!("{number:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, rest) = text.split_once('.').map_or((text, None), |(w, r)| (w, Some(r)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |d| ("-", d));
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|g| str::from_utf8(g).unwrap_or("")).collect();
    let grouped = groups.join(",");
    rest.map_or_else(|| format!("{sign}{grouped}"), |rest| format!("{sign}{grouped}.{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_grouped() {
        let found =
            [json!(1234567), json!(-1234.5), json!(9990), json!("prp"), json!(null)].map(|v| plain(&v));
        assert_eq!(found, ["1,234,567", "-1,234.5", "9,990", "prp", "null"]);
    }

    #[test]
    fn all_places_and_numbers_are_columns() {
        let mut one = Point::at([("method", json!("prp"))]);
        one.add("bytes", 4184.0);
        let mut two = Point::at([("method", json!("<b>"))]);
        two.add("commands", 2.0);
        let text = points(&[one, two]).into_string();
        for part in ["<th>method</th>", ">bytes</th>", ">commands</th>", ">4,184</td>", "&lt;b&gt;"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
