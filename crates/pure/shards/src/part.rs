// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parts of commands, one for each shard.

/// A command of a shard belongs to a flight; `n` tells its parts apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub flight: u32,
    pub n: u16,
}
