// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller as a device drives it: through registers and admin entries.

mod events;
mod features;
mod format;
mod identify;
mod linux;
mod logs;
mod paths;
mod queues;
mod random;
mod registers;
mod settings;
mod stalls;
mod support;
