//! The `saker` command.

use std::io::{self, BufWriter, IsTerminal};
use std::process::ExitCode;
use std::time::Instant;

use saker_cli::{Linked, Streams, run};

/// Bytes gathered before standard output is written.
const OUTPUT_BUFFER_BYTES: usize = 64 << 10;

fn main() -> ExitCode {
    let started = Instant::now();
    let mut streams = Streams {
        input: &mut io::stdin().lock(),
        output: &mut BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, io::stdout()),
        errors: &mut io::stderr(),
        progress: io::stderr().is_terminal(),
        device: std::env::var("SAKER_DEVICE").ok(),
        clock: &|| started.elapsed(),
    };
    ExitCode::from(run(std::env::args_os(), &mut streams, &Linked))
}
