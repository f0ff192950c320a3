// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A function without a device.

use std::sync::Arc;

use saker_link::{BarBuffer, Doorbells, Registers};
use saker_pcie::bar::{BAR4_BYTES, QUEUE_PAIRS};
use saker_pcie::{Function, MemoryBuffer};

/// The function, and what a device would share with it.
pub struct Rig {
    pub function: Function,
    pub registers: Arc<Registers>,
    pub doorbells: Arc<Doorbells>,
    pub values: Arc<BarBuffer>,
}

impl Rig {
    pub fn new() -> Self {
        let registers = Arc::new(Registers::new());
        let (doorbells, values) = (Doorbells::new(QUEUE_PAIRS + 1), BarBuffer::new(QUEUE_PAIRS));
        let shared = (Arc::clone(&registers), Arc::clone(&doorbells), Arc::clone(&values));
        Self { function: Function::new(shared.0, shared.1, shared.2), registers, doorbells, values }
    }

    /// The same with a controller memory buffer.
    pub fn with_memory() -> Self {
        let rig = Self::new();
        let memory = crate::memory::pages(BAR4_BYTES);
        Self { function: rig.function.with_memory(MemoryBuffer::new(memory)), ..rig }
    }

    pub fn read<const N: usize>(&self, region: u32, offset: u64) -> [u8; N] {
        let mut bytes = [0xAA; N];
        self.function.read(region, offset, &mut bytes).unwrap();
        bytes
    }

    pub fn word(&self, region: u32, offset: u64) -> u32 {
        u32::from_le_bytes(self.read(region, offset))
    }
}
