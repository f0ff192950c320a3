// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A database and its snapshots, which borrow it.

use rocksdb::{DB, Snapshot};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The database, with the snapshots that were taken of it.
pub struct Viewed {
    /// Before the database, so that they are dropped before it.
    taken: BTreeMap<u32, Snapshot<'static>>,
    next: u32,
    db: Arc<DB>,
}

impl Viewed {
    /// Without snapshots.
    pub fn new(db: DB) -> Self {
        Self { taken: BTreeMap::new(), next: 0, db: Arc::new(db) }
    }

    /// The database.
    pub fn db(&self) -> &DB {
        &self.db
    }

    /// Whether there is any snapshot.
    pub fn is_viewed(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Takes a snapshot, and gives its number.
    pub fn take(&mut self) -> u32 {
        let db = Arc::as_ptr(&self.db);
        // SAFETY: the database stays where it is as long as `self.db` does, which is never replaced, and every snapshot is dropped before
        // it: fields are dropped in the order of their declaration. None is given away but as a reference that borrows `self`.
        let db: &'static DB = unsafe { &*db };
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.taken.insert(number, db.snapshot());
        number
    }

    /// That of a number.
    pub fn of(&self, number: u32) -> Option<&Snapshot<'_>> {
        self.taken.get(&number)
    }

    /// One is not needed any more. Whether there was one.
    pub fn release(&mut self, number: u32) -> bool {
        self.taken.remove(&number).is_some()
    }

    /// None is.
    pub fn release_all(&mut self) {
        self.taken.clear();
    }
}
