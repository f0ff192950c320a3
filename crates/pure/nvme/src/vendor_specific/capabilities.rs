// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The vendor log page that tells which methods a device has.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Methods, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Methods(pub u16);

bitfields!(Methods(u16) {} flags {
    /// Store Piggyback and Transfer.
    piggyback / with_piggyback: 0;
    /// Tail and Store Hybrid.
    hybrid / with_hybrid: 1;
    /// Store Inline.
    inline / with_inline: 2;
    /// Store MMIO.
    mmio / with_mmio: 3;
    /// Retrieve Tiny.
    retrieve_tiny / with_retrieve_tiny: 4;
    /// Retrieve Inline.
    retrieve_inline / with_retrieve_inline: 5;
    /// Group and Group Results.
    groups / with_groups: 6;
    /// Group Both Ways: host and device share their memory.
    groups_both_ways / with_groups_both_ways: 7;
    /// Prefetch Group.
    prefetch_groups / with_prefetch_groups: 8;
    /// Store, Retrieve, Delete and Exist Indirect, and long keys in groups.
    indirect_keys / with_indirect_keys: 9;
    /// Group Vector and Bulk Put: what compound commands are compared with.
    group_comparators / with_group_comparators: 10;
    /// Iterator Open, Next and Close, of namespaces whose engine has an order of keys and snapshots.
    iterators / with_iterators: 11;
    /// Groups that are transactions, of namespaces whose engine has them.
    transactions / with_transactions: 12;
    /// Keys of 17 to 255 bytes in transactions.
    long_keys_in_transactions / with_long_keys_in_transactions: 13;
    /// Transaction Part and Transaction Control, of namespaces whose engine has transactions.
    split_transactions / with_split_transactions: 14;
    /// Retrieve Versioned, of namespaces whose engine has transactions.
    retrieve_versioned / with_retrieve_versioned: 15;
});

impl Methods {
    /// All of them.
    pub const ALL: Self = Self(0xFFFF);
}

/// Log page C0h, 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Capabilities {
    /// "SKRX": the page is this one.
    pub signature: [u8; 4],
    /// Version of the layout: 1.
    pub version: U16,
    /// [`Methods`].
    pub methods: U16,
    /// Most value bytes that are gathered for one queue: the limit of piggyback and inline stores, and of tails.
    pub gather_bytes_max: U32,
    /// Bytes of each queue's region in the BAR.
    pub mmio_region_bytes: U32,
    /// Most value bytes of a Retrieve Inline.
    pub retrieve_bytes_max: U32,
    /// Most bytes of a group's payload.
    pub group_bytes_max: U32,
    /// Reserved.
    pub reserved_24: [u8; 40],
}

layout!(
    Capabilities, 64, signature @ 0, version @ 4, methods @ 6, gather_bytes_max @ 8, mmio_region_bytes @ 12,
    retrieve_bytes_max @ 16, group_bytes_max @ 20, reserved_24 @ 24,
);

impl Capabilities {
    /// The signature.
    pub const SIGNATURE: [u8; 4] = *b"SKRX";
    /// The version.
    pub const VERSION: u16 = 1;

    /// The page for these methods and limits in bytes.
    #[must_use]
    pub const fn new(
        methods: Methods,
        gather_bytes: u32,
        mmio_region_bytes: u32,
        retrieve_bytes: u32,
    ) -> Self {
        Self {
            signature: Self::SIGNATURE,
            version: U16::new(Self::VERSION),
            methods: U16::new(methods.0),
            gather_bytes_max: U32::new(gather_bytes),
            mmio_region_bytes: U32::new(mmio_region_bytes),
            retrieve_bytes_max: U32::new(retrieve_bytes),
            group_bytes_max: U32::ZERO,
            reserved_24: [0; 40],
        }
    }

    /// The page with that limit of groups in bytes.
    #[must_use]
    pub const fn with_group_bytes(mut self, bytes: u32) -> Self {
        self.group_bytes_max = U32::new(bytes);
        self
    }

    /// What of it works where commands move their data one way each, through memory that host and device do not share: groups
    /// and iterators.
    #[must_use]
    pub fn by_commands(&self) -> Self {
        let had = self.methods();
        let methods = Methods::default()
            .with_groups(had.groups())
            .with_prefetch_groups(had.prefetch_groups())
            .with_iterators(had.iterators())
            .with_transactions(had.transactions())
            .with_long_keys_in_transactions(had.long_keys_in_transactions())
            .with_split_transactions(had.split_transactions())
            .with_retrieve_versioned(had.retrieve_versioned());
        Self::new(methods, 0, 0, 0).with_group_bytes(self.group_bytes_max.get())
    }

    /// Narrows the data of log page C0h to [`by_commands`](Self::by_commands), if it is one that is known.
    pub fn narrow(page: &mut [u8]) {
        if let Ok((known, _)) = Self::mut_from_prefix(page)
            && known.is_known()
        {
            *known = known.by_commands();
        }
    }

    /// Whether signature and version are ours: the rest may be believed.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.signature == Self::SIGNATURE && self.version.get() == Self::VERSION
    }

    /// The methods, none unless the page is known.
    #[must_use]
    pub fn methods(&self) -> Methods {
        if self.is_known() { Methods(self.methods.get()) } else { Methods::default() }
    }
}
