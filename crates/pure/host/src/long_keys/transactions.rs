// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Optimistic transactions over keys of any length: what was read is remembered by its version, and one command checks it and
//! writes.

use saker_long_keys::{KeyDigest, is_enveloped};
use saker_nvme::Status;
use saker_nvme::group::{Ask, Op, PairVersion, SplitOutcome, ToAsk, TransactionId};
use std::collections::BTreeSet;

use super::KEY_BYTES_MAX;
use super::route::{Route, route};
use super::store::KvStoreClient;
use super::transaction_set::{TransactionSet, Versioned};
use crate::client::{TransactionEnd, TransactionOutcome, TransactionRefused, WriteBatch, refusal};
use crate::driver::Driver;
use crate::error::{HostError, KvError};

/// Times that an atomic batch is sent, each time another host has made or deleted a pair that the batch deletes, and that a long value is
/// read, each time another host has written it.
const ATTEMPTS_MAX: u32 = 1000;
/// Times that a transaction with an ID is sent, while no answer comes.
const SENDINGS_MAX: u32 = 8;

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// Asks the namespace whether it has transactions, without changing anything.
    ///
    /// # Errors
    /// [`HostError::NoTransactions`] if not.
    pub fn probe_transactions(&mut self) -> Result<(), HostError> {
        self.client.probe_transactions()
    }

    /// The value of a key with its version, of a device that has transactions.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get_versioned(&mut self, key: &[u8]) -> Result<Versioned, HostError> {
        if let Some(found) = self.get_versioned_at_once(key)? {
            return Ok(found);
        }
        match self.answered((Ask::Op(Op::Retrieve), key, &[])) {
            Err(HostError::TransactionLength { .. }) => self.get_between_versions(key),
            answered => answered,
        }
    }

    /// The same by one command that reads nothing else. `None`: the device has none for this key, or the value is too long for it.
    #[inline]
    fn get_versioned_at_once(&mut self, key: &[u8]) -> Result<Option<Versioned>, HostError> {
        let Route::Native(name) = route(key, &self.digest)? else { return Ok(None) };
        if !self.client.has_versioned_retrieves() {
            return Ok(None);
        }
        Ok(match self.client.get_versioned(&name)? {
            None => Some(Versioned::default()),
            Some((version, Some(value))) => Some(Versioned { value: Some(value), version }),
            Some((_, None)) => None,
        })
    }

    /// A value that a command does not bring with its version: it is of the version that the pair had before and after, since no two writes
    /// have the same.
    fn get_between_versions(&mut self, key: &[u8]) -> Result<Versioned, HostError> {
        let mut version = self.version(key)?;
        for _ in 0..ATTEMPTS_MAX {
            let value = self.get(key)?;
            let before = std::mem::replace(&mut version, self.version(key)?);
            if version == before && version.is_absent() == value.is_none() {
                return Ok(Versioned { value, version });
            }
        }
        Err(HostError::Conflict { key: key.to_vec() })
    }

    /// The version of a key alone.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn version(&mut self, key: &[u8]) -> Result<PairVersion, HostError> {
        self.answered((Ask::Op(Op::Exist), key, &[])).map(|answer| answer.version)
    }

    fn answered(&mut self, entry: ToAsk<'_>) -> Result<Versioned, HostError> {
        match self.transaction(&[entry])? {
            Ok(answers) => {
                let answer = answers.into_iter().next().unwrap_or_default();
                Ok(Versioned { value: answer.value, version: answer.version })
            }
            Err(refused) => Err(refusal(refused.status, entry.1.to_vec())),
        }
    }

    /// Carries a transaction out: all of it or nothing.
    ///
    /// # Errors
    /// [`HostError::Conflict`] with the key that has changed since it was read; [`HostError::Unmet`] with the key of which something is
    /// required that does not hold; [`HostError::Batch`] with a write that cannot be carried out; others. Nothing has changed
    /// then, unless no answer came.
    pub fn commit(&mut self, set: &TransactionSet) -> Result<(), HostError> {
        if set.is_settled() {
            return Ok(());
        }
        if let Some(op) = set.only_reads(self.client.transaction_bytes_max()) {
            return self.look_again(set, op);
        }
        let entries = set.entries();
        if entries.is_empty() {
            return Ok(());
        }
        self.transaction(&entries)?.map(drop).map_err(|refused| self.told(set, refused))
    }

    /// Commits what writes nothing: all is looked at once more, at one moment, by a command that only reads. A device or a host that may
    /// not write takes it.
    fn look_again(&mut self, set: &TransactionSet, op: Op) -> Result<(), HostError> {
        let keys: Vec<_> = set.looked_at().collect();
        let entries: Vec<_> = keys.iter().map(|key| -> ToAsk<'_> { (Ask::Op(op), key, &[]) }).collect();
        let answers = match self.transaction(&entries)? {
            Ok(answers) => answers,
            Err(refused) => {
                let key = keys.get(refused.place).map(|key| key.to_vec()).unwrap_or_default();
                return Err(refusal(refused.status, key));
            }
        };
        set.compare(&answers)
    }

    /// Carries a transaction out under an ID, by as many commands as it takes. One whose answer was lost is sent again: a transaction
    /// that was carried out before is not carried out twice.
    ///
    /// # Errors
    /// As [`commit`](Self::commit); [`HostError::NoTransactions`] of a device without transactions in parts;
    /// [`KvError::OutcomeUnknown`] if no answer came to any attempt; [`KvError::Forgotten`] if the number is older than the device remembers.
    pub fn commit_as(
        &mut self,
        id: TransactionId,
        set: &TransactionSet,
    ) -> Result<TransactionEnd, HostError> {
        let entries = set.entries();
        self.check_keys(&entries)?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.client.transaction_as(id, &entries) {
                Ok(Err(refused)) if attempts < SENDINGS_MAX && is_lost(refused.status) => {}
                Err(HostError::Kv(KvError::OutcomeUnknown)) if attempts < SENDINGS_MAX => {}
                ended => return ended.and_then(|ended| ended.map_err(|refused| self.told(set, refused))),
            }
        }
    }

    /// What a refusal means to the user.
    fn told(&self, set: &TransactionSet, refused: TransactionRefused) -> HostError {
        if refused.status.is(Status::WRITES_TOO_LONG) {
            return self.client.refusal(refused.status, Vec::new(), set.written_bytes());
        }
        set.error(refused)
    }

    /// What became of a transaction.
    ///
    /// # Errors
    /// [`KvError::Forgotten`] for a number that is older than the device remembers; others.
    pub fn transaction_outcome(&mut self, id: TransactionId) -> Result<SplitOutcome, HostError> {
        self.client.transaction_outcome(id)
    }

    /// Writes a batch as a transaction. Deletes of keys that are not there succeed.
    pub(super) fn write_atomic(&mut self, batch: &WriteBatch) -> Result<(), HostError> {
        let mut gone = BTreeSet::new();
        let mut attempts = 0;
        while !batch.is_empty() {
            let entry = |(key, value): (&'_ [u8], Option<&'_ [u8]>)| match value {
                Some(value) => (Ask::Op(Op::Store), key.to_vec(), value.to_vec()),
                None if gone.contains(key) => (Ask::Absent, key.to_vec(), Vec::new()),
                None => (Ask::Op(Op::Delete), key.to_vec(), Vec::new()),
            };
            let entries: Vec<_> = batch.iter().map(entry).collect();
            let lent: Vec<_> =
                entries.iter().map(|(ask, key, rest)| -> ToAsk<'_> { (*ask, key, rest) }).collect();
            let Err(refused) = self.transaction(&lent)? else { return Ok(()) };
            let key = entries.get(refused.place).map(|(_, key, _)| key.clone()).unwrap_or_default();
            attempts += 1;
            match refused.status {
                _ if attempts > ATTEMPTS_MAX => return Err(HostError::Conflict { key }),
                status if status.is(Status::KEY_DOES_NOT_EXIST) => _ = gone.insert(key),
                status if status.is(Status::PRECONDITION_FAILED) => _ = gone.remove(&key),
                status => {
                    let bytes = entries.iter().map(|(_, key, value)| key.len() + value.len()).sum();
                    return Err(self.client.refusal(status, key, bytes));
                }
            }
        }
        Ok(())
    }

    fn takes_long(&self, key: &[u8]) -> bool {
        is_enveloped(key) && self.client.has_long_keys_in_transactions()
    }

    /// Checks keys that only the host can judge.
    pub(super) fn transaction(&mut self, entries: &[ToAsk<'_>]) -> Result<TransactionOutcome, HostError> {
        self.check_keys(entries)?;
        let outcome = self.client.transaction(entries)?;
        match outcome {
            Err(refused) if refused.status.is(Status::NO_TRANSACTIONS) => {
                Err(self.client.probe_transactions().err().unwrap_or(refused.status.into()))
            }
            outcome => Ok(outcome),
        }
    }

    fn check_keys(&self, entries: &[ToAsk<'_>]) -> Result<(), HostError> {
        for (ask, key, _) in entries {
            if key.len() > KEY_BYTES_MAX {
                return Err(HostError::KeyLength(key.len()));
            }
            if *ask == Ask::Op(Op::Store) {
                self.check_storable(key)?;
            }
            if !matches!(route(key, &self.digest)?, Route::Native(_)) && !self.takes_long(key) {
                return Err(HostError::NoTransactions(ENVELOPES));
            }
        }
        Ok(())
    }
}

/// Whether nobody knows what became of a transaction: no answer came, or its parts were gone when its commit came.
fn is_lost(status: Status) -> bool {
    status.is(Status::ABORTED_BY_HOST) || status.is(Status::NO_SUCH_TRANSACTION)
}

/// Why a key that goes through an envelope of the host's cannot be in a transaction.
const ENVELOPES: &str =
    "this device has no keys in them that are longer than 16 bytes, or have 16 and begin with FFh 4Bh";
