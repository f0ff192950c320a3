// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Several named spaces in one device.

use super::catalogue::{Catalogue, KEY};
use super::prefix::Prefix;
use super::{Store, StoreError, StoreTransaction};
use crate::create::ImagePlan;
use saker_host::ScanOptions;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A device that is divided into spaces with names, made and removed at any time; others call them tables, column families or keyspaces.
/// A space is a [`Store`] with keys of its own. They share the room, the flush and the transactions of the device.
///
/// The key of a pair at the device begins with the number of its space: one byte of the first 127, two bytes of more. So keys of up to 15
/// bytes are native ones, and a key has up to 254 (253) bytes. The pair 00h is the catalogue.
///
/// ```
/// use saker::Spaces;
/// let spaces = Spaces::open("mem:?size=4MiB&profile=tiny")?;
/// let (users, orders) = (spaces.space("users")?, spaces.space("orders")?);
/// users.put("1", "Ada")?;
/// orders.put("1", "a book")?;
/// assert_eq!(users.get("1")?, Some(b"Ada".to_vec()));
///
/// let mut both = saker::WriteBatch::new(); // one transaction over two spaces
/// both.put(&users.device_key("2"), b"Grace").put(&orders.device_key("2"), b"a ship").set_atomic(true);
/// spaces.device().write(&both)?;
/// assert_eq!(users.iter()?.count(), 2);
/// assert!(spaces.remove("orders")?);
/// assert_eq!(spaces.names()?, ["users"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Spaces {
    store: Store,
    /// Of each space that was asked for whether it is gone.
    known: Arc<Mutex<BTreeMap<u16, Arc<AtomicBool>>>>,
}

/// Changes a catalogue, or not: what comes of it, and whether it has.
type Change<'c, R> = dyn FnMut(&mut Catalogue) -> Result<(R, bool), StoreError> + 'c;

impl Spaces {
    /// Opens the device of a URL.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Spaces`] for a device that has pairs of no space.
    ///
    /// ```
    /// let spaces = saker::Spaces::open("mem:?size=4MiB&profile=tiny&engine=tree")?;
    /// spaces.space("users")?.put("key", "value")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(url: &str) -> Result<Self, StoreError> {
        Self::of(Store::open(url)?)
    }

    /// Opens an image, which is made if it is not there, and grows if it is smaller than the plan: see [`ImagePlan::ensure`].
    ///
    /// # Errors
    /// As [`Spaces::open`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// let spaces = saker::Spaces::open_or_create(&path, &saker::ImagePlan::kv(4 << 20, "tiny", 1))?;
    /// spaces.space("users")?.put("key", "value")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_or_create(path: &Path, plan: &ImagePlan) -> Result<Self, StoreError> {
        Self::of(Store::open_or_create(path, plan)?)
    }

    /// The spaces of a device that is open. Removals that were interrupted go on.
    ///
    /// # Errors
    /// As [`Spaces::open`].
    ///
    /// ```
    /// let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("a pair", "of no space")?;
    /// assert!(matches!(saker::Spaces::of(store), Err(saker::StoreError::Spaces(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(store: Store) -> Result<Self, StoreError> {
        if store.prefix.is_space() {
            return Err(StoreError::Spaces("a space has no spaces; take the device's".into()));
        }
        let spaces = Self { store, known: Arc::default() };
        let value = spaces.store.get(KEY)?;
        let catalogue = Catalogue::parse(value.as_deref())?;
        let first = ScanOptions { keys_only: true, ..ScanOptions::default() };
        if value.is_none() && spaces.store.scan(&first, 1)?.next().transpose()?.is_some() {
            let what =
                "the device has pairs that are in no space; open it with `Store`, or divide an empty one";
            return Err(StoreError::Spaces(what.into()));
        }
        let leaving = catalogue.0.iter().filter(|(_, entry)| entry.leaves);
        leaving.map(|(id, _)| *id).try_for_each(|id| spaces.finish(id))?;
        Ok(spaces)
    }

    /// The space of a name, which is made if it is not there.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Spaces`] for a name of no bytes or of more than 255.
    ///
    /// ```
    /// # let spaces = saker::Spaces::open("mem:?size=4MiB&profile=tiny")?;
    /// spaces.space("users")?.put("1", "Ada")?;
    /// assert!(spaces.space("users")?.exists("1")? && !spaces.space("orders")?.exists("1")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn space(&self, name: &str) -> Result<Store, StoreError> {
        let id = self.change(&mut |catalogue| match catalogue.id(name) {
            Some(id) => Ok((id, false)),
            None => Ok((catalogue.add(name)?, true)),
        })?;
        let gone = Arc::clone(self.known().entry(id).or_default());
        Ok(Store { kv: self.store.kv.clone(), prefix: Prefix::of(id, gone) })
    }

    /// The names of the spaces, in the order of their numbers.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let spaces = saker::Spaces::open("mem:?size=4MiB&profile=tiny")?;
    /// spaces.space("users")?;
    /// assert_eq!(spaces.names()?, ["users"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        let catalogue = Catalogue::parse(self.store.get(KEY)?.as_deref())?;
        Ok(catalogue.0.into_values().filter(|entry| !entry.leaves).map(|entry| entry.name).collect())
    }

    /// Removes a space with its pairs; whether it was there. It has no name any more when this begins, and whoever has it is told
    /// [`StoreError::Gone`]. If this is interrupted the next opening goes on with it. Other hosts of the device must not use it any more.
    ///
    /// # Errors
    /// [`StoreError`]: some pairs may be there, which nobody can ask for. It scans the space, so it says
    /// [`ManyScans`](StoreError::ManyScans) while the device has 16 scans under way.
    ///
    /// ```
    /// # let spaces = saker::Spaces::open("mem:?size=4MiB&profile=tiny")?;
    /// let users = spaces.space("users")?;
    /// users.put("1", "Ada")?;
    /// assert!(spaces.remove("users")? && !spaces.remove("users")?);
    /// assert!(matches!(users.get("1"), Err(saker::StoreError::Gone)));
    /// assert!(!spaces.space("users")?.exists("1")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&self, name: &str) -> Result<bool, StoreError> {
        let left = self.change(&mut |catalogue| {
            let id = catalogue.leave(name);
            Ok((id, id.is_some()))
        })?;
        left.map_or(Ok(false), |id| self.finish(id).map(|()| true))
    }

    /// The device below: its flush, its counters, and transactions and batches over several spaces, by their [keys](Store::device_key).
    ///
    /// ```
    /// # let spaces = saker::Spaces::open("mem:?size=4MiB&profile=tiny")?;
    /// let users = spaces.space("users")?;
    /// spaces.device().transact(|txn| txn.put(users.device_key("1"), "Ada"))?;
    /// assert!(users.exists("1")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn device(&self) -> &Store {
        &self.store
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<u16, Arc<AtomicBool>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the catalogue in a transaction, if `body` says so.
    fn change<R>(&self, body: &mut Change<'_, R>) -> Result<R, StoreError> {
        self.store.transact(|txn: &mut StoreTransaction| {
            let mut catalogue = Catalogue::parse(txn.get(KEY)?.as_deref())?;
            let (result, is_changed) = body(&mut catalogue)?;
            if is_changed {
                txn.put(KEY, catalogue.bytes())?;
            }
            Ok(result)
        })
    }

    /// Deletes the pairs of a space that leaves, then gives its number back.
    fn finish(&self, id: u16) -> Result<(), StoreError> {
        let gone = self.known().remove(&id);
        if let Some(gone) = gone {
            // Whoever is in a call has ended it then, and sees this in the next.
            self.store.kv.with(|_| Prefix::of(id, gone).go())?;
        }
        Store { kv: self.store.kv.clone(), prefix: Prefix::of(id, Arc::default()) }.empty()?;
        self.change(&mut |catalogue| Ok(((), catalogue.0.remove(&id).is_some())))
    }
}
