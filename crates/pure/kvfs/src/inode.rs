// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers of files and directories.

/// The number of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeId(pub u64);

/// The directory that every path begins in.
pub const ROOT: InodeId = InodeId(1);
