// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much room text takes, and how it is broken into lines. No font is measured: letters count as wide as the widest
//! usual sans-serif font has them in the mean, so that text rather has too much room.

/// Width of a letter over its font's size.
const LETTER: f64 = 0.57;

/// About so wide is a text.
pub fn width(text: &str, size: u32) -> i32 {
    (text.chars().count() as f64 * LETTER * f64::from(size)).ceil() as i32
}

/// The text in lines that are at most so wide where words allow it. Words are not broken.
pub fn wrapped(text: &str, size: u32, most: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + width(" ", size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text, or its beginning, so that it is at most so wide.
pub fn cut(text: &str, size: u32, most: i32) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let letters = (f64::from(most) / (LETTER * f64::from(size))) as usize;
    text.chars().take(letters.saturating_sub(1)).chain(['\u{2026}']).collect()
}

/// Places of items of these widths in rows that are so wide: the left end and the row of each.
pub fn rows(widths: &[i32], most: i32) -> Vec<(i32, usize)> {
    let (mut x, mut row) = (0, 0);
    let mut place = |width: &i32| {
        if x > 0 && x + width > most {
            (x, row) = (0, row + 1);
        }
        let found = (x, row);
        x += width;
        found
    };
    widths.iter().map(&mut place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_wide_as_they_may_be() {
        assert_eq!(wrapped("writes slowed down", 10, 90), ["writes slowed", "down"]);
        assert_eq!(wrapped("one-long-word", 10, 30), ["one-long-word"], "words are not broken");
        assert!(wrapped("", 10, 30).is_empty());
        assert_eq!((cut("abcdef", 10, 35), cut("abcdef", 10, 34)), ("abcdef".into(), "abcd\u{2026}".into()));
    }

    #[test]
    fn items_that_do_not_fit_go_to_the_next_row() {
        assert_eq!(rows(&[40, 40, 40, 150, 10], 100), [(0, 0), (40, 0), (0, 1), (0, 2), (0, 3)]);
    }
}
