// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a profile to a device: a shape for its flash, a device of that shape, and the host's end of its link.
#![forbid(unsafe_code)]

mod build;
mod shape;

pub use build::{Build, QUEUE_ENTRIES_MIN, port};
pub use shape::{
    BuildError, SEGMENTS_MAX, SEGMENTS_MIN, least_bytes, or_profile, profiles_where, shape_for, shape_of,
    written,
};
