// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Times of a phase: the wall's, and what processors of the machine worked for this process meanwhile.

use std::time::Instant;

/// What an operation took, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    /// By the wall clock.
    pub wall_us: f64,
    /// Of processors, all threads together: what others on the machine do changes it less.
    pub cpu_us: f64,
}

/// Runs a phase of `n` operations.
pub fn time<E>(n: u64, phase: impl FnOnce() -> Result<(), E>) -> Result<Took, E> {
    let (begun, before) = (Instant::now(), cpu_us());
    phase()?;
    let each = |us: f64| us / n.max(1) as f64;
    Ok(Took { wall_us: each(begun.elapsed().as_secs_f64() * 1e6), cpu_us: each(cpu_us() - before) })
}

/// Processor time of this process so far.
fn cpu_us() -> f64 {
    std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| ticks(&stat)).unwrap_or(0) as f64
        * TICK_US
}

/// Bytes that this process has given to write calls so far. Those of a tmpfs reach no disk, so nothing else counts them.
#[cfg(any(test, feature = "rocksdb"))]
pub fn given_to_writes() -> u64 {
    std::fs::read_to_string("/proc/self/io").ok().and_then(|io| written(&io)).unwrap_or(0)
}

/// The line `wchar` of /proc/PID/io.
#[cfg(any(test, feature = "rocksdb"))]
fn written(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("wchar: "))?.parse().ok()
}

/// Linux shows these times in hundredths of a second to every program (USER_HZ).
const TICK_US: f64 = 1e4;

/// User and system time (fields 14 and 15) of a line of /proc/PID/stat.
fn ticks(stat: &str) -> Option<u64> {
    let fields: Vec<_> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_found_behind_a_name_with_anything_in_it() {
        let line = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 123 45 0 0";
        assert_eq!(super::ticks(line), Some(168));
        assert_eq!(super::ticks("7 (a"), None);
    }

    #[test]
    fn bytes_of_write_calls_are_found() {
        assert_eq!(super::written("rchar: 5\nwchar: 17\nwrite_bytes: 4096\n"), Some(17));
        assert_eq!(super::written("rchar: 5\n"), None);
        let before = super::given_to_writes();
        std::fs::write("/dev/null", [0; 5000]).expect("taken");
        assert!(super::given_to_writes() >= before + 5000, "Linux tells them");
    }
}
