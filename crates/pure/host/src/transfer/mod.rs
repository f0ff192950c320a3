// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a value gets to the device: the methods, which of them a device carries, and the policies that choose.

mod adaptive;
mod auto;
mod available;
mod methods;
mod options;
mod outbox;
pub mod planted;

pub use adaptive::Adaptive;
pub use auto::{Auto, ByMethod, CostTable, Objective};
pub use available::Available;
pub use methods::Method;
pub use options::{Pacing, TransferOptions, TransferPolicy};
pub(crate) use outbox::{Outbox, Sent};
