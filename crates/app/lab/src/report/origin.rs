// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who makes a claim, and what it comes to after a fit and under other conditions.

use super::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who makes a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A publication, or arithmetic on one.
    #[default]
    Published,
    /// This program.
    Own,
}

impl Origin {
    /// The word in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Own => "own",
        }
    }

    pub(super) fn is_published(&self) -> bool {
        *self == Self::Published
    }
}

/// What a check says with numbers of the profile that were fitted to published points. It stands beside the verdict and does not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AfterFit {
    /// `fitted`: the points are the claim's own. `prediction`: they are another's.
    pub role: FitRole,
    /// The figure that was fitted, the numbers and their intervals.
    pub with: String,
    /// Whether the claim holds then.
    pub verdict: Verdict,
    /// What was measured then.
    pub measured: Value,
}

/// What a claim is to a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FitRole {
    /// The numbers were chosen on it: no evidence.
    Fitted,
    /// It took no part.
    Prediction,
}

impl FitRole {
    /// The word in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::Prediction => "prediction",
        }
    }
}

/// What a check says in a variant of its plan that is not judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InVariant {
    /// The variant.
    pub name: String,
    /// Whether the claim holds there.
    pub verdict: Verdict,
    /// What was measured there.
    pub measured: Value,
    /// What else is to be known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}
