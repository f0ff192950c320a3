// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A profile as TOML text, one line a number, as the shipped files are written.

use core::fmt::Write;

use toml::{Table, Value};

use super::overrides::{is_number, join};

/// Writes a section: its plain values, its numbers, then its sections.
pub(super) fn section(table: &Table, path: &str, out: &mut String) {
    for (key, value) in table.iter().filter(|(_, v)| !v.is_table()) {
        line(out, key, &value.to_string());
    }
    for (key, number) in numbers(table) {
        line(out, key, &inline(number));
    }
    for (key, inner) in subsections(table) {
        let path = join(path, key);
        write!(out, "\n[{path}]\n").expect("a String takes everything");
        section(inner, &path, out);
    }
}

fn numbers(table: &Table) -> impl Iterator<Item = (&String, &Table)> {
    table.iter().filter_map(|(k, v)| Some((k, v.as_table()?))).filter(|(_, t)| is_number(t))
}

fn subsections(table: &Table) -> impl Iterator<Item = (&String, &Table)> {
    table.iter().filter_map(|(k, v)| Some((k, v.as_table()?))).filter(|(_, t)| !is_number(t))
}

fn inline(number: &Table) -> String {
    let part = |key: &str| number.get(key).map_or_else(|| "\"\"".to_owned(), Value::to_string);
    format!("{{ value = {}, source = {}, note = {} }}", part("value"), part("source"), part("note"))
}

fn line(out: &mut String, key: &str, value: &str) {
    writeln!(out, "{key} = {value}").expect("a String takes everything");
}
