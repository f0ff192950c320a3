// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Namespaces of logical blocks: CNS 00h, and CNS 06h with CSI 00h (NVM, Identify Namespace data structure).

use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Identify Namespace data of a namespace of logical blocks, 4096 bytes.
#[expect(
    missing_docs,
    reason = "the names are the specification's acronyms; NVM 1.0 Figure 97 explains each"
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct NvmNamespace {
    /// Size in logical blocks.
    pub nsze: U64,
    /// Capacity in logical blocks.
    pub ncap: U64,
    /// Logical blocks in use.
    pub nuse: U64,
    /// Bit 0: thin provisioning; bit 4: the optimal I/O fields are valid.
    pub nsfeat: u8,
    /// Number of LBA formats, 0's based.
    pub nlbaf: u8,
    /// Bits 3:0: index of the current LBA format.
    pub flbas: u8,
    pub mc: u8,
    pub dpc: u8,
    pub dps: u8,
    pub nmic: u8,
    pub rescap: u8,
    pub fpi: u8,
    /// Bits 2:0: 1, deallocated blocks read as zeros. Bit 3: Write Zeroes takes DEAC.
    pub dlfeat: u8,
    pub nawun: U16,
    pub nawupf: U16,
    pub nacwu: U16,
    pub nabsn: U16,
    pub nabo: U16,
    pub nabspf: U16,
    pub noiob: U16,
    /// Bytes.
    pub nvmcap: U128,
    /// Preferred write granularity in logical blocks, 0's based.
    pub npwg: U16,
    pub npwa: U16,
    pub npdg: U16,
    pub npda: U16,
    pub nows: U16,
    /// The most logical blocks of one source range of Copy.
    pub mssrl: U16,
    /// The most logical blocks of one Copy.
    pub mcl: U32,
    /// The most source ranges of one Copy, 0's based.
    pub msrc: u8,
    pub reserved_81: [u8; 11],
    pub anagrpid: U32,
    pub reserved_96: [u8; 3],
    /// Bit 0: write protected.
    pub nsattr: u8,
    pub nvmsetid: U16,
    pub endgid: U16,
    pub nguid: [u8; 16],
    pub eui64: [u8; 8],
    pub lbaf: [LbaFormat; 64],
    pub vendor: [u8; 3712],
}

layout!(
    NvmNamespace, 4096, nsze @ 0, ncap @ 8, nuse @ 16, nsfeat @ 24, nlbaf @ 25, flbas @ 26, mc @ 27, dpc @ 28,
    dps @ 29, nmic @ 30, rescap @ 31, fpi @ 32, dlfeat @ 33, nawun @ 34, nvmcap @ 48, npwg @ 64, nows @ 72,
    mssrl @ 74, mcl @ 76, msrc @ 80,
    anagrpid @ 92, nsattr @ 99, nvmsetid @ 100, endgid @ 102, nguid @ 104, eui64 @ 120, lbaf @ 128, vendor @ 384,
);

/// LBA Format, 4 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct LbaFormat {
    /// MS: metadata bytes of each block.
    pub metadata_bytes: U16,
    /// LBADS: log2 of the bytes of a block, at least 9.
    pub data_size_log2: u8,
    /// RP, bits 1:0: relative performance, 0 best to 3 degraded.
    pub relative_performance: u8,
}

layout!(LbaFormat, 4, metadata_bytes @ 0, data_size_log2 @ 2, relative_performance @ 3);

impl NvmNamespace {
    /// A namespace of `blocks` blocks of 2^`data_size_log2` bytes in a single format, all of it capacity; the rest zero.
    #[must_use]
    pub fn new(blocks: u64, data_size_log2: u8) -> Self {
        let mut namespace = Self::new_zeroed();
        namespace.nsze = U64::new(blocks);
        namespace.ncap = U64::new(blocks);
        let [first, ..] = &mut namespace.lbaf;
        first.data_size_log2 = data_size_log2;
        namespace
    }

    /// The LBA format that FLBAS names: bits 3:0 and, where there are more than 16 formats, bits 6:5 above them.
    #[must_use]
    pub fn current_format(&self) -> &LbaFormat {
        let low = self.flbas & 0xF;
        let high = if self.nlbaf > 15 { self.flbas >> 5 & 3 } else { 0 };
        let [first, ..] = &self.lbaf;
        self.lbaf.get(usize::from(low | high << 4)).unwrap_or(first)
    }

    /// Bytes of a logical block; `None` where the controller's answer makes no sense (LBADS below 9 or above 31).
    #[must_use]
    pub fn block_bytes(&self) -> Option<u32> {
        let log2 = self.current_format().data_size_log2;
        (9..32).contains(&log2).then(|| 1 << log2)
    }
}

/// Identify Controller data of the NVM command set, 4096 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct NvmController {
    /// VSL: log2 of the largest Verify, in pages; 0 none stated.
    pub vsl: u8,
    /// WZSL: log2 of the largest Write Zeroes, in pages.
    pub wzsl: u8,
    /// WUSL: log2 of the largest Write Uncorrectable, in pages.
    pub wusl: u8,
    /// DMRL: the most ranges of one Dataset Management.
    pub dmrl: u8,
    /// DMRSL: the most logical blocks of one range.
    pub dmrsl: U32,
    /// DMSL: the most logical blocks of one Dataset Management.
    pub dmsl: U64,
    /// Reserved.
    pub reserved_16: [u8; 4080],
}

layout!(NvmController, 4096, vsl @ 0, wzsl @ 1, wusl @ 2, dmrl @ 3, dmrsl @ 4, dmsl @ 8, reserved_16 @ 16);
