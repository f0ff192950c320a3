// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a caller has got wrong.

use saker_handle::{Class, Fault};

/// A fault of this crate's own.
pub fn misuse(class: Class, text: &str) -> Fault {
    Fault { class, text: text.into(), key: None, status: None }
}
