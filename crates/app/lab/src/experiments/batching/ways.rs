// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ways that are compared.

use saker_host::transfer::Adaptive;
use saker_host::{Method, TransferPolicy};
use saker_world::StoreKind;

/// How pairs are brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A command for each, by that method.
    Single(Method),
    /// A command for each, by the method that BandSlim's thresholds (128 and 64 bytes) choose.
    Adaptive,
    /// SAKER's containers; what leaves alone goes by that method.
    Saker(Method),
    /// Groups of compound commands.
    Group,
    /// Transactions of the device.
    Transaction,
    /// KV-CSD's Bulk PUT.
    Bulk,
}

/// Methods of values that are shorter than a page.
const METHODS: [Method; 5] = [Method::Prp, Method::Sgl, Method::Piggyback, Method::Inline, Method::Mmio];

impl Way {
    /// All of them.
    pub fn all() -> Vec<Self> {
        let singles = METHODS.iter().map(|method| Self::Single(*method)).chain([Self::Adaptive]);
        let containers = METHODS.iter().map(|method| Self::Saker(*method));
        singles.chain(containers).chain([Self::Group, Self::Transaction, Self::Bulk]).collect()
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single(method) => method.name(),
            Self::Adaptive => "adaptive",
            Self::Saker(Method::Sgl) => "saker sgl",
            Self::Saker(Method::Piggyback) => "saker piggyback",
            Self::Saker(Method::Inline) => "saker inline",
            Self::Saker(Method::Mmio) => "saker mmio",
            Self::Saker(_) => "saker",
            Self::Group => "group",
            Self::Transaction => "transaction",
            Self::Bulk => "bulk put",
        }
    }

    /// When a put counts as done.
    pub const fn done_when(self) -> &'static str {
        match self {
            Self::Single(_) | Self::Adaptive => "its command has completed",
            Self::Saker(_) => "it is in the host's container; durable behind a sync",
            Self::Group => "its group has completed",
            Self::Transaction => "its transaction has completed",
            Self::Bulk => "it is in the host's buffer; durable when the buffer is full",
        }
    }

    /// Pairs of a batch. With methods other than PRP only a container of one pair is another than SAKER's.
    pub fn batches(self, all: &[u16]) -> Vec<u16> {
        match self {
            Self::Single(_) | Self::Adaptive => vec![1],
            Self::Saker(method) if method != Method::Prp => vec![1],
            _ => all.to_vec(),
        }
    }

    /// Who chooses the method of a pair that goes alone.
    pub fn policy(self) -> TransferPolicy {
        match self {
            Self::Single(method) | Self::Saker(method) => TransferPolicy::Fixed(method),
            Self::Adaptive => TransferPolicy::Adaptive(Adaptive::new(128, 64)),
            Self::Group | Self::Transaction | Self::Bulk => TransferPolicy::Fixed(Method::Prp),
        }
    }

    /// The store that brings them so.
    pub fn store(self, batch: u16) -> StoreKind {
        let operations = usize::from(batch);
        match self {
            Self::Single(_) | Self::Adaptive => StoreKind::Disk,
            Self::Saker(_) => StoreKind::Sessions { batch },
            Self::Group => StoreKind::Groups { operations },
            Self::Transaction => StoreKind::Transactions { operations },
            Self::Bulk => StoreKind::Bulk { operations },
        }
    }
}
