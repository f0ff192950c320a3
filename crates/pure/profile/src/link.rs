// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The way between host and device.

use serde::{Deserialize, Serialize};

use super::Sourced;

/// A full-duplex link such as PCIe, or shared memory that stands in for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Bytes a second in each direction, after line coding and before packet headers. 0 is without limit.
    pub bandwidth_bytes_per_s: Sourced<u64>,
    /// Time from one end to the other, one way.
    pub latency_ns: Sourced<u64>,
    /// What one doorbell write costs the host's core.
    pub doorbell_write_ns: Sourced<u64>,
    /// Framing, header and check bytes of one transaction-layer packet, for the `tlp` accounting.
    pub tlp_overhead_bytes: Sourced<u32>,
    /// Most payload bytes of one transaction-layer packet, for the `tlp` accounting.
    pub tlp_payload_bytes_max: Sourced<u32>,
    /// Most bytes of one read request, for the `tlp` accounting.
    pub tlp_read_request_bytes_max: Sourced<u32>,
}
