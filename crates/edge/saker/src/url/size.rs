// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sizes as they are written.

/// `4096`, `64KiB`, `1GB` ... in bytes.
///
/// ```
/// use saker::url::parse_size;
/// assert_eq!((parse_size("4096"), parse_size("64KiB"), parse_size("1GB")), (Some(4096), Some(65_536), Some(1_000_000_000)));
/// assert_eq!((parse_size("64 KiB"), parse_size("1.5GiB"), parse_size("64kib")), (None, None, None));
/// ```
pub fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}
