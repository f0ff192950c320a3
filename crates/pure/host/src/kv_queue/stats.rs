// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a queue pair moved over the link.

use saker_link::Traffic;
use saker_nvme::{Cqe, Sqe};

/// Counts since the queue was made. Bytes of data are whole pages, as PRP transfers move them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Commands submitted.
    pub commands: u64,
    /// Completions taken.
    pub completions: u64,
    /// Writes of the submission queue doorbell.
    pub sq_doorbells: u64,
    /// Writes of the completion queue doorbell.
    pub cq_doorbells: u64,
    /// Bytes of the pages that commands offered for reading by the device.
    pub page_bytes_to_device: u64,
    /// Bytes of the pages that completed commands had filled.
    pub page_bytes_from_device: u64,
    /// Bytes of PRP list entries.
    pub prp_list_bytes: u64,
    /// Bytes of values stored through the BAR.
    pub mmio_bytes: u64,
    /// The 64-byte stores they took.
    pub mmio_stores: u64,
}

impl QueueStats {
    /// What only the host can count: doorbells and stores through the BAR. The device counts the rest.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        Traffic {
            sq_doorbells: self.sq_doorbells,
            cq_doorbells: self.cq_doorbells,
            mmio_bytes: self.mmio_bytes,
            mmio_stores: self.mmio_stores,
            ..Traffic::default()
        }
    }

    /// Bytes of submission queue entries.
    #[must_use]
    pub const fn sqe_bytes(&self) -> u64 {
        self.commands * Sqe::BYTES as u64
    }

    /// Bytes of completion queue entries.
    #[must_use]
    pub const fn cqe_bytes(&self) -> u64 {
        self.completions * Cqe::BYTES as u64
    }
}
