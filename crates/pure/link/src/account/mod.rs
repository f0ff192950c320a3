// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What crossed the link, and the rules that turn it into bytes.
//!
//! Papers count link traffic differently, and often do not say how. So host and device count events ([`Traffic`]), and
//! a [`Rule`] turns one and the same count into bytes.

mod data;
mod pcm_lines;
mod protocol;
mod sqe_only;
mod tlp;

use std::ops::{Add, AddAssign, Sub};

pub use data::Data;
pub use tlp::TlpShape;

/// Bytes of a cache line: the unit of memory accesses and of write-combined stores.
pub const LINE_BYTES: u64 = 64;

/// Events on the link. The device counts what it moves, the host its doorbells and stores; the sum is the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Submission queue entries fetched as commands.
    pub sqe_fetches: u64,
    /// Submission queue entries fetched as 64 bytes of payload.
    pub inline_slots: u64,
    /// Completion queue entries posted, without those of payload.
    pub cqes: u64,
    /// Completion queue entries posted as payload.
    pub cq_slots: u64,
    /// Writes of submission queue tail doorbells.
    pub sq_doorbells: u64,
    /// Writes of completion queue head doorbells.
    pub cq_doorbells: u64,
    /// Bytes of values stored to the device's memory through the BAR.
    pub mmio_bytes: u64,
    /// The write-combined stores they took, 64 bytes at most each.
    pub mmio_stores: u64,
    /// Data that the device read from host memory.
    pub to_device: Data,
    /// Data that the device wrote to host memory.
    pub to_host: Data,
    /// PRP list entries that the device read.
    pub lists: Data,
}

impl Traffic {
    /// Both directions of data, doorbells and stores, as `rule` counts them.
    #[must_use]
    pub fn bytes(&self, rule: &Rule) -> LinkBytes {
        match rule {
            Rule::SqeOnly => sqe_only::count(self),
            Rule::Protocol => protocol::count(self),
            Rule::PcmLines => pcm_lines::count(self),
            Rule::Tlp(shape) => tlp::count(self, shape),
        }
    }
}

/// How to count. The choice moves percentages by several points, so results name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// 64 bytes a command, and the data.
    SqeOnly,
    /// What the protocol puts on the link: entries, completions, doorbells and exact data; 88 bytes a command that rings
    /// both doorbells. PRP lists and packet headers are left out.
    #[default]
    Protocol,
    /// Every access to host memory in whole 64-byte lines; stores and doorbells apart. So counts Intel's PCM.
    PcmLines,
    /// Transaction-layer packets with their headers.
    Tlp(TlpShape),
}

impl Rule {
    /// The name in results.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SqeOnly => "sqe-only",
            Self::Protocol => "protocol",
            Self::PcmLines => "pcm-lines",
            Self::Tlp(_) => "tlp",
        }
    }

    /// All four, with packets of that shape.
    #[must_use]
    pub const fn all(shape: TlpShape) -> [Self; 4] {
        [Self::SqeOnly, Self::Protocol, Self::PcmLines, Self::Tlp(shape)]
    }
}

/// Bytes by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkBytes {
    /// From the host to the device.
    pub to_device: u64,
    /// From the device to the host.
    pub to_host: u64,
    /// Stores by the host's processor that the rule does not add to a direction.
    pub mmio_apart: u64,
}

impl LinkBytes {
    /// Both directions, without what is counted apart.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.to_device + self.to_host
    }
}

/// Applies an operator field by field.
macro_rules! by_field {
    ($op:tt, $a:ident, $b:ident, { $($field:ident),+ }) => { Traffic { $($field: $a.$field $op $b.$field),+ } };
}

impl Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        by_field!(+, self, other, {
            sqe_fetches, inline_slots, cqes, cq_slots, sq_doorbells, cq_doorbells, mmio_bytes, mmio_stores, to_device,
            to_host, lists
        })
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Traffic {
    type Output = Self;

    /// What happened since `other`, an earlier count.
    fn sub(self, other: Self) -> Self {
        by_field!(-, self, other, {
            sqe_fetches, inline_slots, cqes, cq_slots, sq_doorbells, cq_doorbells, mmio_bytes, mmio_stores, to_device,
            to_host, lists
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
