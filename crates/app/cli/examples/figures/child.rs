//! `saker` as a process of its own, and what it took.

use saker_cli::{Linked, Streams, run};
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
    pub elapsed: Duration,
    /// The most memory of its own it had, looked at every few milliseconds. Pages of the image that are mapped are the
    /// page cache's: the system takes them back as it likes.
    pub peak_bytes: u64,
}

/// Runs one command line in a process of its own.
pub fn spawn(arguments: &[&str]) -> Result<Taken, Box<dyn Error>> {
    let begun = Instant::now();
    let out = Command::new(std::env::current_exe()?).arg(MARK).args(arguments).output()?;
    let elapsed = begun.elapsed();
    let errors = String::from_utf8_lossy(&out.stderr).into_owned();
    if !out.status.success() {
        return Err(format!("saker {}: {errors}", arguments.join(" ")).into());
    }
    let peak = errors.lines().find_map(|line| line.strip_prefix("peak "));
    Ok(Taken { elapsed, peak_bytes: peak.ok_or("the child does not say its peak")?.parse()? })
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
        let code = run(line, &mut streams, &Linked);
        over.store(true, Ordering::Relaxed);
        eprintln!("peak {}", peak.load(Ordering::Relaxed));
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

/// Whole MB for people.
pub fn mb(bytes: u64) -> u64 {
    bytes / 1_000_000
}
