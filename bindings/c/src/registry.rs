//! Handles: numbers that are given out once.

use crate::answer::misuse;
use crate::{batch::Batch, scan::Scan};
use saker_handle::{Class, Fault, Store, Transaction};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// Objects of one kind.
pub struct Registry<T> {
    objects: LazyLock<RwLock<Objects<T>>>,
    kind: &'static str,
}

/// The handle that was given out last, and the objects.
struct Objects<T> {
    last: u64,
    open: HashMap<u64, Arc<T>>,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { last: 0, open: HashMap::new() }
    }
}

pub static STORES: Registry<Store> = Registry::new("store");
pub static BATCHES: Registry<Batch> = Registry::new("batch");
pub static SCANS: Registry<Scan> = Registry::new("scan");
pub static TRANSACTIONS: Registry<Transaction> = Registry::new("transaction");

impl<T> Registry<T> {
    const fn new(kind: &'static str) -> Self {
        Self { objects: LazyLock::new(RwLock::default), kind }
    }

    /// The handle of a new object; 0 is none.
    pub fn enter(&self, object: T) -> u64 {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.last += 1;
        let handle = objects.last;
        objects.open.insert(handle, Arc::new(object));
        handle
    }

    /// The object of a handle.
    pub fn find(&self, handle: u64) -> Result<Arc<T>, Fault> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.open.get(&handle).cloned().ok_or_else(|| self.unknown(handle))
    }

    /// The same, and the handle is none any more.
    pub fn leave(&self, handle: u64) -> Result<Arc<T>, Fault> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.open.remove(&handle).ok_or_else(|| self.unknown(handle))
    }

    fn unknown(&self, handle: u64) -> Fault {
        misuse(Class::Closed, &format!("{handle} is no open {}", self.kind))
    }
}
