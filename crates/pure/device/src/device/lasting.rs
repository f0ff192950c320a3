// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the device has done in its life: what its cells have kept of earlier runs, and this run's.

use super::Device;
use crate::stats::{HealthCounters, Life};
use saker_flash::{Cells, Flash, Lasting};
use saker_segment_store::SegmentId;

/// Erases that a segment lasts for: the rated endurance that the health log's percentage is of. Cells of files and of memory do
/// not wear; 3,000 cycles are what data sheets say of flash with three bits a cell.
pub const RATED_ERASES: u64 = 3_000;

/// PERCENTAGE USED counts to here.
const PERCENT_MAX: u64 = 255;

impl<T> Device<T> {
    /// What it has done in its life.
    pub fn lasting(&self) -> Lasting {
        let (base, kept) = (&self.base, self.flash.media().lasting());
        let (work, flash) = (&self.stats.work, self.flash.stats());
        Lasting {
            reads: base.reads + work.reads,
            bytes_read: base.bytes_read + work.bytes_read,
            writes: base.writes + work.writes,
            bytes_written: base.bytes_written + work.bytes_written,
            media_errors: base.media_errors + work.media_errors,
            commands: base.commands + self.stats.commands,
            command_errors: base.command_errors + self.stats.errors,
            pages_programmed: base.pages_programmed + flash.pages_programmed,
            pages_read: base.pages_read + flash.pages_read,
            segments_erased: base.segments_erased + flash.segments_erased,
            power_cycles: kept.power_cycles,
            unsafe_shutdowns: kept.unsafe_shutdowns,
            power_on_seconds: kept.power_on_seconds,
        }
    }

    /// Gives the cells what has been done by now, to be kept. To be called now and then, for a device that has nothing to do, too.
    #[inline]
    pub fn keep_counters(&mut self) {
        if self.flash.media().keeps_counters() {
            self.keep_counters_now();
        }
    }

    /// Nothing is asked of the device: space of the host's file that is not needed any more goes back, some of it. True: there is more, now. To be called
    /// now and then.
    pub fn give_space_back(&mut self) -> bool {
        self.flash.is_powered() && self.flash.media_mut().give_space_back()
    }

    #[inline(never)]
    fn keep_counters_now(&mut self) {
        let lasting = self.lasting();
        self.flash.media_mut().keep(lasting);
    }

    /// What it did for its hosts in its life, for the health log of any of its controllers.
    pub fn health(&self) -> HealthCounters {
        let lasting = self.lasting();
        HealthCounters {
            reads: lasting.reads,
            bytes_read: lasting.bytes_read,
            writes: lasting.writes,
            bytes_written: lasting.bytes_written,
            media_errors: lasting.media_errors,
            life: Life {
                power_cycles: lasting.power_cycles,
                unsafe_shutdowns: lasting.unsafe_shutdowns,
                power_on_seconds: lasting.power_on_seconds,
                percent_used: percent_used(&self.flash),
            },
        }
    }
}

/// Erases of the segment that was erased most, and of all.
pub(super) fn erases(flash: &Flash) -> (u64, u64) {
    let each = (0..flash.shape().geometry.segments).map(|n| u64::from(flash.media().epoch(SegmentId(n))));
    each.fold((0, 0), |(most, all), erases| (most.max(erases), all + erases))
}

/// The mean erases of a segment, in percent of [`RATED_ERASES`].
fn percent_used(flash: &Flash) -> u8 {
    let segments = u64::from(flash.shape().geometry.segments).max(1);
    let (_, all) = erases(flash);
    (all * 100 / (segments * RATED_ERASES)).min(PERCENT_MAX) as u8
}
