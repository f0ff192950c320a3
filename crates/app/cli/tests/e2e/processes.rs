// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processes that end early: by a signal, by a closed pipe.

use crate::e2e::support::Desk;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

/// A load that has stored some records and waits for more.
fn loading(desk: &Desk) -> Child {
    let mut command = desk.command(&["load", "-", "--device", "file:disk.img"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    let stdin = child.stdin.as_mut().expect("piped");
    for n in 0..2000 {
        writeln!(stdin, "key{n}\t{}", "v".repeat(1000)).expect("it reads");
    }
    stdin.flush().expect("it reads");
    child
}

/// Whether whoever started this has made its processes deaf to Ctrl-C, as shells do with what runs in the background.
fn interrupts_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 0b10 != 0)
}

/// Ctrl-C and kill -9 leave what a crash of the process leaves: whole pairs, a sound image, the lock free.
#[test]
fn an_interrupted_load_leaves_a_sound_image() {
    for signal in
        ["INT", "TERM", "KILL"].into_iter().filter(|signal| *signal != "INT" || !interrupts_are_ignored())
    {
        let desk = Desk::with_image();
        desk.disk(&["put", "before", "safe"]).good();
        let mut child = loading(&desk);
        // The shell's own kill: not every machine has kill(1).
        let line = format!("kill -s {signal} {}", child.id());
        let kill = std::process::Command::new("sh").args(["-c", &line]).status();
        assert!(kill.expect("there is a shell").success());
        assert!(!child.wait().expect("ends").success(), "{signal}");
        let check = desk.saker(&["check", "disk.img"]).good();
        assert!(check.starts_with("disk.img: sound; "), "{signal}: {check}");
        assert_eq!(desk.disk(&["get", "before"]).good(), "safe");
        for key in desk.disk(&["list"]).good().lines().filter(|k| *k != "before").take(5) {
            assert_eq!(desk.disk(&["get", key]).good(), "v".repeat(1000));
        }
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_a_command_quietly() {
    let desk = Desk::with_image();
    let lines: String = (0..5000).map(|n| format!("key{n}\t{}\n", "v".repeat(1000))).collect();
    desk.write("some.tsv", lines.as_bytes());
    desk.disk(&["load", "some.tsv"]).good();
    for command in ["list", "scan", "dump"] {
        let more: &[&str] = if command == "dump" { &["-"] } else { &[] };
        let line = [&[command], more, &["--device", "file:disk.img", "--quiet"]].concat();
        let mut child =
            desk.command(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let mut first = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        out.read_line(&mut first).expect("a line");
        assert!(first.starts_with("key"), "{first}");
        drop(out);
        let ended = child.wait_with_output().expect("ends");
        assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()), "{command}");
    }
    assert!(desk.saker(&["check", "disk.img"]).good().starts_with("disk.img: sound; 5,000 records"));
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let desk = Desk::with_image();
    desk.disk(&["put", "k", "v"]).good();
    let Ok(full) = std::fs::File::create("/dev/full") else { return };
    let mut command = desk.command(&["dump", "-", "--device", "file:disk.img"]);
    let ended = command.stdout(full).output().expect("runs");
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stderr.starts_with(b"saker: error: cannot write standard output: "));
    assert!(desk.disk(&["dump", "none/x.tsv"]).refused(1).contains("check the path"));
    assert_eq!(desk.disk(&["get", "k"]).good(), "v");
}
