// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where things are in the BARs.
//!
//! | BAR | offset | holds |
//! |---|---|---|
//! | 0 | 0 | registers of the controller |
//! | 0 | 1000h | doorbells, 4 bytes apart (CAP.DSTRD 0), in a page of their own |
//! | 0 | 2000h | the MSI-X table |
//! | 0 | 3000h | the MSI-X pending bits |
//! | 2 | 2000h times (queue - 1) | what the processor stores for Store MMIO, by I/O queue |
//! | 4 | 0 | the controller memory buffer, where there is one |

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes of BAR 0.
pub const BAR0_BYTES: u64 = 4 * PAGE_BYTES;
/// The first doorbell (NVMe over PCIe Transport 1.0, section 3.1.2).
pub const DOORBELLS: u64 = PAGE_BYTES;
/// The MSI-X table.
pub const MSIX_TABLE: u64 = 2 * PAGE_BYTES;
/// The MSI-X pending bits.
pub const MSIX_PENDING: u64 = 3 * PAGE_BYTES;
/// Bytes of an entry of the MSI-X table.
pub const MSIX_ENTRY_BYTES: u64 = 16;
/// Bytes of configuration space, the extended part included, which has no capability.
pub const CONFIG_BYTES: u64 = 4096;
/// Bytes of BAR 2.
pub const BAR2_BYTES: u64 = 64 * saker_link::REGION_BYTES as u64;
/// Bytes of BAR 4, all of it controller memory buffer: Linux takes whole 2 MiB only (torvalds/linux, `nvme_map_cmb` in
/// `drivers/nvme/host/pci.c`, `memremap_compat_align`).
pub const BAR4_BYTES: u64 = 2 << 20;
/// I/O queue pairs that have room in BAR 2.
pub const QUEUE_PAIRS: u16 = 64;
/// Interrupt vectors: one for each queue pair, that of the admin queue included.
pub const VECTORS: u16 = QUEUE_PAIRS + 1;

const _: () = assert!(BAR0_BYTES.is_power_of_two() && BAR2_BYTES.is_power_of_two());
const _: () = assert!((QUEUE_PAIRS as u64 + 1) * 8 <= PAGE_BYTES, "the doorbells have a page");
const _: () = assert!(VECTORS as u64 * MSIX_ENTRY_BYTES <= PAGE_BYTES, "the table has a page");

/// The regions of a vfio device (linux/vfio.h, `VFIO_PCI_*_REGION_INDEX`).
pub mod region {
    /// Registers, doorbells, MSI-X.
    pub const BAR0: u32 = 0;
    /// Memory for values.
    pub const BAR2: u32 = 2;
    /// The controller memory buffer, where there is one.
    pub const BAR4: u32 = 4;
    /// Configuration space.
    pub const CONFIG: u32 = 7;
    /// Number of regions: six BARs, the ROM, configuration space, VGA.
    pub const COUNT: u32 = 9;
}

/// The interrupts of a vfio device (linux/vfio.h, `VFIO_PCI_*_IRQ_INDEX`).
pub mod irq {
    /// Interrupt vectors.
    pub const MSIX: u32 = 2;
    /// The device asks its client to let it go.
    pub const REQUEST: u32 = 4;
    /// Number of kinds: INTx, MSI, MSI-X, errors, requests.
    pub const COUNT: u32 = 5;
}

/// Interrupts of a kind; 0 for one that is not there.
#[must_use]
pub const fn irq_count(index: u32) -> u32 {
    match index {
        irq::MSIX => VECTORS as u32,
        irq::REQUEST => 1,
        _ => 0,
    }
}

/// Bytes of a region; 0 for one that is not there, as BAR 4 is without a controller memory buffer.
#[must_use]
pub const fn region_bytes(index: u32, has_memory: bool) -> u64 {
    match index {
        region::BAR4 if has_memory => BAR4_BYTES,
        region::BAR0 => BAR0_BYTES,
        region::BAR2 => BAR2_BYTES,
        region::CONFIG => CONFIG_BYTES,
        _ => 0,
    }
}
