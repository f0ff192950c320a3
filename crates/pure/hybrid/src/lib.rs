// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One store over two trees of one device: the main tree at the host ([`HostKv`](saker_host::host_kv::HostKv), over a block namespace)
//! and the device's own, behind a key-value namespace of the same flash. Writes that the main tree would stop go to the device's, and
//! come back when there is time (KVAccel, IPDPS'25; Kim, seminar of April 2025).
//!
//! | module | holds |
//! |---|---|
//! | [`options`] | what is chosen: detector, policy of rollback, limits |
//! | [`main_tree`] | what the tree at the host has to be |
//! | [`record`] | what both trees store: a stamp, and the value |
//! | [`store`] | [`Hybrid`]: operations, completions, time |
//! | `store/route` | the detector and the controller: which tree a write goes to |
//! | `store/`: `write`, `read`, `scan`, `views` | the operations |
//! | `metadata` | which keys have copies in the device |
//! | `store/rollback` | copies go back, and the device's tree is emptied |
//! | `recover` | after power was cut |
//! | [`served`] | the store as a device of its own, to which hosts connect |
//!
//! # What holds
//!
//! * Every record has a **stamp**: a number that grows with every write of the store, whichever tree it goes to. Of two records of a key the
//!   one with the higher number counts. Nothing else decides.
//! * Writes of a key go one at a time. A delete is a record, too (a tombstone), wherever the device has a copy of its key.
//! * A copy in the device counts until the main tree has a record with a number at least as high. Copies that do not count stay where they
//!   are until the device's tree is emptied as a whole.
//! * It is emptied when no copy counts, the main tree is flushed since then, and nobody reads there. So a cut finds each value in the one
//!   tree or the other, whatever an interrupted emptying has left.
#![forbid(unsafe_code)]

mod device;
mod lines;
pub mod main_tree;
mod metadata;
pub mod options;
pub mod planted;
pub mod record;
mod recover;
pub mod served;
pub mod store;

pub use device::DeviceLsm;
pub use main_tree::{AnyTree, Made, MainTree};
pub use options::{Detector, Objective, Options, Rollback};
pub use recover::OpenError;
pub use served::Served;
pub use store::{Hybrid, Stats, counter_kind};
