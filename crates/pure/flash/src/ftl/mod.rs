//! Flash management shared by all owners: who has which superblock.

pub mod superblocks;

pub use superblocks::Superblocks;
