// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program of somebody else's, in which a thread of ours panics: it ends, with a line and a code of its own.

use saker::panics::{PANIC_EXIT_CODE, PANIC_VARIABLE};
use saker::{Kv, Saker, SakerOptions};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A child that takes longer waits for a thread that is gone: it is killed, and has no code.
const PATIENCE: Duration = Duration::from_secs(60);

const DEVICE: &str = "mem:?profile=tiny&size=16MiB&threads=1";
const MERGES: &str = "mem:?profile=tiny&size=16MiB&engine=lsm&min_blob_size=unlimited&write_buffer_size=64KiB&background_threads=1";

#[test]
#[ignore = "the parent starts it, and its threads panic"]
fn child() {
    let Ok(kind) = std::env::var(PANIC_VARIABLE) else { return };
    if kind == "pump" {
        let saker = Saker::open(DEVICE, SakerOptions::default()).expect("opens");
        let mut session = saker.session().expect("one is free");
        // What is buffered leaves by the pump, if by nobody else.
        session.put(b"key", b"value").expect("puts");
        std::thread::sleep(Duration::from_secs(20));
    } else if kind == "merges" {
        let mut kv = Kv::open(MERGES).expect("opens");
        for n in 0..200_000_u32 {
            kv.put(&(n % 1000).to_be_bytes(), &[7; 100]).expect("puts");
        }
    } else {
        // Without the device's thread this waits until the parent kills it.
        let mut kv = Kv::open(DEVICE).expect("opens");
        kv.put(b"key", b"value").expect("puts");
        kv.close().expect("closes");
    }
}

fn run(kind: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["panics::child", "--exact", "--ignored", "--nocapture"]).env(PANIC_VARIABLE, kind);
    // The few lines that it prints fit into the pipes.
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let begun = Instant::now();
    while child.try_wait().expect("is waited for").is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().expect("is killed");
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("runs")
}

#[test]
fn a_thread_that_panics_takes_the_process_with_it() {
    for kind in ["device", "pump", "merges"] {
        let output = run(kind);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(PANIC_EXIT_CODE), "{kind}: {text}");
        let ours = format!("saker: {kind} panicked, which ends this process with code 70");
        assert_eq!(text.lines().filter(|line| line.starts_with("saker: ")).collect::<Vec<_>>(), [ours]);
    }
}

#[test]
fn without_the_wish_nothing_panics() {
    assert!(run("nobody").status.success());
}
