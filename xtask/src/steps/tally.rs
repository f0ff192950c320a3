// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counting the results that libtest prints.

use std::ops::AddAssign;

/// Tests of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that were not run.
    pub ignored: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// The counts of a line `test result: ok. 3 passed; 0 failed; 1 ignored; ...`; none for any other line.
pub fn parse(line: &str) -> Option<Tally> {
    let (_verdict, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
    let count = |word: &str| {
        let entry = counts.split("; ").find_map(|entry| entry.strip_suffix(word))?;
        entry.trim().parse().ok()
    };
    Some(Tally {
        passed: count(" passed")?,
        failed: count(" failed")?,
        ignored: count(" ignored").unwrap_or(0),
    })
}

/// Whether a line `running 3 tests` opens the tests of one program; `test result: ` closes them.
pub fn opens(line: &str) -> bool {
    let count = line.trim().strip_prefix("running ").and_then(|rest| rest.split_once(" test"));
    count.is_some_and(|(count, plural)| count.parse::<u64>().is_ok() && matches!(plural, "" | "s"))
}

/// The name in a line `test NAME ... FAILED`.
pub fn failed_test(line: &str) -> Option<&str> {
    line.trim().strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_and_bad_results_are_counted() {
        let ok =
            "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.10s";
        assert_eq!(parse(ok), Some(Tally { passed: 12, failed: 0, ignored: 3 }));
        let bad = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s\n";
        assert_eq!(parse(bad), Some(Tally { passed: 1, failed: 2, ignored: 0 }));
    }

    #[test]
    fn other_lines_count_nothing() {
        for line in [
            "",
            "test a ... ok",
            "test result: ok",
            "test result: ok. x passed; 0 failed",
            "5 passed; 0 failed",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn openings_are_recognised() {
        assert!(opens("running 1 test\n") && opens("running 20 tests"));
        assert!(!opens("running late tests") && !opens("running 3 testers") && !opens("test a ... ok"));
    }

    #[test]
    fn failed_tests_are_named() {
        assert_eq!(failed_test("test a::b - should panic ... FAILED\n"), Some("a::b - should panic"));
        assert_eq!(failed_test("test a::b ... ok"), None);
    }

    #[test]
    fn tallies_add_up() {
        let mut sum = Tally { passed: 1, failed: 2, ignored: 3 };
        sum += Tally { passed: 10, failed: 20, ignored: 30 };
        assert_eq!(sum, Tally { passed: 11, failed: 22, ignored: 33 });
    }
}
