// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whole pages, named by PRPs.

use super::{Carrier, commands};
use crate::transfer::{Available, Outbox, Sent};
use saker_link::{PAGE_BYTES, Traffic};
use saker_nvme::Key;
use saker_nvme::kv::{self, StoreOptions};

pub struct Prp;

impl Carrier for Prp {
    const NAME: &'static str = "prp";

    #[inline]
    fn is_offered(_: &Available, _: u32) -> bool {
        true
    }

    fn traffic(bytes: u32) -> Traffic {
        let mut traffic = commands(1);
        traffic.to_device.add_pages(u64::from(bytes).div_ceil(PAGE_BYTES as u64));
        traffic
    }

    #[inline]
    fn store<Q: Outbox>(queue: &mut Q, key: &Key, value: &[u8], options: StoreOptions) -> Sent<Q> {
        let bytes = u32::try_from(value.len()).unwrap_or(u32::MAX);
        queue.send_pages(kv::store(queue.nsid(), key, bytes, options), value)
    }
}
