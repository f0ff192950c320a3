// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The control of a slot: what it says, how it is checked, and how its words are stored.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::arithmetic_side_effects,
        reason = "it reads bytes of images"
    )
)]

use super::SlotId;
use crate::header::{SEQUENCE_MAX, crc32c};
use crate::mark::Mark;
use crate::{PageAddr, Stream};
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The life of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// Nothing in it.
    Free,
    /// Filling.
    Open,
    /// Full or closed; to be programmed or being programmed.
    Sealed,
}

/// A slot in use, as found after power-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotView {
    /// Open or sealed.
    pub state: SlotState,
    /// Which page it is for.
    pub addr: PageAddr,
    /// The order in which pages were opened.
    pub sequence: u64,
    /// The owner.
    pub owner: u16,
    /// The append point.
    pub stream: Stream,
    /// Erase cycle of the segment.
    pub epoch: u32,
    /// Where the first record starts.
    pub first_record: u32,
    /// Bytes that count.
    pub published: u32,
}

/// A slot whose control words contradict themselves.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("power-safe slot {slot} is damaged: {what}")]
pub struct SlotError {
    /// Which.
    pub slot: u16,
    /// What is wrong.
    pub what: &'static str,
}

/// Bytes of a slot before its out-of-band part.
pub(super) const CONTROL_BYTES: usize = 64;
pub(super) const OPEN: u64 = 0x6e65_706f_4b53_1357;
pub(super) const SEALED: u64 = 0x6c61_6573_4b53_2468;
const PUBLISH_SALT: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct Control {
    pub(super) addr: U64,
    pub(super) sequence: U64,
    pub(super) epoch: U32,
    pub(super) first_record: U32,
    pub(super) owner: U16,
    pub(super) stream: u8,
    pub(super) version: u8,
    pub(super) crc: U32,
    /// What syncs have vouched for (see [`crate::crash`]). Changes while the slot fills, so the checksum leaves it out.
    pub(super) marks: [U64; 2],
}

/// All of a control.
#[derive(FromBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct Words {
    published: U64,
    state: U64,
    control: Control,
}

const _: () = assert!(size_of::<Words>() == CONTROL_BYTES);

/// Bytes of the control that its checksum covers: those before it.
const CHECKED_BYTES: usize = std::mem::offset_of!(Control, crc);
const _: () = assert!(16 + size_of::<Control>() == CONTROL_BYTES);
// Marks are stored as words, whole or not at all.
const _: () = assert!((16 + std::mem::offset_of!(Control, marks)).is_multiple_of(8));

/// Bytes that count, or `None` if the word is damaged.
pub(super) fn published(slot: SlotId, bytes: &[u8], page_bytes: usize) -> Option<u32> {
    let word = u64::from_le_bytes(*bytes.first_chunk()?);
    let bytes = word as u32;
    let can_be = bytes as usize <= page_bytes && bytes.is_multiple_of(8);
    (publish_word(bytes, slot) == word && can_be).then_some(bytes)
}

/// What the control of a slot says; `None` when it is free.
pub(super) fn decode(slot: SlotId, bytes: &[u8], page_bytes: usize) -> Result<Option<SlotView>, SlotError> {
    let bad = |what| SlotError { slot: slot.0, what };
    let Ok((words, _)) = Words::read_from_prefix(bytes) else { return Err(bad("it is too short")) };
    let state = match words.state.get() {
        0 => return Ok(None),
        OPEN => SlotState::Open,
        SEALED => SlotState::Sealed,
        _ => return Err(bad("its state word is neither free, open nor sealed")),
    };
    let control = words.control;
    if control.crc.get() != control_crc(&control) {
        return Err(bad("its control does not match its checksum"));
    }
    if control.marks.iter().any(|m| Mark::decode(m.get()).is_none()) {
        return Err(bad("what it says of the last sync is not valid"));
    }
    let published =
        published(slot, bytes, page_bytes).ok_or_else(|| bad("its published length is not valid"))?;
    let stream = Stream::from_u8(control.stream).ok_or_else(|| bad("it names no stream"))?;
    let first_record = control.first_record.get();
    if first_record as usize > page_bytes || !first_record.is_multiple_of(8) {
        return Err(bad("its first record begins where none can"));
    }
    if control.sequence.get() > SEQUENCE_MAX {
        return Err(bad("its sequence number is too large"));
    }
    Ok(Some(SlotView {
        state,
        addr: PageAddr(control.addr.get()),
        sequence: control.sequence.get(),
        owner: control.owner.get(),
        stream,
        epoch: control.epoch.get(),
        first_record: control.first_record.get(),
        published,
    }))
}

/// The length with a check over length and slot, so that no single flip passes for another length.
#[inline]
pub(super) fn publish_word(bytes: u32, slot: SlotId) -> u64 {
    let mixed = u64::from(bytes).wrapping_add(1).wrapping_mul(PUBLISH_SALT) ^ (u64::from(slot.0) << 40);
    (mixed & 0xffff_ffff_0000_0000) | u64::from(bytes)
}

/// Of a control: the bytes that its checksum covers, which begin behind the state, their sum, and the one that is noted.
/// `None` if it is too short.
pub(super) fn checked_sum(bytes: &[u8]) -> Option<(usize, u32, u32)> {
    let (Words { control, .. }, _) = Words::read_from_prefix(bytes).ok()?;
    Some((CHECKED_BYTES, control_crc(&control), control.crc.get()))
}

fn control_crc(control: &Control) -> u32 {
    let (covered, _) = control.as_bytes().split_at(CHECKED_BYTES);
    crc32c(covered)
}

pub(super) fn write_control(out: &mut [u8], mut control: Control) {
    control.crc = control_crc(&control).into();
    let written = control.write_to_suffix(out);
    debug_assert!(written.is_ok(), "a control's bytes are given");
}

/// One aligned 8-byte store that no earlier store can pass: what a killed process leaves behind is a
/// prefix of its publications.
#[inline]
pub(super) fn store_release(bytes: &mut [u8], word: u64) {
    match AtomicU64::mut_from_bytes(bytes) {
        Ok(atomic) => atomic.store(word.to_le(), Ordering::Release),
        Err(_) => unreachable!("slots are 64-byte aligned"),
    }
}
