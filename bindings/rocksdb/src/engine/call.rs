// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the device asks RocksDB for, and what it is given.

use saker_engine::{Condition, KvError};
use std::sync::atomic::AtomicU64;

/// What the engine can tell without asking the database.
#[derive(Debug, Default)]
pub struct Facts {
    /// Keys, as RocksDB estimates them.
    pub pairs: AtomicU64,
    /// Bytes of tables and memtables that are not replaced, as RocksDB estimates them.
    pub live_bytes: AtomicU64,
    /// Bytes that files take, with the blocks ahead of them.
    pub file_bytes: AtomicU64,
    /// Bytes of keys and values that were written and deleted.
    pub user_bytes: AtomicU64,
}

/// What the device asks for.
#[derive(Debug)]
pub enum Call {
    /// A value under a key.
    Put(Vec<u8>, Vec<u8>, Condition),
    /// A key and its value go.
    Delete(Vec<u8>),
    /// The value of a key.
    Get(Vec<u8>),
    /// Whether there is a key.
    Exists(Vec<u8>),
    /// So many keys from one on.
    List(Vec<u8>, usize),
}

/// What it is given.
#[derive(Debug)]
pub enum Found {
    /// Nothing more.
    Done,
    /// A value.
    Value(Vec<u8>),
    /// Keys, and whether they are all from there on.
    Keys(Vec<Vec<u8>>, bool),
}

/// How a call ended.
pub type Answer = Result<Found, KvError>;

/// Whoever answers.
pub trait Serves {
    /// Carries out a call.
    ///
    /// # Errors
    /// [`KvError`].
    fn call(&mut self, call: &Call) -> Answer;
}
