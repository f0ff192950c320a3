// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The registers of a controller that is not there: the kernel has enabled the real one.

use saker_link::{Registers, offset};
use saker_nvme::regs::{Cap, Csts};

/// CAP.MQES, 0's based.
const QUEUE_ENTRIES_MAX: u16 = 4095;
/// NVMe 2.0.
const VERSION: u32 = 0x0002_0000;

/// Shows a controller that can be enabled at once and has all command sets.
pub(crate) fn publish(registers: &Registers) {
    let cap =
        Cap::default().with_mqes(QUEUE_ENTRIES_MAX).with_cqr(true).with_css(Cap::CSS_NVM | Cap::CSS_IO_SETS);
    let published = registers
        .publish_u64(offset::CAP, cap.with_to(1).0)
        .and_then(|()| registers.publish_u32(offset::VS, VERSION))
        .and_then(|()| registers.publish_u32(offset::CSTS, Csts::default().0));
    debug_assert!(published.is_ok(), "the block has these registers");
}
