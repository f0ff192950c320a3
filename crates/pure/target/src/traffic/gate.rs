// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The two rates of a host or of a namespace: commands a second, and bytes a second.

use saker_sim::Instant;

use super::bucket::Bucket;

/// What may go through in a second. What is more waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// I/O commands; `None`: as many as come.
    pub commands_per_second: Option<u64>,
    /// Bytes of their data, either way; `None`: as many as come.
    pub bytes_per_second: Option<u64>,
}

/// Which of the two is exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Commands a second.
    Commands,
    /// Bytes a second.
    Bytes,
}

impl Rate {
    /// As the configuration names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Commands => "commands_per_second",
            Self::Bytes => "bytes_per_second",
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Gate {
    commands: Option<Bucket>,
    bytes: Option<Bucket>,
}

/// A bucket for a rate: the one that is there, or a full one.
fn set(bucket: &mut Option<Bucket>, rate: Option<u64>, now: Instant) {
    match (bucket.as_mut(), rate) {
        (_, None) => *bucket = None,
        (Some(bucket), Some(rate)) => bucket.set_rate(rate, now),
        (None, Some(rate)) => *bucket = Some(Bucket::new(rate, now)),
    }
}

impl Gate {
    pub fn set(&mut self, rates: Rates, now: Instant) {
        set(&mut self.commands, rates.commands_per_second, now);
        set(&mut self.bytes, rates.bytes_per_second, now);
    }

    /// Until when nothing goes through, and why; `None` if the next may go.
    pub fn closed(&mut self, now: Instant) -> Option<(Instant, Rate)> {
        let until = |bucket: &mut Option<Bucket>, rate| Some((bucket.as_mut()?.ready_at(now)?, rate));
        match (until(&mut self.commands, Rate::Commands), until(&mut self.bytes, Rate::Bytes)) {
            (Some(commands), Some(bytes)) => Some(if bytes.0 > commands.0 { bytes } else { commands }),
            (commands, bytes) => commands.or(bytes),
        }
    }

    /// A command with so many bytes goes through.
    pub fn pass(&mut self, bytes: u64) {
        if let Some(bucket) = &mut self.commands {
            bucket.take(1);
        }
        if let Some(bucket) = &mut self.bytes {
            bucket.take(bytes);
        }
    }

    /// So many of its bytes were not moved.
    pub fn spare(&mut self, bytes: u64) {
        if let Some(bucket) = &mut self.bytes {
            bucket.give(bytes);
        }
    }

    /// It has not gone through after all.
    pub fn undo(&mut self, bytes: u64) {
        if let Some(bucket) = &mut self.commands {
            bucket.give(1);
        }
        self.spare(bytes);
    }

    /// Nanoseconds until it is open, if it is not.
    pub fn debt_nanos(&mut self, now: Instant) -> u64 {
        self.buckets().map(|bucket| bucket.debt_nanos(now)).max().unwrap_or(0)
    }

    /// Whether a new one would let as much through.
    pub fn is_full(&mut self, now: Instant) -> bool {
        self.buckets().all(|bucket| bucket.is_full(now))
    }

    fn buckets(&mut self) -> impl Iterator<Item = &mut Bucket> {
        self.commands.iter_mut().chain(&mut self.bytes)
    }
}
