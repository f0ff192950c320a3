// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Kinds of controllers.

/// What kind of controllers a subsystem has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// I/O controllers.
    Nvm,
    /// Discovery controllers.
    Discovery,
}
