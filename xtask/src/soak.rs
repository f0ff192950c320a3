//! The long tier: full counts, release, loom; its summary goes into the docs.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::thread;

use crate::Fault;
use crate::steps::{self, Report, Step, Tier};
use crate::workspace::{Workspace, output};

const SUMMARY: &str = "docs/soak-last.md";

/// Runs the soak and writes its summary, whatever failed; true when nothing did.
///
/// # Errors
/// When git fails or the summary cannot be written.
pub fn soak(workspace: &Workspace) -> Result<bool, Fault> {
    let origin = Origin::read(workspace)?;
    let mut steps = steps::common(workspace, Tier::Soak);
    steps.extend(["saker-link", "saker-host"].map(|package| loom(workspace, package)));
    let report = steps::run_all(workspace, Tier::Soak, &steps);
    let path = workspace.root.join(SUMMARY);
    fs::create_dir_all(workspace.root.join("docs"))?;
    fs::write(path, summary(&report, &origin))?;
    report.print();
    Ok(report.passed())
}

/// The model-checked interleavings of a package. Their flag would rebuild everything, hence the target folder.
fn loom(workspace: &Workspace, package: &str) -> Step {
    let target = workspace.metadata.target_directory.join("loom");
    let target = target.to_string_lossy();
    let args = ["test", "--package", package, "--release", "--test", "loom", "--target-dir", &target];
    steps::cargo(&format!("loom {package}"), &args, &[("RUSTFLAGS", "--cfg loom")])
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

/// The text of the summary.
fn summary(report: &Report, origin: &Origin) -> String {
    let mut text = String::from("# The last soak\n\nWritten by `cargo xtask soak`; do not edit.\n\n");
    let Origin { date, cpu, commit, rustc } = origin;
    let result = report.last_line();
    let facts = [("Date", date), ("Commit", commit), ("CPU", cpu), ("Compiler", rustc), ("Result", &result)];
    facts.iter().for_each(|(name, value)| push(&mut text, format_args!("- {name}: {value}")));
    text += "\n| step | seconds | passed | failed | ignored | result |\n|---|--:|--:|--:|--:|---|\n";
    for outcome in &report.outcomes {
        let (seconds, tally) = (outcome.elapsed.as_secs_f64(), outcome.tally);
        let counts = format!("{} | {} | {}", tally.passed, tally.failed, tally.ignored);
        push(
            &mut text,
            format_args!("| {} | {seconds:.1} | {counts} | {} |", outcome.name, outcome.verdict()),
        );
    }
    text
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a String takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::report_of;

    #[test]
    fn the_summary_is_a_table_of_steps() {
        let report = report_of(&[("fmt", 0, 0, &[]), ("tests", 7, 1, &["test a"])]);
        let origin = Origin {
            date: "2025-01-02".into(),
            cpu: "Model, 2 cores".into(),
            commit: "abc1234".into(),
            rustc: "rustc 1.95.0".into(),
        };
        let expected = "# The last soak\n\nWritten by `cargo xtask soak`; do not edit.\n\n\
            - Date: 2025-01-02\n- Commit: abc1234\n- CPU: Model, 2 cores\n- Compiler: rustc 1.95.0\n\
            - Result: 7 passed, 1 failed\n\n\
            | step | seconds | passed | failed | ignored | result |\n|---|--:|--:|--:|--:|---|\n\
            | fmt | 1.5 | 0 | 0 | 0 | ok |\n| tests | 1.5 | 7 | 1 | 0 | FAILED |\n";
        assert_eq!(summary(&report, &origin), expected);
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
