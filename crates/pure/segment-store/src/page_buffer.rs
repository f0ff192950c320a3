// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The power-safe page buffer: page-sized slots in memory that survives what the profile says it survives.
//!
//! A slot takes the bytes of one page while it fills, and keeps them until its program has finished.
//! A slot is `[control 64 B][out-of-band][data]`. Everything a process writes before it is killed stays
//! in the (mapped) memory, so the order of stores is the protocol: bytes first, then one release store of
//! the *published* word. The control words carry checks, so that a flipped byte is seen.
//!
//! Nothing here is indexed by what bytes of a slot say: slots are counted, their places follow from the page buffer's shape, and
//! `control.rs`, which reads the bytes, bounds the one length that is used.

mod check;
mod control;
mod memory;
mod mend;

use crate::header::page_crc;
use crate::mark::Mark;
use crate::{PageAddr, PageHeader};
use control::{CONTROL_BYTES, Control, OPEN, SEALED, publish_word, store_release, write_control};

pub use control::{SlotError, SlotState, SlotView};
pub use memory::PageBufferMemory;
pub use mend::SlotMend;

/// A slot of the page buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotId(pub u16);

/// The slots and their memory.
#[derive(Clone, Debug)]
pub struct PageBuffer {
    memory: PageBufferMemory,
    slots: u16,
    stride: usize,
    oob_bytes: usize,
    page_bytes: usize,
    states: Vec<SlotState>,
    free: Vec<u16>,
    /// Slots whose content a Flush vouched for: they must not be overwritten before the next sync, because
    /// after an operating-system crash they may be newer on disk than the page they were programmed to.
    covered: Vec<bool>,
    cooling: Vec<u16>,
}

impl PageBuffer {
    /// Memory a page buffer of that shape needs, in bytes.
    pub fn bytes_for(slots: u16, page_bytes: u32, oob_bytes: u32) -> usize {
        usize::from(slots) * Self::stride_for(page_bytes, oob_bytes)
    }

    fn stride_for(page_bytes: u32, oob_bytes: u32) -> usize {
        (CONTROL_BYTES + oob_bytes as usize + page_bytes as usize).next_multiple_of(64)
    }

    /// A page buffer over memory that may hold slots of an earlier run. Damaged slots count as in use until
    /// they are released; [`PageBuffer::view`] names them.
    ///
    /// # Panics
    /// When the memory is smaller than [`PageBuffer::bytes_for`].
    pub fn new(memory: PageBufferMemory, slots: u16, page_bytes: u32, oob_bytes: u32) -> Self {
        assert!(
            memory.len() >= Self::bytes_for(slots, page_bytes, oob_bytes),
            "page buffer memory is too small"
        );
        let mut page_buffer = Self {
            memory,
            slots,
            stride: Self::stride_for(page_bytes, oob_bytes),
            oob_bytes: oob_bytes as usize,
            page_bytes: page_bytes as usize,
            states: vec![SlotState::Free; usize::from(slots)],
            free: Vec::with_capacity(usize::from(slots)),
            covered: vec![false; usize::from(slots)],
            cooling: Vec::new(),
        };
        for slot in (0..slots).rev() {
            match page_buffer.found(SlotId(slot)) {
                Ok(None) => page_buffer.free.push(slot),
                Ok(Some(view)) => page_buffer.states[usize::from(slot)] = view.state,
                Err(_) => page_buffer.states[usize::from(slot)] = SlotState::Sealed,
            }
        }
        page_buffer
    }

    /// A fresh page buffer in ordinary memory.
    pub fn heap(slots: u16, page_bytes: u32, oob_bytes: u32) -> Self {
        let bytes = Self::bytes_for(slots, page_bytes, oob_bytes);
        Self::new(PageBufferMemory::Heap(vec![0; bytes.div_ceil(8)]), slots, page_bytes, oob_bytes)
    }

    /// Number of slots.
    pub fn slots(&self) -> u16 {
        self.slots
    }

    /// Slots that can be opened.
    pub fn free_slots(&self) -> usize {
        self.free.len()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        usize::from(self.slots) * self.stride
    }

    /// The raw memory, for an image that must write it out.
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// What a slot is doing.
    #[inline]
    pub fn state(&self, slot: SlotId) -> SlotState {
        self.states[usize::from(slot.0)]
    }

    #[inline]
    fn at(&self, slot: SlotId) -> usize {
        usize::from(slot.0) * self.stride
    }

    /// Opens a free slot for a page. Nothing is published yet.
    pub fn open(&mut self, header: &PageHeader) -> Option<SlotId> {
        let slot = SlotId(self.free.pop()?);
        debug_assert_eq!(self.state(slot), SlotState::Free, "a free slot is opened");
        debug_assert!(!self.covered[usize::from(slot.0)], "what a sync has vouched for is not overwritten");
        let at = self.at(slot);
        self.memory[at + CONTROL_BYTES..at + CONTROL_BYTES + self.oob_bytes].fill(0);
        self.write_open(slot, header);
        Some(slot)
    }

    fn write_open(&mut self, slot: SlotId, header: &PageHeader) {
        let control = Control {
            addr: header.addr.0.into(),
            sequence: header.sequence.into(),
            epoch: header.epoch.into(),
            first_record: header.first_record.into(),
            owner: header.owner.into(),
            stream: header.stream as u8,
            version: 1,
            crc: 0.into(),
            marks: [0.into(); 2],
        };
        let at = self.at(slot);
        write_control(&mut self.memory[at..at + CONTROL_BYTES], control);
        self.publish(slot, 0);
        self.store_state(slot, SlotState::Open);
        debug_assert_eq!(self.published(slot), Some(0), "nothing counts yet");
    }

    /// Of a page that was opened and of which nothing counts yet: the first record starts there.
    pub fn set_first_record(&mut self, slot: SlotId, first_record: u32) {
        assert_eq!(self.published(slot), Some(0), "nothing of it counts");
        let view = self.view(slot).ok().flatten().expect("a slot we opened is sound");
        let header = PageHeader {
            owner: view.owner,
            shard: 0,
            stream: view.stream,
            epoch: view.epoch,
            sequence: view.sequence,
            addr: view.addr,
            used_bytes: 0,
            first_record,
            data_crc: 0,
        };
        self.write_open(slot, &header);
    }

    /// The data of a slot.
    #[inline]
    pub fn data(&self, slot: SlotId) -> &[u8] {
        let at = self.at(slot) + CONTROL_BYTES + self.oob_bytes;
        &self.memory[at..at + self.page_bytes]
    }

    /// The data of a slot. Bytes below the published length must not change, but for room in them that no sync has vouched for
    /// and that [`PageBuffer::store_word`] lets count later.
    #[inline]
    pub fn data_mut(&mut self, slot: SlotId) -> &mut [u8] {
        let at = self.at(slot) + CONTROL_BYTES + self.oob_bytes;
        &mut self.memory[at..at + self.page_bytes]
    }

    /// The out-of-band bytes of a slot; the header part is valid once sealed.
    pub fn oob(&self, slot: SlotId) -> &[u8] {
        let at = self.at(slot) + CONTROL_BYTES;
        &self.memory[at..at + self.oob_bytes]
    }

    /// The out-of-band bytes after the header, which are the owner's. It fills them from the start, in whole words.
    pub fn owner_oob_mut(&mut self, slot: SlotId) -> &mut [u8] {
        let at = self.at(slot) + CONTROL_BYTES;
        &mut self.memory[at + crate::header::HEADER_BYTES..at + self.oob_bytes]
    }

    /// Makes the first `bytes` of the slot count: from here on they survive the process.
    #[inline]
    pub fn publish(&mut self, slot: SlotId, bytes: u32) {
        debug_assert!(bytes as usize <= self.page_bytes, "what counts is in the page");
        let at = self.at(slot);
        let word = publish_word(bytes, slot);
        store_release(&mut self.memory[at..at + 8], word);
    }

    /// Stores a word of the data at a multiple of 8, as a whole and after everything that was written before.
    ///
    /// # Panics
    /// When the out-of-band part is no multiple of 8 bytes long.
    pub fn store_word(&mut self, slot: SlotId, offset: u32, word: u64) {
        debug_assert_eq!(self.state(slot), SlotState::Open, "only pages that fill change");
        debug_assert!(self.vouched_bytes(slot) <= offset, "what a sync has vouched for does not change");
        let at = self.at(slot) + CONTROL_BYTES + self.oob_bytes + offset as usize;
        store_release(&mut self.memory[at..at + 8], word);
    }

    /// The same for the owner's out-of-band bytes.
    ///
    /// # Panics
    /// When the out-of-band part is no multiple of 8 bytes long, or `offset` is none.
    pub fn store_oob_word(&mut self, slot: SlotId, offset: usize, word: u64) {
        debug_assert_eq!(self.state(slot), SlotState::Open, "only pages that fill change");
        store_release(&mut self.owner_oob_mut(slot)[offset..offset + 8], word);
    }

    /// Bytes from the start of a slot's data that a sync may rely on.
    pub fn vouched_bytes(&self, slot: SlotId) -> u32 {
        self.marks(slot).iter().map(|mark| mark.bytes).max().unwrap_or(0)
    }

    /// Bytes that count, or `None` if the word is damaged.
    pub fn published(&self, slot: SlotId) -> Option<u32> {
        let at = self.at(slot);
        control::published(slot, &self.memory[at..at + CONTROL_BYTES], self.page_bytes)
    }

    /// Closes a slot: computes the page header from its control and content. It can then be programmed.
    pub fn seal(&mut self, slot: SlotId, owner_oob_used: bool) -> PageAddr {
        assert_eq!(self.state(slot), SlotState::Open, "a slot is sealed once");
        let view = self.view(slot).ok().flatten().expect("a slot we opened is sound");
        let used = view.published;
        let at = self.at(slot);
        let (oob, data) = self.memory[at + CONTROL_BYTES..at + self.stride].split_at_mut(self.oob_bytes);
        let data = &mut data[..self.page_bytes];
        data[used as usize..].fill(0);
        let (head, owner) = oob.split_at_mut(crate::header::HEADER_BYTES);
        debug_assert!(owner_oob_used || owner.iter().all(|b| *b == 0));
        PageHeader {
            owner: view.owner,
            shard: 0,
            stream: view.stream,
            epoch: view.epoch,
            sequence: view.sequence,
            addr: view.addr,
            used_bytes: used,
            first_record: view.first_record,
            data_crc: page_crc(data, owner),
        }
        .encode(head);
        self.store_state(slot, SlotState::Sealed);
        view.addr
    }

    pub(crate) fn oob_mut(&mut self, slot: SlotId) -> &mut [u8] {
        let at = self.at(slot) + CONTROL_BYTES;
        &mut self.memory[at..at + self.oob_bytes]
    }

    fn mark_at(&self, slot: SlotId, n: usize) -> usize {
        self.at(slot) + 16 + std::mem::offset_of!(Control, marks) + 8 * n
    }

    /// The marks of a slot in use; one that is not valid says nothing.
    pub(crate) fn marks(&self, slot: SlotId) -> [Mark; 2] {
        [0, 1].map(|n| {
            let at = self.mark_at(slot, n);
            let word = u64::from_le_bytes(self.memory[at..at + 8].try_into().expect("8 bytes"));
            Mark::decode(word).unwrap_or_default()
        })
    }

    pub(crate) fn set_mark(&mut self, slot: SlotId, n: usize, mark: Mark) {
        let at = self.mark_at(slot, n);
        store_release(&mut self.memory[at..at + 8], mark.encode());
    }

    /// Gives a slot back at once.
    pub(crate) fn free_now(&mut self, slot: SlotId) {
        debug_assert!(!self.free.contains(&slot.0), "a slot is given back once");
        self.store_state(slot, SlotState::Free);
        self.free.push(slot.0);
        debug_assert!(self.free.len() + self.cooling.len() <= usize::from(self.slots));
    }

    /// Gives a slot back: its page is programmed, or its content lives elsewhere.
    pub fn release(&mut self, slot: SlotId) {
        assert_ne!(self.state(slot), SlotState::Free, "a slot is released once");
        if !self.covered[usize::from(slot.0)] {
            return self.free_now(slot);
        }
        self.cooling.push(slot.0);
        match self.state(slot) {
            // No page was made of it: nothing in it counts, also for who finds it after a kill before that sync.
            SlotState::Open => self.store_state(slot, SlotState::Free),
            _ => self.states[usize::from(slot.0)] = SlotState::Free,
        }
    }

    /// Whether the page buffer is a mapping of a file, whose bytes reach the disk in any order until they are synced.
    pub fn is_mapped(&self) -> bool {
        matches!(self.memory, PageBufferMemory::Mapped(_))
    }

    /// Everything in a mapped page buffer has just been synced on behalf of a Flush (or was found at power-on).
    pub fn cover(&mut self) {
        if self.is_mapped() {
            for (covered, state) in self.covered.iter_mut().zip(&self.states) {
                *covered = *state != SlotState::Free;
            }
        }
    }

    /// Everything has been synced that was programmed when so many released slots waited for it: these are free.
    pub fn cooled(&mut self, slots: usize) {
        for slot in self.cooling.drain(..slots).collect::<Vec<_>>() {
            debug_assert_eq!(self.state(SlotId(slot)), SlotState::Free, "only released slots cool");
            self.covered[usize::from(slot)] = false;
            self.store_state(SlotId(slot), SlotState::Free);
            self.free.push(slot);
        }
    }

    /// Released slots that wait for a sync.
    pub fn cooling(&self) -> usize {
        self.cooling.len()
    }

    /// The control of a slot; `None` when it is free, and from its release on. The bytes of a slot that waits for a sync
    /// still say what it held: that is for whoever finds the page buffer later ([`PageBuffer::new`]), not for this run.
    #[inline]
    pub fn view(&self, slot: SlotId) -> Result<Option<SlotView>, SlotError> {
        if self.state(slot) == SlotState::Free { Ok(None) } else { self.found(slot) }
    }

    /// What the bytes of a slot say.
    fn found(&self, slot: SlotId) -> Result<Option<SlotView>, SlotError> {
        let at = self.at(slot);
        control::decode(slot, &self.memory[at..at + CONTROL_BYTES], self.page_bytes)
    }

    /// All slots in use, or the first damaged one.
    pub fn survey(&self) -> Result<Vec<(SlotId, SlotView)>, SlotError> {
        let views = (0..self.slots).map(|n| self.view(SlotId(n)).map(|v| v.map(|v| (SlotId(n), v))));
        views.filter_map(Result::transpose).collect()
    }

    /// Loses everything, as a power cut without a capacitor does.
    pub fn lose(&mut self) {
        self.memory.fill(0);
        self.states.fill(SlotState::Free);
        self.free = (0..self.slots).rev().collect();
        self.cooling.clear();
        self.covered.fill(false);
    }

    pub(crate) fn store_state(&mut self, slot: SlotId, state: SlotState) {
        self.states[usize::from(slot.0)] = state;
        let at = self.at(slot) + 8;
        let word = match state {
            SlotState::Free => 0,
            SlotState::Open => OPEN,
            SlotState::Sealed => SEALED,
        };
        store_release(&mut self.memory[at..at + 8], word);
    }
}

#[cfg(test)]
mod tests;
