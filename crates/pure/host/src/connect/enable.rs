// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The registers: from reset to ready (Base 2.0, section 3.5.1, "Memory-based Controller Initialization").

use saker_link::{HostQueuePair, Registers, offset};
use saker_nvme::regs::{Aqa, Cap, Cc, Csts};

use crate::driver::{Driver, Patience};
use crate::error::{HostError, ProtocolError};

/// Entries of an admin queue (AQA fields of 12 bits, 0's based).
const ADMIN_ENTRIES: std::ops::RangeInclusive<u32> = 2..=4096;

/// CC.SHN 01b.
const SHN_NORMAL: u8 = 1;

/// CAP, if it suits this host.
pub(super) fn capabilities(registers: &Registers) -> Result<Cap, HostError> {
    let cap = Cap(registers.load_u64(offset::CAP)?);
    if cap.mpsmin() > 0 {
        return Err(ProtocolError::PageSize.into());
    }
    if cap.css() & Cap::CSS_IO_SETS == 0 {
        return Err(ProtocolError::CommandSets.into());
    }
    Ok(cap)
}

/// Entries of the admin queues: what is wanted as far as the controller allows it.
pub(super) fn admin_entries(cap: Cap, wanted: u16) -> u32 {
    let entries_max = (u32::from(cap.mqes()) + 1).clamp(*ADMIN_ENTRIES.start(), *ADMIN_ENTRIES.end());
    u32::from(wanted).clamp(*ADMIN_ENTRIES.start(), entries_max)
}

/// Disables the controller if it is enabled, gives it its admin queues and enables it.
pub(super) fn enable(
    registers: &Registers,
    admin: &HostQueuePair,
    driver: &mut impl Driver,
    patience: Patience,
) -> Result<(), HostError> {
    disable(registers, driver, patience)?;
    let aqa =
        Aqa::default().with_asqs((admin.sq_entries() - 1) as u16).with_acqs((admin.cq_entries() - 1) as u16);
    registers.store_u32(offset::AQA, aqa.0)?;
    registers.store_u64(offset::ASQ, admin.sq_iova())?;
    registers.store_u64(offset::ACQ, admin.cq_iova())?;
    let cc = Cc::default().with_css(Cc::CSS_ALL).with_iosqes(6).with_iocqes(4);
    registers.store_u32(offset::CC, cc.0)?;
    registers.store_u32(offset::CC, cc.with_en(true).0)?;
    wait_for(registers, driver, patience, Csts::rdy)
}

fn disable(registers: &Registers, driver: &mut impl Driver, patience: Patience) -> Result<(), HostError> {
    let cc = Cc(registers.load_u32(offset::CC)?);
    if !cc.en() {
        return Ok(());
    }
    registers.store_u32(offset::CC, cc.with_en(false).0)?;
    let mut wait = patience.wait();
    while Csts(registers.load_u32(offset::CSTS)?).rdy() {
        wait.drive(driver)?;
    }
    Ok(())
}

pub(super) fn shut_down(
    registers: &Registers,
    driver: &mut impl Driver,
    patience: Patience,
) -> Result<(), HostError> {
    let cc = Cc(registers.load_u32(offset::CC)?);
    registers.store_u32(offset::CC, cc.with_shn(SHN_NORMAL).0)?;
    wait_for(registers, driver, patience, |csts| csts.shst() == Csts::SHST_COMPLETE)
}

/// Turns until CSTS is as `reached` wants it; a fatal status ends the wait.
fn wait_for(
    registers: &Registers,
    driver: &mut impl Driver,
    patience: Patience,
    reached: impl Fn(Csts) -> bool,
) -> Result<(), HostError> {
    let mut wait = patience.wait();
    loop {
        let csts = Csts(registers.load_u32(offset::CSTS)?);
        if csts.cfs() {
            return Err(ProtocolError::Fatal.into());
        }
        if reached(csts) {
            return Ok(());
        }
        wait.drive(driver)?;
    }
}
