// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RocksDB keeps its files on a block namespace of a Saker device.
//!
//! The library registers a `rocksdb::FileSystem` for URIs that begin with `saker://`; what follows is a device URL. RocksDB's side is
//! `shim/file_system.cc`. A listener of RocksDB's tells [`watch`] when writes are stopped.
//! The file system calls what [`border`] has, and [`volume`] does the work on [`saker_files`].
//!
//! A panic ends the process, after a line on stderr: RocksDB is not safe for exceptions.

pub mod border;
pub mod disk;
#[cfg(feature = "inside")]
pub mod engine;
#[cfg(feature = "env")]
pub mod env;
#[cfg(feature = "inside")]
pub mod main_tree;
pub mod outcome;
pub mod volume;
pub mod watch;
