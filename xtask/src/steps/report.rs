// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a run says at its end.

use std::time::Duration;

use super::tally::Tally;

/// The end of one step.
pub struct Outcome {
    /// The step's name.
    pub name: String,
    /// Wall time, building included.
    pub elapsed: Duration,
    /// Processor time of the programs that it started, user and system, building included.
    pub processor: Duration,
    /// Its tests.
    pub tally: Tally,
    /// What failed, one line each; empty when the step passed.
    pub failures: Vec<String>,
}

impl Outcome {
    /// `ok` or `FAILED`.
    pub fn verdict(&self) -> &'static str {
        if self.failures.is_empty() { "ok" } else { "FAILED" }
    }

    /// How many tests were skipped, if any were.
    fn skipped(&self) -> String {
        if self.tally.ignored == 0 { String::new() } else { format!(" ({} skipped)", self.tally.ignored) }
    }

    /// What failed: tests, findings, commands.
    fn failed(&self) -> u64 {
        self.tally.failed.max(self.failures.len() as u64)
    }
}

/// The ends of all steps.
pub struct Report {
    /// In the order of the run.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// The tests of all steps.
    pub fn tally(&self) -> Tally {
        let mut sum = Tally::default();
        self.outcomes.iter().for_each(|outcome| sum += outcome.tally);
        sum
    }

    /// Everything that failed; a run without any test is a failure too.
    fn failed(&self) -> u64 {
        let tally = self.tally();
        let failed: u64 = self.outcomes.iter().map(Outcome::failed).sum();
        failed.max(u64::from(tally.passed + tally.failed == 0))
    }

    /// Whether nothing failed and some test ran.
    pub fn passed(&self) -> bool {
        self.failed() == 0
    }

    /// The last line of a run.
    pub fn last_line(&self) -> String {
        format!("{} passed, {} failed", self.tally().passed, self.failed())
    }

    /// Prints the steps' times (by the clock, of processors), all failures and the last line.
    pub fn print(&self) {
        println!("\n== summary: by the clock, of processors ==");
        for outcome in &self.outcomes {
            let (seconds, processor) = (outcome.elapsed.as_secs_f64(), outcome.processor.as_secs_f64());
            let (verdict, name, skipped) = (outcome.verdict(), &outcome.name, outcome.skipped());
            let tests = outcome.tally.passed + outcome.tally.failed;
            println!("{seconds:>8.1} s {processor:>8.1} s  {verdict:<6}  {tests:>5} tests  {name}{skipped}");
        }
        let processor: Duration = self.outcomes.iter().map(|outcome| outcome.processor).sum();
        println!("{:>19.1} s  of processors in all", processor.as_secs_f64());
        for outcome in &self.outcomes {
            outcome.failures.iter().for_each(|failure| println!("FAILED {}: {failure}", outcome.name));
        }
        println!("{}", self.last_line());
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A report of steps `(name, passed, failed, failures)`, one second and a half each.
    pub fn report(steps: &[(&str, u64, u64, &[&str])]) -> Report {
        let outcome = |&(name, passed, failed, failures): &(&str, u64, u64, &[&str])| Outcome {
            name: name.to_owned(),
            elapsed: Duration::from_millis(1500),
            processor: Duration::from_millis(2500),
            tally: Tally { passed, failed, ignored: 0 },
            failures: failures.iter().map(|&failure| failure.to_owned()).collect(),
        };
        Report { outcomes: steps.iter().map(outcome).collect() }
    }

    #[test]
    fn tests_are_summed_over_steps() {
        let report = report(&[("fmt", 0, 0, &[]), ("tests", 40, 0, &[]), ("doc tests", 2, 0, &[])]);
        assert_eq!(report.last_line(), "42 passed, 0 failed");
        assert!(report.passed());
    }

    #[test]
    fn skipped_tests_are_told() {
        let mut report = report(&[("tests", 5, 0, &[])]);
        assert_eq!(report.outcomes[0].skipped(), "");
        report.outcomes[0].tally.ignored = 2;
        assert_eq!(report.outcomes[0].skipped(), " (2 skipped)");
        assert!(report.passed());
    }

    #[test]
    fn every_listed_failure_counts() {
        let report = report(&[
            ("tidy", 0, 0, &["a", "b"]),
            ("tests", 5, 1, &["test a", "died"]),
            ("doc", 1, 3, &["x"]),
        ]);
        assert_eq!(report.last_line(), "6 passed, 7 failed");
        assert!(!report.passed());
    }

    #[test]
    fn a_run_without_tests_fails() {
        let report = report(&[("fmt", 0, 0, &[]), ("tests", 0, 0, &[])]);
        assert_eq!(report.last_line(), "0 passed, 1 failed");
        assert!(!report.passed());
    }
}
