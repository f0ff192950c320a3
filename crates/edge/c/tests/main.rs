// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs in C against the library as it is built here: `check` compiles and runs them. A part whose tools are missing counts as ignored,
//! which libtest cannot decide while it runs; so this program speaks its language without it.

mod faults;

use std::path::Path;
use std::process::{Command, ExitCode};

/// Names of the tests, which are parts of `check`. The header and ThreadSanitizer are steps of the soak (`xtask/src/steps/bindings.rs`).
const PARTS: [&str; 6] = ["shared", "asan", "valgrind", "documents", "install", "faults"];

/// Exit code of the script where something is missing.
const SKIPPED: i32 = 77;

fn main() -> ExitCode {
    if faults::serve_if_asked() {
        return ExitCode::FAILURE;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        PARTS.iter().for_each(|name| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let chosen: Vec<_> =
        PARTS.iter().filter(|name| filter.is_none_or(|filter| name.contains(filter.as_str()))).collect();
    println!("\nrunning {} tests", chosen.len());
    let [mut passed, mut failed, mut ignored] = [0; 3];
    for name in chosen {
        let (code, said) = if name == &"faults" { with_faults() } else { run(name, None) };
        match code {
            Some(0) => passed += 1,
            Some(SKIPPED) => ignored += 1,
            _ => failed += 1,
        }
        match code {
            Some(0) => println!("test {name} ... ok"),
            Some(SKIPPED) => println!("test {name} ... ignored, {}", said.lines().last().unwrap_or_default()),
            _ => println!("{said}\ntest {name} ... FAILED"),
        }
    }
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; 0 filtered out\n"
    );
    ExitCode::from(u8::from(failed > 0) * 101)
}

/// The exit code of a part, and what it said.
fn run(part: &str, to: Option<&Path>) -> (Option<i32>, String) {
    // Cargo puts the library beside this program.
    let program = std::env::current_exe().expect("it has a path");
    let libraries = program.parent().expect("it is in a folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("check");
    let few = if saker_testing::is_soak() { "soak" } else { "check" };
    let output = Command::new(script).arg(part).arg(libraries).args(to).env("SAKER_TIER", few).output();
    match output {
        Ok(output) => {
            let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            (output.status.code(), said.concat())
        }
        Err(error) => (None, format!("check: {error}")),
    }
}

/// The same of the part whose faults are made here: `check` only compiles its program.
fn with_faults() -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("faults");
    let compiled = run("faults", Some(&program));
    if compiled.0 != Some(0) {
        return compiled;
    }
    let outcome = std::panic::catch_unwind(|| faults::all(&program, folder.path()));
    (Some(i32::from(outcome.is_err())), compiled.1)
}
