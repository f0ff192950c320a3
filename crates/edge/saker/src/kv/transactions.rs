// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions: pairs that are read and written as if nobody else were there.

use super::Kv;
use saker_host::{HostError, KeyRange, Require, TransactionEnd, TransactionSet, Versioned, bounds};
use saker_nvme::group::{SplitOutcome, TransactionId};
use std::collections::BTreeMap;

/// Runs of a transaction before [`Kv::transact`] gives up: each time somebody else has changed what it read.
const RUNS_MAX: u32 = 10_000;

/// Longest key in bytes.
const KEY_BYTES_MAX: usize = 255;

/// A transaction that is being put together. Nothing of it is at the device before [`commit`](Transaction::commit), which sends one
/// command: all of it is done or nothing. Dropping it is [`abort`](Transaction::abort).
///
/// It is optimistic, as RocksDB's OptimisticTransactionDB and FoundationDB are: nothing is locked. Each read notes the version of the
/// pair, also that there is none; the commit is refused if one of them has changed since, with the key
/// ([`HostError::Conflict`]). Transactions that are carried out are strictly serializable: as if each took place at one
/// moment between its begin and its end. What a transaction reads may be of several moments until it is committed; who acts on
/// it outside waits for the commit.
///
/// ```
/// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
/// use saker::Transaction;
/// kv.put(b"stock", b"3")?;
/// let mut txn: Transaction<'_> = kv.begin_transaction()?;
/// assert_eq!(txn.get(b"stock")?, Some(b"3".to_vec()));
/// txn.put(b"stock", b"2")?;
/// txn.put(b"order:1", b"one of them")?;
/// assert_eq!(txn.get(b"stock")?, Some(b"2".to_vec()), "it reads what it writes");
/// txn.commit()?;
/// assert!(kv.exists(b"order:1")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens before commit"]
pub struct Transaction<'k> {
    kv: &'k mut Kv,
    set: TransactionSet,
}

impl Kv {
    /// Whether the device has transactions, and the engine of this namespace too: every engine here has. Asked once.
    ///
    /// # Errors
    /// [`HostError`], if it cannot be asked.
    ///
    /// ```
    /// assert!(saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?.has_transactions()?);
    /// assert!(saker::Kv::open("mem:?size=16MiB&profile=tiny&engine=hash_plus")?.has_transactions()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_transactions(&mut self) -> Result<bool, HostError> {
        if !self.transactions {
            match self.store.probe_transactions() {
                Ok(()) => self.transactions = true,
                Err(HostError::NoTransactions(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Begins a [`Transaction`].
    ///
    /// # Errors
    /// [`HostError::NoTransactions`] where there are none: see [`Kv::has_transactions`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = kv.begin_transaction()?;
    /// txn.put(b"one", b"1")?;
    /// txn.put(b"two", b"2")?;
    /// txn.commit()?; // both, in one command
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin_transaction(&mut self) -> Result<Transaction<'_>, HostError> {
        if !self.transactions {
            self.store.probe_transactions()?;
            self.transactions = true;
        }
        Ok(Transaction { kv: self, set: TransactionSet::default() })
    }

    /// Goes on with a transaction that was [suspended](Transaction::suspend).
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = kv.begin_transaction()?;
    /// txn.put(b"key", b"value")?;
    /// let set: saker::TransactionSet = txn.suspend();
    /// assert!(!kv.exists(b"key")?, "other calls are possible in between");
    /// kv.resume_transaction(set).commit()?;
    /// assert!(kv.exists(b"key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn resume_transaction(&mut self, set: TransactionSet) -> Transaction<'_> {
        Transaction { kv: self, set }
    }

    /// Runs `body` in a transaction and commits it, again and again while others change what it has read. `body` may run many
    /// times, so it does nothing outside the transaction; if it returns an error nothing is done.
    ///
    /// # Errors
    /// Those of `body`, unless they are conflicts; [`HostError::Unmet`]; [`HostError::Conflict`] after 10,000 runs; others of
    /// [`Transaction::commit`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"visits", b"41")?;
    /// kv.transact(&mut |txn| {
    ///     let visits = txn.get(b"visits")?.unwrap_or_default();
    ///     let visits: u64 = String::from_utf8_lossy(&visits).parse().unwrap_or(0);
    ///     txn.put(b"visits", (visits + 1).to_string().as_bytes())
    /// })?;
    /// assert_eq!(kv.get(b"visits")?, Some(b"42".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transact(
        &mut self,
        body: &mut dyn FnMut(&mut Transaction<'_>) -> Result<(), HostError>,
    ) -> Result<(), HostError> {
        let mut runs = 0;
        loop {
            let mut txn = self.begin_transaction()?;
            let outcome = body(&mut txn);
            let outcome = outcome.and_then(|()| txn.commit());
            runs += 1;
            match outcome {
                Err(HostError::Conflict { .. }) if runs < RUNS_MAX => {}
                outcome => return outcome,
            }
        }
    }

    /// Whether lists and scans show what the device keeps of transactions with an ID, too: who copies all pairs copies these.
    pub(crate) fn show_outcomes(&mut self, shows: bool) {
        self.store.show_outcomes(shows);
    }

    /// What became of the transaction of an ID ([`Transaction::commit_as`]).
    ///
    /// # Errors
    /// [`KvError::Forgotten`](crate::KvError::Forgotten) for a number that is older than the device remembers;
    /// [`HostError::NoTransactions`] of devices that have none with an ID.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker::{SplitOutcome, TransactionId};
    /// let id = TransactionId { host: [7; 16], number: 1 };
    /// assert_eq!(kv.transaction_outcome(id)?, SplitOutcome::NotDone);
    /// kv.begin_transaction()?.commit_as(id)?;
    /// assert_eq!(kv.transaction_outcome(id)?, SplitOutcome::DoneBefore);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transaction_outcome(&mut self, id: TransactionId) -> Result<SplitOutcome, HostError> {
        self.store.transaction_outcome(id)
    }

    /// The value of a key with its version, which no other write of the key has or will have: for who keeps versions
    /// elsewhere, and requires them later ([`Require::Version`]). A power cycle of the device ends them, and
    /// with `hash_store` a collection may: what is required then does not hold.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker::{HostError, PairVersion, Require, Versioned};
    /// assert_eq!(kv.get_versioned(b"key")?.version, PairVersion::ABSENT);
    /// kv.put(b"key", b"old")?;
    /// let seen: Versioned = kv.get_versioned(b"key")?;
    /// kv.put(b"key", b"new")?;
    /// let mut txn = kv.begin_transaction()?;
    /// txn.require(b"key", Require::Version(seen.version))?;
    /// txn.put(b"key", b"mine")?;
    /// assert_eq!(txn.commit(), Err(HostError::Unmet { key: b"key".to_vec() }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_versioned(&mut self, key: &[u8]) -> Result<Versioned, HostError> {
        self.store.get_versioned(key)
    }
}

impl<'k> Transaction<'k> {
    /// The value of a key: what this transaction has written, or what is stored, which must not change until the commit.
    ///
    /// # Errors
    /// [`HostError::Conflict`] if the key has changed since it was read before; others.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = kv.begin_transaction()?;
    /// assert_eq!(txn.get(b"key")?, None);
    /// txn.put(b"key", b"value")?; // the commit is refused if somebody stores the key until then
    /// txn.commit()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        if let Some(written) = self.set.written(key) {
            return Ok(written.map(<[u8]>::to_vec));
        }
        let found = self.kv.store.get_versioned(key)?;
        match self.set.version(key) {
            Some(before) if before != found.version => Err(HostError::Conflict { key: key.to_vec() }),
            _ => {
                self.set.read(key, found.version);
                Ok(found.value)
            }
        }
    }

    /// Whether there is such a pair: as [`get`](Transaction::get), without its value.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = kv.begin_transaction()?;
    /// txn.put(b"key", b"value")?;
    /// assert!(txn.exists(b"key")? && !txn.exists(b"other")?);
    /// txn.abort();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exists(&mut self, key: &[u8]) -> Result<bool, HostError> {
        match self.set.written(key) {
            Some(written) => Ok(written.is_some()),
            None => Ok(!self.known_version(key)?.is_absent()),
        }
    }

    fn known_version(&mut self, key: &[u8]) -> Result<saker_host::group::PairVersion, HostError> {
        if let Some(version) = self.set.version(key) {
            return Ok(version);
        }
        let version = self.kv.store.version(key)?;
        self.set.read(key, version);
        Ok(version)
    }

    /// The pairs of a range in the order of their keys: those that are stored, which must not change until the commit, with what this
    /// transaction has written. Neither may a key be added to the range: such phantoms are conflicts, too. On `lsm` and `tree`, which
    /// keep keys in order. That of keys of more than 16 bytes the device does not know: a transaction that has scanned relies on all of
    /// them, in the range or not, so where there are many a scan takes long, its commit may not fit a command, and whoever writes one is a conflict.
    ///
    /// # Errors
    /// [`HostError::NoTransactions`] on other engines, [`HostError::KeyLength`] for bounds of more than 16 bytes;
    /// [`HostError::Conflict`] if a key has changed since it was read before; others.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// use saker::KeyRange;
    /// kv.put(b"order:1", b"30")?;
    /// kv.put(b"order:2", b"12")?;
    /// kv.transact(&mut |txn| {
    ///     let orders = txn.scan(&KeyRange { prefix: b"order:", ..KeyRange::default() })?;
    ///     let sum: u32 = orders.iter().filter_map(|(_, v)| String::from_utf8_lossy(v).parse::<u32>().ok()).sum();
    ///     txn.put(b"sum", sum.to_string().as_bytes()) // of all orders there are when it is committed
    /// })?;
    /// assert_eq!(kv.get(b"sum")?, Some(b"42".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "pairs of keys and values say more than a name")]
    pub fn scan(&mut self, range: &KeyRange<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>, HostError> {
        let Some((from, to)) = bounds(range)? else { return Ok(Vec::new()) };
        let mut pairs = BTreeMap::new();
        let found = self.kv.store.scan_versioned(&from, &to)?;
        for (key, now) in found.pairs.iter().chain(&found.beside) {
            if self.set.version(key).is_some_and(|before| before != now.version) {
                return Err(HostError::Conflict { key: key.clone() });
            }
            self.set.read(key, now.version);
        }
        pairs.extend(found.pairs.into_iter().filter_map(|(key, now)| now.value.map(|value| (key, value))));
        let keys: Vec<_> = pairs.keys().cloned().collect();
        self.set.counted(&from, &to, &keys, found.marked);
        let is_inside = |key: &[u8]| key >= &from[..] && (to.is_empty() || key < &to[..]);
        for (key, written) in self.set.writes().filter(|(key, _)| is_inside(key)) {
            match written {
                Some(value) => _ = pairs.insert(key.to_vec(), value.to_vec()),
                None => _ = pairs.remove(key),
            }
        }
        Ok(pairs.into_iter().collect())
    }

    /// Stores a pair when the transaction is committed.
    ///
    /// # Errors
    /// [`HostError::KeyLength`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = kv.begin_transaction()?;
    /// txn.put(b"key", b"old")?;
    /// txn.put(b"key", b"new")?; // replaces it
    /// txn.commit()?;
    /// assert_eq!(kv.get(b"key")?, Some(b"new".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        check(key)?;
        self.kv.store.check_storable(key)?;
        self.set.write(key, Some(value));
        Ok(())
    }

    /// Deletes a pair when the transaction is committed; whether it is there. That counts as a read.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"key", b"value")?;
    /// let mut txn = kv.begin_transaction()?;
    /// assert!(txn.delete(b"key")? && !txn.delete(b"never there")?);
    /// txn.commit()?;
    /// assert!(!kv.exists(b"key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, HostError> {
        check(key)?;
        let stored = !self.known_version(key)?.is_absent();
        let is_there = self.set.written(key).map_or(stored, |written| written.is_some());
        self.set.write(key, None);
        Ok(is_there)
    }

    /// Requires something of a pair as it is stored when the transaction is committed; what this transaction writes does not count.
    ///
    /// # Errors
    /// [`HostError::KeyLength`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker::{HostError, Require};
    /// kv.put(b"state", b"closed")?;
    /// let mut txn = kv.begin_transaction()?;
    /// txn.require(b"state", Require::Value(b"open".to_vec()))?;
    /// txn.require(b"order:1", Require::Absent)?;
    /// txn.put(b"order:1", b"...")?;
    /// assert_eq!(txn.commit(), Err(HostError::Unmet { key: b"state".to_vec() }));
    /// assert!(!kv.exists(b"order:1")?, "nothing of it was done");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn require(&mut self, key: &[u8], what: Require) -> Result<(), HostError> {
        check(key)?;
        self.set.require(key, what);
        Ok(())
    }

    /// Carries the transaction out, in one command. It is as durable as a put.
    ///
    /// # Errors
    /// [`HostError::Conflict`] with the key that somebody else has changed since it was read: begin again, or leave that to
    /// [`Kv::transact`]. [`HostError::Unmet`] with the key of which something is required that does not hold.
    /// [`HostError::TransactionLength`] for more than one command takes, which is never split. [`HostError::Batch`] with a write
    /// that cannot be carried out, [`KvError::Full`](crate::KvError::Full). Nothing was done then. Without an answer
    /// ([`KvError::OutcomeUnknown`](crate::KvError::OutcomeUnknown)) all was done or nothing.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker::HostError;
    /// let mut txn = kv.begin_transaction()?;
    /// for n in 0..30_u8 {
    ///     txn.put(&[n + 1], &vec![n; 60_000])?;
    /// }
    /// assert!(matches!(txn.commit(), Err(HostError::TransactionLength { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(self) -> Result<(), HostError> {
        let Self { kv, set } = self;
        let outcome = kv.store.commit(&set);
        set.writes().for_each(|(key, value)| kv.cache.wrote(key, value, outcome.is_ok()));
        outcome
    }

    /// Carries the transaction out under an ID, once: if one of that ID was carried out before, nothing is done and the answer says so. A
    /// commit whose answer is lost is sent again by itself, over a new connection. It may be longer than a command; what it writes is
    /// not ([`HostError::TransactionLength`]).
    ///
    /// The device remembers what was carried out as durably as what it wrote: of each host the last 4,096 numbers, in up to 17 pairs of
    /// 64 bytes that scans do not show.
    ///
    /// # Errors
    /// As [`commit`](Self::commit). [`KvError::OutcomeUnknown`](crate::KvError::OutcomeUnknown): no answer came to several attempts.
    /// [`KvError::Forgotten`](crate::KvError::Forgotten): the number is older than the device remembers, and nothing was done.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker::{SplitOutcome, TransactionEnd, TransactionId};
    /// let order = TransactionId { host: *b"the shop's ID...", number: 17 }; // 16 bytes that nobody else has
    /// for answer in [TransactionEnd::Done, TransactionEnd::DoneBefore] {
    ///     let mut txn = kv.begin_transaction()?;
    ///     txn.put(b"stock", b"4")?;
    ///     assert_eq!(txn.commit_as(order)?, answer);
    /// }
    /// assert_eq!(kv.transaction_outcome(order)?, SplitOutcome::DoneBefore);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit_as(self, id: TransactionId) -> Result<TransactionEnd, HostError> {
        let Self { kv, set } = self;
        let outcome = kv.store.commit_as(id, &set);
        // What was written before may have been replaced since.
        let is_done = outcome == Ok(TransactionEnd::Done);
        set.writes().for_each(|(key, value)| kv.cache.wrote(key, value, is_done));
        outcome
    }

    /// Sets the transaction aside, with what it has read and written: [`Kv::resume_transaction`] goes on with it, on this device.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = kv.begin_transaction()?;
    /// txn.get(b"key")?;
    /// txn.put(b"other", b"value")?;
    /// let set = txn.suspend();
    /// kv.put(b"key", b"changed")?;
    /// assert!(kv.resume_transaction(set).commit().is_err(), "what was read has changed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn suspend(self) -> TransactionSet {
        self.set
    }

    /// The device and what was put together.
    pub(super) fn into_parts(self) -> (&'k mut Kv, TransactionSet) {
        (self.kv, self.set)
    }

    /// Forgets the transaction. Dropping it does the same.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = kv.begin_transaction()?;
    /// txn.put(b"key", b"value")?;
    /// txn.abort();
    /// assert!(!kv.exists(b"key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn abort(self) {
        drop(self);
    }
}

fn check(key: &[u8]) -> Result<(), HostError> {
    if key.is_empty() || key.len() > KEY_BYTES_MAX { Err(HostError::KeyLength(key.len())) } else { Ok(()) }
}
