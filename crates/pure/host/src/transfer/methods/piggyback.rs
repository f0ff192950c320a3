// SPDX-License-Identifier: Apache-2.0 OR MIT
//! In the fields of commands: 35 bytes in the store, 56 in each transfer command behind it.

use super::{Carrier, commands};
use crate::transfer::{Available, Outbox, Sent};
use saker_link::Traffic;
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::{
    PIGGYBACK_BYTES, TRANSFER_BYTES, piggyback_commands, store_piggyback, transfer,
};

pub struct Piggyback;

impl Carrier for Piggyback {
    const NAME: &'static str = "piggyback";

    #[inline]
    fn is_offered(available: &Available, bytes: u32) -> bool {
        available.methods.piggyback() && bytes <= available.gather_bytes_max
    }

    fn traffic(bytes: u32) -> Traffic {
        commands(piggyback_commands(bytes))
    }

    #[inline(always)]
    fn store<Q: Outbox>(queue: &mut Q, key: &Key, value: &[u8], options: StoreOptions) -> Sent<Q> {
        let nsid = queue.nsid();
        let head = store_piggyback(nsid, key, value, options);
        let Some(rest) = value.get(PIGGYBACK_BYTES..).filter(|rest| !rest.is_empty()) else {
            return queue.send(&head);
        };
        let parts = rest.chunks(TRANSFER_BYTES).enumerate();
        let rest = parts.map(|(n, part)| transfer(nsid, n as u32 + 1, part));
        queue.send_train(std::iter::once(head).chain(rest), piggyback_commands(value.len() as u32))
    }
}
