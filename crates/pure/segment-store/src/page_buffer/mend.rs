// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Putting the controls of damaged slots right, in a copy of a page buffer that is read to save what can be saved.
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

use super::control::{self, CONTROL_BYTES, OPEN, SEALED, checked_sum};
use super::{PageBuffer, SlotId};
use crate::flip::{Flip, explain_with_sum};
use crate::mark::Mark;

/// What became of a slot whose control contradicted itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotMend {
    /// Which.
    pub slot: SlotId,
    /// Whether one changed byte explained it, and was put right. Otherwise the slot counts as free, and what it held is lost.
    pub is_mended: bool,
    /// What was wrong.
    pub what: &'static str,
}

impl PageBuffer {
    /// Puts right what one changed byte explains in the controls of a page buffer's memory, and frees the other damaged slots.
    pub fn mend(memory: &mut [u8], slots: u16, page_bytes: u32, oob_bytes: u32) -> Vec<SlotMend> {
        let stride = Self::stride_for(page_bytes, oob_bytes);
        let slots = (0..slots).map(SlotId).zip(memory.chunks_exact_mut(stride));
        slots.filter_map(|(slot, bytes)| mend_slot(slot, bytes.first_chunk_mut()?, page_bytes)).collect()
    }

    /// Frees a slot in a page buffer's memory, whatever it holds.
    pub fn free_in(memory: &mut [u8], slot: SlotId, page_bytes: u32, oob_bytes: u32) {
        let at = usize::from(slot.0) * Self::stride_for(page_bytes, oob_bytes);
        if let Some(state) = memory.get_mut(at + 8..at + 16) {
            state.fill(0);
        }
    }

    /// Where a slot's out-of-band bytes are in a page buffer's memory, and behind them its data.
    pub fn content_at(slot: SlotId, page_bytes: u32, oob_bytes: u32) -> (usize, usize) {
        let oob = usize::from(slot.0) * Self::stride_for(page_bytes, oob_bytes) + CONTROL_BYTES;
        (oob, oob + oob_bytes as usize)
    }
}

type ControlBytes = [u8; CONTROL_BYTES];

fn mend_slot(slot: SlotId, control: &mut ControlBytes, page_bytes: u32) -> Option<SlotMend> {
    let what = control::decode(slot, control, page_bytes as usize).err()?.what;
    mend_state(control);
    mend_checked(control);
    mend_marks(control);
    mend_published(slot, control, page_bytes);
    let is_mended = control::decode(slot, control, page_bytes as usize).is_ok();
    if !is_mended {
        control[8..16].fill(0);
    }
    Some(SlotMend { slot, is_mended, what })
}

/// A state that differs from one of the three in one byte is that one.
fn mend_state(control: &mut ControlBytes) {
    let found = &control[8..16];
    let differs = |word: u64| word.to_le_bytes().iter().zip(found).filter(|(a, b)| a != b).count();
    if let Some(word) = [0, OPEN, SEALED].into_iter().find(|word| differs(*word) == 1) {
        control[8..16].copy_from_slice(&word.to_le_bytes());
    }
}

fn mend_checked(control: &mut ControlBytes) {
    let Some((bytes, found, wanted)) = checked_sum(control) else { return };
    if let [flip] = explain_with_sum(found, wanted, 0, bytes, bytes as u64)[..] {
        flip.apply(&mut control[16..]);
    }
}

/// A mark that is not valid says nothing: then only what another mark says is relied on after a crash of the operating system.
fn mend_marks(control: &mut ControlBytes) {
    let (words, _) = control[CONTROL_BYTES - 16..].as_chunks_mut();
    for word in words {
        if Mark::decode(u64::from_le_bytes(*word)).is_none() {
            word.fill(0);
        }
    }
}

fn mend_published(slot: SlotId, control: &mut ControlBytes, page_bytes: u32) {
    if control::published(slot, control, page_bytes as usize).is_some() {
        return;
    }
    let mut sound = Vec::new();
    for flip in Flip::all(0..8) {
        flip.apply(control);
        if control::published(slot, control, page_bytes as usize).is_some() {
            sound.push(flip);
        }
        flip.apply(control);
    }
    if let [flip] = sound[..] {
        flip.apply(control);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PageAddr, PageHeader, SlotState, Stream};

    const PAGE: u32 = 512;
    const OOB: u32 = 96;

    fn page_buffer() -> PageBuffer {
        let mut page_buffer = PageBuffer::heap(3, PAGE, OOB);
        let header = PageHeader {
            owner: 1,
            shard: 0,
            stream: Stream::Gc,
            epoch: 3,
            sequence: 9,
            addr: PageAddr(77),
            used_bytes: 0,
            first_record: 24,
            data_crc: 0,
        };
        let slot = page_buffer.open(&header).expect("a slot");
        page_buffer.publish(slot, 200);
        let slot = page_buffer.open(&PageHeader { sequence: 10, ..header }).expect("a slot");
        page_buffer.publish(slot, 512);
        page_buffer.seal(slot, true);
        page_buffer
    }

    #[test]
    fn every_changed_byte_of_a_control_is_put_right() {
        let good = page_buffer().memory().to_vec();
        let stride = PageBuffer::stride_for(PAGE, OOB);
        let views = |bytes: &[u8]| {
            let page_buffer = PageBuffer::new(crate::PageBufferMemory::from_bytes(bytes), 3, PAGE, OOB);
            page_buffer.survey().expect("sound")
        };
        for at in (0..3).flat_map(|n| n * stride..n * stride + CONTROL_BYTES) {
            for mask in [1, 0x40, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= mask;
                let mends = PageBuffer::mend(&mut bad, 3, PAGE, OOB);
                assert!(mends.iter().all(|m| m.is_mended), "byte {at}: {mends:?}");
                assert_eq!(views(&bad), views(&good), "byte {at} ^ {mask:#x}");
            }
        }
    }

    #[test]
    fn what_is_not_explained_is_freed() {
        let mut bad = page_buffer().memory().to_vec();
        let used = page_buffer().survey().expect("sound")[0].0;
        let at = usize::from(used.0) * PageBuffer::stride_for(PAGE, OOB);
        bad[at + 16..at + 40].fill(0xa5);
        let mends = PageBuffer::mend(&mut bad, 3, PAGE, OOB);
        assert_eq!(mends.iter().map(|m| (m.slot, m.is_mended)).collect::<Vec<_>>(), [(used, false)]);
        let left = PageBuffer::new(crate::PageBufferMemory::from_bytes(&bad), 3, PAGE, OOB);
        assert_eq!(left.state(used), SlotState::Free);
    }
}
