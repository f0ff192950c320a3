// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions that borrow nothing.

use super::prefix::ROOM;
use super::{Store, StoreError};
use crate::kv::{CommitThroughError, Transaction};
use saker_host::{HostError, Require, TransactionEnd, TransactionSet};
use saker_nvme::group::{SplitOutcome, TransactionId};

/// Runs of a transaction before [`Store::transact`] gives up.
const RUNS_MAX: u32 = 10_000;

/// A transaction that is being put together: as [`Transaction`](crate::Transaction), but it borrows no device, and other calls come in between.
/// Nothing of it is at the device before it is committed; dropping it forgets it. Its keys are those of its store.
///
/// ```
/// use saker::{HostError, Store, StoreError, StoreTransaction};
/// let store = Store::open("mem:?size=4MiB&profile=tiny")?;
/// let mut txn: StoreTransaction = store.begin()?;
/// assert_eq!(txn.get("key")?, None);
/// txn.put("other", "value")?;
/// store.put("key", "somebody else")?;
/// assert!(matches!(txn.commit(), Err(StoreError::Host(HostError::Conflict { key })) if key == b"key"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens before commit"]
pub struct StoreTransaction {
    store: Store,
    set: TransactionSet,
}

impl Store {
    /// Begins a transaction.
    ///
    /// # Errors
    /// [`HostError::NoTransactions`] where there are none.
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = store.begin()?;
    /// txn.put("one", "1")?;
    /// txn.put("two", "2")?;
    /// txn.commit()?; // both
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin(&self) -> Result<StoreTransaction, StoreError> {
        let set = self.with(|kv| kv.begin_transaction().map(Transaction::suspend))?;
        Ok(StoreTransaction { store: self.clone(), set })
    }

    /// Runs `body` in a transaction and commits it, again and again while others change what it has read. `body` may run many times, so it does
    /// nothing outside the transaction; if it returns an error nothing is done.
    ///
    /// # Errors
    /// Those of `body`, unless they are conflicts; [`HostError::Unmet`]; [`HostError::Conflict`] after 10,000 runs.
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// let visits = store.transact(|txn| {
    ///     let visits = txn.get("visits")?.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap_or_default()));
    ///     txn.put("visits", (visits + 1).to_be_bytes())?;
    ///     Ok(visits + 1)
    /// })?;
    /// assert_eq!(visits, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transact<R>(
        &self,
        mut body: impl FnMut(&mut StoreTransaction) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let mut runs = 0;
        loop {
            let mut txn = self.begin()?;
            let outcome = body(&mut txn).and_then(|result| txn.commit().map(|()| result));
            runs += 1;
            match outcome {
                Err(StoreError::Host(HostError::Conflict { .. })) if runs < RUNS_MAX => {}
                outcome => return outcome,
            }
        }
    }
}

impl Store {
    /// What became of the transaction of an ID ([`StoreTransaction::commit_as`]).
    ///
    /// # Errors
    /// As [`Kv::transaction_outcome`](crate::Kv::transaction_outcome).
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker::{SplitOutcome, TransactionId};
    /// let id = TransactionId { host: [7; 16], number: 1 };
    /// assert_eq!(store.transaction_outcome(id)?, SplitOutcome::NotDone);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transaction_outcome(&self, id: TransactionId) -> Result<SplitOutcome, StoreError> {
        self.with(|kv| kv.transaction_outcome(id))
    }
}

impl StoreTransaction {
    /// Does something in the transaction, whatever comes of it.
    fn with<R>(
        &mut self,
        key: &[u8],
        work: impl FnOnce(&mut Transaction<'_>, &[u8]) -> Result<R, HostError>,
    ) -> Result<R, StoreError> {
        let Self { store, set } = self;
        let mut room = ROOM;
        let key = store.prefix.key(key, &mut room)?;
        store.with(|kv| {
            let mut txn = kv.resume_transaction(std::mem::take(set));
            let outcome = work(&mut txn, key);
            *set = txn.suspend();
            outcome
        })
    }

    /// The value of a key, which must not change until the commit.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = store.begin()?;
    /// txn.put("key", "value")?;
    /// assert_eq!(txn.get("key")?, Some(b"value".to_vec()), "it reads what it writes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&mut self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>, StoreError> {
        self.with(key.as_ref(), |txn, key| txn.get(key))
    }

    /// Whether there is such a pair, which must not change until the commit.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// assert!(!store.begin()?.exists("key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exists(&mut self, key: impl AsRef<[u8]>) -> Result<bool, StoreError> {
        self.with(key.as_ref(), |txn, key| txn.exists(key))
    }

    /// Stores a pair when the transaction is committed.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = store.begin()?;
    /// txn.put("key", "value")?;
    /// assert!(!store.exists("key")?, "nothing of it is at the device");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<(), StoreError> {
        self.with(key.as_ref(), |txn, key| txn.put(key, value.as_ref()))
    }

    /// Deletes a pair when the transaction is committed; whether it is there.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// assert!(!store.begin()?.delete("key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<bool, StoreError> {
        self.with(key.as_ref(), |txn, key| txn.delete(key))
    }

    /// Requires something of a pair as it is stored at the commit.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = store.begin()?;
    /// txn.require("key", saker::Require::Present)?;
    /// txn.put("other", "value")?;
    /// assert!(matches!(txn.commit(), Err(saker::StoreError::Host(saker::HostError::Unmet { .. }))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn require(&mut self, key: impl AsRef<[u8]>, what: Require) -> Result<(), StoreError> {
        self.with(key.as_ref(), |txn, key| txn.require(key, what))
    }

    /// Carries it out: all of it or nothing.
    ///
    /// # Errors
    /// [`StoreError`]: [`HostError::Conflict`] and [`HostError::Unmet`] name the key.
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = store.begin()?;
    /// txn.put("key", "value")?;
    /// txn.commit()?;
    /// assert!(store.exists("key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(self) -> Result<(), StoreError> {
        let Self { store, set } = self;
        store.with(|kv| kv.resume_transaction(set).commit())
    }

    /// As [`commit`](Self::commit), and returns when the transaction survives a power cut. Threads that commit at the same time share a Flush.
    ///
    /// # Errors
    /// [`CommitThroughError`], which tells a transaction that was not carried out from one that was not flushed.
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = store.begin()?;
    /// txn.put("order:1", "paid")?;
    /// txn.commit_through()?; // it survives a power cut from here on
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit_through(self) -> Result<(), CommitThroughError<StoreError>> {
        let Self { store, set } = self;
        let commit = store.with(|kv| kv.commit_counted(set)).map_err(CommitThroughError::Commit)?;
        // Others commit before this call has the device again: the first Flush covers them, too.
        store.with(|kv| kv.cover(commit)).map_err(CommitThroughError::Unflushed)
    }

    /// Carries it out under an ID, once, as [`Transaction::commit_as`]. The ID belongs to the device: its stores share numbers.
    ///
    /// # Errors
    /// As [`commit`](Self::commit); [`KvError::OutcomeUnknown`](crate::KvError::OutcomeUnknown): no answer came to several attempts;
    /// [`KvError::Forgotten`](crate::KvError::Forgotten): the number is older than the device remembers.
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker::{TransactionEnd, TransactionId};
    /// let order = TransactionId { host: *b"the shop's ID...", number: 17 };
    /// for answer in [TransactionEnd::Done, TransactionEnd::DoneBefore] {
    ///     let mut txn = store.begin()?;
    ///     txn.put("stock", "4")?;
    ///     assert_eq!(txn.commit_as(order)?, answer);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit_as(self, id: TransactionId) -> Result<TransactionEnd, StoreError> {
        let Self { store, set } = self;
        store.with(|kv| kv.resume_transaction(set).commit_as(id))
    }
}
