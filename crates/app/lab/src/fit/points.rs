// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measured points, as a file of comma-separated values.

use super::FitError;
use saker_host::Method;
use serde::{Deserialize, Serialize};

/// What a point is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The numbers are chosen so that it is met.
    #[default]
    Fit,
    /// It is predicted, and takes no part in the choice.
    Held,
}

/// A measured or published time of one store.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// How its value went.
    pub method: Method,
    /// Bytes of the value.
    pub bytes: u32,
    /// Microseconds; or the time over that of `over` at the same size.
    pub value: f64,
    /// The method that the time is a ratio to.
    pub over: Option<Method>,
    /// What it is for.
    pub role: Role,
}

impl Measured {
    /// Its place in words.
    pub fn place(&self) -> String {
        let over = self.over.map_or(String::new(), |over| format!(" over {}", over.name()));
        format!("{}{over}, {} B", self.method.name(), self.bytes)
    }
}

/// Columns that a file has to have, and those that it may have.
const COLUMNS: [&str; 5] = ["method", "bytes", "value", "over", "role"];
/// Columns without which nothing is measured.
const NEEDED: usize = 3;

/// Reads points: a line of column names (`method,bytes,value`, and `over` and `role` if wanted), then a line for each point. Empty lines
/// and those that begin with `#` do not count.
///
/// # Errors
/// `Point` with the line and what is wrong in it.
pub fn read(text: &str) -> Result<Vec<Measured>, FitError> {
    // Spreadsheets begin a file with the mark of its encoding.
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let wrong = |line, what: String| FitError::Point { line, what };
    let (first, head) = lines.next().ok_or_else(|| wrong(1, "the file is empty".into()))?;
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    if let Some(name) = names.iter().find(|name| !COLUMNS.contains(name)) {
        return Err(wrong(first, format!("`{name}` is no column: write {}", COLUMNS.join(", "))));
    }
    let is_twice = |name: &&&str| names.iter().filter(|other| other == name).count() > 1;
    if let Some(name) = names.iter().find(is_twice) {
        return Err(wrong(first, format!("column `{name}` is there twice: leave one out")));
    }
    if let Some(name) = COLUMNS.iter().take(NEEDED).find(|name| !names.contains(name)) {
        return Err(wrong(first, format!("there is no column `{name}`: write {}", COLUMNS.join(", "))));
    }
    lines.map(|(n, line)| point(&names, line).map_err(|what| wrong(n, what))).collect()
}

fn point(names: &[&str], line: &str) -> Result<Measured, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != names.len() {
        return Err(format!("{} values for {} columns", cells.len(), names.len()));
    }
    let cell = |wanted: &str| {
        let found = names.iter().zip(&cells).find(|(name, _)| **name == wanted);
        found.map(|(_, cell)| *cell).filter(|cell| !cell.is_empty())
    };
    let bytes = cell("bytes").and_then(|text| text.parse().ok());
    let value = cell("value").and_then(|text| text.parse().ok());
    let role = match cell("role") {
        None | Some("fit") => Role::Fit,
        Some("held") => Role::Held,
        Some(other) => return Err(format!("`{other}` is no role: write fit or held")),
    };
    of_parts(cell("method").unwrap_or_default(), bytes, value, cell("over"), role)
}

/// Longest value of a point.
const BYTES_MAX: u32 = 2 << 20;

/// A point, if its parts make one.
///
/// # Errors
/// What is wrong.
pub(super) fn of_parts(
    method: &str,
    bytes: Option<u32>,
    value: Option<f64>,
    over: Option<&str>,
    role: Role,
) -> Result<Measured, String> {
    let bytes =
        bytes.filter(|n| (1..=BYTES_MAX).contains(n)).ok_or("bytes must be a number from 1 to 2097152")?;
    let is_good = |value: &f64| value.is_finite() && *value > 0.0;
    let value = value.filter(is_good).ok_or("value must be a number above 0: microseconds, or a ratio")?;
    let named = |name: &str| -> Result<Method, String> {
        let known = || Method::ALL.iter().map(|m| m.name()).collect::<Vec<_>>().join(", ");
        let method = Method::of_name(name)
            .ok_or_else(|| format!("there is no method `{name}`: choose one of {}", known()))?;
        if method.takes(bytes) { Ok(method) } else { Err(format!("{name} does not take {bytes} B")) }
    };
    Ok(Measured { method: named(method)?, bytes, value, over: over.map(named).transpose()?, role })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whatever_the_order_of_its_columns() {
        let text = "# a board\nbytes,method,value,role\n\n32, piggyback, 11.5,\n4096,prp,15,held\n";
        let points = read(text).unwrap();
        let told: Vec<_> = points.iter().map(|p| (p.place(), p.value, p.role)).collect();
        assert_eq!(
            told,
            [("piggyback, 32 B".to_owned(), 11.5, Role::Fit), ("prp, 4096 B".to_owned(), 15.0, Role::Held)]
        );
        let ratio = read("\u{feff}method,over,bytes,value\npiggyback,prp,32,0.5").unwrap();
        assert_eq!(
            (ratio[0].place(), ratio[0].over),
            ("piggyback over prp, 32 B".to_owned(), Some(Method::Prp))
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let head = "method,bytes,value,over,role\n";
        let cases = [
            ("", "line 1: the file is empty"),
            ("method,bytes\n", "line 1: there is no column `value`"),
            ("method,bytes,value,speed\n", "line 1: `speed` is no column"),
            ("method,bytes,value,value\n", "line 1: column `value` is there twice"),
            (&format!("{head}prp,32,1,,\nprp,32,1\n"), "line 3: 3 values for 5 columns"),
            (&format!("{head}fax,32,1,,\n"), "line 2: there is no method `fax`"),
            (&format!("{head}prp,0,1,,\n"), "line 2: bytes must be"),
            (&format!("{head}prp,32,-1,,\n"), "line 2: value must be"),
            (&format!("{head}prp,32,NaN,,\n"), "line 2: value must be"),
            (&format!("{head}prp,32,1,,spare\n"), "line 2: `spare` is no role"),
        ];
        for (text, wanted) in cases {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(wanted) && !error.contains('\n'), "{error} for {wanted}");
        }
    }
}
