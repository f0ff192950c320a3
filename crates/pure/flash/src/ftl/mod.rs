// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flash management shared by all owners: who has which superblock.

pub mod superblocks;

pub use superblocks::Superblocks;
