// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Digests by name, in a file, and how two such files differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Fault;

/// The version of the file's form.
const FORMAT: u32 = 1;

/// The baseline of a binary.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    format: u32,
    /// SHA-256 in hexadecimal digits, by name: `group/what/...`.
    pub entries: BTreeMap<String, String>,
    /// Names, and beginnings of names, of what the binary does not offer.
    #[serde(default)]
    pub not_offered: BTreeSet<String>,
}

impl Default for Record {
    fn default() -> Self {
        Self { format: FORMAT, entries: BTreeMap::new(), not_offered: BTreeSet::new() }
    }
}

impl Record {
    /// Reads a file that an earlier run wrote.
    ///
    /// # Errors
    /// When it cannot be read, or has another form.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let text = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let record: Self = serde_json::from_slice(&text)
            .map_err(|error| format!("{} is no baseline: {error}", path.display()))?;
        if record.format != FORMAT {
            return Err(format!("{} has format {}, not {FORMAT}", path.display(), record.format).into());
        }
        Ok(record)
    }

    /// The text of the file.
    ///
    /// # Errors
    /// Never, as far as is known.
    pub fn text(&self) -> Result<String, Fault> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Adds the digest of a value.
    pub fn add(&mut self, name: &str, value: &Value) {
        // Objects are sorted by name, so the same value has one text.
        self.add_bytes(name, value.to_string().as_bytes());
    }

    /// Adds the digest of bytes.
    pub fn add_bytes(&mut self, name: &str, bytes: &[u8]) {
        let before = self.entries.insert(name.to_owned(), sha256(bytes));
        assert!(before.is_none(), "{name} has two digests");
    }

    /// Whether the binary said that it has nothing of that name.
    fn lacks(&self, name: &str) -> bool {
        let is_in =
            |what: &String| name.strip_prefix(what).is_some_and(|r| r.is_empty() || r.starts_with('/'));
        self.not_offered.iter().any(is_in)
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One name under which two baselines differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The digests differ.
    Differs(String),
    /// It was there, and is not now.
    Missing(String),
    /// It is there now, and was not.
    New(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(name) => write!(f, "differs: {name}"),
            Self::Missing(name) => write!(f, "missing: {name}"),
            Self::New(name) => write!(f, "new: {name}"),
        }
    }
}

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Entries that are equal.
    pub same: usize,
    /// Entries that are not, by name.
    pub differences: Vec<Difference>,
    /// Entries that one binary does not offer.
    pub not_offered: usize,
}

/// Compares the entries of the groups. What one side has and the other does not is a difference, unless the other binary said that it
/// does not offer it.
pub fn compare(before: &Record, now: &Record, groups: &BTreeSet<&str>) -> Compared {
    let mut found = Compared::default();
    let names: BTreeSet<&String> = before.entries.keys().chain(now.entries.keys()).collect();
    for name in names.into_iter().filter(|name| is_in(name, groups)) {
        match (before.entries.get(name), now.entries.get(name)) {
            (Some(one), Some(two)) if one == two => found.same += 1,
            (Some(_), Some(_)) => found.differences.push(Difference::Differs(name.clone())),
            (Some(_), None) if now.lacks(name) => found.not_offered += 1,
            (None, _) if before.lacks(name) => found.not_offered += 1,
            (Some(_), None) => found.differences.push(Difference::Missing(name.clone())),
            (None, _) => found.differences.push(Difference::New(name.clone())),
        }
    }
    found
}

fn is_in(name: &str, groups: &BTreeSet<&str>) -> bool {
    groups.contains(name.split('/').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(entries: &[(&str, u64)]) -> Record {
        let mut record = Record::default();
        entries.iter().for_each(|(name, n)| record.add(name, &json!({ "n": n })));
        record
    }

    fn compared(before: &Record, now: &Record) -> Compared {
        compare(before, now, &BTreeSet::from(["bench", "history"]))
    }

    #[test]
    fn a_digest_is_that_of_the_standard() {
        // FIPS 180-4's example.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
    }

    #[test]
    fn equal_baselines_have_no_differences() {
        let one = record(&[("bench/a/seed1", 1), ("history/lsm", 2)]);
        assert_eq!(compared(&one, &one), Compared { same: 2, ..Compared::default() });
    }

    #[test]
    fn a_planted_difference_is_named() {
        let (one, two) =
            (record(&[("bench/a", 1), ("bench/b", 2)]), record(&[("bench/a", 1), ("bench/b", 3)]));
        let found = compared(&one, &two);
        assert_eq!((found.same, &found.differences[..]), (1, &[Difference::Differs("bench/b".into())][..]));
        assert_eq!(found.differences[0].to_string(), "differs: bench/b");
    }

    #[test]
    fn what_is_missing_or_new_is_a_difference() {
        let (one, two) = (record(&[("bench/a", 1)]), record(&[("bench/b", 1)]));
        let expected = [Difference::Missing("bench/a".into()), Difference::New("bench/b".into())];
        assert_eq!(compared(&one, &two).differences, expected);
    }

    #[test]
    fn what_a_binary_does_not_offer_is_counted_and_not_compared() {
        let mut old = record(&[("bench/a", 1)]);
        old.not_offered.insert("history".into());
        let new = record(&[("bench/a", 1), ("history/lsm", 2)]);
        let expected = Compared { same: 1, not_offered: 1, ..Compared::default() };
        assert_eq!((compared(&old, &new), compared(&new, &old)), (expected.clone(), expected));
        // A name that only begins alike is another one.
        let new = record(&[("bench/a", 1), ("bench/a2", 2)]);
        old.not_offered.insert("bench/a".into());
        assert_eq!(compared(&old, &new).differences, [Difference::New("bench/a2".into())]);
    }

    #[test]
    fn other_groups_are_not_compared() {
        let (one, two) = (record(&[("bench/a", 1), ("images/a", 1)]), record(&[("bench/a", 1)]));
        assert_eq!(compared(&one, &two), Compared { same: 1, ..Compared::default() });
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let mut one = record(&[("bench/b", 2), ("bench/a", 1)]);
        one.not_offered.insert("cuts".into());
        let path = std::env::temp_dir().join(format!("saker-baseline-{}.json", std::process::id()));
        fs::write(&path, one.text().unwrap()).unwrap();
        let two = Record::read(&path).unwrap();
        assert_eq!((&one.entries, &one.not_offered), (&two.entries, &two.not_offered));
        fs::write(&path, "{\"format\":2,\"entries\":{}}").unwrap();
        assert!(Record::read(&path).unwrap_err().to_string().contains("has format 2, not 1"));
        fs::remove_file(path).unwrap();
    }
}
