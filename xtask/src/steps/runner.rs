// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Running steps: output is passed on as it comes, and read on the way.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::children;
use super::report::{Outcome, Report};
use super::tally::{self, Tally};
use super::{Action, Step, Tier};
use crate::Fault;
use crate::finding::{self, Finding};
use crate::workspace::{Workspace, cargo};

/// Runs every step, whatever fails.
pub fn run_all(workspace: &Workspace, tier: Tier, steps: &[Step]) -> Report {
    Report { outcomes: steps.iter().map(|step| run(workspace, tier, step)).collect() }
}

/// Runs one step.
pub fn run(workspace: &Workspace, tier: Tier, step: &Step) -> Outcome {
    println!("\n== {} ==", step.name);
    let (start, before) = (Instant::now(), children::processor_time());
    let (tally, failures) = match &step.action {
        Action::Rule(rule) => (Tally::default(), apply(rule(workspace))),
        Action::Cargo { args, env } => {
            let mut command = cargo();
            command.args(args).envs(env.iter().map(|(name, value)| (*name, value)));
            perform(&mut command, workspace, tier)
        }
        Action::Script { path, args } => {
            let mut command = Command::new(workspace.root.join(path));
            // It builds where this program builds, for itself.
            command.args(*args).env("CARGO_TARGET_DIR", workspace.metadata.target_directory.join("bindings"));
            perform(&mut command, workspace, tier)
        }
    };
    let (elapsed, processor) = (start.elapsed(), children::processor_time().saturating_sub(before));
    println!(
        "== {}: {:.1} s, {:.1} s of processors ==",
        step.name,
        elapsed.as_secs_f64(),
        processor.as_secs_f64()
    );
    Outcome { name: step.name.clone(), elapsed, processor, tally, failures }
}

/// Runs the command of a step.
fn perform(command: &mut Command, workspace: &Workspace, tier: Tier) -> (Tally, Vec<String>) {
    command.envs(tier_env(tier)).current_dir(&workspace.root);
    stream(command, &mut io::stdout()).unwrap_or_else(|fault| (Tally::default(), vec![fault.to_string()]))
}

/// What tests learn of the tier. proptest takes its default number of cases from its own variable.
fn tier_env(tier: Tier) -> Vec<(&'static str, &'static str)> {
    match tier {
        Tier::Check => vec![("SAKER_TIER", "check")],
        Tier::Soak => vec![("SAKER_TIER", "soak"), ("PROPTEST_CASES", "2048")],
    }
}

/// Prints a rule's findings and returns the failures.
fn apply(result: Result<Vec<Finding>, Fault>) -> Vec<String> {
    match result {
        Ok(findings) => {
            finding::report(&findings);
            finding::failures(&findings)
        }
        Err(fault) => vec![format!("error: {fault}")],
    }
}

/// Runs a command, copying its standard output to `out`: its test counts and what failed.
fn stream(command: &mut Command, out: &mut impl Write) -> io::Result<(Tally, Vec<String>)> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().expect("the pipe was asked for");
    let (tally, mut failures) = read(stdout, out)?;
    let status = child.wait()?;
    if !status.success() && failures.is_empty() {
        failures.push(format!("`{}` failed ({status}), see above", line(command)));
    }
    Ok((tally, failures))
}

/// Copies libtest's output line by line, counting.
fn read(from: impl Read, out: &mut impl Write) -> io::Result<(Tally, Vec<String>)> {
    let mut reading = Reading::default();
    let mut lines = BufReader::new(from);
    let mut bytes = Vec::new();
    while lines.read_until(b'\n', &mut bytes)? > 0 {
        out.write_all(&bytes)?;
        out.flush()?;
        reading.line(&String::from_utf8_lossy(&bytes));
        bytes.clear();
    }
    Ok(reading.end())
}

/// What the lines so far say.
#[derive(Default)]
struct Reading {
    tally: Tally,
    failures: Vec<String>,
    /// Whether a test program began and has not yet told its result.
    open: bool,
}

impl Reading {
    fn line(&mut self, line: &str) {
        if tally::opens(line) {
            self.close();
            self.open = true;
        }
        if let Some(tally) = tally::parse(line) {
            self.tally += tally;
            self.open = false;
        }
        self.failures.extend(tally::failed_test(line).map(|name| format!("test {name}")));
    }

    /// A program that is open when the next one begins, or at the end, was killed or aborted.
    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.failures.push("a test program died before its result, see above".to_owned());
        }
    }

    fn end(mut self) -> (Tally, Vec<String>) {
        self.close();
        (self.tally, self.failures)
    }
}

/// The command as a developer would type it.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_passed_on_and_counted() {
        let text = "test a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured\n\
            \u{fffd} no end of line, test result: ok. 9 passed; 0 failed\ntest result: ok. 2 passed; 0 failed; 4 ignored";
        let mut out = Vec::new();
        let (tally, failures) = read(text.as_bytes(), &mut out).unwrap();
        assert_eq!(out, text.as_bytes());
        assert_eq!(tally, Tally { passed: 3, failed: 1, ignored: 4 });
        assert_eq!(failures, ["test b"]);
    }

    #[test]
    fn a_test_program_that_dies_is_a_failure() {
        let died = "a test program died before its result, see above";
        let whole = "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        let failures = |text: String| read(text.as_bytes(), &mut Vec::new()).unwrap().1;
        assert_eq!(failures([whole, whole].concat()), [""; 0]);
        assert_eq!(failures(["running 2 tests\ntest a ... ok\n", whole].concat()), [died]);
        assert_eq!(failures([whole, "running 2 tests\n"].concat()), [died]);
    }

    #[test]
    fn a_command_that_fails_without_a_failed_test_is_a_failure() {
        let (tally, failures) =
            stream(cargo().arg("--no-such-option").stderr(Stdio::null()), &mut Vec::new()).unwrap();
        assert_eq!(tally, Tally::default());
        assert_eq!(failures.len(), 1);
        assert!(failures[0].starts_with("`cargo --no-such-option` failed"), "{}", failures[0]);
    }

    #[test]
    fn a_command_that_succeeds_is_none() {
        let mut out = Vec::new();
        let (_, failures) = stream(cargo().arg("--version"), &mut out).unwrap();
        assert_eq!(failures, [""; 0]);
        assert!(out.starts_with(b"cargo "));
    }

    #[test]
    fn a_rule_that_breaks_is_a_failure() {
        assert_eq!(apply(Err("no table".into())), ["error: no table"]);
        assert_eq!(apply(Ok(vec![Finding::warn("r", "p", "m")])), [""; 0]);
        assert_eq!(apply(Ok(vec![Finding::fail("r", "p", "m")])), ["error: p: [r] m"]);
    }
}
