// SPDX-License-Identifier: Apache-2.0 OR MIT
//! fjall: a log-structured merge tree with a journal.

use crate::peer::{Key, Outcome, Peer, copy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions};
use std::path::{Path, PathBuf};

/// A database in a folder.
pub struct Fjall {
    database: Database,
    pairs: Keyspace,
    path: PathBuf,
    found: Vec<u8>,
}

impl Fjall {
    /// A new one in a folder.
    pub fn open(folder: &Path, cache_bytes: u64) -> Outcome<Self> {
        let path = folder.join("fjall");
        let database = Database::builder(&path).cache_size(cache_bytes).open()?;
        let pairs = database.keyspace("pairs", KeyspaceCreateOptions::default)?;
        Ok(Self { database, pairs, path, found: Vec::new() })
    }
}

impl Peer for Fjall {
    fn put(&mut self, key: &Key, value: &[u8]) -> Outcome {
        Ok(self.pairs.insert(&key[..], value)?)
    }

    fn batch(&mut self, keys: &[Key], value: &[u8]) -> Outcome {
        let mut batch = self.database.batch();
        for key in keys {
            batch.insert(&self.pairs, &key[..], value);
        }
        Ok(batch.commit()?)
    }

    fn get(&mut self, key: &Key, buffer: &mut [u8]) -> Outcome<bool> {
        Ok(self.pairs.get(key)?.map(|value| copy(&value, buffer)).is_some())
    }

    fn multi_get(&mut self, keys: &[Key]) -> Outcome<Option<usize>> {
        self.found.clear();
        let mut count = 0;
        for key in keys {
            if let Some(value) = self.pairs.get(key)? {
                self.found.extend_from_slice(&value);
                count += 1;
            }
        }
        Ok(Some(count))
    }

    fn scan(&mut self, from: &Key, pairs: usize) -> Outcome<Option<usize>> {
        let mut count = 0;
        for pair in self.pairs.range(*from..).take(pairs) {
            let (key, value) = pair.into_inner()?;
            std::hint::black_box((key[0], value.len()));
            count += 1;
        }
        Ok(Some(count))
    }

    fn file_bytes(&mut self) -> Outcome<Option<u64>> {
        Ok(Some(crate::files::held(&self.path)?))
    }
}
