// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CNS 00h of a Key Value namespace. The specifications define that structure for logical blocks alone, and leave open
//! what a namespace of another command set answers.
//!
//! SPDK asks every namespace for it, and takes an error or NCAP = 0 for "not active" (spdk/spdk, lib/nvme/nvme_ctrlr.c
//! and lib/nvme/nvme_ns.c); so do `nvme id-ns` and `nvme format` (linux-nvme/nvme-cli, nvme.c). Linux itself tells
//! kinds of namespaces by the command set of CNS 03h, and makes no disk of pairs whatever this structure says
//! (torvalds/linux, drivers/nvme/host/core.c).

use super::NvmNamespace;

/// LBADS of the one format that is told. The smallest that there is, so that rounding hides least.
pub const PAIRS_BLOCK_BYTES_LOG2: u8 = 9;

/// A namespace of pairs as if it consisted of logical blocks of 512 bytes: NSZE and NCAP its room, at least one block,
/// since zero means that there is no namespace; NUSE the blocks that its pairs would fill; NVMCAP its room in bytes;
/// one LBA format.
#[must_use]
pub fn pairs_as_blocks(size_bytes: u64, used_bytes: u64) -> NvmNamespace {
    let blocks = (size_bytes >> PAIRS_BLOCK_BYTES_LOG2).max(1);
    let mut namespace = NvmNamespace::new(blocks, PAIRS_BLOCK_BYTES_LOG2);
    namespace.nuse = used_bytes.div_ceil(1 << PAIRS_BLOCK_BYTES_LOG2).min(blocks).into();
    namespace.nvmcap = u128::from(size_bytes).into();
    namespace
}
