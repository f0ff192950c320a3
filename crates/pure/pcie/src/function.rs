// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an access to a region of the function does.

use std::sync::Arc;

use saker_link::{BarBuffer, DoorbellKind, Doorbells, REGISTER_BYTES, Registers, offset};
use thiserror::Error;

use crate::bar::{self, DOORBELLS, MSIX_PENDING, MSIX_TABLE, PAGE_BYTES, VECTORS, region};
use crate::config::ConfigSpace;
use crate::lines::Lines;
use crate::memory::MemoryBuffer;

/// Interrupt mask set and clear: for pins, which this function does not have. They read as what was set.
const INTMS: u64 = 0x0C;
const INTMC: u64 = 0x10;
/// CSTS.NSSRO, which a driver clears by writing 1.
const NSSRO: u32 = 1 << 4;
/// CAP.CMBS, bit 57, in the upper half of CAP.
const CMBS: u32 = 1 << 25;
/// Makes a write of CSTS differ from what was there, whatever was there.
const WRITTEN: u32 = 1 << 31;

/// CC.SHN 01b.
const SHN_NORMAL: u32 = 1 << 14;
/// CSTS.SHST, and its 10b.
const SHST: u32 = 3 << 2;
const SHST_COMPLETE: u32 = 2 << 2;

const TABLE_BYTES: usize = VECTORS as usize * bar::MSIX_ENTRY_BYTES as usize;
const PENDING_WORDS: usize = VECTORS.div_ceil(64) as usize;

/// What a write asks of who owns the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it is done.
    None,
    /// A register or a doorbell has changed: the device has to look.
    Look,
    /// A function-level reset.
    Reset,
    /// The controller memory buffer is somewhere else: see [`Function::memory_buffer`].
    Memory,
}

/// An access that no driver makes. One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{bytes} bytes at {offset:#x} of region {region} cannot be accessed")]
pub struct AccessError {
    /// The region.
    pub region: u32,
    /// The offset in it.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The function: configuration space, registers, doorbells, vectors.
#[derive(Debug)]
pub struct Function {
    config: ConfigSpace,
    registers: Arc<Registers>,
    doorbells: Arc<Doorbells>,
    values: Arc<BarBuffer>,
    lines: Lines,
    memory: Option<MemoryBuffer>,
    interrupt_mask: u32,
    table: [u8; TABLE_BYTES],
    pending: [u64; PENDING_WORDS],
}

impl Function {
    /// The function of a device.
    #[must_use]
    pub fn new(registers: Arc<Registers>, doorbells: Arc<Doorbells>, values: Arc<BarBuffer>) -> Self {
        Self {
            config: ConfigSpace::new(false),
            registers,
            doorbells,
            values,
            lines: Lines::default(),
            memory: None,
            interrupt_mask: 0,
            table: MASKED,
            pending: [0; PENDING_WORDS],
        }
    }

    /// The same with a controller memory buffer.
    #[must_use]
    pub fn with_memory(self, memory: MemoryBuffer) -> Self {
        Self { config: ConfigSpace::new(true), memory: Some(memory), ..self }
    }

    /// The controller memory buffer, if there is one.
    #[must_use]
    pub const fn memory_buffer(&self) -> Option<&MemoryBuffer> {
        self.memory.as_ref()
    }

    /// Reads a region; the length is what `into` has.
    ///
    /// # Errors
    /// [`AccessError`] for a region that is not there, and beyond its end.
    pub fn read(&self, index: u32, offset: u64, into: &mut [u8]) -> Result<(), AccessError> {
        self.check(index, offset, into.len() as u64)?;
        match index {
            region::CONFIG => self.config.read(offset, into),
            region::BAR4 => self.memory.iter().for_each(|buffer| {
                let there = buffer.memory().load(offset as usize, into);
                debug_assert!(there, "that was looked at");
            }),
            region::BAR0 => {
                for (at, byte) in (offset..).zip(into) {
                    *byte = self.byte(at);
                }
            }
            // What was stored there is the device's.
            _ => into.fill(0),
        }
        Ok(())
    }

    /// Writes a region.
    ///
    /// # Errors
    /// [`AccessError`] for a region that is not there, beyond its end, and for registers and doorbells that are not written whole.
    pub fn write(&mut self, index: u32, offset: u64, from: &[u8]) -> Result<Effect, AccessError> {
        self.check(index, offset, from.len() as u64)?;
        match index {
            region::CONFIG => Ok(if self.config.write(offset, from) { Effect::Reset } else { Effect::None }),
            region::BAR0 => self.write_bar0(offset, from),
            region::BAR4 => {
                if let Some(buffer) = &self.memory {
                    let there = buffer.memory().store(offset as usize, from);
                    debug_assert!(there, "that was looked at");
                }
                Ok(Effect::None)
            }
            _ => {
                self.lines.store(&self.values, offset, from);
                Ok(Effect::None)
            }
        }
    }

    /// Puts everything back but the device's own registers: those are disabled by the caller, as CC.EN does.
    pub fn reset(&mut self) {
        self.config.reset();
        self.lines = Lines::default();
        self.memory.iter_mut().for_each(MemoryBuffer::reset);
        self.interrupt_mask = 0;
        self.table = MASKED;
        self.pending = [0; PENDING_WORDS];
        for queue in 1..=bar::QUEUE_PAIRS {
            self.values.clear(queue);
        }
        // The controller looks at what CC says; a queue that is made again finds its doorbells at zero.
        for at in [offset::CC, offset::AQA] {
            let written = self.registers.store_u32(at, 0);
            debug_assert!(written.is_ok(), "the block has these registers");
        }
        for at in [offset::ASQ, offset::ACQ] {
            let written = self.registers.store_u64(at, 0);
            debug_assert!(written.is_ok(), "the block has these registers");
        }
    }

    /// Asks a controller that is disabled for a shutdown, as a driver does by CC.SHN. False if it has no such register.
    #[must_use]
    pub fn begin_shutdown(&self) -> bool {
        self.registers.store_u32(offset::CC, SHN_NORMAL).is_ok()
    }

    /// Whether CSTS.SHST says that a shutdown is complete.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.registers.load_u32(offset::CSTS).is_ok_and(|csts| csts & SHST == SHST_COMPLETE)
    }

    /// An interrupt could not be told: its pending bit is set until it can.
    pub fn set_pending(&mut self, vector: u16) {
        if let Some(word) = self.pending.get_mut(usize::from(vector / 64)).filter(|_| vector < VECTORS) {
            *word |= 1 << (vector % 64);
        }
    }

    /// Whether an interrupt is pending; it is not any more.
    pub fn take_pending(&mut self, vector: u16) -> bool {
        let Some(word) = self.pending.get_mut(usize::from(vector / 64)) else { return false };
        let was = *word;
        *word &= !(1 << (vector % 64));
        was != *word
    }

    /// Whether an access is within a region, and of a length that one can have.
    fn check(&self, index: u32, offset: u64, bytes: u64) -> Result<(), AccessError> {
        let (end, size) = (offset.checked_add(bytes), bar::region_bytes(index, self.memory.is_some()));
        let fits = end.is_some_and(|end| end <= size) && bytes > 0 && bytes <= 16 * PAGE_BYTES;
        if fits { Ok(()) } else { Err(AccessError { region: index, offset, bytes }) }
    }

    fn byte(&self, at: u64) -> u8 {
        let within = |page: u64| (at - page) as usize;
        match at {
            _ if at < DOORBELLS => self.register_byte(at),
            // Doorbells are written only.
            _ if at < MSIX_TABLE => 0,
            _ if at < MSIX_PENDING => self.table.get(within(MSIX_TABLE)).copied().unwrap_or(0),
            _ => {
                let at = within(MSIX_PENDING);
                self.pending.get(at / 8).map_or(0, |word| word.to_le_bytes()[at % 8])
            }
        }
    }

    fn register_byte(&self, at: u64) -> u8 {
        let of_buffer = self.memory.as_ref().and_then(|buffer| buffer.register(at & !3));
        let word = match at & !3 {
            _ if of_buffer.is_some() => of_buffer.unwrap_or(0),
            INTMS | INTMC => self.interrupt_mask,
            aligned if aligned < u64::from(REGISTER_BYTES) => {
                let has_more = self.memory.is_some() && aligned == u64::from(offset::CAP) + 4;
                self.registers.load_u32(aligned as u32).unwrap_or(0) | if has_more { CMBS } else { 0 }
            }
            _ => 0,
        };
        word.to_le_bytes()[(at & 3) as usize]
    }

    fn write_bar0(&mut self, offset: u64, from: &[u8]) -> Result<Effect, AccessError> {
        if (MSIX_TABLE..MSIX_PENDING).contains(&offset) {
            let end = (offset - MSIX_TABLE) as usize + from.len();
            if let Some(entry) = self.table.get_mut((offset - MSIX_TABLE) as usize..end) {
                entry.copy_from_slice(from);
            }
            return Ok(Effect::None);
        }
        if offset >= MSIX_PENDING {
            return Ok(Effect::None);
        }
        let refused = AccessError { region: region::BAR0, offset, bytes: from.len() as u64 };
        let (words, rest) = from.as_chunks::<4>();
        if !offset.is_multiple_of(4) || !rest.is_empty() || !matches!(words.len(), 1 | 2) {
            return Err(refused);
        }
        let mut effect = Effect::Look;
        for (at, word) in (offset..).step_by(4).zip(words) {
            let value = u32::from_le_bytes(*word);
            if self.memory.as_mut().is_some_and(|buffer| buffer.write(at, value)) {
                effect = Effect::Memory;
            } else if at < DOORBELLS {
                self.write_register(at, value)
            } else {
                self.ring(at, value).ok_or(refused)?
            }
        }
        Ok(effect)
    }

    /// Registers that are the controller's keep their values.
    fn write_register(&mut self, at: u64, value: u32) {
        match at {
            INTMS => self.interrupt_mask |= value,
            INTMC => self.interrupt_mask &= !value,
            _ => {
                let at = at as u32;
                let is_base = (offset::ASQ..offset::ACQ + 8).contains(&at);
                let written = match at {
                    offset::CC | offset::NSSR | offset::AQA => self.registers.store_u32(at, value),
                    _ if is_base => self.registers.store_u32(at, value),
                    offset::CSTS if value & NSSRO != 0 => self.registers.store_u32(at, NSSRO | WRITTEN),
                    _ => Ok(()),
                };
                debug_assert!(written.is_ok(), "the block has these registers");
            }
        }
    }

    /// A doorbell that does not exist is an error.
    fn ring(&self, at: u64, value: u32) -> Option<()> {
        let n = (at - DOORBELLS) / 4;
        let kind = if n.is_multiple_of(2) { DoorbellKind::SqTail } else { DoorbellKind::CqHead };
        self.doorbells.write(kind, u16::try_from(n / 2).ok()?, value).ok()
    }
}

/// All vectors masked, as after a reset.
const MASKED: [u8; TABLE_BYTES] = {
    let (mut table, mut at) = ([0; TABLE_BYTES], 12);
    while at < TABLE_BYTES {
        table[at] = 1;
        at += bar::MSIX_ENTRY_BYTES as usize;
    }
    table
};
