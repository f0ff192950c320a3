// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A number and where it comes from.

use serde::{Deserialize, Serialize};

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Stated by the paper that the note names.
    Paper,
    /// Stated by the public document or code that the note names, or arithmetic on it.
    Public,
    /// Measured by us; the note says where and how.
    Measured,
    /// Solved from the result it then reproduces, so that agreement there is no evidence.
    Fitted,
    /// Our choice.
    Default,
    /// Set by the user for this run.
    Override,
}

impl Source {
    /// The word used in profile files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Public => "public",
            Self::Measured => "measured",
            Self::Fitted => "fitted",
            Self::Default => "default",
            Self::Override => "override",
        }
    }

    /// Whether the claim is empty without a note that says which paper, document or measurement.
    pub(super) const fn needs_note(self) -> bool {
        matches!(self, Self::Paper | Self::Public | Self::Measured | Self::Fitted)
    }
}

/// A value with its source. Its unit is the end of the field's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub source: Source,
    /// Which paper, document or reasoning. Needed unless the source is `default` or `override`.
    #[serde(default)]
    pub note: String,
}

impl<T: Copy> Sourced<T> {
    /// The value.
    #[inline]
    pub const fn get(&self) -> T {
        self.value
    }
}
