// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading the chunks of checkpoints (see `checkpoint.rs` for their layout).
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::checkpoint::CHUNK_HEAD;
use crate::mix::{IndexKey, MixedKey};
use saker_value_log::RecordAddr;

/// The entries of a chunk; `None` if it is not one.
pub fn decode_chunk(payload: &[u8]) -> Option<impl Iterator<Item = Option<(IndexKey, RecordAddr)>> + '_> {
    let class = *payload.first()?;
    let entry_bytes = match class {
        0 => 16,
        1 => 24,
        _ => return None,
    };
    let body = payload.get(CHUNK_HEAD..)?;
    body.len().is_multiple_of(entry_bytes).then(|| {
        body.chunks_exact(entry_bytes).map(move |e| {
            let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
            let (mixed, place) = match e.as_chunks().0 {
                [key, place] => (MixedKey::Short(word(key)), place),
                [a, b, place] => (MixedKey::Long([word(a), word(b)]), place),
                _ => return None,
            };
            let addr =
                RecordAddr::from_word(word(place)).filter(|addr| (addr.key_bytes() <= 8) == (class == 0))?;
            Some((IndexKey::new(mixed, addr.key_bytes()), addr))
        })
    })
}
