// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker` as a process of its own, and what it took.

use saker_cli::{Streams, run};
use std::error::Error;
use std::io::{self, BufWriter};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The first argument of a child.
pub const MARK: &str = "--as-saker";

/// What a command took.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Time of a processor, user and system.
    pub busy: Duration,
    /// The most memory of its own it had, looked at every few milliseconds. Pages of the image that are mapped are the
    /// page cache's: the system takes them back as it likes.
    pub peak_bytes: u64,
}

/// Runs one command line in a process of its own.
pub fn spawn(arguments: &[&str]) -> Result<Taken, Box<dyn Error>> {
    let out = Command::new(std::env::current_exe()?).arg(MARK).args(arguments).output()?;
    let errors = String::from_utf8_lossy(&out.stderr).into_owned();
    if !out.status.success() {
        return Err(format!("saker {}: {errors}", arguments.join(" ")).into());
    }
    let said = |what| errors.lines().find_map(|line| line.strip_prefix(what));
    Ok(Taken {
        busy: Duration::from_millis(said("busy ").ok_or("the child does not say its time")?.parse()?),
        peak_bytes: said("peak ").ok_or("the child does not say its peak")?.parse()?,
    })
}

/// The child: runs the command line and says its peak.
pub fn saker(arguments: &[String]) -> u8 {
    let begun = Instant::now();
    let mut streams = Streams {
        input: &mut io::stdin().lock(),
        output: &mut BufWriter::new(io::stdout()),
        errors: &mut io::stderr(),
        progress: false,
        device: None,
        clock: &|| begun.elapsed(),
    };
    let line = std::iter::once("saker".into()).chain(arguments.iter().map(Into::into));
    let (over, peak) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                peak.fetch_max(status("RssAnon"), Ordering::Relaxed);
                std::thread::sleep(SAMPLE);
            }
        });
        let code = run(line, &mut streams);
        over.store(true, Ordering::Relaxed);
        eprintln!("peak {}", peak.load(Ordering::Relaxed));
        eprintln!("busy {}", busy_ms());
        code
    })
}

/// From one look at the memory to the next.
const SAMPLE: Duration = Duration::from_millis(5);

/// Bytes of a line of /proc/self/status (proc(5)); 0 where there is none.
pub fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':')).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10
}

/// Milliseconds that a processor has worked for this process (proc(5): fields 14 and 15 of stat, in hundredths of a second);
/// 0 where nobody counts. Other than the clock's, it says nothing about who else is busy.
fn busy_ms() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok());
    ticks.sum::<u64>() * 10
}

/// Whole MB for people.
pub fn mb(bytes: u64) -> u64 {
    bytes / 1_000_000
}
