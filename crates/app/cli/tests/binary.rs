// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program itself: what only a process has.

use std::process::{Command, Stdio};

fn saker() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_saker"));
    command.env_remove("SAKER_DEVICE");
    command
}

#[test]
fn it_tells_its_version() {
    let output = saker().arg("--version").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("saker {}\n", env!("CARGO_PKG_VERSION")));
    assert!(output.status.success());
}

#[test]
fn the_variable_names_the_device() {
    let with = saker().arg("list").env("SAKER_DEVICE", "nonsense:x").output().unwrap();
    let error = String::from_utf8(with.stderr).unwrap();
    assert!(error.starts_with("saker: error: ") && error.contains("nonsense:x"), "{error}");
    let without = saker().arg("list").output().unwrap();
    assert_eq!(without.status.code(), Some(2));
    assert!(without.stdout.is_empty());
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let mut child = saker()
        .args(["profile", "show", "default", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn an_output_that_is_full_is_an_error() {
    let Ok(full) = std::fs::File::create("/dev/full") else { return };
    let output = saker().args(["profile", "list"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.starts_with(b"saker: error: cannot write standard output: "));
}
