// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Identify Controller as a controller over Fabrics answers it (Base 2.0, Figure "Identify Controller", bytes 1792 on).

use saker_nvme::identify::Controller;
use zerocopy::FromBytes;

use crate::CAPSULE_DATA_BYTES;
use crate::kind::Kind;

/// SGLS: byte granular (bits 1:0), descriptors may be too long (18), offsets into the capsule (20), transport data blocks
/// (21).
const SGLS: u32 = 0b01 | 1 << 18 | 1 << 20 | 1 << 21;
/// OFCS bit 0: Disconnect.
const DISCONNECT: u16 = 1;
/// Bytes of an entry, and of the unit of IOCCSZ and IORCSZ.
const SQE_BYTES: u32 = 64;
const UNIT_BYTES: u32 = 16;
/// CNTRLTYPE: an I/O controller, a discovery controller.
const IO_CONTROLLER: u8 = 1;
const DISCOVERY_CONTROLLER: u8 = 2;

/// Changes the page in place.
pub(crate) fn for_fabrics(page: &mut [u8], kind: Kind) {
    let Ok(data) = Controller::mut_from_bytes(page) else { return };
    data.sgls = SGLS.into();
    data.ioccsz = ((SQE_BYTES + CAPSULE_DATA_BYTES) / UNIT_BYTES).into();
    data.iorcsz = 1.into();
    data.icdoff = 0.into();
    data.fcatt = 0;
    data.msdbd = 1;
    data.ofcs = DISCONNECT.into();
    match kind {
        Kind::Nvm => data.cntrltype = IO_CONTROLLER,
        Kind::Discovery => {
            data.cntrltype = DISCOVERY_CONTROLLER;
            // The log does not change while the target runs, so there is no event for it.
            data.oaes = 0.into();
            (data.nn, data.ioccsz, data.iorcsz) = (0.into(), 0.into(), 0.into());
            (data.oncs, data.ocfs, data.oacs, data.vwc) = (0.into(), 0.into(), 0.into(), 0);
        }
    }
}
