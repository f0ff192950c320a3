// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Colours. The series colours are those of Okabe and Ito ("Color Universal Design", 2008), which people with any
//! kind of colour vision can tell apart, without the yellow, which is too light for lines.

use plotters::style::{RGBAColor, RGBColor};

/// Text.
pub const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// Text and lines of less weight.
pub const MUTED: RGBColor = RGBColor(0x66, 0x66, 0x66);
/// Lines behind the data.
pub const GRID: RGBColor = RGBColor(0xDD, 0xDD, 0xDD);
/// Marks that are hollow.
pub const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
/// No line at all.
pub const NONE: RGBAColor = RGBAColor(0, 0, 0, 0.0);

const SERIES: [RGBColor; 14] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x77, 0x77, 0x77),
    // The same, darker or lighter.
    RGBColor(0x00, 0x3F, 0x63),
    RGBColor(0x8A, 0x3D, 0x00),
    RGBColor(0x7F, 0xD0, 0xB4),
    RGBColor(0x80, 0x40, 0x65),
    RGBColor(0xA8, 0x73, 0x00),
    RGBColor(0x2C, 0x6F, 0x96),
    RGBColor(0xB5, 0xB5, 0xB5),
];

/// The colour of series `n`, again from the first when there are more.
pub const fn series(n: usize) -> RGBColor {
    SERIES[n % SERIES.len()]
}

fn hex(colour: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
}

/// The same drawing with the neutral colours, and the blue that is too dark at night, taken from the page's style sheet, so that it follows light and dark.
pub fn themed(svg: &str) -> String {
    let named = [
        (INK, "var(--ink)"),
        (MUTED, "var(--muted)"),
        (GRID, "var(--grid)"),
        (PAPER, "var(--paper)"),
        (SERIES[0], "var(--blue)"),
    ];
    named.into_iter().fold(svg.to_owned(), |text, (colour, name)| text.replace(&hex(colour), name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn neutral_colours_follow_the_page() {
        let text = themed("<text fill=\"#222222\"/><line stroke=\"#DDDDDD\"/><circle fill=\"#D55E00\"/>");
        assert_eq!(
            text,
            "<text fill=\"var(--ink)\"/><line stroke=\"var(--grid)\"/><circle fill=\"#D55E00\"/>"
        );
    }

    #[test]
    fn colours_are_all_different() {
        let all: BTreeSet<String> =
            (0..SERIES.len()).map(|n| hex(series(n))).chain([INK, MUTED, GRID, PAPER].map(hex)).collect();
        assert_eq!(all.len(), SERIES.len() + 4);
    }
}
