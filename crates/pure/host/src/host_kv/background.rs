//! Background work of the store at the host, one quantum at a time.

use super::work::with_meter;
use super::{HostKv, Work};
use saker_engine::{Background, Context, Engine, Job};
use saker_segment_store::Step;
use saker_sim::Meter;

impl HostKv {
    /// Whether a quantum is due, and what it waits for is here.
    pub fn has_background(&self) -> bool {
        let is_due = !self.background_idle || self.store.job(&self.medium).is_some();
        is_due && self.medium.all_here(&self.background_pages)
    }

    /// One quantum of background work. Whether it worked: otherwise there is nothing to do before a block command completes or an
    /// operation comes.
    pub fn quantum(&mut self, work: Work<'_>) -> bool {
        with_meter!(work, w => self.quantum_to(w))
    }

    fn quantum_to<W: Meter>(&mut self, w: &mut W) -> bool {
        let finished = self.medium.finished();
        let step = self.store.background(Job::UPKEEP, finished, &mut Context::new(&mut self.medium, w));
        let before = std::mem::take(&mut self.background_pages);
        self.background_idle = !matches!(step, Step::Done(Background::Worked) | Step::Need(_));
        match step {
            // It goes on holding its pages.
            Step::Blocked(_) => self.background_pages = before,
            Step::Done(_) => self.medium.release_pages(&before),
            Step::Need(pages) => {
                self.medium.bring_instead(&pages, &before);
                self.background_pages = pages;
                return false;
            }
        }
        !self.background_idle
    }

    /// Quanta while they work, so many at most: for a caller who has no other core for them.
    pub fn background(&mut self, quanta: u32, work: Work<'_>) {
        with_meter!(work, w => self.background_to(quanta, w));
    }

    fn background_to<W: Meter>(&mut self, quanta: u32, w: &mut W) {
        for _ in 0..quanta {
            if !self.has_background() || !self.quantum_to(w) {
                return;
            }
        }
    }
}
