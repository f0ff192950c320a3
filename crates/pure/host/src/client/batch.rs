// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A batch of writes, after RocksDB's WriteBatch: put together anywhere, written at once.

use crate::reserved::may_be_reserved;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Slot;
use saker_long_keys::is_enveloped;
use saker_nvme::Key;
use saker_nvme::group::{
    COUNT_BYTES, Form, KEY_BYTES_MAX, LENGTH_BYTES, Op, Packer, Refused, entry_bytes, padded,
};
use std::hash::BuildHasher;

/// Puts and deletes of keys of 1 to 255 bytes. A later one of a key replaces an earlier one.
///
/// Each is copied once, into what goes to the device. A batch that is [cleared](Self::clear) and filled again takes no memory anew.
///
/// Writing it is no transaction (see [`KvClient::begin`](super::KvClient::begin)) unless [`set_atomic`](Self::set_atomic) asks for one.
///
/// ```
/// use saker_host::WriteBatch;
/// let mut batch = WriteBatch::new();
/// batch.put(b"key", b"old").put(b"key", b"new").delete(b"other");
/// assert_eq!(batch.len(), 2, "the second write of a key replaces the first");
/// assert!(batch.iter().any(|write| write == (b"key", Some(b"new"))));
/// ```
#[derive(Clone, Debug)]
pub struct WriteBatch {
    /// A group's payload: of stores alone until there is a delete, mixed from then on. Entries that were replaced are in it until it
    /// is packed anew.
    payload: Vec<u8>,
    form: Form,
    /// Where the entries begin that count.
    starts: Vec<usize>,
    /// Entries by their keys, as places in `starts`.
    index: HashTable<u32>,
    /// Nobody can choose keys that collide, and nothing but time depends on it: the table is never gone through.
    hasher: RandomState,
    /// Bytes of entries that were replaced.
    dead_bytes: usize,
    keys: Keys,
    is_atomic: bool,
}

/// What holds for all keys of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    /// They are the device's own.
    pub(crate) are_native: bool,
    /// Those that are not are long, and short enough to be told by pointer.
    pub(crate) are_tellable: bool,
    /// One of them may be a key under which nobody stores.
    pub(crate) may_be_reserved: bool,
}

impl Keys {
    const NONE: Self = Self { are_native: true, are_tellable: true, may_be_reserved: false };

    fn add(&mut self, key: &[u8]) {
        let is_native = (1..=Key::MAX_LEN).contains(&key.len()) && !is_enveloped(key);
        self.are_native &= is_native;
        self.may_be_reserved |= may_be_reserved(key);
        self.are_tellable &= is_native || (key.len() > Key::MAX_LEN && key.len() <= KEY_BYTES_MAX);
    }
}

/// From so many bytes of replaced entries on, if they are half of all, a payload is packed anew.
const DEAD_BYTES_MAX: usize = 4096;

impl Default for WriteBatch {
    fn default() -> Self {
        Self {
            payload: vec![0; COUNT_BYTES],
            form: Form::All(Op::Store),
            starts: Vec::new(),
            index: HashTable::new(),
            hasher: RandomState::default(),
            dead_bytes: 0,
            keys: Keys::NONE,
            is_atomic: false,
        }
    }
}

/// The same writes, whatever the order in which they came.
impl PartialEq for WriteBatch {
    fn eq(&self, other: &Self) -> bool {
        self.is_atomic == other.is_atomic && self.iter().eq(other.iter())
    }
}

impl Eq for WriteBatch {}

/// A write: its key, and its value or `None` for a delete.
type Write<'a> = (&'a [u8], Option<&'a [u8]>);

impl WriteBatch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores a pair.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> &mut Self {
        self.add(key, Some(value));
        self
    }

    /// Deletes a key, if it is there.
    pub fn delete(&mut self, key: &[u8]) -> &mut Self {
        if self.form != Form::Mixed {
            self.repack(Form::Mixed);
        }
        self.add(key, None);
        self
    }

    /// Whether it is written as a transaction: all of it or nothing, in one command. A device that has no transactions, and a batch that
    /// is too long for one, are refused then; nothing is split.
    ///
    /// ```
    /// let mut batch = saker_host::WriteBatch::new();
    /// batch.put(b"from", b"90").put(b"to", b"110").set_atomic(true);
    /// assert!(batch.is_atomic());
    /// ```
    pub fn set_atomic(&mut self, is_atomic: bool) -> &mut Self {
        self.is_atomic = is_atomic;
        self
    }

    /// Whether it is written as a transaction.
    #[must_use]
    pub fn is_atomic(&self) -> bool {
        self.is_atomic
    }

    /// Writes in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Takes everything out again. It stays atomic if it was.
    pub fn clear(&mut self) {
        self.payload.truncate(COUNT_BYTES);
        self.payload.fill(0);
        self.form = Form::All(Op::Store);
        self.starts.clear();
        self.index.clear();
        (self.dead_bytes, self.keys) = (0, Keys::NONE);
    }

    /// The writes in the order of their keys: key, and value or `None` for a delete.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let mut writes: Vec<_> = self.writes().collect();
        writes.sort_unstable_by_key(|(key, _)| *key);
        writes.into_iter()
    }

    /// As the payload of a group, in the order of the keys, and its form: that of stores if there is nothing else.
    ///
    /// # Errors
    /// [`Refused`] for a key that cannot be one.
    pub fn pack(&self) -> Result<(Form, Vec<u8>), Refused> {
        let form = self.form_now();
        let writes: Vec<_> = self.iter().collect();
        let bytes = writes.iter().map(|(key, value)| write_bytes(form, key, *value)).sum::<usize>();
        let mut payload = vec![0; COUNT_BYTES + bytes];
        let mut packer = Packer::new(form, &mut payload).ok_or(Refused::Full)?;
        for (key, value) in writes {
            packer.push(op_of(value), key, value.unwrap_or_default())?;
        }
        packer.finish();
        Ok((form, payload))
    }

    /// What goes to the device as it is, if it can: its form and bytes. No key is in it twice.
    pub(crate) fn packed(&self) -> Option<(Form, &[u8])> {
        (self.dead_bytes == 0).then_some((self.form, self.payload.as_slice()))
    }

    /// What holds for all its keys, replaced ones included.
    pub(crate) fn keys(&self) -> Keys {
        self.keys
    }

    /// The form of what counts: a delete that was replaced is none.
    fn form_now(&self) -> Form {
        let has_delete = self.form == Form::Mixed && self.writes().any(|(_, value)| value.is_none());
        if has_delete { Form::Mixed } else { Form::All(Op::Store) }
    }

    /// The writes in the order in which their keys came.
    pub(crate) fn writes(&self) -> impl ExactSizeIterator<Item = Write<'_>> {
        self.starts.iter().map(|start| self.write_at(*start))
    }

    fn write_at(&self, start: usize) -> Write<'_> {
        let is_store = match self.form {
            Form::All(_) => true,
            Form::Mixed => number(&self.payload, start) == Op::Store as usize,
        };
        let key = counted(&self.payload, start + self.form.lead_bytes());
        let behind = start + self.form.lead_bytes() + LENGTH_BYTES + padded(key.len());
        (key, is_store.then(|| counted(&self.payload, behind)))
    }

    /// Adds a write at the end, in place of an earlier one of its key.
    #[inline]
    fn add(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.keys.add(key);
        let start = self.append(key, value);
        let (payload, starts, lead) = (&self.payload, &mut self.starts, self.form.lead_bytes());
        let key_of = |n: &u32| counted(payload, starts[*n as usize] + lead);
        let hash = |key: &[u8]| self.hasher.hash_one(key);
        match self.index.entry(hash(key), |n| key_of(n) == key, |n| hash(key_of(n))) {
            Slot::Vacant(slot) => {
                slot.insert(starts.len() as u32);
                starts.push(start);
            }
            Slot::Occupied(slot) => {
                let old = std::mem::replace(&mut starts[*slot.get() as usize], start);
                self.replaced(old);
            }
        }
        let count = self.starts.len() as u32;
        self.payload[..COUNT_BYTES].copy_from_slice(&count.to_le_bytes());
    }

    /// Writes the entry; returns where it begins.
    fn append(&mut self, key: &[u8], value: Option<&[u8]>) -> usize {
        let start = self.payload.len();
        if self.form == Form::Mixed {
            self.payload.extend_from_slice(&(op_of(value) as u32).to_le_bytes());
        }
        push_counted(&mut self.payload, key);
        if let Some(value) = value {
            push_counted(&mut self.payload, value);
        }
        start
    }

    #[cold]
    fn replaced(&mut self, old: usize) {
        let (key, value) = self.write_at(old);
        self.dead_bytes += write_bytes(self.form, key, value);
        if self.dead_bytes > DEAD_BYTES_MAX && 2 * self.dead_bytes > self.payload.len() {
            self.repack(self.form);
        }
    }

    /// Packs what counts anew, in the form given, without what was replaced.
    #[cold]
    fn repack(&mut self, form: Form) {
        let empty = Self { form, is_atomic: self.is_atomic, ..Self::default() };
        let old = std::mem::replace(self, empty);
        for (key, value) in old.writes() {
            self.add(key, value);
        }
    }
}

fn op_of(value: Option<&[u8]>) -> Op {
    if value.is_some() { Op::Store } else { Op::Delete }
}

fn write_bytes(form: Form, key: &[u8], value: Option<&[u8]>) -> usize {
    form.lead_bytes() + entry_bytes(op_of(value), key.len(), value.unwrap_or_default().len())
}

/// Length, bytes, zeros.
fn push_counted(payload: &mut Vec<u8>, bytes: &[u8]) {
    payload.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    payload.extend_from_slice(bytes);
    payload.resize(padded(payload.len()), 0);
}

fn number(payload: &[u8], at: usize) -> usize {
    payload[at..].first_chunk().map_or(0, |number| u32::from_le_bytes(*number) as usize)
}

fn counted(payload: &[u8], at: usize) -> &[u8] {
    let begin = at + LENGTH_BYTES;
    &payload[begin..begin + number(payload, at)]
}

#[cfg(test)]
mod tests;
