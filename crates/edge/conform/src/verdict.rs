// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What becomes of a clause.

use serde::Serialize;

/// What became of a clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "detail", rename_all = "lowercase")]
pub enum Verdict {
    /// As the specification says.
    Pass,
    /// Not as the specification says: what was seen.
    Fail(String),
    /// The specification leaves a choice: what the device chose.
    Open(String),
    /// Could not be examined: why.
    Skipped(String),
}

impl Verdict {
    /// One word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "FAIL",
            Self::Open(_) => "open",
            Self::Skipped(_) => "skipped",
        }
    }

    /// What was seen; nothing for a pass.
    #[must_use]
    pub fn detail(&self) -> &str {
        match self {
            Self::Pass => "",
            Self::Fail(text) | Self::Open(text) | Self::Skipped(text) => text,
        }
    }
}
