// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The long tier: full counts, release, loom; its summary goes into the docs.
//!
//! It takes hours, so the summary is written after every step, a run may be of some steps only, and a step that did not run
//! keeps what it last said, with its commit.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::thread;

use crate::Fault;
use crate::steps::{self, Outcome, Report, Step, Tier};
use crate::workspace::{Workspace, output};

const SUMMARY: &str = "docs/soak-last.md";

/// Runs the steps of the soak whose names contain one of `only` (all of them if there are none), and writes the summary,
/// whatever failed; true when nothing did.
///
/// # Errors
/// When git fails, the summary cannot be written, or no step has such a name.
pub fn soak(workspace: &Workspace, only: &[String]) -> Result<bool, Fault> {
    let origin = Origin::read(workspace)?;
    let mut steps = steps::common(workspace, Tier::Soak);
    steps.extend(["saker-link", "saker-host", "saker-runtime"].map(|package| loom(workspace, package)));
    steps.extend(steps::bindings::steps());
    steps.push(of_spread("three seeds", "three_seeds"));
    steps.push(of_spread("scale 1/32", "a_larger_scale"));
    steps.push(published());
    steps.push(steps::script("package", "packaging/check"));
    steps.push(steps::script("instructions", "packaging/instructions"));
    let path = workspace.root.join(SUMMARY);
    fs::create_dir_all(workspace.root.join("docs"))?;
    let mut rows = rows(&fs::read_to_string(&path).unwrap_or_default());
    let mut report = Report { outcomes: Vec::new() };
    for step in steps.iter().filter(|step| is_asked_for(step, only)) {
        let outcome = steps::run(workspace, Tier::Soak, step);
        rows.insert(step.name.clone(), row(&outcome, &origin));
        report.outcomes.push(outcome);
        fs::write(&path, summary(&steps, &rows, &origin))?;
    }
    if report.outcomes.is_empty() {
        return Err(format!("no step of the soak is called {}", only.join(" or ")).into());
    }
    report.print();
    Ok(report.passed())
}

fn is_asked_for(step: &Step, only: &[String]) -> bool {
    only.is_empty() || only.iter().any(|name| step.name.contains(name.as_str()))
}

/// The model-checked interleavings of a package. Their flag would rebuild everything, hence the target folder.
fn loom(workspace: &Workspace, package: &str) -> Step {
    let target = workspace.metadata.target_directory.join("loom");
    let target = target.to_string_lossy();
    let args = ["test", "--package", package, "--profile", "soak", "--test", "loom", "--target-dir", &target];
    steps::cargo(&format!("loom {package}"), &args, &[("RUSTFLAGS", "--cfg loom")])
}

/// How far numbers are apart, and whether a verdict changes: of all experiments with three seeds, or of YCSB on the hash FTLs with eight times
/// the flash.
fn of_spread(name: &str, test: &str) -> Step {
    let test = format!("spread::tests::{test}");
    let args = [
        "test",
        "--workspace",
        "--profile",
        "soak",
        "--lib",
        "--",
        &test,
        "--exact",
        "--ignored",
        "--nocapture",
    ];
    steps::cargo(name, &args, &[])
}

/// Every crate that is published builds from its package alone, and the registry would take it.
fn published() -> Step {
    steps::cargo("cargo publish", &["publish", "--workspace", "--dry-run", "--allow-dirty", "--quiet"], &[])
}

/// When, where and what ran.
struct Origin {
    /// UTC day, `YYYY-MM-DD`.
    date: String,
    /// CPU model name and the number of cores offered.
    cpu: String,
    /// Abbreviated commit, marked when files differ from it.
    commit: String,
    /// The compiler's version line.
    rustc: String,
}

impl Origin {
    fn read(workspace: &Workspace) -> Result<Self, Fault> {
        let git = |args: &[&str]| output(Command::new("git").args(args).current_dir(&workspace.root));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Ok(Self {
            date: output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?.trim().to_owned(),
            cpu: format!("{}, {cores} cores", cpu_model(&info)),
            commit: git(&["describe", "--always", "--dirty", "--exclude=*"])?.trim().to_owned(),
            rustc: output(Command::new("rustc").arg("--version"))?.trim().to_owned(),
        })
    }
}

/// The model name in the text of Linux's `/proc/cpuinfo`; the architecture where there is none.
fn cpu_model(info: &str) -> &str {
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map_or(std::env::consts::ARCH, |(_, model)| model.trim())
}

/// What the summary says of a step, after its name.
fn row(outcome: &Outcome, origin: &Origin) -> String {
    let (seconds, tally) = (outcome.elapsed.as_secs_f64(), outcome.tally);
    let counts = format!("{} | {} | {}", tally.passed, tally.failed, tally.ignored);
    format!("{} | {} | {seconds:.1} | {counts} | {}", origin.date, origin.commit, outcome.verdict())
}

/// The rows of a summary by the names of their steps.
fn rows(text: &str) -> BTreeMap<String, String> {
    let row = |line: &str| {
        let (name, rest) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
        (rest.matches(" | ").count() == 6 && name != "step").then(|| (name.to_owned(), rest.to_owned()))
    };
    text.lines().filter_map(row).collect()
}

/// The text of the summary: the table's steps in their order, those that never ran too.
fn summary(steps: &[Step], rows: &BTreeMap<String, String>, origin: &Origin) -> String {
    let row = |step: &Step| rows.get(&step.name).map_or("- | - | - | - | - | - | not run", String::as_str);
    let ending = |end: &str| steps.iter().filter(|step| row(step).ends_with(end)).count();
    let mut text = String::from("# The last soak\n\nWritten by `cargo xtask soak`; do not edit.\n\n");
    let result =
        format!("{} steps ok, {} failed, {} not run", ending("ok"), ending("FAILED"), ending("not run"));
    for (name, value) in [("CPU", &origin.cpu), ("Compiler", &origin.rustc), ("Result", &result)] {
        push(&mut text, format_args!("- {name}: {value}"));
    }
    text += "\n| step | date | commit | seconds | passed | failed | ignored | result |\n|---|---|---|--:|--:|--:|--:|---|\n";
    steps.iter().for_each(|step| push(&mut text, format_args!("| {} | {} |", step.name, row(step))));
    text
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a String takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Origin {
        Origin {
            date: "2025-01-02".into(),
            cpu: "Model, 2 cores".into(),
            commit: "abc1234".into(),
            rustc: "rustc 1.95.0".into(),
        }
    }

    fn outcome(name: &str, passed: u64, failures: &[&str]) -> Outcome {
        let failures: Vec<_> = failures.iter().map(|failure| (*failure).to_owned()).collect();
        let tally = steps::Tally { passed, failed: failures.len() as u64, ignored: 0 };
        Outcome {
            name: name.to_owned(),
            elapsed: std::time::Duration::from_millis(1500),
            processor: std::time::Duration::ZERO,
            tally,
            failures,
        }
    }

    #[test]
    fn the_summary_is_a_table_of_steps_that_keeps_what_did_not_run() {
        let steps = ["fmt", "test a", "test b"].map(|name| steps::cargo(name, &[], &[]));
        let mut rows =
            rows("| step | date | ... |\n|---|---|\n| fmt | 2024-01-01 | 1111111 | 0.5 | 0 | 0 | 0 | ok |\n");
        rows.insert("test a".into(), row(&outcome("test a", 7, &["test x"]), &origin()));
        rows.insert("a step of old".into(), "- | - | - | - | - | - | ok".into());
        let expected = "# The last soak\n\nWritten by `cargo xtask soak`; do not edit.\n\n\
            - CPU: Model, 2 cores\n- Compiler: rustc 1.95.0\n- Result: 1 steps ok, 1 failed, 1 not run\n\n\
            | step | date | commit | seconds | passed | failed | ignored | result |\n\
            |---|---|---|--:|--:|--:|--:|---|\n\
            | fmt | 2024-01-01 | 1111111 | 0.5 | 0 | 0 | 0 | ok |\n\
            | test a | 2025-01-02 | abc1234 | 1.5 | 7 | 1 | 0 | FAILED |\n\
            | test b | - | - | - | - | - | - | not run |\n";
        let text = summary(&steps, &rows, &origin());
        assert_eq!(text, expected);
        assert_eq!(summary(&steps, &super::rows(&text), &origin()), expected, "read and written again");
    }

    #[test]
    fn steps_are_chosen_by_parts_of_their_names() {
        let step = steps::cargo("test sigkill", &[], &[]);
        assert!(is_asked_for(&step, &[]) && is_asked_for(&step, &["flips".into(), "kill".into()]));
        assert!(!is_asked_for(&step, &["flips".into()]));
    }

    #[test]
    fn the_cpu_is_named_where_linux_names_it() {
        assert_eq!(
            cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t: a"),
            "Some CPU @ 2 GHz"
        );
        assert_eq!(cpu_model("processor\t: 0\n"), std::env::consts::ARCH);
    }

    #[test]
    fn the_origin_of_this_checkout_can_be_read() {
        let origin = Origin::read(&Workspace::discover().unwrap()).unwrap();
        assert_eq!(origin.date.len(), "YYYY-MM-DD".len());
        assert!(origin.commit.len() >= 4 && origin.rustc.starts_with("rustc "));
    }
}
