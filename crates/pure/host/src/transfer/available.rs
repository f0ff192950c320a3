// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which methods a queue can use, and for which sizes.

use super::Method;
use saker_nvme::vendor_specific::{Capabilities, Methods};

/// What device and queue allow. The default is a device with nothing but PRPs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Available {
    /// Vendor methods of the device.
    pub methods: Methods,
    /// Whether the device takes SGLs in the entry (Identify Controller, SGLS).
    pub sgl: bool,
    /// Most value bytes that the device gathers from fragments of one queue.
    pub gather_bytes_max: u32,
    /// Bytes of the queue's region in the BAR; 0 without one.
    pub mmio_region_bytes: u32,
    /// Most value bytes of a retrieve into the completion queue.
    pub retrieve_bytes_max: u32,
    /// Most bytes of a group's payload.
    pub group_bytes_max: u32,
    /// Entries of the submission queue.
    pub sq_entries: u32,
}

impl Available {
    /// What the log page of a device promises, on a queue of `sq_entries` entries.
    #[must_use]
    pub fn new(page: &Capabilities, sgl: bool, sq_entries: u32) -> Self {
        if !page.is_known() {
            return Self { sgl, sq_entries, ..Self::default() };
        }
        Self {
            methods: page.methods(),
            sgl,
            gather_bytes_max: page.gather_bytes_max.get(),
            mmio_region_bytes: page.mmio_region_bytes.get(),
            retrieve_bytes_max: page.retrieve_bytes_max.get(),
            group_bytes_max: page.group_bytes_max.get(),
            sq_entries,
        }
    }

    /// Whether `method` can carry a value of `bytes` bytes. PRPs always can.
    #[inline]
    #[must_use]
    pub fn carries(&self, method: Method, bytes: u32) -> bool {
        method.is_carried(self, bytes)
    }

    /// `method` if it can carry the value, else PRPs.
    #[inline]
    #[must_use]
    pub fn or_prp(&self, method: Method, bytes: u32) -> Method {
        if self.carries(method, bytes) { method } else { Method::Prp }
    }
}
