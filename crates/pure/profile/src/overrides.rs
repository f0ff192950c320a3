// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A profile as rows of path and value: for showing it, and for changing single numbers of it.

use toml::{Table, Value};

use super::error::one_line;
use super::{Profile, ProfileError, Source};

/// One number of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where it is, such as `media.read_ns`. It ends in the unit.
    pub path: String,
    /// The value as TOML.
    pub value: String,
    /// Where it comes from.
    pub source: String,
    /// Which paper, document or reasoning.
    pub note: String,
}

/// Numbers above this are refused, so that sums and products of a few of them fit 64 bits.
const NUMBER_MAX: i64 = 1 << 48;

impl Profile {
    /// Every number, sorted by section and name.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        collect(&self.as_table(), "", &mut rows);
        rows
    }

    /// Replaces one number for this run: `path` as in [`Profile::rows`], `text` a TOML value (`123`, `1_000`,
    /// `true`, `[30000, 42000]`). Its source becomes `override`. On an error the profile is as before.
    ///
    /// # Errors
    /// `UnknownSetting`, `BadValue` or `Invalid`.
    pub fn set(&mut self, path: &str, text: &str) -> Result<(), ProfileError> {
        let mut table = self.as_table();
        let number = find(&mut table, path).ok_or_else(|| unknown(path))?;
        let word = WORDS.contains(&path).then(|| Value::String(text.trim_matches('"').to_owned()));
        let value = word.or_else(|| parse_value(text)).ok_or_else(|| bad(path, text, "not a TOML value"))?;
        number.insert("value".into(), value);
        number.insert("source".into(), Source::Override.as_str().into());
        number.insert("note".into(), "".into());
        let changed: Self = table.try_into().map_err(|e: toml::de::Error| bad(path, text, e.message()))?;
        changed.check()?;
        *self = changed;
        Ok(())
    }

    pub(super) fn as_table(&self) -> Table {
        Table::try_from(self).expect("profiles hold only tables, strings, integers, booleans and arrays")
    }
}

fn unknown(path: &str) -> ProfileError {
    ProfileError::UnknownSetting { path: one_line(path) }
}

fn bad(path: &str, text: &str, reason: &str) -> ProfileError {
    ProfileError::BadValue { path: one_line(path), text: one_line(text), reason: one_line(reason) }
}

/// Whether a table is a number with its source rather than a section.
pub(super) fn is_number(table: &Table) -> bool {
    table.contains_key("value") && table.contains_key("source")
}

fn find<'a>(table: &'a mut Table, path: &str) -> Option<&'a mut Table> {
    let found = path.split('.').try_fold(table, |t, key| t.get_mut(key)?.as_table_mut())?;
    is_number(found).then_some(found)
}

fn parse_value(text: &str) -> Option<Value> {
    let mut table: Table = toml::from_str(&format!("v = {text}")).ok()?;
    let value = table.remove("v")?;
    table.is_empty().then_some(value)
}

fn collect(table: &Table, prefix: &str, rows: &mut Vec<Row>) {
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        let path = join(prefix, key);
        if is_number(inner) {
            rows.push(row(path, inner));
        } else {
            collect(inner, &path, rows);
        }
    }
}

fn row(path: String, number: &Table) -> Row {
    let word = |key: &str| number.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Row { path, value: number["value"].to_string(), source: word("source"), note: word("note") }
}

/// Checks what holds for every number: it is not absurdly large, and a claimed source is named.
pub(super) fn check_rows(profile: &Profile) -> Result<(), ProfileError> {
    let table = Table::try_from(profile)
        .map_err(|e| ProfileError::invalid("profile", &format!("cannot be written as TOML: {e}")))?;
    check_table(&table, "")
}

fn check_table(table: &Table, prefix: &str) -> Result<(), ProfileError> {
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        let path = join(prefix, key);
        if is_number(inner) { check_number(inner, &path)? } else { check_table(inner, &path)? }
    }
    Ok(())
}

fn check_number(number: &Table, path: &str) -> Result<(), ProfileError> {
    if !within_bounds(&number["value"]) {
        return Err(ProfileError::invalid(path, "must be at most 281474976710656"));
    }
    let source: Source = number["source"].clone().try_into().expect("written by us");
    let note = number.get("note").and_then(Value::as_str).unwrap_or_default();
    if source.needs_note() && note.trim().is_empty() {
        let reason = format!("claims the source `{}` without a note that names it", source.as_str());
        return Err(ProfileError::invalid(path, &reason));
    }
    Ok(())
}

/// The first entry of `text` that has not the form of a number with its source. The reader's own message does
/// not name the key in every section, so a failed reading asks here first.
pub(super) fn misshapen(text: &str) -> Option<ProfileError> {
    let table: Table = toml::from_str(text).ok()?;
    misshapen_in(&table, "")
}

fn misshapen_in(table: &Table, prefix: &str) -> Option<ProfileError> {
    table.iter().find_map(|(key, value)| {
        let path = join(prefix, key);
        match value {
            Value::String(_) => None,
            Value::Table(inner) if inner.contains_key("value") => {
                fault(&path, inner).map(|reason| ProfileError::invalid(&path, reason))
            }
            Value::Table(inner) => misshapen_in(inner, &path),
            _ => Some(ProfileError::invalid(
                &path,
                "must be { value = ..., source = \"...\", note = \"...\" }",
            )),
        }
    })
}

/// What is a word and no number.
const WORDS: [&str; 1] = ["firmware.dispatch"];

fn fault(path: &str, number: &Table) -> Option<&'static str> {
    match &number["value"] {
        _ if !number.contains_key("source") => Some("has no source"),
        Value::String(_) if WORDS.contains(&path) => None,
        Value::Integer(_) | Value::Boolean(_) | Value::Array(_) => None,
        _ => Some("has a value that is no whole number, true or false"),
    }
}

pub(super) fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

fn within_bounds(value: &Value) -> bool {
    match value {
        Value::Integer(n) => (0..=NUMBER_MAX).contains(n),
        Value::Array(items) => items.iter().all(within_bounds),
        _ => true,
    }
}
