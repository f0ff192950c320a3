// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions that borrow nothing.

use crate::{Fault, Store};
use saker::{Require, SplitOutcome, StoreError, StoreTransaction, TransactionEnd, TransactionId};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A transaction that is being put together. Nothing of it is at the device before it is committed; dropping it forgets it.
///
/// ```
/// let store = saker_handle::Store::open("mem:?size=4MiB&profile=tiny")?;
/// let txn = store.begin()?;
/// assert_eq!(txn.get(b"key")?, None);
/// txn.put(b"other", b"value")?;
/// store.put(b"key", b"somebody else")?;
/// let fault = txn.commit().unwrap_err();
/// assert_eq!((fault.class, fault.key), (saker_handle::Class::Conflict, Some(b"key".to_vec())));
/// # Ok::<(), saker_handle::Fault>(())
/// ```
#[derive(Debug)]
pub struct Transaction {
    store: saker::Store,
    /// `None` when it was committed or aborted.
    txn: Mutex<Option<StoreTransaction>>,
}

impl Store {
    /// Begins a transaction.
    ///
    /// # Errors
    /// [`Fault`] of class [`Class::NoTransactions`](crate::Class::NoTransactions) where there are none.
    pub fn begin(&self) -> Result<Transaction, Fault> {
        let txn = Mutex::new(Some(self.store.begin()?));
        Ok(Transaction { store: self.store.clone(), txn })
    }

    /// What became of the transaction of an ID ([`Transaction::commit_as`]).
    ///
    /// # Errors
    /// [`Fault`] of class [`Class::OutcomeUnknown`](crate::Class::OutcomeUnknown) for a number that is older than the device remembers;
    /// [`Class::NoTransactions`](crate::Class::NoTransactions) where there are none with an ID.
    pub fn transaction_outcome(&self, id: TransactionId) -> Result<SplitOutcome, Fault> {
        Ok(self.store.transaction_outcome(id)?)
    }
}

impl Transaction {
    fn txn(&self) -> Result<MutexGuard<'_, Option<StoreTransaction>>, StoreError> {
        self.store.check()?;
        Ok(self.txn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does something in the transaction, whatever comes of it.
    fn with<R>(&self, work: impl FnOnce(&mut StoreTransaction) -> Result<R, StoreError>) -> Result<R, Fault> {
        Ok(work(self.txn()?.as_mut().ok_or(StoreError::Ended)?)?)
    }

    /// The value of a key, which must not change until the commit.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        self.with(|txn| txn.get(key))
    }

    /// Whether there is such a pair.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn exists(&self, key: &[u8]) -> Result<bool, Fault> {
        self.with(|txn| txn.exists(key))
    }

    /// Stores a pair when the transaction is committed.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.with(|txn| txn.put(key, value))
    }

    /// Deletes a pair when the transaction is committed; whether it is there.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn delete(&self, key: &[u8]) -> Result<bool, Fault> {
        self.with(|txn| txn.delete(key))
    }

    /// Requires something of a pair as it is stored at the commit.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn require(&self, key: &[u8], what: Require) -> Result<(), Fault> {
        self.with(|txn| txn.require(key, what))
    }

    /// Carries it out: all of it or nothing. It has ended then.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn commit(&self) -> Result<(), Fault> {
        let txn = self.txn()?.take().ok_or(StoreError::Ended)?;
        Ok(txn.commit()?)
    }

    /// As [`commit`](Self::commit), and returns when the transaction survives a power cut. Threads that commit at the same time share a Flush.
    ///
    /// ```
    /// let store = saker_handle::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// let txn = store.begin()?;
    /// txn.put(b"order:1", b"paid")?;
    /// txn.commit_through()?;
    /// # Ok::<(), saker_handle::Fault>(())
    /// ```
    ///
    /// # Errors
    /// [`Fault`]; of class [`Class::Unflushed`](crate::Class::Unflushed) if it was carried out, but not flushed.
    pub fn commit_through(&self) -> Result<(), Fault> {
        let txn = self.txn()?.take().ok_or(StoreError::Ended)?;
        Ok(txn.commit_through()?)
    }

    /// Carries it out under an ID, once: if one of that ID was carried out before, nothing is done. It has ended then.
    ///
    /// ```
    /// use saker_handle::{Store, TransactionEnd, TransactionId};
    /// let store = Store::open("mem:?size=4MiB&profile=tiny")?;
    /// let id = TransactionId { host: *b"the shop's ID...", number: 17 };
    /// for answer in [TransactionEnd::Done, TransactionEnd::DoneBefore] {
    ///     let txn = store.begin()?;
    ///     txn.put(b"stock", b"4")?;
    ///     assert_eq!(txn.commit_as(id)?, answer);
    /// }
    /// # Ok::<(), saker_handle::Fault>(())
    /// ```
    ///
    /// # Errors
    /// [`Fault`]; of class [`Class::OutcomeUnknown`](crate::Class::OutcomeUnknown) if no answer came to several attempts, or the number is
    /// older than the device remembers.
    pub fn commit_as(&self, id: TransactionId) -> Result<TransactionEnd, Fault> {
        let txn = self.txn()?.take().ok_or(StoreError::Ended)?;
        Ok(txn.commit_as(id)?)
    }

    /// Forgets it. Forgetting it again does nothing.
    pub fn abort(&self) {
        if let Ok(mut txn) = self.txn() {
            *txn = None;
        }
    }

    /// Whether it was committed or aborted.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.txn().map_or(true, |txn| txn.is_none())
    }
}
