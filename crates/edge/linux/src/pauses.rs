// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long threads of this crate sleep.

use std::time::Duration;

/// The longest a turn waits.
pub(crate) const REST: Duration = Duration::from_millis(10);
/// Between two attempts of a command while the kernel has no connection.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(100);
