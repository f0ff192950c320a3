// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A List on its way.

use saker_nvme::Key;

/// A List on its way.
#[derive(Debug)]
pub(crate) struct ListFlight {
    pub pieces: Vec<(u64, u32)>,
    pub from: Option<Key>,
    pub bytes: u32,
    /// The shard that is asked now.
    pub shard: usize,
    pub keys: Vec<Key>,
}
