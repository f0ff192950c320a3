// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One command against its namespace: decode, check, call the engine, turn its answer into a status.

mod block;
mod inner;
mod kv;
pub(crate) mod versioned;
mod work;

pub use block::block_status;
pub use inner::Inner;

pub use crate::answer::{Outcome, Reach, Reply, Timing, key_hash, kv_status};

use crate::config::{NamespaceKind, TRANSFER_BYTES_MAX};
use crate::groups::{GroupRequest, SplitRequest};
use crate::iterators::IteratorRequest;
use crate::long_keys::IndirectRequest;
use crate::namespace::{Namespace, Store};
use crate::transfer::{Aside, Pieces};
use block::{block, block_data_bytes};
use kv::{kv, kv_data_bytes, small};
use saker_engine::{Context, KvError};
use saker_flash::NamespaceSegments;
use saker_link::{DmaSpace, PAGE_BYTES, Sqe, Traffic};
use saker_nvme::group::VersionedRetrieve;
use saker_nvme::nvm::NvmCommand;
use saker_nvme::sqe::Psdt;
use saker_nvme::vendor_specific::InlineRetrieve;
use saker_nvme::{Key, KvCommand, PointerRule, Status};
use saker_profile::TimedOp;
use saker_sim::{Meter, Unit};

/// Whether a Flush is well formed, of whatever command set: it moves no data, so there is nothing else to decode.
pub(crate) fn check_flush(sqe: &Sqe, rule: PointerRule) -> Result<(), Status> {
    sqe.check_flags(rule)?;
    if sqe.psdt() == Psdt::SglMetadataSgl { Err(Status::INVALID_FIELD) } else { Ok(()) }
}

/// A decoded command and where its data is.
#[derive(Clone, Debug)]
pub enum Request {
    /// For a KV namespace.
    Kv(KvCommand, Pieces),
    /// For a block namespace.
    Block(NvmCommand, Pieces),
    /// A retrieve into the completion queue, and what it found.
    Small(InlineRetrieve, Vec<u8>),
    /// A retrieve with the version of the pair.
    Versioned(VersionedRetrieve, Pieces),
    /// For a block namespace, with data that stays in the device.
    Inner(Box<Inner>),
    /// Many operations.
    Group(Box<GroupRequest>),
    /// With a key of more than 16 bytes.
    Indirect(Box<IndirectRequest>),
    /// For an iterator.
    Iterator(Box<IteratorRequest>),
    /// Of a transaction in parts.
    Split(Box<SplitRequest>),
}

impl Request {
    /// Decodes a command for a namespace of that kind and resolves its data pointers. Nothing is changed by a
    /// command that is refused here.
    #[inline]
    pub fn decode(
        sqe: &Sqe,
        kind: &NamespaceKind,
        space: &DmaSpace,
        rule: PointerRule,
    ) -> Result<Self, Status> {
        match kind {
            NamespaceKind::Kv { value_bytes_max, .. } => {
                let command = KvCommand::decode_with(sqe, rule)?;
                if let KvCommand::Store { value_bytes, .. } = command
                    && value_bytes > *value_bytes_max
                {
                    return Err(Status::INVALID_VALUE_SIZE);
                }
                let bytes = kv_data_bytes(&command);
                if bytes > TRANSFER_BYTES_MAX {
                    return Err(Status::INVALID_FIELD);
                }
                Ok(Self::Kv(command, Pieces::of(sqe, bytes, space)?))
            }
            NamespaceKind::Block { block_bytes, blocks, .. } => {
                let command = NvmCommand::decode_with(sqe, rule)?;
                if let Some(inner) = Inner::decode(&command, sqe, (*block_bytes, *blocks), space)? {
                    return Ok(Self::Inner(Box::new(inner)));
                }
                let bytes = block_data_bytes(&command, *block_bytes, *blocks)?;
                Ok(Self::Block(command, Pieces::of(sqe, bytes, space)?))
            }
        }
    }

    /// Bytes of data the host sends with it.
    #[inline]
    pub fn bytes_in(&self) -> u32 {
        match self {
            Self::Kv(KvCommand::Store { value_bytes, .. }, _) => *value_bytes,
            Self::Block(
                NvmCommand::Write { .. } | NvmCommand::Compare { .. } | NvmCommand::DatasetManagement { .. },
                pieces,
            ) => pieces.bytes(),
            Self::Inner(inner) => inner.pieces().bytes(),
            Self::Group(group) => group.bytes_in(),
            Self::Indirect(indirect) => indirect.bytes_in(),
            Self::Iterator(iterator) => iterator.bytes_in(),
            Self::Split(split) => split.bytes_in(),
            _ => 0,
        }
    }

    /// Whether it changes or reads stored data on behalf of the host, for the delays of a profile.
    pub fn is_write(&self) -> bool {
        match self {
            Self::Group(group) => group.is_write(),
            Self::Indirect(indirect) => indirect.is_write(),
            Self::Split(split) => split.is_write(),
            Self::Inner(inner) => inner.is_write(),
            Self::Kv(command, _) => matches!(command, KvCommand::Delete { .. } | KvCommand::Store { .. }),
            Self::Block(command, _) => matches!(
                command,
                NvmCommand::Write { .. }
                    | NvmCommand::WriteZeroes { .. }
                    | NvmCommand::DatasetManagement { .. }
            ),
            Self::Small(..) | Self::Versioned(..) | Self::Iterator(_) => false,
        }
    }

    /// Bytes of keys and values that it is to write, as far as it brings them itself.
    pub fn user_bytes(&self) -> u64 {
        match self {
            Self::Kv(KvCommand::Store { key, value_bytes, .. }, _) => {
                key.len() as u64 + u64::from(*value_bytes)
            }
            Self::Kv(KvCommand::Delete { key }, _) => key.len() as u64,
            Self::Indirect(indirect) if indirect.is_write() => {
                indirect.key().len() as u64 + u64::from(indirect.bytes_in())
            }
            Self::Group(group) if group.is_write() => u64::from(group.bytes_in()),
            _ => 0,
        }
    }

    /// Whether it only asks that what was written lasts.
    pub fn is_flush(&self) -> bool {
        matches!(self, Self::Kv(KvCommand::Flush, _) | Self::Block(NvmCommand::Flush, _))
    }

    /// What is blocked does not go on, for that reason: true if executing it once more ends it with the answers of what
    /// was done.
    pub fn give_up(&mut self, why: KvError) -> bool {
        if let Self::Group(group) = self { group.give_up(why) } else { false }
    }

    /// The keys that it names, hashed; `None`: they are in data that is still to come.
    pub fn key_hashes(&self) -> Option<Vec<u64>> {
        let key = match self {
            Self::Kv(
                KvCommand::Store { key, .. }
                | KvCommand::Retrieve { key, .. }
                | KvCommand::Delete { key }
                | KvCommand::Exist { key },
                _,
            ) => key.as_bytes(),
            Self::Small(command, _) => command.key.as_bytes(),
            Self::Versioned(command, _) => command.key.as_bytes(),
            Self::Indirect(indirect) => indirect.key(),
            Self::Group(group) => return if group.names_keys() { None } else { Some(Vec::new()) },
            Self::Split(split) => return Some(vec![split.lane()]),
            Self::Kv(..) | Self::Block(..) | Self::Inner(_) | Self::Iterator(_) => return Some(Vec::new()),
        };
        Some(vec![key_hash(key)])
    }

    /// The keys in its data, hashed. The data is copied, and not fetched again.
    pub fn learn_keys(&mut self, space: &DmaSpace) -> Vec<u64> {
        if let Self::Group(group) = self { group.learn_keys(space) } else { Vec::new() }
    }

    /// What a latency table looks at.
    pub fn timing(&self, space: &DmaSpace) -> Timing {
        let single = |op, key: &Key, bytes| Timing::Single(op, key.len() as u32, bytes);
        match self {
            Self::Kv(KvCommand::Store { key, value_bytes, .. }, _) => {
                single(TimedOp::Store, key, *value_bytes)
            }
            Self::Kv(KvCommand::Retrieve { key, buffer_bytes, .. }, _) => {
                single(TimedOp::Retrieve, key, *buffer_bytes)
            }
            Self::Small(command, _) => single(TimedOp::Retrieve, &command.key, command.bytes_max),
            Self::Versioned(command, _) => single(TimedOp::Retrieve, &command.key, command.buffer_bytes),
            Self::Kv(KvCommand::Delete { key }, _) => single(TimedOp::Delete, key, 0),
            Self::Kv(KvCommand::Exist { key }, _) => single(TimedOp::Exist, key, 0),
            Self::Group(group) => group.timing(space),
            Self::Indirect(indirect) => indirect.timing(),
            Self::Split(split) => split.timing(space),
            Self::Inner(inner) => inner.timing(space),
            Self::Block(NvmCommand::Read { .. } | NvmCommand::Compare { .. }, pieces) => {
                Timing::Single(TimedOp::BlockRead, 0, pieces.bytes())
            }
            Self::Block(NvmCommand::Write { .. }, pieces) => {
                Timing::Single(TimedOp::BlockWrite, 0, pieces.bytes())
            }
            Self::Kv(..) | Self::Block(..) | Self::Iterator(_) => Timing::Nothing,
        }
    }

    /// Where its data is in host memory or in the device.
    pub fn pieces(&self) -> &Pieces {
        match self {
            Self::Kv(_, pieces) | Self::Versioned(_, pieces) | Self::Block(_, pieces) => pieces,
            Self::Inner(inner) => inner.pieces(),
            Self::Group(group) => group.pieces(),
            Self::Indirect(indirect) => indirect.pieces(),
            Self::Iterator(iterator) => iterator.pieces(),
            Self::Split(split) => split.pieces(),
            Self::Small(..) => &Pieces::NONE,
        }
    }

    /// Counts what goes over the link for the data that the host sends with it.
    #[inline]
    pub fn count_in(&self, sqe: &Sqe, traffic: &mut Traffic) {
        let bytes = self.bytes_in();
        if bytes > 0 {
            self.pieces().count(bytes, &mut traffic.to_device);
            self.count_list(sqe, bytes, traffic);
        }
        match self {
            Self::Group(group) => group.count_aside(traffic),
            Self::Indirect(indirect) => indirect.count_key(traffic),
            _ => {}
        }
    }

    /// What the device fetches beside the data at DPTR.
    pub fn aside(&self) -> Aside {
        match self {
            Self::Group(group) => group.aside(),
            Self::Indirect(indirect) => indirect.aside(),
            _ => Aside::default(),
        }
    }

    /// Counts a PRP list for `bytes` bytes of data.
    #[inline]
    pub fn count_list(&self, sqe: &Sqe, bytes: u32, traffic: &mut Traffic) {
        if let Pieces::Blocks(_, descriptors) = self.pieces() {
            traffic.lists.add_exact(sqe.prp1.get(), u64::from(*descriptors));
        }
        if matches!(self.pieces(), Pieces::Many(_)) {
            let pages = (sqe.prp1.get() % PAGE_BYTES as u64 + u64::from(bytes)).div_ceil(PAGE_BYTES as u64);
            if pages > 2 {
                traffic.lists.add_exact(sqe.prp2.get(), (pages - 1) * 8);
            }
        }
    }

    /// Takes the buffer of a value that came with commands out.
    #[inline]
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        match self {
            Self::Kv(_, pieces) => pieces.into_buffer(),
            _ => None,
        }
    }

    /// Executes the command.
    #[inline]
    pub fn execute<W: Meter>(
        &mut self,
        namespace: &mut Namespace,
        reach: Reach<'_>,
        m: &mut NamespaceSegments<'_>,
        w: &mut W,
    ) -> Outcome {
        w.work(Unit::Decode, 1);
        let error_on_delete = namespace.error_on_delete;
        match (self, &mut namespace.store) {
            (Self::Kv(command, pieces), Store::Kv(store)) => {
                kv(command, pieces, store, error_on_delete, reach, &mut Context::new(m, w))
            }
            (Self::Block(command, pieces), Store::Block(map)) => {
                block(command, pieces, map, reach.space, m, w)
            }
            (Self::Inner(inner), Store::Block(map)) => inner.execute(map, reach.space, m, w),
            (Self::Small(command, found), Store::Kv(store)) => {
                small(command, found, store, &mut Context::new(m, w))
            }
            (Self::Versioned(command, pieces), Store::Kv(store)) => {
                versioned::execute(command, pieces, store, &namespace.kept, reach, &mut Context::new(m, w))
            }
            (Self::Group(group), Store::Kv(store)) => {
                group.execute(store, &mut namespace.kept, namespace.long_keys, reach, m, w)
            }
            (Self::Indirect(indirect), Store::Kv(store)) => {
                let digest = namespace.long_keys.unwrap_or_default();
                indirect.execute(store, digest, error_on_delete, reach, m, w)
            }
            (Self::Iterator(iterator), Store::Kv(store)) => {
                iterator.execute(store, &mut namespace.iterators, reach, m, w)
            }
            (Self::Split(split), Store::Kv(store)) => {
                let Namespace { splits, kept, long_keys, .. } = namespace;
                split.execute(store, splits, kept, *long_keys, reach, m, w)
            }
            (_, store) => Outcome::Done(Reply::status(store.refusal())),
        }
    }
}
