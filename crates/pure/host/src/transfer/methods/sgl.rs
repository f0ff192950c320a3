// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The exact bytes, named by one SGL data block in the entry.

use super::{Carrier, commands};
use crate::transfer::{Available, Outbox, Sent};
use saker_link::Traffic;
use saker_nvme::Key;
use saker_nvme::kv::{self, StoreOptions};

pub struct Sgl;

impl Carrier for Sgl {
    const NAME: &'static str = "sgl";

    #[inline]
    fn takes(bytes: u32) -> bool {
        bytes > 0
    }

    #[inline]
    fn is_offered(available: &Available, _: u32) -> bool {
        available.sgl
    }

    fn traffic(bytes: u32) -> Traffic {
        let mut traffic = commands(1);
        traffic.to_device.add_exact(0, u64::from(bytes));
        traffic
    }

    fn store<Q: Outbox>(queue: &mut Q, key: &Key, value: &[u8], options: StoreOptions) -> Sent<Q> {
        queue.send_block(kv::store(queue.nsid(), key, value.len() as u32, options), value)
    }
}
