// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The forms of standard output: versioned JSON documents, and tables for people.

use std::io::{self, Write};

use serde::Serialize;

use crate::error::CliError;

/// The program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Serialize)]
struct Document<'a, T> {
    saker: &'static str,
    schema: &'a str,
    seed: Option<u64>,
    #[serde(flatten)]
    body: &'a T,
}

/// Writes one document on one line: the program's version, the schema (such as `saker.put.v1`), the seed (`null`
/// where nothing is random), then the fields of `body`.
///
/// # Errors
/// `Output`.
pub fn document(
    output: &mut dyn Write,
    schema: &str,
    seed: Option<u64>,
    body: &impl Serialize,
) -> Result<(), CliError> {
    let document = Document { saker: VERSION, schema, seed, body };
    serde_json::to_writer(&mut *output, &document).map_err(|e| CliError::Output(io::Error::from(e)))?;
    writeln!(output).map_err(CliError::Output)
}

/// A document whose array is too long to hold: its items are written as they come.
pub struct ArrayDocument<'a> {
    output: &'a mut dyn Write,
    count: u64,
}

impl<'a> ArrayDocument<'a> {
    /// Begins a document with one array under `name`.
    ///
    /// # Errors
    /// `Output`.
    pub fn begin(output: &'a mut dyn Write, schema: &str, name: &str) -> Result<Self, CliError> {
        write!(output, "{{\"saker\":\"{VERSION}\",\"schema\":\"{schema}\",\"seed\":null,\"{name}\":[")
            .map_err(CliError::Output)?;
        Ok(Self { output, count: 0 })
    }

    /// Writes one item.
    ///
    /// # Errors
    /// `Output`.
    pub fn item(&mut self, item: &impl Serialize) -> Result<(), CliError> {
        if self.count > 0 {
            self.output.write_all(b",").map_err(CliError::Output)?;
        }
        self.count += 1;
        serde_json::to_writer(&mut *self.output, item).map_err(|e| CliError::Output(io::Error::from(e)))
    }

    /// Ends the document with the number of items under `count`. Without it the document stays open, so that a
    /// reader sees that something failed.
    ///
    /// # Errors
    /// `Output`.
    pub fn end(self) -> Result<(), CliError> {
        writeln!(self.output, "],\"count\":{}}}", self.count).map_err(CliError::Output)
    }
}

/// Rows in columns two spaces apart, the first row being the header. A column is as wide as its widest cell; the
/// last one is not padded.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    rows.iter().map(|row| line(row, &widths)).collect()
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, &width)| format!("{cell:width$}"));
    let mut line = cells.collect::<Vec<_>>().join("  ").trim_end().to_owned();
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Body {
        b: u8,
        a: u8,
    }

    #[test]
    fn documents_begin_with_version_schema_and_seed() {
        let mut out = Vec::new();
        document(&mut out, "saker.x.v1", Some(7), &Body { b: 1, a: 2 }).unwrap();
        let expected =
            format!("{{\"saker\":\"{VERSION}\",\"schema\":\"saker.x.v1\",\"seed\":7,\"b\":1,\"a\":2}}\n");
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn an_array_document_is_one_json_value() {
        for count in 0..3_u64 {
            let mut out = Vec::new();
            let mut array = ArrayDocument::begin(&mut out, "saker.x.v1", "items").unwrap();
            (0..count).for_each(|n| array.item(&n).unwrap());
            array.end().unwrap();
            let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(value["count"], count);
            assert_eq!(value["items"].as_array().unwrap().len() as u64, count);
            assert_eq!(value["seed"], serde_json::Value::Null);
        }
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: &[&str]| cells.iter().map(|&c| c.to_owned()).collect::<Vec<_>>();
        let text = table(&[row(&["name", "n"]), row(&["\u{e9}", "12345"]), row(&["longer", ""])]);
        assert_eq!(text, "name    n\n\u{e9}       12345\nlonger\n");
    }
}
