// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What both stores do.

/// Whatever goes wrong ends the run.
pub type Fault = Box<dyn std::error::Error>;

/// What an acknowledged write survives, the same for both sides of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Durability {
    /// RocksDB with its WAL, unsynced; our device in memory, whose power-safe page buffer has each write, with a checksum, before
    /// the answer.
    Wal,
    /// RocksDB without WAL; our device in memory. It has no way to leave its log out: both columns are one for us.
    NoWal,
    /// The end of the process, proved by files on the tmpfs: RocksDB with its WAL, our device as an image.
    File,
}

impl Durability {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::NoWal => "no-wal",
            Self::File => "file",
        }
    }
}

/// What a store has done with the bytes that it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// It has written so many: ours whole pages of flash, RocksDB what it gave to write calls, its WAL included.
    pub written: u64,
    /// It keeps so many: ours pages that are programmed and not erased, with their out-of-band bytes, RocksDB its files.
    pub kept: u64,
}

/// A store under measurement. Keys have 16 bytes.
pub trait Store {
    /// How it was opened.
    fn options(&self) -> String;
    /// Stores a pair.
    fn put(&mut self, key: &[u8; 16], value: &[u8]) -> Result<(), Fault>;
    /// Reads a pair; the length of its value.
    fn get(&mut self, key: &[u8; 16]) -> Result<usize, Fault>;
    /// Reads so many pairs from a key on, with their values; how many there were, and bytes of them.
    fn scan(&mut self, from: &[u8; 16], pairs: u32) -> Result<(u32, usize), Fault>;
    /// Memory that its structures take, in bytes: ours as modelled, RocksDB's by its own properties.
    fn memory_bytes(&mut self) -> u64;
    /// Returns when nothing is left to be done in the background.
    fn settle(&mut self) -> Result<(), Fault>;
    /// Bytes written since it was opened, and kept now.
    fn bytes(&mut self) -> Result<Bytes, Fault>;
}
