// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configuration space (PCI Express Base 4.0, chapter 7): what is there, and which bits a driver may change.

use crate::bar;

/// Bytes that hold anything.
const HELD: usize = 256;

/// Not assigned to anybody by the PCI-SIG: "VN". Drivers go by the class.
pub const VENDOR_ID: u16 = 0x4E56;
/// "VK".
pub const DEVICE_ID: u16 = 0x4B56;
/// Mass storage, non-volatile memory, NVM Express.
pub const CLASS: [u8; 3] = [0x02, 0x08, 0x01];

const COMMAND: usize = 0x04;
const STATUS: usize = 0x06;
const BARS: usize = 0x10;
const CAPABILITIES: usize = 0x34;
const INTERRUPT_LINE: usize = 0x3C;
const POWER: usize = 0x40;
const MSIX: usize = 0x50;
const EXPRESS: usize = 0x60;
const DEVICE_CONTROL: usize = EXPRESS + 8;

/// Of Device Control: initiate a function-level reset.
const RESET_BIT: u16 = 1 << 15;
/// Of the MSI-X message control.
const MSIX_ENABLE: u16 = 1 << 15;
const MSIX_MASK: u16 = 1 << 14;

/// Configuration space of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSpace {
    bytes: [u8; HELD],
    has_memory: bool,
}

impl ConfigSpace {
    /// As after power-on, with or without BAR 4.
    #[must_use]
    pub const fn new(has_memory: bool) -> Self {
        Self { bytes: initial(has_memory), has_memory }
    }

    /// Copies what is there; zeros where nothing is.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        for (at, byte) in (offset..).zip(into) {
            *byte = usize::try_from(at).ok().and_then(|at| self.bytes.get(at)).copied().unwrap_or(0);
        }
    }

    /// Changes the bits that a driver may change. True if it asks for a function-level reset.
    pub fn write(&mut self, offset: u64, from: &[u8]) -> bool {
        let mut resets = false;
        for (at, value) in (offset..).zip(from) {
            let Some(at) = usize::try_from(at).ok().filter(|at| *at < HELD) else { break };
            let (mask, reset) = (if self.has_memory { WITH_MEMORY[at] } else { WRITABLE[at] }, RESETS[at]);
            self.bytes[at] = self.bytes[at] & !mask | value & mask;
            resets |= value & reset != 0;
        }
        resets
    }

    /// Whether MSI-X is enabled, and whether all of its vectors are masked.
    #[must_use]
    pub const fn msix(&self) -> (bool, bool) {
        let control = u16::from_le_bytes([self.bytes[MSIX + 2], self.bytes[MSIX + 3]]);
        (control & MSIX_ENABLE != 0, control & MSIX_MASK != 0)
    }

    /// As after power-on, but for what a function-level reset leaves alone: nothing here.
    pub const fn reset(&mut self) {
        self.bytes = initial(self.has_memory);
    }
}

const fn put<const N: usize>(mut bytes: [u8; HELD], at: usize, value: [u8; N]) -> [u8; HELD] {
    let mut n = 0;
    while n < N {
        bytes[at + n] = value[n];
        n += 1;
    }
    bytes
}

const WRITABLE: [u8; HELD] = writable();
const WITH_MEMORY: [u8; HELD] = put(WRITABLE, BARS + 16, (!(bar::BAR4_BYTES - 1)).to_le_bytes());
const RESETS: [u8; HELD] = put([0; HELD], DEVICE_CONTROL, RESET_BIT.to_le_bytes());

const fn initial(has_memory: bool) -> [u8; HELD] {
    let bytes = put([0; HELD], 0, VENDOR_ID.to_le_bytes());
    let bytes = put(bytes, 2, DEVICE_ID.to_le_bytes());
    // A list of capabilities is there.
    let bytes = put(bytes, STATUS, 0x0010_u16.to_le_bytes());
    let bytes = put(bytes, 8, [1, CLASS[0], CLASS[1], CLASS[2]]);
    // 64-bit memory, twice.
    let bytes = put(bytes, BARS, 4_u32.to_le_bytes());
    let bytes = put(bytes, BARS + 8, 4_u32.to_le_bytes());
    // The third is prefetchable.
    let bytes = if has_memory { put(bytes, BARS + 16, 0xC_u32.to_le_bytes()) } else { bytes };
    let bytes = put(bytes, 0x2C, VENDOR_ID.to_le_bytes());
    let bytes = put(bytes, 0x2E, DEVICE_ID.to_le_bytes());
    let bytes = put(bytes, CAPABILITIES, [POWER as u8]);
    // Power management 1.2; a return from D3hot resets nothing.
    let bytes = put(bytes, POWER, [0x01, MSIX as u8, 0x03, 0x00, 0x08, 0x00]);
    let bytes = put(bytes, MSIX, [0x11, EXPRESS as u8]);
    let bytes = put(bytes, MSIX + 2, (bar::VECTORS - 1).to_le_bytes());
    let bytes = put(bytes, MSIX + 4, (bar::MSIX_TABLE as u32).to_le_bytes());
    let bytes = put(bytes, MSIX + 8, (bar::MSIX_PENDING as u32).to_le_bytes());
    // Version 2, an endpoint; role-based errors, function-level reset; 8 GT/s by 4 lanes.
    let bytes = put(bytes, EXPRESS, [0x10, 0x00, 0x02, 0x00]);
    let bytes = put(bytes, EXPRESS + 4, 0x1000_8000_u32.to_le_bytes());
    let bytes = put(bytes, EXPRESS + 0x0C, 0x43_u32.to_le_bytes());
    put(bytes, EXPRESS + 0x12, 0x43_u16.to_le_bytes())
}

const fn writable() -> [u8; HELD] {
    // Memory space, bus master, parity, SERR, INTx disable. I/O space does not exist.
    let bytes = put([0; HELD], COMMAND, 0x0546_u16.to_le_bytes());
    let bytes = put(bytes, 0x0C, [0xFF]);
    let bytes = put(bytes, BARS, (!(bar::BAR0_BYTES - 1)).to_le_bytes());
    let bytes = put(bytes, BARS + 8, (!(bar::BAR2_BYTES - 1)).to_le_bytes());
    let bytes = put(bytes, INTERRUPT_LINE, [0xFF]);
    let bytes = put(bytes, POWER + 4, [0x03]);
    let bytes = put(bytes, MSIX + 2, (MSIX_ENABLE | MSIX_MASK).to_le_bytes());
    let bytes = put(bytes, DEVICE_CONTROL, 0x7FFF_u16.to_le_bytes());
    put(bytes, EXPRESS + 0x10, 0x01CB_u16.to_le_bytes())
}
