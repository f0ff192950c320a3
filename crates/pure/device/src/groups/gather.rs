// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A vector of addresses: keys and values that the device fetches one by one, then keeps as any group of stores.

use super::GroupRequest;
use crate::transfer::{Aside, Pieces};
use saker_engine::SourceError;
use saker_link::{DmaSpace, Traffic};
use saker_nvme::Status;
use saker_nvme::group::{COUNT_BYTES, Form, Malformed, Op, PairAddress, entry_bytes, padded, parse_vector};

/// The pairs of a vector, or what is wrong with it.
#[derive(Clone, Debug)]
pub(super) struct Vector {
    pub(super) pairs: Result<Vec<PairAddress>, Malformed>,
    /// Whether whole pages are moved.
    pages: bool,
}

impl Vector {
    /// Fetches the list.
    ///
    /// # Errors
    /// 04h if it is in no memory; 02h for more data than a group takes.
    pub(super) fn fetch(pieces: &Pieces, bytes: u32, pages: bool, space: &DmaSpace) -> Result<Self, Status> {
        let mut list = vec![0; bytes as usize];
        if bytes > 0 {
            pieces.read(space, 0, &mut list).map_err(|_| Status::DATA_TRANSFER_ERROR)?;
        }
        let vector = Self { pairs: parse_vector(&list), pages };
        let limit = saker_engine::GROUP_BYTES_MAX as usize;
        if vector.packed_bytes() > limit { Err(Status::INVALID_FIELD) } else { Ok(vector) }
    }

    fn pairs(&self) -> &[PairAddress] {
        self.pairs.as_deref().unwrap_or_default()
    }

    /// Bytes of the group it stands for.
    pub(super) fn packed_bytes(&self) -> usize {
        let of = |p: &PairAddress| entry_bytes(Op::Store, p.key_bytes as usize, p.value_bytes as usize);
        self.pairs().iter().fold(COUNT_BYTES, |sum, p| sum.saturating_add(of(p)))
    }

    /// Pairs.
    pub(super) fn count(&self) -> u32 {
        self.pairs().len() as u32
    }

    /// Addresses and lengths of all that is fetched.
    fn operands(&self) -> impl Iterator<Item = (u64, u32)> {
        let both = |p: &PairAddress| [(p.key_address, p.key_bytes), (p.value_address, p.value_bytes)];
        self.pairs().iter().flat_map(both).filter(|(_, bytes)| *bytes > 0)
    }

    /// What is fetched beside the list.
    pub(super) fn aside(&self) -> Aside {
        let one = |sum: Aside, (at, bytes): (u64, u32)| {
            if self.pages {
                Aside { pages: sum.pages + pages_touched(at, bytes), ..sum }
            } else {
                Aside { exact: sum.exact + 1, bytes: sum.bytes + u64::from(bytes), ..sum }
            }
        };
        self.operands().fold(Aside { rounds: 1, ..Aside::default() }, one)
    }

    /// Counts it.
    pub(super) fn count_operands(&self, traffic: &mut Traffic) {
        for (at, bytes) in self.operands() {
            if self.pages {
                traffic.to_device.add_pages(pages_touched(at, bytes));
            } else {
                traffic.to_device.add_exact(at, u64::from(bytes));
            }
        }
    }

    /// The payload it stands for.
    fn gather(&self, space: &DmaSpace) -> Result<Vec<u8>, SourceError> {
        let mut payload = Vec::with_capacity(self.packed_bytes());
        payload.extend_from_slice(&self.count().to_le_bytes());
        for (at, bytes) in
            self.pairs().iter().flat_map(|p| [(p.key_address, p.key_bytes), (p.value_address, p.value_bytes)])
        {
            payload.extend_from_slice(&bytes.to_le_bytes());
            let start = payload.len();
            payload.resize(start + bytes as usize, 0);
            if bytes > 0 {
                space.read(at, &mut payload[start..]).map_err(|_| SourceError)?;
            }
            payload.resize(start + padded(bytes as usize), 0);
        }
        Ok(payload)
    }
}

/// Pages of 4 KiB that a range touches.
fn pages_touched(at: u64, bytes: u32) -> u64 {
    let page = saker_link::PAGE_BYTES as u64;
    (at % page + u64::from(bytes)).div_ceil(page)
}

impl GroupRequest {
    /// Stages what the vector names; from then on the command is a group of stores.
    pub(super) fn gather(&mut self, space: &DmaSpace) -> Result<(Form, u32), Result<Malformed, SourceError>> {
        let Some(vector) = &self.vector else { return Err(Err(SourceError)) };
        if let Err(malformed) = vector.pairs {
            return Err(Ok(malformed));
        }
        if self.staged.is_none() {
            self.staged = Some(vector.gather(space).map_err(Err)?);
        }
        Ok((Form::All(Op::Store), vector.packed_bytes() as u32))
    }
}
