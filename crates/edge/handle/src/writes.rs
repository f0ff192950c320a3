// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that are noted one by one and leave together.

use saker::WriteBatch;

/// Writes in the order in which they were noted, in one piece of memory: noting one costs less than keeping them in order of keys, which
/// is done once, when they leave.
///
/// ```
/// let mut writes = saker_handle::Writes::default();
/// writes.put(b"key", b"old");
/// writes.put(b"key", b"new");
/// writes.delete(b"other");
/// assert_eq!(writes.len(), 3);
/// let store = saker_handle::Store::open("mem:?size=4MiB&profile=tiny")?;
/// store.write(&writes.into_batch(false))?;
/// assert_eq!(store.get(b"key")?, Some(b"new".to_vec()));
/// # Ok::<(), saker_handle::Fault>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Writes {
    bytes: Vec<u8>,
    noted: Vec<Noted>,
}

/// A key and its value, one behind the other from the end of the write before.
#[derive(Clone, Copy, Debug)]
struct Noted {
    key_bytes: usize,
    /// `None`: delete.
    value_bytes: Option<usize>,
}

impl Writes {
    /// Stores a pair.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.noted.push(Noted { key_bytes: key.len(), value_bytes: Some(value.len()) });
    }

    /// Deletes a pair.
    pub fn delete(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.noted.push(Noted { key_bytes: key.len(), value_bytes: None });
    }

    /// How many were noted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.noted.len()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.noted.clear();
    }

    /// The batch: of each key the last write.
    #[must_use]
    pub fn into_batch(self, is_atomic: bool) -> WriteBatch {
        let mut batch = WriteBatch::new();
        batch.set_atomic(is_atomic);
        let mut rest = self.bytes.as_slice();
        for Noted { key_bytes, value_bytes } in &self.noted {
            let (key, behind) = rest.split_at(*key_bytes);
            let (value, behind) = behind.split_at(value_bytes.unwrap_or(0));
            rest = behind;
            if value_bytes.is_some() {
                batch.put(key, value)
            } else {
                batch.delete(key)
            };
        }
        batch
    }
}
