// SPDX-License-Identifier: Apache-2.0 OR MIT
//! LMDB by heed: a B-tree in a mapped file, copied on write.

use crate::peer::{Key, Outcome, Peer, copy};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithoutTls};
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// An environment in a folder.
pub struct Lmdb {
    env: Env<WithoutTls>,
    pairs: Database<'static, Bytes, Bytes>,
    path: PathBuf,
    /// Reads see the last commit: opened anew after each.
    reader: Option<RoTxn<'static, WithoutTls>>,
    found: Vec<u8>,
}

impl Lmdb {
    /// A new one in a folder, at most so many bytes long.
    pub fn open(folder: &Path, map_bytes: usize) -> Outcome<Self> {
        let path = folder.join("lmdb");
        std::fs::create_dir_all(&path)?;
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(map_bytes.next_multiple_of(1 << 20)).max_dbs(1);
        #[expect(unsafe_code, reason = "the folder is this process's own, and nobody else opens it")]
        // SAFETY: the file is new, nothing else maps or changes it, and it is not read again after a crash of the system.
        let env = unsafe {
            options.flags(EnvFlags::NO_SYNC | EnvFlags::NO_META_SYNC);
            options.open(&path)?
        };
        let created = env.create_databases_and_commit(env.write_txn()?, |opener, transaction| {
            opener.create_database(transaction, Some("pairs")).map(CommitOrAbort::<_, ()>::Commit)
        });
        let pairs = created?.unwrap_commit();
        Ok(Self { env, pairs, path, reader: None, found: Vec::new() })
    }

    fn reader(&mut self) -> Outcome<&RoTxn<'static, WithoutTls>> {
        if self.reader.is_none() {
            self.reader = Some(self.env.clone().static_read_txn()?);
        }
        self.reader.as_ref().ok_or_else(|| "no reader".into())
    }
}

impl Peer for Lmdb {
    fn put(&mut self, key: &Key, value: &[u8]) -> Outcome {
        self.batch(std::slice::from_ref(key), value)
    }

    fn batch(&mut self, keys: &[Key], value: &[u8]) -> Outcome {
        self.reader = None;
        let mut transaction = self.env.write_txn()?;
        for key in keys {
            self.pairs.put(&mut transaction, key, value)?;
        }
        Ok(transaction.commit()?)
    }

    fn get(&mut self, key: &Key, buffer: &mut [u8]) -> Outcome<bool> {
        let pairs = self.pairs;
        let found = pairs.get(self.reader()?, key)?;
        Ok(found.map(|value| copy(value, buffer)).is_some())
    }

    fn multi_get(&mut self, keys: &[Key]) -> Outcome<Option<usize>> {
        let (pairs, mut found) = (self.pairs, std::mem::take(&mut self.found));
        found.clear();
        let mut count = 0;
        for key in keys {
            if let Some(value) = pairs.get(self.reader()?, key)? {
                found.extend_from_slice(value);
                count += 1;
            }
        }
        self.found = found;
        Ok(Some(count))
    }

    fn scan(&mut self, from: &Key, pairs: usize) -> Outcome<Option<usize>> {
        let database = self.pairs;
        let range = (Bound::Included(&from[..]), Bound::Unbounded);
        let mut count = 0;
        for pair in database.range(self.reader()?, &range)?.take(pairs) {
            let (key, value) = pair?;
            std::hint::black_box((key[0], value.len()));
            count += 1;
        }
        Ok(Some(count))
    }

    fn file_bytes(&mut self) -> Outcome<Option<u64>> {
        Ok(Some(crate::files::held(&self.path)?))
    }
}
