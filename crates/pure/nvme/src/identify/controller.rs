// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Identify Controller, CNS 01h (Base, Figure "Identify Controller Data Structure").

use zerocopy::little_endian::{U16, U32, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Identify Controller data, 4096 bytes. A field without a comment of its own carries the specification's acronym.
#[expect(
    missing_docs,
    reason = "the names are the specification's acronyms; Base 2.0 Figure 275 explains each"
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Controller {
    pub vid: U16,
    pub ssvid: U16,
    /// Serial number, ASCII padded with spaces.
    pub sn: [u8; 20],
    /// Model number, ASCII padded with spaces.
    pub mn: [u8; 40],
    /// Firmware revision, ASCII padded with spaces.
    pub fr: [u8; 8],
    pub rab: u8,
    pub ieee: [u8; 3],
    pub cmic: u8,
    /// Largest transfer: 2^MDTS pages of 2^(12 + CAP.MPSMIN) bytes; 0 without limit.
    pub mdts: u8,
    pub cntlid: U16,
    /// As register VS.
    pub ver: U32,
    /// Microseconds.
    pub rtd3r: U32,
    /// Microseconds.
    pub rtd3e: U32,
    /// Bits as in [`AsyncEventConfig`](crate::admin::feature::AsyncEventConfig).
    pub oaes: U32,
    /// Bit 0: host identifiers of 128 bits.
    pub ctratt: U32,
    pub rrls: U16,
    pub reserved_102: [u8; 9],
    /// 1 I/O, 2 discovery, 3 administrative.
    pub cntrltype: u8,
    pub fguid: [u8; 16],
    /// Command retry delays, in units of 100 ms.
    pub crdt: [U16; 3],
    pub reserved_134: [u8; 122],
    pub oacs: U16,
    /// 0's based.
    pub acl: u8,
    /// 0's based.
    pub aerl: u8,
    pub frmw: u8,
    /// Bit 0 SMART per namespace, 1 effects log, 2 extended data for Get Log Page.
    pub lpa: u8,
    /// 0's based.
    pub elpe: u8,
    /// 0's based.
    pub npss: u8,
    pub avscc: u8,
    pub apsta: u8,
    /// Kelvin.
    pub wctemp: U16,
    /// Kelvin.
    pub cctemp: U16,
    pub mtfa: U16,
    pub hmpre: U32,
    pub hmmin: U32,
    /// Bytes.
    pub tnvmcap: U128,
    /// Bytes.
    pub unvmcap: U128,
    pub rpmbs: U32,
    pub edstt: U16,
    pub dsto: u8,
    pub fwug: u8,
    /// Units of 100 ms.
    pub kas: U16,
    pub hctma: U16,
    pub mntmt: U16,
    pub mxtmt: U16,
    pub sanicap: U32,
    pub hmminds: U32,
    pub hmmaxd: U16,
    pub nsetidmax: U16,
    pub endgidmax: U16,
    pub anatt: u8,
    pub anacap: u8,
    pub anagrpmax: U32,
    pub nanagrpid: U32,
    pub pels: U32,
    pub domainid: U16,
    pub reserved_358: [u8; 154],
    /// Bits 3:0 least and 7:4 most, log2 of bytes: 66h.
    pub sqes: u8,
    /// Bits 3:0 least and 7:4 most, log2 of bytes: 44h.
    pub cqes: u8,
    pub maxcmd: U16,
    pub nn: U32,
    /// Bit 0 Compare, 2 Dataset Management, 3 Write Zeroes, 4 Save and Select, 5 reservations, 6 timestamp, 7 Verify,
    /// 8 Copy.
    pub oncs: U16,
    pub fuses: U16,
    pub fna: u8,
    /// Bit 0: a volatile write cache is present; 2:1 = 11b: Flush accepts NSID FFFFFFFFh.
    pub vwc: u8,
    pub awun: U16,
    pub awupf: U16,
    pub icsvscc: u8,
    pub nwpc: u8,
    pub acwu: U16,
    /// Bit n: Copy takes source ranges of format n.
    pub ocfs: U16,
    /// Bits 1:0 SGL support, 20 offsets (in capsule), 21 transport data blocks.
    pub sgls: U32,
    pub mnan: U32,
    pub reserved_544: [u8; 224],
    /// NVM subsystem qualified name, UTF-8 ended by zeros.
    pub subnqn: [u8; 256],
    pub reserved_1024: [u8; 768],
    /// Units of 16 bytes.
    pub ioccsz: U32,
    /// Units of 16 bytes.
    pub iorcsz: U32,
    /// Units of 16 bytes.
    pub icdoff: U16,
    pub fcatt: u8,
    pub msdbd: u8,
    pub ofcs: U16,
    pub dctype: u8,
    pub reserved_1807: [u8; 241],
    pub psd: [PowerState; 32],
    pub vendor: [u8; 1024],
}

layout!(
    Controller, 4096, vid @ 0, ssvid @ 2, sn @ 4, mn @ 24, fr @ 64, rab @ 72, ieee @ 73, cmic @ 76, mdts @ 77,
    cntlid @ 78, ver @ 80, rtd3r @ 84, rtd3e @ 88, oaes @ 92, ctratt @ 96, cntrltype @ 111, fguid @ 112, crdt @ 128,
    oacs @ 256, acl @ 258, aerl @ 259, frmw @ 260, lpa @ 261, elpe @ 262, npss @ 263, wctemp @ 266, cctemp @ 268,
    tnvmcap @ 280, kas @ 320, sanicap @ 328, anatt @ 342, anagrpmax @ 344, nanagrpid @ 348, sqes @ 512, cqes @ 513,
    maxcmd @ 514, nn @ 516, oncs @ 520, fuses @ 522, fna @ 524, vwc @ 525, nwpc @ 531, ocfs @ 534, sgls @ 536, mnan @ 540,
    subnqn @ 768, ioccsz @ 1792, iorcsz @ 1796, icdoff @ 1800, fcatt @ 1802, msdbd @ 1803, ofcs @ 1804,
    dctype @ 1806, psd @ 2048, vendor @ 3072,
);

/// Power State Descriptor, 32 bytes (Base, Figure "Power State Descriptor Data Structure").
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct PowerState {
    /// MP: maximum power, in centiwatts unless MXPS is set.
    pub max_power: U16,
    /// Reserved.
    pub reserved_2: u8,
    /// Bit 0 MXPS: `max_power` is in units of 0.1 mW. Bit 1 NOPS: non-operational.
    pub flags: u8,
    /// ENLAT: entry latency, microseconds.
    pub entry_latency_us: U32,
    /// EXLAT: exit latency, microseconds.
    pub exit_latency_us: U32,
    /// RRT, RRL, RWT, RWL: relative read throughput and latency, write throughput and latency; less is better.
    pub relative_performance: [u8; 4],
    /// IDLP, IPS, ACTP and the rest: idle and active power.
    pub power: [u8; 16],
}

layout!(
    PowerState, 32, max_power @ 0, flags @ 3, entry_latency_us @ 4, exit_latency_us @ 8, relative_performance @ 12,
    power @ 16,
);

impl Controller {
    /// All zeros, but what every controller of this workspace states alike: spaces in the text fields, entry sizes of
    /// 64 and 16 bytes (SQES, CQES), an I/O controller, and version 2.0.
    #[must_use]
    pub fn new() -> Self {
        let mut controller = Self::new_zeroed();
        controller.sn = [b' '; 20];
        controller.mn = [b' '; 40];
        controller.fr = [b' '; 8];
        controller.cntrltype = 1;
        controller.ver = U32::new(crate::regs::Vs::V2_0.0);
        controller.sqes = 0x66;
        controller.cqes = 0x44;
        controller
    }

    /// The largest transfer of one command in bytes, with pages of 2^(12 + `mpsmin`) bytes; `None` without limit. Takes any
    /// bytes: an exponent beyond a u64 is no limit.
    #[must_use]
    pub fn max_transfer_bytes(&self, mpsmin: u32) -> Option<u64> {
        let exponent = u32::from(self.mdts).saturating_add(12).saturating_add(mpsmin);
        if self.mdts == 0 { None } else { 1_u64.checked_shl(exponent) }
    }
}

impl Default for Controller {
    fn default() -> Self {
        Self::new()
    }
}

/// Copies ASCII `text` into a text field of Identify, padding with spaces and cutting off what does not fit.
pub fn fill_text(field: &mut [u8], text: &str) {
    field.fill(b' ');
    for (to, from) in field.iter_mut().zip(text.bytes()) {
        *to = if from.is_ascii_graphic() { from } else { b' ' };
    }
}
