// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command as a program has it: arguments, streams and signals of the process.

use crate::{Streams, run};
use std::io::{self, BufWriter, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Bytes gathered before standard output is written.
const OUTPUT_BUFFER_BYTES: usize = 64 << 10;

/// What the program `saker` does, from its start to its exit code. A program that has added engines of its own
/// ([`EngineKind::add`](saker::EngineKind::add)) is the same command with them.
pub fn main() -> ExitCode {
    saker::panics::end_process_at_any();
    size_limits_are_errors();
    saker::use_huge_pages();
    let started = Instant::now();
    let mut streams = Streams {
        input: &mut io::stdin().lock(),
        output: &mut BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, io::stdout()),
        errors: &mut io::stderr(),
        progress: io::stderr().is_terminal(),
        device: std::env::var("SAKER_DEVICE").ok(),
        clock: &|| started.elapsed(),
    };
    ExitCode::from(run(std::env::args_os(), &mut streams))
}

/// A file that would outgrow the process's limit is an error of the write then, no signal that ends the process
/// (setrlimit(2), RLIMIT_FSIZE). Without a handler nothing is lost but the message.
fn size_limits_are_errors() {
    let seen = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen);
}
