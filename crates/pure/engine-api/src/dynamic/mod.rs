// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines as trait objects: one from outside the workspace runs wherever an engine of this workspace runs.
//!
//! [`DynEngine`] is the twin of [`Engine`](crate::Engine) without type parameters, and every engine has it. [`Outside`] is the way
//! back: a boxed engine as an [`Engine`](crate::Engine), for drivers that know no more of it. The price is a virtual call for
//! each operation and for each page, piece of work and value that it asks for; memory is not touched ahead.

mod engine;
mod group;
mod lend;
mod outside;

pub use engine::{DynContext, DynEngine, DynRecover};
pub use group::{DynGroupSource, Refused};
pub use outside::{Outside, OutsideRecovery};
