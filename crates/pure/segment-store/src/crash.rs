// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page buffer after a crash of the operating system: as of the last sync, or newer, sector by sector.
//!
//! A slot that a sync has seen is not used again before a sync has seen its page. So of such a slot everything the sync
//! saw is still there; only what was added later can be there or not. What it saw is vouched for by the page's checksum
//! if the slot was sealed, and by its mark (see `mark.rs`) if it was filling. A slot without either was opened after
//! the last sync: nobody relies on it, and its bytes may be those of an earlier use. The same goes for a slot with one mark that does not match:
//! the sync that the mark was written for has not ended.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use crate::PageHeader;
use crate::crc::Crc32c;
use crate::header::{HEADER_BYTES, page_crc};
use crate::mark::Mark;
use crate::page_buffer::{PageBuffer, SlotError, SlotId, SlotState, SlotView};

impl PageBuffer {
    /// Notes what slots that are filling hold. To be called before a sync that somebody will rely on; of no effect in
    /// memory that no sync concerns.
    pub fn mark(&mut self) {
        if !self.is_mapped() {
            return;
        }
        for slot in
            (0..self.slots()).map(SlotId).filter(|s| self.state(*s) == SlotState::Open).collect::<Vec<_>>()
        {
            self.mark_slot(slot);
        }
    }

    fn mark_slot(&mut self, slot: SlotId) {
        let Ok(Some(view)) = self.view(slot) else { return };
        let oob_bytes = self.owner_oob_used(slot);
        let mark = Mark {
            bytes: view.published,
            oob_bytes,
            check: self.checksum(slot, &view, view.published, oob_bytes),
        };
        let marks = self.marks(slot);
        let [first, second] = marks;
        let is_alone = first.bytes == 0 || second.bytes == 0;
        if view.published > 0 && (is_alone || !marks.iter().any(|m| m.agrees(mark))) {
            // One that is alone was made last by the sync before: twice, it says so.
            let shorter = usize::from(second.bytes < first.bytes);
            self.set_mark(slot, shorter, mark);
        }
    }

    /// Bytes up to the last one that is not zero, in whole words: a slot's out-of-band bytes are zero when it is opened.
    fn owner_oob_used(&self, slot: SlotId) -> u32 {
        let owner = PageHeader::owner_oob(self.oob(slot));
        let used = owner.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
        used.next_multiple_of(8).min(owner.len()) as u32
    }

    fn checksum(&self, slot: SlotId, view: &SlotView, bytes: u32, oob_bytes: u32) -> u32 {
        let mut digest = Crc32c::new();
        digest.update(&view.sequence.to_le_bytes());
        digest.update(self.data(slot).get(..bytes as usize).unwrap_or_default());
        digest.update(PageHeader::owner_oob(self.oob(slot)).get(..oob_bytes as usize).unwrap_or_default());
        digest.finish()
    }

    /// Brings every slot to what can be relied on. `is_programmed`: whether its page is on the medium as a whole; the slot
    /// is not needed then. To be called once, at the first opening after the crash.
    ///
    /// # Errors
    /// The first slot whose marks do not match its content, the one that a sync before the last has made last included: a crash does not do that.
    pub fn settle_after_crash(
        &mut self,
        mut is_programmed: impl FnMut(&SlotView) -> bool,
    ) -> Result<(), SlotError> {
        for slot in (0..self.slots()).map(SlotId) {
            // A slot that contradicts itself is named by the survey: its control is one sector.
            let Ok(Some(view)) = self.view(slot) else { continue };
            if is_programmed(&view) {
                self.free_now(slot);
            } else if view.state != SlotState::Sealed || !self.is_whole(slot, &view) {
                self.settle_slot(slot, &view)?;
            }
        }
        Ok(())
    }

    /// Whether a sealed slot holds what was sealed.
    pub fn is_whole(&self, slot: SlotId, view: &SlotView) -> bool {
        let header = PageHeader::decode(self.oob(slot), view.addr).ok().flatten();
        header.is_some_and(|h| {
            (h.sequence, h.epoch, h.owner) == (view.sequence, view.epoch, view.owner)
                && h.data_crc == page_crc(self.data(slot), PageHeader::owner_oob(self.oob(slot)))
        })
    }

    fn settle_slot(&mut self, slot: SlotId, view: &SlotView) -> Result<(), SlotError> {
        let marks = self.marks(slot);
        let fits = |m: &Mark| {
            m.bytes as usize <= self.data(slot).len()
                && m.oob_bytes as usize <= PageHeader::owner_oob(self.oob(slot)).len()
        };
        let holds = |m: &&Mark| {
            m.bytes > 0
                && fits(m)
                && m.agrees(Mark { check: self.checksum(slot, view, m.bytes, m.oob_bytes), ..**m })
        };
        match marks.iter().filter(holds).max_by_key(|m| m.bytes).copied() {
            Some(mark) => self.cut_back(slot, mark),
            None if marks.iter().any(|m| m.bytes == 0) => self.free_now(slot),
            None => {
                return Err(SlotError {
                    slot: slot.0,
                    what: "what the last syncs saw does not match its checksum",
                });
            }
        }
        Ok(())
    }

    /// The slot fills again from where the mark ends.
    fn cut_back(&mut self, slot: SlotId, mark: Mark) {
        self.data_mut(slot).iter_mut().skip(mark.bytes as usize).for_each(|byte| *byte = 0);
        let kept = HEADER_BYTES..HEADER_BYTES + mark.oob_bytes as usize;
        let oob = self.oob_mut(slot).iter_mut().enumerate();
        oob.filter(|(n, _)| !kept.contains(n)).for_each(|(_, byte)| *byte = 0);
        self.publish(slot, mark.bytes);
        self.set_mark(slot, 0, mark);
        self.set_mark(slot, 1, Mark::default());
        self.store_state(slot, SlotState::Open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PageAddr, PageBufferMemory, Stream};

    const PAGE: u32 = 512;
    const OOB: u32 = 96;

    fn header(sequence: u64) -> PageHeader {
        PageHeader {
            owner: 1,
            shard: 0,
            stream: Stream::User,
            epoch: 1,
            sequence,
            addr: PageAddr(sequence),
            used_bytes: 0,
            first_record: 0,
            data_crc: 0,
        }
    }

    fn mapped(bytes: &[u8]) -> PageBuffer {
        // A mapping as far as the page buffer can tell.
        let PageBufferMemory::Heap(words) = PageBufferMemory::from_bytes(bytes) else { unreachable!() };
        PageBuffer::new(PageBufferMemory::Mapped(Box::new(Words(words))), 2, PAGE, OOB)
    }

    struct Words(Vec<u64>);

    impl std::ops::Deref for Words {
        type Target = [u8];
        fn deref(&self) -> &[u8] {
            zerocopy::IntoBytes::as_bytes(&self.0[..])
        }
    }

    impl std::ops::DerefMut for Words {
        fn deref_mut(&mut self) -> &mut [u8] {
            zerocopy::IntoBytes::as_mut_bytes(&mut self.0[..])
        }
    }

    fn new_page_buffer() -> PageBuffer {
        mapped(&vec![0; PageBuffer::bytes_for(2, PAGE, OOB)])
    }

    fn fill(page_buffer: &mut PageBuffer, slot: SlotId, from: u32, to: u32, with: u8) {
        page_buffer.data_mut(slot)[from as usize..to as usize].fill(with);
        page_buffer.owner_oob_mut(slot)[to as usize / 200 * 8] = with;
        page_buffer.publish(slot, to);
    }

    /// Sectors of `new` where `pick` says so, of `old` elsewhere.
    fn mix(old: &[u8], new: &[u8], pick: impl Fn(usize) -> bool) -> PageBuffer {
        let sectors = old.chunks(64).zip(new.chunks(64)).enumerate();
        let bytes: Vec<u8> = sectors.flat_map(|(n, (o, w))| if pick(n) { w } else { o }.to_vec()).collect();
        mapped(&bytes)
    }

    #[test]
    fn what_a_sync_saw_survives_whatever_part_of_the_rest_is_there() {
        let mut page_buffer = new_page_buffer();
        let slot = page_buffer.open(&header(5)).expect("a slot");
        fill(&mut page_buffer, slot, 0, 104, 1);
        page_buffer.mark();
        let synced = page_buffer.memory().to_vec();
        fill(&mut page_buffer, slot, 104, 304, 2);
        page_buffer.mark();
        fill(&mut page_buffer, slot, 304, 400, 3);
        for sealed in [false, true] {
            if sealed {
                page_buffer.seal(slot, true);
            }
            for picked in 0..1u32 << 12 {
                let mut left = mix(&synced, page_buffer.memory(), |n| picked >> (n % 12) & 1 == 1);
                left.settle_after_crash(|_| false).expect("no damage");
                let view = left.view(slot).expect("sound").expect("in use");
                let long = view.published;
                let kept = |n: u32| left.data(slot)[..n as usize] == page_buffer.data(slot)[..n as usize];
                assert!([104, 304, 400].contains(&long) && kept(long), "{picked:b}: {long} bytes");
                assert!(
                    long < 400 || (sealed && view.state == SlotState::Sealed),
                    "400 bytes were never synced"
                );
            }
        }
    }

    #[test]
    fn a_slot_that_no_sync_saw_is_free() {
        let mut page_buffer = new_page_buffer();
        let slot = page_buffer.open(&header(5)).expect("a slot");
        fill(&mut page_buffer, slot, 0, 104, 1);
        page_buffer.settle_after_crash(|_| false).expect("no damage");
        assert_eq!((page_buffer.view(slot), page_buffer.free_slots()), (Ok(None), 2));
    }

    #[test]
    fn bytes_of_an_earlier_use_do_not_count() {
        let mut page_buffer = new_page_buffer();
        let slot = page_buffer.open(&header(5)).expect("a slot");
        fill(&mut page_buffer, slot, 0, 512, 1);
        page_buffer.mark();
        page_buffer.seal(slot, true);
        let before = page_buffer.memory().to_vec();
        page_buffer.release(slot);
        assert_eq!(page_buffer.open(&header(6)), Some(slot));
        fill(&mut page_buffer, slot, 0, 512, 2);
        // The new control over the old content.
        let mut left = mix(&before, page_buffer.memory(), |n| n == 0);
        left.settle_after_crash(|_| false).expect("no damage");
        assert_eq!(left.view(slot), Ok(None));
    }

    /// A mark is in memory that reaches the disk at any time, so it can be there without what it vouches for, until its sync has ended.
    #[test]
    fn the_first_sync_of_a_slot_may_never_end() {
        let mut page_buffer = new_page_buffer();
        let slot = page_buffer.open(&header(5)).expect("a slot");
        let before = page_buffer.memory().to_vec();
        fill(&mut page_buffer, slot, 0, 104, 1);
        page_buffer.mark();
        let mut kept = 0;
        for picked in 0..1u32 << 12 {
            let mut left = mix(&before, page_buffer.memory(), |n| picked >> (n % 12) & 1 == 1);
            left.settle_after_crash(|_| false).expect("no damage");
            if let Ok(Some(view)) = left.view(slot) {
                assert_eq!((view.published, left.data(slot)), (104, page_buffer.data(slot)), "{picked:b}");
                kept += 1;
            }
        }
        assert!(kept > 0, "one of them is what a whole sync leaves");
    }

    #[test]
    fn a_flip_in_what_a_sync_before_the_last_saw_is_damage() {
        for grows in [false, true] {
            let mut page_buffer = new_page_buffer();
            let slot = page_buffer.open(&header(5)).expect("a slot");
            fill(&mut page_buffer, slot, 0, 104, 1);
            page_buffer.mark();
            if grows {
                fill(&mut page_buffer, slot, 104, 304, 2);
            }
            page_buffer.mark();
            for at in 0..104 {
                let mut left = mapped(page_buffer.memory());
                left.data_mut(slot)[at] ^= 0x10;
                assert!(left.settle_after_crash(|_| false).is_err(), "byte {at}");
            }
            let mut programmed = mapped(page_buffer.memory());
            programmed.data_mut(slot)[0] ^= 1;
            programmed.settle_after_crash(|view| view.sequence == 5).expect("its page is what counts");
            assert_eq!(programmed.view(slot), Ok(None));
        }
    }
}
