// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a store over an image is flushed: waiting for the sync, or with a sync beside.

use saker_flash::{Flash, SyncNumber};
use saker_segment_store::Tag;

/// The owner of all that these stores write.
pub const OWNER: u16 = 1;

pub trait Flushed {
    fn flash(&self) -> &Flash;
    fn flash_mut(&mut self) -> &mut Flash;
    /// Everything so far goes to the flash, with programs up to this tag.
    fn program_all(&mut self) -> Tag;
    /// Whether it is there.
    fn is_programmed(&self, tag: Tag) -> bool;
    /// Tells the store what has ended.
    fn settle(&mut self);
    /// Some background work.
    fn background(&mut self);

    /// Looks whether a sync beside has ended.
    fn go_on(&mut self) {
        self.flash_mut().look_for_syncs();
        self.settle();
    }

    fn flush(&mut self) {
        self.finish_programs();
        self.flash_mut().sync_now(OWNER);
        self.settle();
    }

    /// The same with a sync beside.
    fn begin_flush(&mut self) -> SyncNumber {
        self.finish_programs();
        self.flash_mut().begin_sync()
    }

    fn finish_programs(&mut self) {
        let tag = self.program_all();
        self.settle();
        for _ in 0..100_000 {
            if self.is_programmed(tag) {
                return;
            }
            self.background();
            self.go_on();
        }
        panic!("no progress");
    }

    /// For who is blocked: work that makes room, and room that waits for a sync.
    fn make_room(&mut self) {
        self.background();
        if self.flash().is_quiet() {
            self.flash_mut().cool();
        }
    }
}
