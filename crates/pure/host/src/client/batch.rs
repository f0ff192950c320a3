//! A batch of writes, after RocksDB's WriteBatch: put together anywhere, written at once.

use saker_nvme::group::{COUNT_BYTES, Form, Op, Packer, Refused, entry_bytes};
use std::collections::BTreeMap;

/// Puts and deletes of keys of 1 to 255 bytes. A later one of a key replaces an earlier one.
///
/// Writing it is not a transaction: see [`KvClient::begin`](super::KvClient::begin).
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

    /// Takes everything out again.
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
