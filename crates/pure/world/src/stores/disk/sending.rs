// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How operations become commands, and so which of them there are.

use crate::stores::GroupLimits;
use crate::stores::batch::Takes;

/// Largest value that is read into a slot's own page; larger ones take a buffer.
pub const STAGED_BYTES: u32 = 4096;

const SINGLES: &[&str] = &["put", "get", "delete", "exists", "flush"];
const WITH_GROUPS: &[&str] = &["put", "get", "delete", "exists", "group", "flush"];

/// How operations become commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// Bytes of a small read's answer in the completion; 0: none.
    pub small: u32,
    /// Bytes that a retrieve asks for.
    pub retrieve_bytes: u32,
    /// Groups, if operations go in groups.
    pub groups: Option<GroupLimits>,
    /// What not every device takes.
    pub takes: Takes,
}

impl Sending {
    /// One by one, with the largest value that a retrieve asks for.
    pub const fn new(retrieve_bytes: u32, takes: Takes) -> Self {
        Self { small: 0, retrieve_bytes, groups: None, takes }
    }

    /// The names of the operations.
    pub fn names(&self) -> Vec<&'static str> {
        self.takes.names(if self.groups.is_some() { WITH_GROUPS } else { SINGLES })
    }
}
