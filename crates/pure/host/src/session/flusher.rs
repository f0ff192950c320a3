// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Group commit: one Flush covers everything that completed before it, whoever wrote it.

use crate::error::HostError;

/// Flushes of a client. They are numbered in the order in which they were submitted, from 1; one is in flight at a time.
#[derive(Debug, Default)]
pub(super) struct Flusher {
    submitted: u64,
    succeeded: u64,
    failed: Option<(u64, HostError)>,
    in_flight: bool,
}

/// What a waiter may do.
#[derive(Debug, PartialEq)]
pub(super) enum FlushStep {
    /// What it waits for is over.
    Over(Result<(), HostError>),
    /// It submits the next flush.
    Submit,
    /// A flush is in flight.
    Wait,
}

impl Flusher {
    /// Number of the flush that covers everything completed by now: the next one. One in flight may have begun earlier.
    pub fn wanted(&self) -> u64 {
        self.submitted + 1
    }

    /// What somebody who waits for flush `wanted` does next.
    pub fn next_step(&self, wanted: u64) -> FlushStep {
        // A failure first: a later flush that succeeds says nothing about what an earlier one could not write.
        match &self.failed {
            Some((number, error)) if *number >= wanted => FlushStep::Over(Err(error.clone())),
            _ if self.succeeded >= wanted => FlushStep::Over(Ok(())),
            _ if self.in_flight => FlushStep::Wait,
            _ => FlushStep::Submit,
        }
    }

    /// A flush has been submitted; its number.
    pub fn submitted(&mut self) -> u64 {
        debug_assert!(!self.in_flight, "one flush is in flight at a time");
        self.submitted += 1;
        self.in_flight = true;
        self.submitted
    }

    /// The flush in flight has ended.
    pub fn ended(&mut self, outcome: Result<(), HostError>) {
        debug_assert!(self.in_flight && self.succeeded < self.submitted, "it is in flight when it ends");
        self.in_flight = false;
        match outcome {
            Ok(()) => self.succeeded = self.submitted,
            Err(error) => self.failed = Some((self.submitted, error)),
        }
    }

    /// Flushes so far.
    pub fn count(&self) -> u64 {
        self.submitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::KvError;

    #[test]
    fn a_flush_in_flight_does_not_cover_who_comes_later() {
        let mut f = Flusher::default();
        let first = f.wanted();
        assert_eq!(f.next_step(first), FlushStep::Submit);
        f.submitted();
        let later = f.wanted();
        assert_eq!((first, later), (1, 2));
        f.ended(Ok(()));
        assert_eq!(f.next_step(first), FlushStep::Over(Ok(())));
        assert_eq!(f.next_step(later), FlushStep::Submit);
    }

    #[test]
    fn one_flush_serves_all_who_waited_for_it() {
        let mut f = Flusher::default();
        let waiters = [f.wanted(), f.wanted()];
        f.submitted();
        assert!(waiters.iter().all(|w| f.next_step(*w) == FlushStep::Wait));
        f.ended(Ok(()));
        assert!(waiters.iter().all(|w| f.next_step(*w) == FlushStep::Over(Ok(()))));
        assert_eq!(f.count(), 1);
    }

    #[test]
    fn a_failed_flush_fails_those_it_would_have_covered_and_no_others() {
        let mut f = Flusher::default();
        let first = f.wanted();
        f.submitted();
        f.ended(Err(KvError::Damaged.into()));
        assert_eq!(f.next_step(first), FlushStep::Over(Err(KvError::Damaged.into())));
        let second = f.wanted();
        assert_eq!(f.next_step(second), FlushStep::Submit);
        f.submitted();
        f.ended(Ok(()));
        assert_eq!(f.next_step(second), FlushStep::Over(Ok(())));
    }
}
