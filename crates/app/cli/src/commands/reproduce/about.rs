// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a report says of where, when and by what it was made.

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use saker_lab::page::About;

use crate::output::VERSION;

/// This program, here and now.
pub fn about() -> About {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let program = |path: String| {
        Path::new(&path).file_name().map_or(path.clone(), |name| name.to_string_lossy().into())
    };
    let mut words = std::env::args();
    let command = words.next().map(program).into_iter().chain(words).collect::<Vec<_>>().join(" ");
    About { version: VERSION.to_owned(), commit: commit(), date: utc(seconds), machine: machine(), command }
}

/// The commit that the program was built with the name of, or that of the source tree which it was started in.
fn commit() -> Option<String> {
    if let Some(built) = option_env!("SAKER_COMMIT") {
        return Some(built.to_owned());
    }
    let git = |words: &[&str]| {
        let found = Command::new("git").args(words).output().ok().filter(|found| found.status.success())?;
        String::from_utf8(found.stdout).ok().map(|text| text.trim().to_owned())
    };
    let tree = git(&["rev-parse", "--show-toplevel"])?;
    Path::new(&tree).join("crates/app/lab/plans").is_dir().then_some(())?;
    let (commit, changes) = (git(&["rev-parse", "--short=12", "HEAD"])?, git(&["status", "--porcelain"])?);
    Some(if changes.is_empty() { commit } else { format!("{commit}, with changes") })
}

/// Processor, cores and memory as Linux tells them.
fn machine() -> String {
    let field = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut parts =
        vec![field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned())];
    parts.push(format!("{cores} {}", if cores == 1 { "core" } else { "cores" }));
    let kib =
        field("/proc/meminfo", "MemTotal").and_then(|text| text.strip_suffix(" kB")?.parse::<u64>().ok());
    parts.extend(kib.map(|kib| format!("{} GiB of memory", kib >> 20)));
    parts.join(", ")
}

/// A time since 1970 as day and time in UTC. The days of four hundred years are counted from a March (the usual way to have
/// leap days last).
fn utc(seconds: u64) -> String {
    const ERA_DAYS: u64 = 146_097;
    const MARCH_OF_YEAR_0: u64 = 719_468;
    let (days, time) = (seconds / 86_400 + MARCH_OF_YEAR_0, seconds % 86_400);
    let (era, day) = (days / ERA_DAYS, days % ERA_DAYS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", time / 3600, time / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let known = [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (1_709_251_200, "2024-03-01 00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ];
        known.iter().for_each(|(seconds, text)| assert_eq!(utc(*seconds), *text));
    }

    #[test]
    fn a_report_says_where_it_was_made() {
        let found = about();
        assert!(found.machine.contains("core") && found.date.ends_with(" UTC") && !found.command.is_empty());
    }
}
