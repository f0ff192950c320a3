// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Redis protocol (RESP 2 and 3), without sockets: bytes become requests, answers become bytes.
//!
//! Commands come as arrays of bulk strings or as lines; answers are of the version that `HELLO` has chosen. Grammar and error texts are
//! those of Redis 7, so that its clients find what they look for. Nothing here allocates for each command.
//!
//! | module | holds |
//! |---|---|
//! | [`parser`] | where a command begins and ends, what is too long |
//! | [`args`] | the arguments of a command |
//! | [`request`] | what a command asks, with its options |
//! | [`table`] | the commands: names, arities, how each is read |
//! | [`reply`] | answers as bytes |
//! | [`glob`] | patterns of `SCAN` and `CONFIG GET` |
#![forbid(unsafe_code)]

pub mod args;
pub mod glob;
mod number;
pub mod parser;
pub mod reply;
pub mod request;
pub mod table;

pub use args::Args;
pub use parser::{Limits, Next, Parser, Refused};
pub use reply::{Replies, Version};
pub use request::{Condition, Refusal, Request};
