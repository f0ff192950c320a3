// SPDX-License-Identifier: Apache-2.0 OR MIT
//! By stores through the BAR and a commit command.

use super::{Carrier, commands};
use crate::transfer::{Available, Outbox, Sent};
use saker_link::{LINE_BYTES, Traffic};
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::store_mmio;

pub struct Mmio;

impl Carrier for Mmio {
    const NAME: &'static str = "mmio";

    #[inline]
    fn takes(bytes: u32) -> bool {
        bytes > 0
    }

    #[inline]
    fn is_offered(available: &Available, bytes: u32) -> bool {
        available.methods.mmio() && bytes <= available.mmio_region_bytes
    }

    fn traffic(bytes: u32) -> Traffic {
        let lines = u64::from(bytes).div_ceil(LINE_BYTES);
        Traffic { mmio_bytes: lines * LINE_BYTES, mmio_stores: lines, ..commands(1) }
    }

    /// By PRPs where the BAR is not there after all.
    fn store<Q: Outbox>(queue: &mut Q, key: &Key, value: &[u8], options: StoreOptions) -> Sent<Q> {
        let (nsid, bytes) = (queue.nsid(), value.len() as u32);
        let commit = |offset| store_mmio(nsid, key, bytes, offset, options);
        match queue.send_from_bar(value, commit)? {
            Some(ticket) => Ok(ticket),
            None => super::prp::Prp::store(queue, key, value, options),
        }
    }
}
