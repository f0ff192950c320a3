// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The registers with bit fields.

/// CAP, Controller Capabilities: 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cap(pub u64);

bitfields!(Cap(u64) {
    /// MQES: entries of the largest queue, 0's based.
    mqes / with_mqes: 0, 16 => u16;
    /// AMS: arbitration mechanisms beyond round robin.
    ams / with_ams: 17, 2 => u8;
    /// TO: the longest wait for CSTS.RDY, in units of 500 ms.
    to / with_to: 24, 8 => u8;
    /// DSTRD: doorbells are `4 << DSTRD` bytes apart.
    dstrd / with_dstrd: 32, 4 => u32;
    /// CSS: command sets, [`Cap::CSS_NVM`], [`Cap::CSS_IO_SETS`], [`Cap::CSS_ADMIN_ONLY`].
    css / with_css: 37, 8 => u8;
    /// MPSMIN: the smallest page is 2^(12 + MPSMIN) bytes.
    mpsmin / with_mpsmin: 48, 4 => u32;
    /// MPSMAX: the largest page is 2^(12 + MPSMAX) bytes.
    mpsmax / with_mpsmax: 52, 4 => u32;
} flags {
    /// CQR: queues must be physically contiguous.
    cqr / with_cqr: 16;
    /// NSSRS: NSSR works.
    nssrs / with_nssrs: 36;
    /// BPS: boot partitions.
    bps / with_bps: 45;
    /// PMRS: persistent memory region.
    pmrs / with_pmrs: 56;
    /// CMBS: controller memory buffer.
    cmbs / with_cmbs: 57;
    /// NSSS: subsystem shutdown.
    nsss / with_nsss: 58;
    /// CRWMS: ready with media.
    crwms / with_crwms: 59;
    /// CRIMS: ready independent of media.
    crims / with_crims: 60;
});

impl Cap {
    /// CSS bit 0 (CAP bit 37): the NVM command set.
    pub const CSS_NVM: u8 = 1 << 0;
    /// CSS bit 6 (CAP bit 43): one or more I/O command sets, chosen with CC.CSS 110b.
    pub const CSS_IO_SETS: u8 = 1 << 6;
    /// CSS bit 7 (CAP bit 44): no I/O command set.
    pub const CSS_ADMIN_ONLY: u8 = 1 << 7;
}

/// CC, Controller Configuration: 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cc(pub u32);

bitfields!(Cc(u32) {
    /// CSS: [`Cc::CSS_NVM`], [`Cc::CSS_ALL`] or [`Cc::CSS_ADMIN_ONLY`].
    css / with_css: 4, 3 => u8;
    /// MPS: pages are 2^(12 + MPS) bytes.
    mps / with_mps: 7, 4 => u32;
    /// AMS: arbitration, 0 round robin.
    ams / with_ams: 11, 3 => u8;
    /// SHN: shutdown notification, 0 none, 1 normal, 2 abrupt.
    shn / with_shn: 14, 2 => u8;
    /// IOSQES: log2 of the submission entry's bytes; 6.
    iosqes / with_iosqes: 16, 4 => u8;
    /// IOCQES: log2 of the completion entry's bytes; 4.
    iocqes / with_iocqes: 20, 4 => u8;
} flags {
    /// EN: enable.
    en / with_en: 0;
    /// CRIME: ready independent of media.
    crime / with_crime: 24;
});

impl Cc {
    /// CSS 000b: the NVM command set only.
    pub const CSS_NVM: u8 = 0b000;
    /// CSS 110b: all supported I/O command sets.
    pub const CSS_ALL: u8 = 0b110;
    /// CSS 111b: admin commands only.
    pub const CSS_ADMIN_ONLY: u8 = 0b111;

    /// Bytes of a memory page.
    #[inline]
    #[must_use]
    pub const fn page_bytes(self) -> u32 {
        1 << (12 + self.mps())
    }
}

/// CSTS, Controller Status: 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Csts(pub u32);

bitfields!(Csts(u32) {
    /// SHST: shutdown, [`Csts::SHST_NORMAL`], [`Csts::SHST_OCCURRING`] or [`Csts::SHST_COMPLETE`].
    shst / with_shst: 2, 2 => u8;
} flags {
    /// RDY: ready.
    rdy / with_rdy: 0;
    /// CFS: fatal status.
    cfs / with_cfs: 1;
    /// NSSRO: a subsystem reset occurred.
    nssro / with_nssro: 4;
    /// PP: processing paused.
    pp / with_pp: 5;
    /// ST: the shutdown is of the subsystem.
    st / with_st: 6;
});

impl Csts {
    /// SHST 00b: no shutdown.
    pub const SHST_NORMAL: u8 = 0;
    /// SHST 01b: shutdown in progress.
    pub const SHST_OCCURRING: u8 = 1;
    /// SHST 10b: shutdown complete.
    pub const SHST_COMPLETE: u8 = 2;
}

/// AQA, Admin Queue Attributes: 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Aqa(pub u32);

bitfields!(Aqa(u32) {
    /// ASQS: entries of the admin submission queue, 0's based.
    asqs / with_asqs: 0, 12 => u16;
    /// ACQS: entries of the admin completion queue, 0's based.
    acqs / with_acqs: 16, 12 => u16;
} flags {});

/// VS, Version: 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Vs(pub u32);

bitfields!(Vs(u32) {
    /// TER: tertiary version.
    ter / with_ter: 0, 8 => u8;
    /// MNR: minor version.
    mnr / with_mnr: 8, 8 => u8;
    /// MJR: major version.
    mjr / with_mjr: 16, 16 => u16;
} flags {});

impl Vs {
    /// Base Specification 2.0.
    pub const V2_0: Self = Self(0x0002_0000);
}
