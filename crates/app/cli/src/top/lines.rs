// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A look as a line of text.

use super::look::Look;
use crate::size;

/// A head stands above so many lines.
pub const HEAD_EVERY: u64 = 20;

/// What the columns are.
#[must_use]
pub fn head() -> String {
    format!(
        "{:>10} {:>10} {:>12} {:>12} {:>7} {:>7} {:>7} {:>8} {:>6} {:>8} {:>7} {:>5}\n",
        "reads/s",
        "writes/s",
        "read/s",
        "written/s",
        "p50 us",
        "p99 us",
        "queued",
        "waiting",
        "WAF",
        "stopped",
        "delayed",
        "full",
    )
}

/// One line.
#[must_use]
pub fn line(look: &Look) -> String {
    let us = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), |us| format!("<{us:.0}"));
    let latency = look.latency_us;
    let waf = look.write_amplification.map_or_else(|| "-".to_owned(), |waf| format!("{waf:.2}"));
    format!(
        "{:>10.0} {:>10.0} {:>12} {:>12} {:>7} {:>7} {:>7} {:>8} {:>6} {:>7.0}% {:>6.0}% {:>4.0}%",
        look.reads_per_s,
        look.writes_per_s,
        size::show(look.read_bytes_per_s as u64),
        size::show(look.written_bytes_per_s as u64),
        us(latency.map(|latency| latency.p50)),
        us(latency.map(|latency| latency.p99)),
        look.in_device,
        look.waiting,
        waf,
        look.stopped_ratio * 100.0,
        look.delayed_ratio * 100.0,
        full(look) * 100.0,
    )
}

/// Which part of what may live does.
#[must_use]
pub fn full(look: &Look) -> f64 {
    look.live_bytes as f64 / look.capacity_bytes.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_their_heads() {
        let look = Look { reads_per_s: 1234.0, capacity_bytes: 100, live_bytes: 50, ..Look::default() };
        assert_eq!(line(&look).len(), head().trim_end().len());
        assert!(line(&look).ends_with(" 50%"), "{}", line(&look));
    }
}
