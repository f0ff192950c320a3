// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NVMe/TCP without sockets: the two ends of a connection as state machines (NVMe/TCP Transport 1.0).
//!
//! Bytes go in by `feed`, events come out, and what has to be sent waits in an [`Output`]. Nothing here waits, reads a
//! clock or allocates more than its limits say: a peer can make a connection fail, and nothing else.
//!
//! | module | holds |
//! |---|---|
//! | [`target`] | the controller's end: command capsules in, data and responses out |
//! | [`initiator`] | the host's end |
//! | [`output`] | bytes on their way to the socket |
//!
//! Digests are CRC32C. The data digest of a length that is no multiple of 4 is computed over exactly the data, as Linux
//! does; received ones may also cover up to 3 bytes of zero padding, as SPDK's do.
#![forbid(unsafe_code)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "everything here is fed bytes from outside"
)]

mod buffers;
mod digest;
mod frame;
pub mod initiator;
pub mod output;
mod send;
pub mod target;

pub use digest::crc32c;
pub use frame::Digests;
pub use initiator::{Initiator, InitiatorOptions};
pub use output::Output;
pub use target::{Target, TargetLimits};
