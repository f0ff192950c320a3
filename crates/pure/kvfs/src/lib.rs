// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A file system for append-only files, as LSM-trees write them, on a block device: directories, rename, links, truncate, locks.
//!
//! It is pure: the device is a [`Disk`], and time comes in as an argument. One thread at a time uses it.
//!
//! **Layout.** A superblock, two areas of a journal, data, and a copy of the superblock in the last block. An area begins with a
//! checkpoint, which is the whole tree of names as operations that make it, and goes on with records of operations. When an area is
//! full, the tree goes to the other one as a checkpoint of the next generation. The valid checkpoint of the highest generation counts.
//!
//! **What a power cut leaves.** Operations on names are recorded in their order, and a prefix of them survives: all that were done before
//! the last [`Fs::sync`], [`Fs::sync_file`] or [`Fs::sync_names`] that returned. A file has the length that it had when it was last
//! synced or flushed, so that no cut leaves a torn tail. What is replaced or removed keeps its blocks until the record of that is durable.
//!
//! | module | holds |
//! |---|---|
//! | [`disk`] | what a device must do |
//! | [`fs`] | the file system: mounting, names, files |
//! | [`tree`] | names and what they lead to, as operations make them |
//! | [`op`] | an operation on the tree, and its bytes |
//! | [`journal`] | records, checkpoints, replay |
//! | [`passing`] | replay of records that no flush covers |
//! | [`layout`] | where what lies, and the superblock |
//! | [`trailer`] | what flushes leave behind a file's end |
//! | [`space`] | free blocks |
//! | [`extent`] | runs of blocks |
//! | [`inode`] | numbers of files |
//! | [`path`] | names from paths |
//! | [`mod@check`] | whether a device's files are sound |
#![forbid(unsafe_code)]

pub mod check;
pub mod disk;
pub mod error;
pub mod extent;
pub mod fs;
pub mod inode;
pub mod journal;
pub mod layout;
pub mod op;
pub mod passing;
pub mod path;
pub mod space;
pub mod trailer;
pub mod tree;

pub use check::{Report, check};
pub use disk::{Disk, DiskError};
pub use error::FsError;
pub use fs::{FileId, Format, Fs, Reading, Space, WRITE_BYTES, Writing};
pub use inode::InodeId;
pub use tree::{Kind, Stat};
