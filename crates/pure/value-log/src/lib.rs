// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The value log: one log of records, in which every engine over a log keeps its pairs.
//!
//! | module | what is in it |
//! |---|---|
//! | [`record_addr`] | the address of a record, in one word |
//! | [`record`] | the bytes of a record |
//! | [`group`] | records of many pairs: planning a group, sealing its members |
//! | [`gap`] | the word of a gap between records |
//! | [`packing`] | where a value goes: the policies, and the gaps that can still be filled |
//! | [`land`] | writing a record |
//! | [`view`] | the records of a log, and their checksums |
//! | [`check`] | checking a record that is looked up, and delivering its value |
//! | [`walk`] | walking all records of a segment |
//! | [`tail`] | the records behind the cut of a checkpoint |
//! | [`explain`] | which changed byte explains that a record is not as it was written |
//! | [`lengths`] | how long the records are that live |
//!
//! What leads from a key to its record (an index, a memtable, tables, a tree) is an engine's own.
#![forbid(unsafe_code)]

pub mod check;
pub mod explain;
pub mod gap;
pub mod group;
pub mod land;
pub mod lengths;
pub mod packing;
pub mod record;
pub mod record_addr;
pub mod tail;
pub mod view;
pub mod walk;

pub use record_addr::RecordAddr;
pub use view::Records;
