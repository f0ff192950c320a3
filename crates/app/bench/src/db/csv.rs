// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lines of comma-separated values (RFC 4180): cells may stand in quotes.

use std::borrow::Cow;

/// The mark some programs put at the beginning of UTF-8 text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The cells of a line, without what surrounds them: blanks, quotes, a byte order mark.
pub(super) fn cells(line: &str) -> Vec<Cow<'_, str>> {
    let line = line.trim_start_matches(BYTE_ORDER_MARK);
    if !line.contains('"') {
        return line.split(',').map(|cell| Cow::Borrowed(cell.trim())).collect();
    }
    let (mut cells, mut rest) = (Vec::new(), Some(line));
    while let Some(text) = rest {
        let (cell, behind) = match text.trim_start().strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => split_at_comma(text, |cell| Cow::Borrowed(cell.trim())),
        };
        cells.push(cell);
        rest = behind;
    }
    cells
}

/// A cell behind its first quote, and what follows its comma. Two quotes are one that does not end it.
fn unquoted(text: &str) -> (Cow<'_, str>, Option<&str>) {
    let mut cell = String::new();
    let mut parts = text.split('"');
    let mut taken = 0;
    while let Some(part) = parts.next() {
        cell.push_str(part);
        taken += part.len() + 1;
        let Some(behind) = text.get(taken..) else { break };
        if !behind.starts_with('"') {
            return split_at_comma(behind, |_| Cow::Owned(cell));
        }
        cell.push('"');
        parts.next();
        taken += 1;
    }
    (Cow::Owned(cell), None)
}

fn split_at_comma<'a>(
    text: &'a str,
    cell: impl FnOnce(&'a str) -> Cow<'a, str>,
) -> (Cow<'a, str>, Option<&'a str>) {
    match text.split_once(',') {
        Some((before, behind)) => (cell(before), Some(behind)),
        None => (cell(text), None),
    }
}

#[cfg(test)]
mod tests {
    use super::cells;

    #[test]
    fn cells_lose_blanks_and_quotes() {
        for (line, expected) in [
            ("0, abc ,3", vec!["0", "abc", "3"]),
            ("", vec![""]),
            ("a,,", vec!["a", "", ""]),
            ("\u{feff}time,key", vec!["time", "key"]),
            (r#""0","a,b", "c" ,d"#, vec!["0", "a,b", "c", "d"]),
            (r#""say ""so""",1"#, vec![r#"say "so""#, "1"]),
            (r#""""#, vec![""]),
            (r#""""""#, vec![r#"""#]),
            (r#"a"b,c"#, vec![r#"a"b"#, "c"]),
            (r#""never ends,1"#, vec!["never ends,1"]),
            (r#"1,"""#, vec!["1", ""]),
        ] {
            assert_eq!(cells(line), expected, "{line}");
        }
    }
}
