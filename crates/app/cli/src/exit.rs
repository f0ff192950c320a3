// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a run ends.

/// How a command that did its work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Exit code 0.
    Good,
    /// Exit code 1: the answer is no, and has been printed.
    No,
}
