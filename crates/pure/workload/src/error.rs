// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can be wrong with a plan.

use thiserror::Error;

/// A plan that cannot be turned into operations.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorkloadError {
    /// Key size outside 4..=255.
    #[error("keys of {key_bytes} bytes: choose 4 to 255")]
    KeyBytes {
        /// The size asked for.
        key_bytes: usize,
    },
    /// More keys than that many bytes can tell apart, or none.
    #[error("{keys} keys of {key_bytes} bytes: choose 1 to {most}")]
    Keys {
        /// The number asked for, inserts included.
        keys: u64,
        /// The size asked for.
        key_bytes: usize,
        /// The largest number.
        most: u64,
    },
    /// More operations than versions can number.
    #[error("{operations} operations: choose at most {most}")]
    Operations {
        /// The number asked for.
        operations: u64,
        /// The largest number.
        most: u64,
    },
    /// A Zipfian exponent outside (0, 1).
    #[error("a Zipfian exponent of {theta}: choose one above 0 and below 1")]
    Theta {
        /// The exponent as text.
        theta: String,
    },
    /// An exponent below 0, or none.
    #[error("an exponent of {alpha}: choose 0 or more")]
    Alpha {
        /// The exponent as text.
        alpha: String,
    },
    /// A mix without weight.
    #[error("the mix has no operation with a weight")]
    EmptyMix,
    /// Sizes that contain nothing, or are the wrong way round.
    #[error("{what}: {reason}")]
    Sizes {
        /// Which sizes.
        what: &'static str,
        /// What is wrong.
        reason: &'static str,
    },
}
