// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How many lines each kind of event may have: so many in a window; behind it one line says how many were left out.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Kind;

/// Lines of a kind in a window.
const LINES_MAX: u32 = 32;
/// The length of a window, which begins with its first line.
const WINDOW: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    begun: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Window {
    fn is_over(&self, now: Instant) -> bool {
        self.begun.is_none_or(|begun| now.saturating_duration_since(begun) >= WINDOW)
    }

    /// Ends a window that is over: what was left out in it.
    fn settle(&mut self, now: Instant) -> u64 {
        if self.is_over(now) { std::mem::take(self).left_out } else { 0 }
    }

    fn admit(&mut self, now: Instant) -> bool {
        self.begun.get_or_insert(now);
        let is_admitted = self.lines < LINES_MAX;
        self.lines += u32::from(is_admitted);
        self.left_out += u64::from(!is_admitted);
        is_admitted
    }
}

/// The windows of all kinds.
#[derive(Debug, Default)]
pub(crate) struct Limits(Mutex<[Window; Kind::ALL.len()]>);

impl Limits {
    fn windows(&self) -> MutexGuard<'_, [Window; Kind::ALL.len()]> {
        // Each change is one call: they are whole whatever else has failed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an event of this kind may be told of now.
    pub fn admit(&self, kind: Kind) -> bool {
        let now = Instant::now();
        let mut windows = self.windows();
        let window = &mut windows[kind as usize];
        let left_out = window.settle(now);
        let is_admitted = window.admit(now);
        drop(windows);
        summary(kind, left_out);
        is_admitted
    }

    /// Tells what was left out in windows that are over. To be called now and then.
    pub fn settle(&self) {
        let now = Instant::now();
        for kind in Kind::ALL {
            let left_out = self.windows()[kind as usize].settle(now);
            summary(kind, left_out);
        }
    }

    /// Tells what was left out, whether or not its window is over: the server ends.
    pub fn finish(&self) {
        for (kind, window) in Kind::ALL.into_iter().zip(std::mem::take(&mut *self.windows())) {
            summary(kind, window.left_out);
        }
    }
}

fn summary(kind: Kind, left_out: u64) {
    if left_out > 0 {
        tracing::warn!(left_out, kind = kind.name(), "lines were left out");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_has_its_lines_and_one_that_counts_the_rest() {
        let mut window = Window::default();
        let begun = Instant::now();
        let admitted = (0..10_000).filter(|_| window.admit(begun)).count() as u32;
        assert_eq!((admitted, window.left_out), (LINES_MAX, 10_000 - u64::from(LINES_MAX)));
        assert_eq!(window.settle(begun + WINDOW - Duration::from_nanos(1)), 0, "it is not over");
        assert_eq!(window.settle(begun + WINDOW), 10_000 - u64::from(LINES_MAX));
        assert_eq!(window.settle(begun + WINDOW), 0, "told once");
        assert!(window.admit(begun + WINDOW), "another window");
    }

    #[test]
    fn kinds_have_windows_of_their_own() {
        let limits = Limits::default();
        let admitted = (0..100).filter(|_| limits.admit(Kind::Stranger)).count() as u32;
        assert_eq!(admitted, LINES_MAX);
        assert!(limits.admit(Kind::Connect));
    }
}
