// SPDX-License-Identifier: Apache-2.0 OR MIT
//! redb: a B-tree that is copied on write.

use crate::peer::{Key, Outcome, Peer, copy};
use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, TableDefinition};
use std::path::{Path, PathBuf};

const PAIRS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("pairs");

/// A database in one file.
pub struct Redb {
    database: Database,
    path: PathBuf,
    /// Reads see the last commit: opened anew after each.
    reader: Option<ReadOnlyTable<&'static [u8], &'static [u8]>>,
    found: Vec<u8>,
}

impl Redb {
    /// A new one in a folder.
    pub fn open(folder: &Path, cache_bytes: usize) -> Outcome<Self> {
        let path = folder.join("redb");
        let database = Database::builder().set_cache_size(cache_bytes).create(&path)?;
        Ok(Self { database, path, reader: None, found: Vec::new() })
    }

    fn reader(&mut self) -> Outcome<&ReadOnlyTable<&'static [u8], &'static [u8]>> {
        if self.reader.is_none() {
            self.reader = Some(self.database.begin_read()?.open_table(PAIRS)?);
        }
        self.reader.as_ref().ok_or_else(|| "no reader".into())
    }
}

impl Peer for Redb {
    fn put(&mut self, key: &Key, value: &[u8]) -> Outcome {
        self.batch(std::slice::from_ref(key), value)
    }

    fn batch(&mut self, keys: &[Key], value: &[u8]) -> Outcome {
        self.reader = None;
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::None)?;
        {
            let mut table = transaction.open_table(PAIRS)?;
            for key in keys {
                table.insert(&key[..], value)?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn get(&mut self, key: &Key, buffer: &mut [u8]) -> Outcome<bool> {
        let found = self.reader()?.get(&key[..])?;
        Ok(found.map(|value| copy(value.value(), buffer)).is_some())
    }

    fn multi_get(&mut self, keys: &[Key]) -> Outcome<Option<usize>> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let mut count = 0;
        for key in keys {
            if let Some(value) = self.reader()?.get(&key[..])? {
                found.extend_from_slice(value.value());
                count += 1;
            }
        }
        self.found = found;
        Ok(Some(count))
    }

    fn scan(&mut self, from: &Key, pairs: usize) -> Outcome<Option<usize>> {
        let mut count = 0;
        for pair in self.reader()?.range(&from[..]..)?.take(pairs) {
            let (key, value) = pair?;
            std::hint::black_box((key.value()[0], value.value().len()));
            count += 1;
        }
        Ok(Some(count))
    }

    fn file_bytes(&mut self) -> Outcome<Option<u64>> {
        Ok(Some(crate::files::held(&self.path)?))
    }
}
