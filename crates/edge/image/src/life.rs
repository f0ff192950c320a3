// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the device has done in its life, while its image is open.

use saker_flash::Lasting;
use std::time::{Duration, Instant};

/// The header gets newer numbers at most this often, but for those that it gets with every change and at the end.
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// The copy that they are written to. The other one is whole all the time.
pub(super) const PLACE: u64 = 1;

/// The numbers of an open image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// As they were last given.
    kept: Lasting,
    begun: Instant,
    written_at: Instant,
}

impl Run {
    /// A run that begins now, with what the image knows.
    pub fn new(kept: Lasting) -> Self {
        let now = Instant::now();
        Self { kept, begun: now, written_at: now }
    }

    /// Another opening to write.
    pub fn begin(&mut self, was_orderly: bool) -> Lasting {
        self.kept.power_cycles += 1;
        self.kept.unsafe_shutdowns += u64::from(!was_orderly);
        self.kept
    }

    /// By now.
    pub fn lasting(&self) -> Lasting {
        Lasting { power_on_seconds: self.kept.power_on_seconds + self.begun.elapsed().as_secs(), ..self.kept }
    }

    /// Notes what was done by now. How the device was opened, and for how long, is known here.
    pub fn note(&mut self, lasting: Lasting) {
        let Lasting { power_cycles, unsafe_shutdowns, power_on_seconds, .. } = self.kept;
        self.kept = Lasting { power_cycles, unsafe_shutdowns, power_on_seconds, ..lasting };
    }

    /// Whether it is time to write them again; the next time counts from now on then.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.written_at.elapsed() >= WRITE_EVERY;
        if is_due {
            self.written_at = Instant::now();
        }
        is_due
    }
}
