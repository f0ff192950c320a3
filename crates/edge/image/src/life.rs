//! What the device has done in its life, while its image is open.

use super::FileCells;
use super::header::State;
use saker_flash::Lasting;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// The header gets newer numbers at most this often, but for those that it gets with every change and at the end.
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// The copy that they are written to. The other one is whole all the time.
const PLACE: u64 = 1;

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

    fn note(&mut self, lasting: Lasting) {
        let Lasting { power_cycles, unsafe_shutdowns, power_on_seconds, .. } = self.kept;
        self.kept = Lasting { power_cycles, unsafe_shutdowns, power_on_seconds, ..lasting };
    }
}

impl FileCells {
    /// Notes what was done by now, and writes it when it is time.
    pub(super) fn keep_lasting(&mut self, lasting: Lasting) {
        self.run.note(lasting);
        let is_due = self.run.written_at.elapsed() >= WRITE_EVERY;
        if is_due
            && self.is_writable()
            && self.sync_failed.is_none()
            && self.header.life.state == State::Dirty
        {
            self.run.written_at = Instant::now();
            self.header.set_lasting(&self.run.lasting());
            // Later numbers follow soon, and with the end of the run for certain.
            let _ = self.file.write_all_at(self.header.block(), PLACE * super::layout::BLOCK_BYTES);
        }
    }
}
