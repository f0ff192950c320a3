// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whole pages by PRPs, the rest in the fields of commands ahead of the store.

use super::{Carrier, commands};
use crate::transfer::{Available, Outbox, Sent};
use saker_link::Traffic;
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::{HYBRID_PAGE_BYTES, TRANSFER_BYTES, store_hybrid, tail, tail_commands};

pub struct Hybrid;

impl Carrier for Hybrid {
    const NAME: &'static str = "hybrid";

    #[inline]
    fn takes(bytes: u32) -> bool {
        bytes > HYBRID_PAGE_BYTES && !bytes.is_multiple_of(HYBRID_PAGE_BYTES)
    }

    #[inline]
    fn is_offered(available: &Available, _: u32) -> bool {
        available.methods.hybrid()
    }

    fn traffic(bytes: u32) -> Traffic {
        let mut traffic = commands(1 + tail_commands(bytes));
        traffic.to_device.add_pages(u64::from(bytes / HYBRID_PAGE_BYTES));
        traffic
    }

    /// The tail first; its store names the pages.
    fn store<Q: Outbox>(queue: &mut Q, key: &Key, value: &[u8], options: StoreOptions) -> Sent<Q> {
        let (nsid, bytes) = (queue.nsid(), value.len() as u32);
        let (pages, rest) = value.split_at(value.len() - value.len() % HYBRID_PAGE_BYTES as usize);
        let parts = rest.chunks(TRANSFER_BYTES).enumerate();
        let tails = parts.map(|(n, part)| tail(nsid, n as u32, part));
        let store = store_hybrid(nsid, key, bytes, rest, options);
        queue.send_pages_after(tails, tail_commands(bytes), store, pages)
    }
}
