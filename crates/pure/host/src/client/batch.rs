//! A batch of writes, after RocksDB's WriteBatch: put together anywhere, written at once.

use saker_nvme::group::{COUNT_BYTES, Form, Op, Packer, Refused, entry_bytes};
use std::collections::BTreeMap;

/// Puts and deletes of keys of 1 to 255 bytes. A later one of a key replaces an earlier one.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteBatch {
    /// `None`: delete.
    writes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    is_atomic: bool,
}

impl WriteBatch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores a pair.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> &mut Self {
        self.writes.insert(key.to_vec(), Some(value.to_vec()));
        self
    }

    /// Deletes a key, if it is there.
    pub fn delete(&mut self, key: &[u8]) -> &mut Self {
        self.writes.insert(key.to_vec(), None);
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
        self.writes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Takes everything out again. It stays atomic if it was.
    pub fn clear(&mut self) {
        self.writes.clear();
    }

    /// The writes: key, and value or `None` for a delete.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.writes.iter().map(|(k, v)| (k.as_slice(), v.as_deref()))
    }

    /// As the payload of a group, and its form: that of stores if there is nothing else.
    ///
    /// # Errors
    /// [`Refused`] for a key that cannot be one.
    pub fn pack(&self) -> Result<(Form, Vec<u8>), Refused> {
        let only_stores = self.writes.values().all(Option::is_some);
        let form = if only_stores { Form::All(Op::Store) } else { Form::Mixed };
        let writes = || {
            self.iter().map(|(key, value)| match value {
                Some(value) => (Op::Store, key, value),
                None => (Op::Delete, key, &[][..]),
            })
        };
        let bytes = |(op, key, value): (Op, &[u8], &[u8])| {
            form.lead_bytes() + entry_bytes(op, key.len(), value.len())
        };
        let mut payload = vec![0; COUNT_BYTES + writes().map(bytes).sum::<usize>()];
        let mut packer = Packer::new(form, &mut payload).ok_or(Refused::Full)?;
        for (op, key, value) in writes() {
            packer.push(op, key, value)?;
        }
        packer.finish();
        Ok((form, payload))
    }
}
