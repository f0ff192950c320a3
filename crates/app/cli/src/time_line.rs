// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Periods in which writes were held, as a line: `#` where they were stopped, `-` where they were delayed, `.` where they went on.

use serde_json::Value;

/// Columns of a line.
const COLUMNS: usize = 60;

/// A period: its first and last moment in seconds, and whether writes were stopped in it.
type Span = (f64, f64, bool);

/// The line of the periods of a document, from the begin of the first to the end of the last. A column has what was worst in it.
/// `None`: there are none, or they take no time.
pub fn time_line(periods: &[Value]) -> Option<String> {
    let spans = periods.iter().map(span).collect::<Option<Vec<_>>>()?;
    let begin = spans.iter().map(|(begin, ..)| *begin).fold(f64::INFINITY, f64::min);
    let end = spans.iter().map(|(_, end, _)| *end).fold(0.0, f64::max);
    if spans.is_empty() || end <= begin {
        return None;
    }
    let column = (end - begin) / COLUMNS as f64;
    let mut line = [b'.'; COLUMNS];
    for (from, to, is_stop) in spans {
        let first = ((from - begin) / column) as usize;
        let behind = ((to - begin) / column).ceil() as usize;
        // A period that is shorter than a column is seen, too.
        let first = first.min(COLUMNS - 1);
        for shown in &mut line[first..behind.clamp(first + 1, COLUMNS)] {
            *shown = if is_stop || *shown == b'#' { b'#' } else { b'-' };
        }
    }
    let line = String::from_utf8_lossy(&line);
    Some(format!("{begin:.3} s {line} {end:.3} s (# stopped, - delayed)"))
}

fn span(period: &Value) -> Option<Span> {
    let number = |name: &str| period.get(name).and_then(Value::as_f64);
    let begin = number("begin_s")?;
    Some((begin, begin + number("length_s")?, period.get("hold")?.as_str()? == "stopped"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn period(hold: &str, begin: f64, length: f64) -> Value {
        json!({ "hold": hold, "begin_s": begin, "length_s": length })
    }

    fn columns(line: &str) -> &str {
        line.split(' ').nth(2).unwrap()
    }

    #[test]
    fn a_column_has_what_was_worst_in_it() {
        let periods =
            [period("delayed", 10.0, 3.0), period("stopped", 11.0, 0.5), period("delayed", 15.0, 1.0)];
        let line = time_line(&periods).unwrap();
        assert!(
            line.starts_with("10.000 s ") && line.ends_with(" 16.000 s (# stopped, - delayed)"),
            "{line}"
        );
        let expected = format!(
            "{}{}{}{}{}",
            "-".repeat(10),
            "#".repeat(5),
            "-".repeat(15),
            ".".repeat(20),
            "-".repeat(10)
        );
        assert_eq!(columns(&line), expected);
    }

    #[test]
    fn short_periods_are_seen() {
        let periods =
            [period("stopped", 0.0, 0.0), period("delayed", 0.0, 60.0), period("stopped", 60.0, 0.0)];
        let line = time_line(&periods).unwrap();
        assert_eq!(columns(&line), format!("#{}#", "-".repeat(58)));
    }

    #[test]
    fn nothing_has_no_line() {
        assert_eq!(time_line(&[]), None);
        assert_eq!(time_line(&[period("stopped", 5.0, 0.0)]), None);
        assert_eq!(time_line(&[json!({ "hold": "stopped" })]), None);
    }
}
