// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sizes as people write them: `4096`, `4KiB`, `1GB`.

/// Units and their bytes: powers of 1024 with an `i` (IEC 80000-13), powers of 1000 without.
const UNITS: [(&str, u64); 9] = [
    ("b", 1),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
];

/// Decimal units for people, largest first.
const SHOWN: [(&str, u64); 4] =
    [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];

/// Reads a size: a whole number, then nothing or a unit in either case. `4K` is refused, as it means 4000 to some
/// and 4096 to others.
///
/// # Errors
/// One line that says how to write it.
pub fn parse(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(not_whole());
    }
    let factor = factor(unit.trim_start())?;
    let number: u64 = number.parse().map_err(|_| too_large())?;
    number.checked_mul(factor).ok_or_else(too_large)
}

fn factor(unit: &str) -> Result<u64, String> {
    let unit = unit.to_ascii_lowercase();
    if unit.is_empty() {
        return Ok(1);
    }
    if unit.starts_with('.') {
        return Err(not_whole());
    }
    let known = UNITS.iter().find(|(name, _)| *name == unit).map(|&(_, bytes)| bytes);
    known
        .ok_or_else(|| "unknown unit: write B, KiB, MiB, GiB, TiB (1024) or kB, MB, GB, TB (1000)".to_owned())
}

fn not_whole() -> String {
    "a size is a whole number with a unit, such as 4096, 4KiB or 1GB".to_owned()
}

fn too_large() -> String {
    "the size does not fit 64 bits".to_owned()
}

/// `bytes` for people, with one digit after the point: `999 B`, `1.9 MB`. Rounds down.
pub fn show(bytes: u64) -> String {
    match SHOWN.iter().find(|(_, unit)| bytes >= *unit) {
        None => format!("{bytes} B"),
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
    }
}

/// `number` with a comma every three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_1024_with_an_i_and_of_1000_without() {
        assert_eq!(parse("4096"), Ok(4096));
        assert_eq!(parse("4KiB"), Ok(4096));
        assert_eq!(parse("4kB"), Ok(4000));
        assert_eq!(parse("1GB"), Ok(1_000_000_000));
        assert_eq!(parse("1GiB"), Ok(1_073_741_824));
        assert_eq!(parse("3 mib"), Ok(3_145_728));
        assert_eq!(parse("2TiB"), Ok(2_199_023_255_552));
        assert_eq!(parse("7B"), Ok(7));
        assert_eq!(parse("0"), Ok(0));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "KiB", "4K", "4 4", "-1", "1.5GB", "4KiBs", "4\u{e9}", "0x10"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("1.5GiB"), Err(not_whole()));
        assert_eq!(parse("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse("18446744073709551616"), Err(too_large()));
        assert_eq!(parse("17000000TiB"), Err(too_large()));
    }

    #[test]
    fn sizes_for_people_round_down() {
        assert_eq!(show(999), "999 B");
        assert_eq!(show(1_000), "1.0 kB");
        assert_eq!(show(1_999_999), "1.9 MB");
        assert_eq!(show(u64::MAX), "18446744.0 TB");
    }

    #[test]
    fn commas_stand_every_three_digits() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }
}
