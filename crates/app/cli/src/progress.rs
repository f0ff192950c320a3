// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Progress of long commands, and what they say at the end.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use saker_lab::run::Progress as Progressed;
use serde::Serialize;

use crate::size;

const WITH_TOTAL: &str = "{spinner} {bytes} of {total_bytes} {wide_bar} {bytes_per_sec} {eta}";
const WITHOUT_TOTAL: &str = "{spinner} {bytes} {bytes_per_sec} {elapsed}";

const COUNTED: &str = "{spinner} {human_pos} copied {per_sec} {elapsed}";

/// A bar on the terminal, or nothing.
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// A bar of bytes when `shown`; without a total, a counter.
    pub fn new(shown: bool, total_bytes: Option<u64>) -> Self {
        Self(shown.then(|| bar(total_bytes)))
    }

    /// A counter of things when `shown`.
    pub fn counter(shown: bool) -> Self {
        let style = ProgressStyle::with_template(COUNTED).expect("a constant template");
        Self(shown.then(|| ProgressBar::new_spinner().with_style(style)))
    }

    /// Sets the bytes done so far.
    pub fn set(&self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.set_position(bytes);
        }
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// A bar of steps for experiments on a terminal; elsewhere a line a minute.
pub struct Steps {
    bar: Option<ProgressBar>,
    lines: Option<Lines>,
}

/// What is told where there is no terminal.
struct Lines {
    total: u64,
    done: u64,
    /// What was begun last.
    at: String,
    begun: Instant,
    told: Instant,
}

/// How often.
const MINUTE: Duration = Duration::from_secs(60);

impl Lines {
    /// Notes what has happened, and gives a line when the last was a minute ago.
    fn note(&mut self, progress: &Progressed, now: Instant) -> Option<String> {
        match progress {
            Progressed::Step { id, text } => self.at = format!("{id}: {text}"),
            Progressed::Done { .. } => self.done += 1,
            Progressed::Waiting => {}
        }
        if now.duration_since(self.told) < MINUTE {
            return None;
        }
        self.told = now;
        let minutes = now.duration_since(self.begun).as_secs() / 60;
        Some(format!("{minutes} min: {} of {} experiments done; {}", self.done, self.total, self.at))
    }
}

const STEPS: &str = "{spinner} {pos} of {len} experiments {wide_msg} {elapsed}";
/// How often the spinner turns without news.
const TICK: Duration = Duration::from_millis(120);

impl Steps {
    /// Of `total` experiments: a bar when `shown`, else lines unless it is to be `quiet`.
    pub fn new(shown: bool, quiet: bool, total: u64) -> Self {
        let style = ProgressStyle::with_template(STEPS).expect("a constant template");
        let start = || {
            let bar = ProgressBar::new(total).with_style(style);
            bar.enable_steady_tick(TICK);
            bar
        };
        let now = Instant::now();
        let lines =
            (!shown && !quiet).then(|| Lines { total, done: 0, at: String::new(), begun: now, told: now });
        Self { bar: shown.then(start), lines }
    }

    /// Shows what has happened, or gives a line that tells it.
    pub fn note(&mut self, progress: &Progressed) -> Option<String> {
        match (&self.bar, progress) {
            (Some(bar), Progressed::Step { id, text }) => bar.set_message(format!("{id}: {text}")),
            (Some(bar), Progressed::Done { .. }) => bar.inc(1),
            (_, _) => {}
        }
        self.lines.as_mut()?.note(progress, Instant::now())
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(total_bytes: Option<u64>) -> ProgressBar {
    let (bar, template) = match total_bytes {
        Some(total) => (ProgressBar::new(total), WITH_TOTAL),
        None => (ProgressBar::new_spinner(), WITHOUT_TOTAL),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a constant template"))
}

/// Records and bytes that went through, and how fast.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Records stored or written.
    pub records: u64,
    /// Bytes of their keys.
    pub key_bytes: u64,
    /// Bytes of their values.
    pub value_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Time taken, in seconds.
    pub seconds: f64,
    /// Records a second; 0 when no time has passed.
    pub records_per_s: f64,
    /// Bytes of the file a second; 0 when no time has passed.
    pub bytes_per_s: f64,
}

impl Totals {
    /// Counts one record.
    pub const fn add(&mut self, key: &[u8], value: &[u8]) {
        self.records += 1;
        self.key_bytes += key.len() as u64;
        self.value_bytes += value.len() as u64;
    }

    /// Sets the time and the rates.
    pub fn finish(&mut self, elapsed: Duration) {
        let per_s = |n: u64| if elapsed.is_zero() { 0.0 } else { n as f64 / elapsed.as_secs_f64() };
        self.seconds = elapsed.as_secs_f64();
        self.records_per_s = per_s(self.records);
        self.bytes_per_s = per_s(self.file_bytes);
    }

    /// `3 records, 1.9 MB in 0.50 s (3.8 MB/s, 6 records/s)`.
    pub fn summary(&self) -> String {
        format!(
            "{} records, {} in {:.2} s ({}/s, {} records/s)",
            size::grouped(self.records),
            size::show(self.file_bytes),
            self.seconds,
            size::show(self.bytes_per_s as u64),
            size::grouped(self.records_per_s as u64),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_say_how_much_and_how_fast() {
        let mut totals = Totals { file_bytes: 1_900_000, ..Totals::default() };
        (0..3).for_each(|_| totals.add(b"ab", b"cde"));
        totals.finish(Duration::from_millis(500));
        assert_eq!((totals.key_bytes, totals.value_bytes), (6, 9));
        assert_eq!(totals.summary(), "3 records, 1.9 MB in 0.50 s (3.8 MB/s, 6 records/s)");
    }

    #[test]
    fn no_time_is_no_rate() {
        let mut totals = Totals { file_bytes: 10, ..Totals::default() };
        totals.finish(Duration::ZERO);
        assert_eq!(totals.summary(), "0 records, 10 B in 0.00 s (0 B/s, 0 records/s)");
    }

    #[test]
    fn a_line_a_minute_tells_how_far_experiments_are() {
        let begun = Instant::now();
        let mut lines = Lines { total: 3, done: 0, at: String::new(), begun, told: begun };
        let step = Progressed::Step { id: "x".into(), text: "64 B".into() };
        let at = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(lines.note(&step, at(59)), None);
        assert_eq!(
            lines.note(&Progressed::Done { id: "y".into() }, at(60)).unwrap(),
            "1 min: 1 of 3 experiments done; x: 64 B"
        );
        assert_eq!(lines.note(&Progressed::Waiting, at(119)), None);
        assert_eq!(
            lines.note(&Progressed::Waiting, at(121)).unwrap(),
            "2 min: 1 of 3 experiments done; x: 64 B"
        );
    }

    #[test]
    fn bars_have_templates_that_parse() {
        Progress::new(true, Some(10)).set(5);
        Progress::new(true, None).set(5);
    }
}
