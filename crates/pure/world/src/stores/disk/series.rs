// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations of several commands, one after the other.

use super::list::Listing;
use super::scan::Scanning;
use saker_host::{Done, KvQueue, SubmitError};
use saker_store::Outcome;

/// An operation of several commands, on its way.
#[derive(Debug)]
pub(super) enum Series {
    Scan(Scanning),
    List(Listing),
}

impl Series {
    /// Whether it has ended; else [`send`](Self::send) sends its next command.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Scan(scan) => scan.is_over(),
            Self::List(list) => list.is_over(),
        }
    }

    /// Submits the next command; its slot.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn send(&mut self, queue: &mut KvQueue) -> Result<u16, SubmitError> {
        match self {
            Self::Scan(scan) => scan.send(queue),
            Self::List(list) => list.send(queue),
        }
    }

    /// A command of it has completed.
    pub fn completed(&mut self, done: &Done<'_>) {
        match self {
            Self::Scan(scan) => scan.completed(done),
            Self::List(list) => list.completed(done),
        }
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome<'_> {
        match self {
            Self::Scan(scan) => scan.outcome(),
            Self::List(list) => list.outcome(),
        }
    }
}

/// Those of a lane, by number.
#[derive(Debug, Default)]
pub(super) struct AllSeries {
    all: Vec<Option<Box<Series>>>,
    /// Those whose next command found no room.
    waiting: Vec<u16>,
}

impl AllSeries {
    /// Another one; its number.
    pub fn add(&mut self, series: Series) -> u16 {
        let free = self.all.iter().position(Option::is_none);
        let n = free.unwrap_or_else(|| {
            self.all.push(None);
            self.all.len() - 1
        });
        self.all[n] = Some(Box::new(series));
        n as u16
    }

    /// One that is on its way.
    pub fn get_mut(&mut self, n: u16) -> Option<&mut Series> {
        self.all.get_mut(usize::from(n))?.as_deref_mut()
    }

    /// One is over, or has never begun.
    pub fn remove(&mut self, n: u16) -> Option<Box<Series>> {
        self.all.get_mut(usize::from(n))?.take()
    }

    /// There was no room for its next command.
    pub fn waits(&mut self, n: u16) {
        self.waiting.push(n);
    }

    /// One whose next command found no room.
    pub fn next_waiting(&mut self) -> Option<u16> {
        self.waiting.pop()
    }

    /// How many have no command in flight.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}
