// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Property files as Java reads them (`java.util.Properties.load`), but for escapes within names and values.

use super::PropertyError;
use std::collections::BTreeMap;

/// Names and values.
#[derive(Clone, Debug, Default)]
pub(super) struct Properties(BTreeMap<String, String>);

impl Properties {
    /// Lines that begin with `#` or `!` say nothing; a line that ends in `\` goes on in the next one; the first `=`, `:` or
    /// blank ends the name. Of a name that comes twice the last value counts.
    pub(super) fn parse(text: &str) -> Self {
        let (mut all, mut line) = (BTreeMap::new(), String::new());
        for part in text.lines().map(str::trim_start) {
            if line.is_empty() && (part.starts_with(['#', '!']) || part.is_empty()) {
                continue;
            }
            if let Some(begun) = part.strip_suffix('\\') {
                line.push_str(begun);
                continue;
            }
            line.push_str(part);
            let (name, value) = split(&std::mem::take(&mut line));
            all.insert(name, value);
        }
        if !line.is_empty() {
            let (name, value) = split(&line);
            all.insert(name, value);
        }
        Self(all)
    }

    pub(super) fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.0.get(name).map_or(default, String::as_str)
    }

    pub(super) fn refuse(&self, name: &str, reason: &'static str) -> PropertyError {
        PropertyError { name: name.to_owned(), value: self.text(name, "").to_owned(), reason }
    }

    pub(super) fn number(&self, name: &str, default: u64) -> Result<u64, PropertyError> {
        let Some(text) = self.0.get(name) else { return Ok(default) };
        text.parse().map_err(|_| self.refuse(name, "not a whole number"))
    }

    pub(super) fn fraction(&self, name: &str, default: f64) -> Result<f64, PropertyError> {
        let Some(text) = self.0.get(name) else { return Ok(default) };
        let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        share.ok_or_else(|| self.refuse(name, "not a number from 0 to 1"))
    }

    /// One of these; the first if nothing is said.
    pub(super) fn one_of(&self, name: &str, known: &[&'static str]) -> Result<&'static str, PropertyError> {
        let text = self.text(name, known[0]);
        known
            .iter()
            .copied()
            .find(|k| k.eq_ignore_ascii_case(text))
            .ok_or_else(|| self.refuse(name, "not known here"))
    }
}

fn split(line: &str) -> (String, String) {
    let end = line.find(|c: char| c == '=' || c == ':' || c.is_whitespace()).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (name.to_owned(), value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_java_does() {
        let text = "# comment\n! another\n a = 1\nb:2\nc 3\n\nd=first\\\n   second\nd2=x\na=4\ne\nf = g=h \nlast=1\\";
        let p = Properties::parse(text);
        let all = ["a", "b", "c", "d", "d2", "e", "f", "last"].map(|name| p.text(name, "?"));
        assert_eq!(all, ["4", "2", "3", "firstsecond", "x", "", "g=h", "1"]);
        assert_eq!(p.text("g", "?"), "?");
    }
}
