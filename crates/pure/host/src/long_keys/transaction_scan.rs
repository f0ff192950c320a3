// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ranges in transactions. The device counts the keys of a range in their order. Long keys lie in envelopes, which are in no order: a transaction
//! that has read a range relies on all envelopes, with their number.

use saker_long_keys::envelope::{Directory, EnvelopeError, check_digests};
use saker_long_keys::{DEVICE_KEY_BYTES, KeyDigest, MARK};
use saker_nvme::Key;
use saker_nvme::group::{Ask, Op, ToAsk};
use std::collections::BTreeSet;

use super::store::KvStoreClient;
use super::transaction_set::Versioned;
use crate::client::{Course, KeyRange, Limits, NO_ORDER, PairBatch, refusal};
use crate::driver::Driver;
use crate::error::HostError;

/// Pairs of a range that are read in a command.
const KEYS_AT_ONCE: usize = 64;

/// What a transaction has found in a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeFound {
    /// The pairs of the range in the order of their keys. One that was taken away meanwhile has no value.
    pub pairs: Vec<(Vec<u8>, Versioned)>,
    /// The other long keys, on which the transaction relies: a key that comes into the range changes one of their envelopes, or adds one.
    pub beside: Vec<(Vec<u8>, Versioned)>,
    /// Device keys that begin with the mark of envelopes.
    pub marked: u32,
}

/// The device keys with the mark of envelopes: how many there are, and the keys of the pairs there.
#[derive(Default, PartialEq, Eq)]
struct Marked {
    count: u32,
    keys: BTreeSet<Vec<u8>>,
}

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// The pairs of a range with their versions, as [`get_versioned`](Self::get_versioned) finds them. What another host does meanwhile may be
    /// among them or not: who relies on it counts them ([`TransactionSet::counted`](super::TransactionSet::counted)).
    ///
    /// # Errors
    /// [`HostError::NoTransactions`] where keys are in no order, or long ones cannot be in a transaction; [`HostError::KeyLength`] for bounds of
    /// more than 16 bytes; [`HostError::Conflict`] if a long key comes or goes meanwhile; others.
    pub fn scan_versioned(&mut self, from: &[u8], to: &[u8]) -> Result<RangeFound, HostError> {
        let range = KeyRange { from, to, ..KeyRange::default() };
        let mut keys = self.keys_in_order(&range)?;
        let marked = self.marked()?;
        let (inside, beside): (Vec<_>, Vec<_>) =
            marked.keys.iter().cloned().partition(|key| range.contains(key));
        keys.extend(inside);
        let found = RangeFound {
            pairs: self.versions_of(Op::Retrieve, keys.into_iter().collect())?,
            beside: self.versions_of(Op::Exist, beside)?,
            marked: marked.count,
        };
        // An envelope that is the same from here to the commit has no key that was not seen.
        let after = if marked.count == 0 { None } else { Some(self.marked()?) };
        let gone = found
            .pairs
            .iter()
            .chain(&found.beside)
            .find(|(key, now)| marked.keys.contains(key) && now.version.is_absent());
        match gone {
            Some((key, _)) => Err(HostError::Conflict { key: key.clone() }),
            None if after.as_ref().is_some_and(|after| *after != marked) => {
                let after = after.unwrap_or_default();
                let key = marked.keys.symmetric_difference(&after.keys).next().cloned();
                Err(HostError::Conflict { key: key.unwrap_or_else(|| MARK.to_vec()) })
            }
            None => Ok(found),
        }
    }

    /// The device's own keys of a range, without those that begin with the mark.
    fn keys_in_order(&mut self, range: &KeyRange<'_>) -> Result<BTreeSet<Vec<u8>>, HostError> {
        let (course, mut keys) =
            (Course { range: *range, keys_only: true, ..Course::default() }, BTreeSet::new());
        self.walk(course, |this, key, _| {
            // Bounds on the wire may be wider.
            if !key.starts_with(&MARK) && !this.hides(key) && range.contains(key) {
                keys.insert(key.to_vec());
            }
            Ok(())
        })?;
        Ok(keys)
    }

    fn marked(&mut self) -> Result<Marked, HostError> {
        let range = KeyRange { prefix: &MARK, ..KeyRange::default() };
        let mut marked = Marked::default();
        self.walk(Course { range, ..Course::default() }, |this, at, bytes| {
            marked.count += 1;
            if at.len() == DEVICE_KEY_BYTES {
                return this.keys_of(at, bytes, &mut marked.keys);
            }
            marked.keys.insert(at.to_vec());
            Ok(())
        })?;
        Ok(marked)
    }

    fn walk(
        &mut self,
        course: Course<'_>,
        mut see: impl FnMut(&Self, &[u8], &[u8]) -> Result<(), HostError>,
    ) -> Result<(), HostError> {
        let Some(mut walk) = self.native().open_walk(course, None)? else {
            return Err(HostError::NoTransactions(NO_ORDER));
        };
        let (mut seen, mut batch) = (Ok(false), PairBatch::default());
        while matches!(seen, Ok(false)) {
            seen = self.native().walk_on(&mut walk, course, Limits::of(0), &mut batch).and_then(|()| {
                batch.pairs().try_for_each(|(key, value)| see(self, key, value))?;
                Ok(batch.is_last())
            });
        }
        let closed = self.native().close_walk(walk);
        seen.and(closed)
    }

    fn keys_of(&self, at: &[u8], bytes: &[u8], keys: &mut BTreeSet<Vec<u8>>) -> Result<(), HostError> {
        let key = Key::new(at)?;
        let broken = |error| HostError::Envelope { key, error };
        let Directory::Complete(entries) = Directory::parse(bytes, bytes.len()).map_err(broken)? else {
            return Err(broken(EnvelopeError::Length));
        };
        check_digests(&entries, at, &self.digest).map_err(broken)?;
        keys.extend(entries.iter().map(|entry| entry.key.to_vec()));
        Ok(())
    }

    fn versions_of(&mut self, how: Op, keys: Vec<Vec<u8>>) -> Result<Vec<(Vec<u8>, Versioned)>, HostError> {
        let mut found = Vec::with_capacity(keys.len());
        for some in keys.chunks(KEYS_AT_ONCE) {
            self.add_versions_of(how, some, &mut found)?;
        }
        Ok(found)
    }

    /// The same of so many as a command takes; of fewer where their values are too long for its answer.
    fn add_versions_of(
        &mut self,
        how: Op,
        some: &[Vec<u8>],
        found: &mut Vec<(Vec<u8>, Versioned)>,
    ) -> Result<(), HostError> {
        let entries: Vec<_> = some.iter().map(|key| -> ToAsk<'_> { (Ask::Op(how), key, &[]) }).collect();
        let answers = match (self.transaction(&entries), some) {
            (Err(HostError::TransactionLength { .. }), [key]) => {
                found.push((key.clone(), self.get_versioned(key)?));
                return Ok(());
            }
            (Err(HostError::TransactionLength { .. }), _) => {
                let (first, rest) = some.split_at(some.len() / 2);
                self.add_versions_of(how, first, found)?;
                return self.add_versions_of(how, rest, found);
            }
            (answers, _) => answers?.map_err(|refused| {
                refusal(refused.status, some.get(refused.place).cloned().unwrap_or_default())
            })?,
        };
        let versioned = answers.into_iter().map(|a| Versioned { value: a.value, version: a.version });
        found.extend(some.iter().cloned().zip(versioned));
        Ok(())
    }
}
