// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a power cut leaves, and what the controller reports as its limits.

use serde::{Deserialize, Serialize};

use super::error::ensure;
use super::{ProfileError, Sourced};

/// Behaviour at a power cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// Whether a capacitor keeps the power-safe page buffer alive.
    pub capacitor: Sourced<bool>,
}

impl Power {
    /// Whether the controller reports a volatile write cache (NVMe base, Identify Controller, VWC bit 0):
    /// exactly when nothing keeps the buffer alive.
    pub const fn volatile_write_cache(&self) -> bool {
        !self.capacitor.value
    }
}

/// Limits that the controller reports and enforces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Largest value.
    pub max_value_bytes: Sourced<u32>,
    /// I/O queue pairs, without the admin pair.
    pub max_queue_pairs: Sourced<u32>,
    /// Entries of an I/O queue: CAP.MQES + 1, which counts from zero.
    pub max_queue_entries: Sourced<u32>,
    /// Namespaces.
    pub max_namespaces: Sourced<u32>,
}

impl Limits {
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        let value = self.max_value_bytes.value;
        ensure((1..=1 << 30).contains(&value), "limits.max_value_bytes", "must be between 1 and 1 GiB")?;
        let pairs = self.max_queue_pairs.value;
        ensure((1..=65_535).contains(&pairs), "limits.max_queue_pairs", "must be between 1 and 65535")?;
        let entries = self.max_queue_entries.value;
        ensure((2..=65_536).contains(&entries), "limits.max_queue_entries", "must be between 2 and 65536")?;
        let spaces = self.max_namespaces.value;
        ensure((1..=1024).contains(&spaces), "limits.max_namespaces", "must be between 1 and 1024")
    }
}
