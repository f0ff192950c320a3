// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the programs that this one has started have used.

use std::time::Duration;

/// Linux tells processor times to programs in hundredths of a second on every architecture (proc(5), `USER_HZ`).
const TICKS_PER_SECOND: u64 = 100;

/// Processor time, user and system, of all children that have ended, and of their children. Zero where /proc is not there.
pub fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    Duration::from_millis(ticks(&stat).unwrap_or(0) * 1000 / TICKS_PER_SECOND)
}

/// The sum of `cutime` and `cstime` of a line of /proc/PID/stat (proc(5): fields 16 and 17).
fn ticks(stat: &str) -> Option<u64> {
    // The second field is a name in parentheses, which may hold blanks and parentheses.
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_whitespace().skip(16 - 3);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_fields_16_and_17() {
        let stat = "7 (a) b) c) S 4 5 6 7 8 9 10 11 12 13 14 15 160 17 18 19";
        assert_eq!(ticks(stat), Some(177));
        assert_eq!(ticks("7 (a) S 4"), None);
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn a_child_that_counts_is_seen_after_it_ended() {
        let before = processor_time();
        let mut shell = std::process::Command::new("sh");
        let status = shell.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]).status();
        assert!(status.is_ok_and(|status| status.success()));
        assert!(processor_time() > before);
    }
}
