// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions that only read.

use super::Kv;
use saker_host::{HostError, KeyRange, KvError, Moment, ScanOptions, TransactionSet};

/// Runs of a read before [`Kv::read`] gives up.
const RUNS_MAX: u32 = 10_000;

/// A transaction that only reads. With the engines `lsm` and `tree` all it reads is as of the moment of its begin, whatever is written meanwhile,
/// and nothing can refuse it. With the others it is optimistic: [`end`](Self::end) says whether all was true at one moment.
/// Dropping it ends it.
///
/// ```
/// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
/// use saker::ReadTransaction;
/// kv.put(b"alice", b"70")?;
/// kv.put(b"bob", b"30")?;
/// let mut read: ReadTransaction<'_> = kv.begin_read()?;
/// assert!(read.is_of_one_moment());
/// assert_eq!(read.get(b"alice")?, Some(b"70".to_vec()));
/// assert_eq!(read.get(b"bob")?, Some(b"30".to_vec()));
/// read.end()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ReadTransaction<'k> {
    kv: &'k mut Kv,
    how: How,
}

#[derive(Debug)]
enum How {
    /// The device shows one moment.
    Moment(Moment),
    /// What was read is compared at the end.
    Checked(TransactionSet),
}

impl Kv {
    /// Begins a [`ReadTransaction`].
    ///
    /// # Errors
    /// [`HostError::NoTransactions`] where there are neither moments nor transactions; [`KvError::ManyIterators`] with 16 open already.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=hash_store")?;
    /// let mut read = kv.begin_read()?;
    /// assert!(!read.is_of_one_moment(), "this engine keeps no earlier state: what was read is checked at the end");
    /// assert_eq!(read.get(b"key")?, None);
    /// read.end()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin_read(&mut self) -> Result<ReadTransaction<'_>, HostError> {
        let how = match self.store.open_moment()? {
            Some(moment) => How::Moment(moment),
            None => How::Checked(self.begin_transaction()?.suspend()),
        };
        Ok(ReadTransaction { kv: self, how })
    }

    /// Runs `body` in a transaction that only reads, again and again while others change what it reads, or the device gives its moment up.
    ///
    /// # Errors
    /// Those of `body`, unless they are of these kinds; these after 10,000 runs.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"alice", b"70")?;
    /// kv.put(b"bob", b"30")?;
    /// let mut sum = 0;
    /// kv.read(&mut |read| {
    ///     let of = |value: Option<Vec<u8>>| String::from_utf8(value.unwrap_or_default()).ok().and_then(|v| v.parse().ok()).unwrap_or(0);
    ///     sum = of(read.get(b"alice")?) + of(read.get(b"bob")?);
    ///     Ok(())
    /// })?;
    /// assert_eq!(sum, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(
        &mut self,
        body: &mut dyn FnMut(&mut ReadTransaction<'_>) -> Result<(), HostError>,
    ) -> Result<(), HostError> {
        let mut runs = 0;
        loop {
            let mut read = self.begin_read()?;
            let outcome = body(&mut read);
            let ended = read.end();
            runs += 1;
            match outcome.and(ended) {
                Err(HostError::Conflict { .. } | HostError::Kv(KvError::IteratorLost)) if runs < RUNS_MAX => {
                }
                outcome => return outcome,
            }
        }
    }
}

impl ReadTransaction<'_> {
    /// Whether all reads are of one moment, and [`end`](Self::end) refuses nothing.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=tree")?;
    /// assert!(kv.begin_read()?.is_of_one_moment());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn is_of_one_moment(&self) -> bool {
        matches!(self.how, How::Moment(_))
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`HostError::Conflict`] if the key has changed since it was read before, with engines without moments;
    /// [`KvError::IteratorLost`] if the device has given the moment up: the connection was lost, or an eighth of the capacity was written
    /// meanwhile. Begin again then.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// kv.put(b"key", b"value")?;
    /// let mut read = kv.begin_read()?;
    /// assert_eq!(read.get(b"key")?, Some(b"value".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        match &mut self.how {
            How::Moment(moment) => self.kv.store.get_then(moment, key),
            How::Checked(set) => {
                let mut txn = self.kv.resume_transaction(std::mem::take(set));
                let found = txn.get(key);
                *set = txn.suspend();
                found
            }
        }
    }

    /// Whether there is such a pair.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// assert!(!kv.begin_read()?.exists(b"key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exists(&mut self, key: &[u8]) -> Result<bool, HostError> {
        self.get(key).map(|value| value.is_some())
    }

    /// The pairs of a range: keys of up to 16 bytes in the order of their bytes, longer ones behind them.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`HostError::NoTransactions`] of engines that keep no order of keys.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// kv.put(b"user:1", b"Ada")?;
    /// kv.put(b"user:with a long name", b"Grace")?;
    /// let mut read = kv.begin_read()?;
    /// let users = read.scan(&saker::KeyRange { prefix: b"user:", ..Default::default() })?;
    /// assert_eq!(users.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "pairs of keys and values say more than a name")]
    pub fn scan(&mut self, range: &KeyRange<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>, HostError> {
        match &mut self.how {
            How::Moment(moment) => {
                let options = ScanOptions { range: *range, ..ScanOptions::default() };
                self.kv.store.scan_then(moment, &options)
            }
            How::Checked(set) => {
                let mut txn = self.kv.resume_transaction(std::mem::take(set));
                let found = txn.scan(range);
                *set = txn.suspend();
                found
            }
        }
    }

    /// Ends it. What was read was true at one moment between its begin and its end.
    ///
    /// # Errors
    /// [`HostError::Conflict`] with the key that has changed since it was read, with engines without moments: begin again.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// let mut read = kv.begin_read()?;
    /// read.exists(b"key")?;
    /// read.end()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn end(self) -> Result<(), HostError> {
        let Self { kv, how } = self;
        match how {
            How::Moment(moment) => kv.store.close_moment(moment),
            How::Checked(set) => kv.resume_transaction(set).commit(),
        }
    }
}
