// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Identify Controller, CNS 01h.

use saker_nvme::identify::{Controller, fill_text};

use crate::controller::aborts::ABORTS_MAX;
use crate::controller::events::REQUESTS_MAX;
use crate::controller::features::EVENTS_SUPPORTED;
use crate::controller::health::{CRITICAL_KELVIN, ERROR_ENTRIES, WARNING_KELVIN};
use crate::controller::identity::Identity;
use crate::controller::namespace::NSID_MAX;

/// OACS bit 1: Format NVM.
const OACS_FORMAT: u16 = 1 << 1;
/// FRMW: one firmware slot (bits 3:1), which is read only (bit 0).
const ONE_FIXED_SLOT: u8 = 1 << 1 | 1;
/// LPA bits 1 and 2: the effects log, and lengths and offsets of 32 bits and more.
const LPA: u8 = 1 << 1 | 1 << 2;
/// CTRATT bit 0: host identifiers of 128 bits.
const LONG_HOST_IDENTIFIERS: u32 = 1;
/// ONCS: Compare (bit 0), Dataset Management (2), Write Zeroes (3), Save and Select of features (4), Verify (7), Copy
/// (8). FUSES is 0: Compare and Write are not fused.
const ONCS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 7 | 1 << 8;
/// OCFS bit 0: Copy takes source ranges of format 0.
const COPY_FORMATS: u16 = 1;
/// VWC bits 2:1, 11b: Flush accepts NSID FFFFFFFFh.
const FLUSH_BROADCAST: u8 = 0b11 << 1;
/// SGLS bits 1:0, 01b: SGLs without alignment.
const SGLS: u32 = 0b01;
/// KAS: keep alive timers tick in 100 ms.
const KEEP_ALIVE_GRANULARITY: u16 = 1;

pub(super) fn data(identity: &Identity) -> Controller {
    let mut data = Controller::new();
    name(&mut data, identity);
    limits(&mut data, identity);
    data.oacs = OACS_FORMAT.into();
    data.oaes = EVENTS_SUPPORTED.0.into();
    data.oncs = ONCS.into();
    data.ocfs = COPY_FORMATS.into();
    data.ctratt = LONG_HOST_IDENTIFIERS.into();
    data.frmw = ONE_FIXED_SLOT;
    data.lpa = LPA;
    data.vwc = FLUSH_BROADCAST | u8::from(identity.volatile_write_cache);
    data.sgls = if identity.sgl { SGLS } else { 0 }.into();
    data
}

fn name(data: &mut Controller, identity: &Identity) {
    fill_text(&mut data.sn, &identity.serial);
    fill_text(&mut data.mn, &identity.model);
    fill_text(&mut data.fr, &identity.firmware);
    let (name, _) = data.subnqn.split_at_mut(identity.subnqn.len());
    name.copy_from_slice(identity.subnqn.as_bytes());
    data.cntlid = identity.controller_id.into();
}

fn limits(data: &mut Controller, identity: &Identity) {
    data.mdts = identity.mdts();
    data.acl = ABORTS_MAX - 1;
    data.aerl = REQUESTS_MAX - 1;
    data.elpe = (ERROR_ENTRIES - 1) as u8;
    data.wctemp = WARNING_KELVIN.into();
    data.cctemp = CRITICAL_KELVIN.into();
    data.kas = KEEP_ALIVE_GRANULARITY.into();
    data.maxcmd = u16::try_from(identity.max_queue_entries).unwrap_or(u16::MAX).into();
    data.nn = NSID_MAX.into();
}
