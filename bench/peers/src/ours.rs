// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Our engines through the public door.

use crate::peer::{Key, Outcome, Peer};
use saker::{KeyRange, Kv, ScanOptions, Values, WriteBatch};

/// A device of its own.
pub struct Ours {
    kv: Kv,
    batch: WriteBatch,
    values: Values,
}

impl Ours {
    /// Opens the URL.
    pub fn open(url: &str) -> Outcome<Self> {
        let kv = Kv::open(url)?;
        Ok(Self { kv, batch: WriteBatch::new(), values: Values::default() })
    }
}

impl Peer for Ours {
    fn put(&mut self, key: &Key, value: &[u8]) -> Outcome {
        Ok(self.kv.put(key, value)?)
    }

    fn batch(&mut self, keys: &[Key], value: &[u8]) -> Outcome {
        self.batch.clear();
        for key in keys {
            self.batch.put(key, value);
        }
        Ok(self.kv.write(&self.batch)?)
    }

    fn get(&mut self, key: &Key, buffer: &mut [u8]) -> Outcome<bool> {
        Ok(self.kv.get_into(key, buffer)?.is_some())
    }

    fn multi_get(&mut self, keys: &[Key]) -> Outcome<Option<usize>> {
        let mut lent: [&[u8]; crate::work::MANY] = [&[]; crate::work::MANY];
        lent.iter_mut().zip(keys).for_each(|(place, key)| *place = key);
        self.kv.multi_get_into(&lent[..keys.len()], &mut self.values)?;
        Ok(Some(self.values.iter().flatten().count()))
    }

    fn scan(&mut self, from: &Key, pairs: usize) -> Outcome<Option<usize>> {
        let told = if pairs == usize::MAX { 0 } else { pairs as u32 };
        self.pairs_from(from, told, pairs)
    }

    fn stop_at(&mut self, from: &Key, pairs: usize) -> Outcome<Option<usize>> {
        self.pairs_from(from, 0, pairs)
    }
}

impl Ours {
    /// Sees so many pairs, of which it has told `pairs_max` beforehand.
    fn pairs_from(&mut self, from: &Key, pairs_max: u32, pairs: usize) -> Outcome<Option<usize>> {
        let range = KeyRange { from, ..KeyRange::default() };
        let mut seen = self.kv.range(&ScanOptions { range, pairs_max, ..ScanOptions::default() })?;
        let mut count = 0;
        while count < pairs
            && let Some((key, value)) = seen.next_pair()?
        {
            std::hint::black_box((key[0], value.len()));
            count += 1;
        }
        Ok(Some(count))
    }
}
