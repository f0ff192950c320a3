// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commits that end when they survive a power cut. Those of several threads share a Flush: one covers all that was carried out before it.

use super::{Kv, Transaction};
use saker_host::{HostError, KvError};

/// Why [`Transaction::commit_through`] failed.
///
/// ```
/// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
/// use saker::{CommitThroughError, HostError, Require};
/// let mut txn = kv.begin_transaction()?;
/// txn.require(b"key", Require::Present)?;
/// let refused = txn.commit_through().unwrap_err();
/// assert_eq!(refused, CommitThroughError::Commit(HostError::Unmet { key: b"key".to_vec() }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitThroughError<E = HostError> {
    /// As the same error of [`Transaction::commit`].
    #[error(transparent)]
    Commit(E),
    /// It was carried out, and whether it survives a power cut is not known. If the connection was lost meanwhile, whether a cut has taken it
    /// already is not known either.
    #[error(
        "the transaction was carried out, but not flushed: {0}; look whether it is there, then flush again"
    )]
    Unflushed(E),
}

/// A commit: its number among those of its device's handle, and how often the connection had been made anew by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commit {
    reconnects: u64,
    number: u64,
}

impl Commit {
    /// Whether a Flush that covers `self` covers another one. One before a connection was lost is not covered behind it: a power cut may lie
    /// between.
    fn covers(self, other: Self) -> bool {
        self.reconnects == other.reconnects && self.number >= other.number
    }
}

/// Which commits a Flush has covered.
#[derive(Debug, Default)]
pub(super) struct Through {
    commits: u64,
    /// The last one that is covered.
    covered: Option<Commit>,
}

impl Transaction<'_> {
    /// As [`commit`](Self::commit), and returns when the transaction survives a power cut, with all that was carried out before it: what a commit
    /// and a [`Kv::flush`] do. Commits of several threads that share a [`Store`](crate::Store) share a Flush.
    ///
    /// # Errors
    /// [`CommitThroughError`], which tells a transaction that was not carried out from one that was not flushed.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut txn = kv.begin_transaction()?;
    /// txn.put(b"order:1", b"paid")?;
    /// txn.commit_through()?; // it survives a power cut from here on
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit_through(self) -> Result<(), CommitThroughError> {
        let (kv, set) = self.into_parts();
        let commit = kv.commit_counted(set).map_err(CommitThroughError::Commit)?;
        kv.cover(commit).map_err(CommitThroughError::Unflushed)
    }
}

impl Kv {
    /// Commits, for [`Kv::cover`].
    pub(crate) fn commit_counted(&mut self, set: saker_host::TransactionSet) -> Result<Commit, HostError> {
        self.resume_transaction(set).commit()?;
        self.through.commits += 1;
        Ok(Commit { reconnects: self.reconnects(), number: self.through.commits })
    }

    /// Returns when a commit is covered by a Flush; a new one, if none was made since.
    pub(crate) fn cover(&mut self, commit: Commit) -> Result<(), HostError> {
        if self.through.covered.is_some_and(|covered| covered.covers(commit)) {
            return Ok(());
        }
        self.flush()?;
        match self.through.covered {
            Some(covered) if covered.covers(commit) => Ok(()),
            _ => Err(KvError::OutcomeUnknown.into()),
        }
    }

    /// Flushes, and notes which commits that covers.
    pub(super) fn flush_counted(&mut self) -> Result<(), HostError> {
        let before = Commit { reconnects: self.reconnects(), number: self.through.commits };
        self.store.flush()?;
        if self.reconnects() == before.reconnects {
            self.through.covered = Some(before);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_covers_what_came_before_it_on_its_connection() {
        let at = |reconnects, number| Commit { reconnects, number };
        let covered = [at(1, 3), at(1, 2), at(1, 4), at(0, 2), at(2, 3)].map(|other| at(1, 3).covers(other));
        assert_eq!(covered, [true, true, false, false, false]);
    }

    /// Commands that covering a commit takes.
    fn commands(kv: &mut Kv, commit: Commit) -> u64 {
        let count = |kv: &mut Kv| kv.stats().expect("it is in this process").device.commands;
        let before = count(kv);
        kv.cover(commit).expect("it can be flushed");
        count(kv) - before
    }

    #[test]
    fn commits_share_a_flush() {
        let mut kv = Kv::open("mem:?size=4MiB&profile=tiny").expect("opens");
        let next = |kv: &mut Kv| {
            let mut txn = kv.begin_transaction().expect("it has them");
            txn.put(b"key", b"value").expect("a good key");
            let set = txn.suspend();
            kv.commit_counted(set).expect("nobody is between")
        };
        let [one, two] = [next(&mut kv), next(&mut kv)];
        assert_eq!((commands(&mut kv, one), commands(&mut kv, two)), (1, 0), "the first Flush covers both");
        let three = next(&mut kv);
        assert_eq!((commands(&mut kv, two), commands(&mut kv, three)), (0, 1));
        let four = next(&mut kv);
        kv.flush().expect("flushes");
        assert_eq!(commands(&mut kv, four), 0, "any Flush does");
    }
    /// As behind a loss that the Flush has not met, too.
    #[test]
    fn a_commit_of_a_connection_that_is_gone_is_not_said_to_last() {
        let mut kv = Kv::open("mem:?size=4MiB&profile=tiny").expect("opens");
        let lost = Commit { reconnects: 1, number: 0 };
        assert_eq!(kv.cover(lost), Err(KvError::OutcomeUnknown.into()));
    }
}
