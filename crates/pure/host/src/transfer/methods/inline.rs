// SPDX-License-Identifier: Apache-2.0 OR MIT
//! In the submission queue behind the command, 64 bytes an entry.

use super::{Carrier, commands};
use crate::transfer::{Available, Outbox, Sent};
use saker_link::Traffic;
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::{inline_slots, store_inline};

pub struct Inline;

impl Carrier for Inline {
    const NAME: &'static str = "inline";

    /// One entry of the queue always stays empty.
    #[inline]
    fn is_offered(available: &Available, bytes: u32) -> bool {
        available.methods.inline()
            && bytes <= available.gather_bytes_max
            && inline_slots(bytes) + 2 <= available.sq_entries
    }

    fn traffic(bytes: u32) -> Traffic {
        Traffic { inline_slots: u64::from(inline_slots(bytes)), ..commands(1) }
    }

    #[inline]
    fn store<Q: Outbox>(queue: &mut Q, key: &Key, value: &[u8], options: StoreOptions) -> Sent<Q> {
        queue.send_behind(&store_inline(queue.nsid(), key, value.len() as u32, options), value)
    }
}
