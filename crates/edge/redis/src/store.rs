// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The namespace: commands of pairs that are no group, and the device below.

use saker_host::client::DeleteMissing;
use saker_host::{
    Condition as Put, Entry, HostError, KvClient, KvError, KvStoreClient, Shown, TransactionSet, WriteBatch,
};
use saker_resp::request::Scan;
use saker_resp::{Args, Condition, Replies, glob};

use crate::cursors::Cursors;
use crate::device::{Facts, Turn};
use crate::errors;
use crate::keys::Keys;
use crate::pace::{RUN_MAX, reads_of};

/// Values of up to this length are read without a second look.
const VALUE_BYTES: usize = 4096;
/// Runs of an optimistic transaction before it is given up.
const ATTEMPTS_MAX: usize = 1000;
/// Bytes of keys with which one step of a scan ends, however many were asked for.
const SCAN_BYTES: usize = 256 << 10;

/// A namespace and one queue to it.
#[derive(Debug)]
pub(crate) struct Store {
    client: KvStoreClient<Turn>,
    turn: Turn,
    nsid: u32,
    /// Keys of the run that is gathering.
    pub written: Keys,
    scratch: Box<[u8]>,
    reads_max: usize,
    cursors: Cursors,
}

impl Store {
    pub fn new(client: KvClient<Turn>, turn: Turn, nsid: u32, first_cursor: u64) -> Self {
        debug_assert_eq!(client.delete_missing(), DeleteMissing::Silent);
        Self {
            client: KvStoreClient::new(client),
            turn,
            nsid,
            written: Keys::default(),
            scratch: vec![0; VALUE_BYTES].into(),
            reads_max: RUN_MAX,
            cursors: Cursors::new(first_cursor),
        }
    }

    pub fn facts(&self) -> Facts {
        self.turn.facts(self.nsid)
    }

    /// Reads that a run may have, by the lengths of the values that were read last.
    pub fn reads_max(&self) -> usize {
        self.reads_max
    }

    /// So many values were read, of so many bytes together.
    pub fn has_read(&mut self, values: usize, bytes: usize) {
        self.reads_max = reads_of(bytes / values.max(1)).min(2 * self.reads_max);
    }

    /// Carries out the operations of a run.
    pub fn carry_out(&mut self, entries: &[Entry<'_>], shown: Shown<'_>) -> Result<(), HostError> {
        self.client.carry_out(entries, shown)
    }

    /// `SET`, alone.
    pub fn set(&mut self, key: &[u8], value: &[u8], condition: Condition, replies: &mut Replies) {
        let condition = match condition {
            Condition::Always => Put::Always,
            Condition::Absent => Put::MustNotExist,
            Condition::Present => Put::MustExist,
        };
        match self.client.put_if(key, value, condition) {
            Ok(()) => replies.ok(),
            Err(HostError::Kv(KvError::Exists | KvError::NotFound)) => replies.null(),
            Err(error) => errors::write(&error, replies),
        }
    }

    /// `SET` with `GET`: a transaction.
    pub fn replace(&mut self, key: &[u8], value: &[u8], condition: Condition, replies: &mut Replies) {
        match self.replaced(key, value, condition) {
            Ok(Some(old)) => replies.bulk(&old),
            Ok(None) => replies.null(),
            Err(error) => errors::write(&error, replies),
        }
    }

    fn replaced(
        &mut self,
        key: &[u8],
        value: &[u8],
        condition: Condition,
    ) -> Result<Option<Vec<u8>>, HostError> {
        for _ in 0..ATTEMPTS_MAX {
            let old = self.client.get_versioned(key)?;
            let takes_place = match condition {
                Condition::Always => true,
                Condition::Absent => old.value.is_none(),
                Condition::Present => old.value.is_some(),
            };
            if !takes_place {
                return Ok(old.value);
            }
            let mut set = TransactionSet::default();
            set.read(key, old.version);
            set.write(key, Some(value));
            match self.client.commit(&set) {
                Ok(()) => return Ok(old.value),
                Err(HostError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(HostError::Conflict { key: key.to_vec() })
    }

    /// `MSET`: a transaction, unless it is one pair.
    pub fn set_all(&mut self, pairs: Args<'_, '_>, replies: &mut Replies) {
        let mut batch = WriteBatch::new();
        batch.set_atomic(true);
        for (key, value) in pairs.pairs() {
            batch.put(key, value);
        }
        let stored = match (batch.len(), batch.iter().next()) {
            (1, Some((key, Some(value)))) => self.client.put(key, value),
            _ => self.client.write(&batch),
        };
        match stored {
            Ok(()) => replies.ok(),
            Err(error) => errors::write(&error, replies),
        }
    }

    /// `GET`, alone.
    pub fn get(&mut self, key: &[u8], replies: &mut Replies) {
        let read = self.client.get_into(key, &mut self.scratch);
        match read.map(|bytes| bytes.map(|bytes| self.scratch.get(..bytes))) {
            Ok(Some(Some(value))) => replies.bulk(value),
            Ok(Some(None)) => self.get_long(key, replies),
            Ok(None) => replies.null(),
            Err(error) => errors::write(&error, replies),
        }
    }

    fn get_long(&mut self, key: &[u8], replies: &mut Replies) {
        match self.client.get(key) {
            Ok(Some(value)) => replies.bulk(&value),
            Ok(None) => replies.null(),
            Err(error) => errors::write(&error, replies),
        }
    }

    /// `STRLEN`
    pub fn length(&mut self, key: &[u8], replies: &mut Replies) {
        match self.client.get_into(key, &mut []) {
            Ok(bytes) => replies.integer(bytes.unwrap_or(0) as i64),
            Err(error) => errors::write(&error, replies),
        }
    }

    /// `WAIT`
    pub fn flush(&mut self) -> Result<(), HostError> {
        self.client.flush()
    }

    /// `FLUSHDB`
    pub fn clear(&mut self, replies: &mut Replies) {
        match self.turn.clear(self.nsid) {
            Ok(()) => replies.ok(),
            Err(error) => errors::write(&error, replies),
        }
    }

    /// `DBSIZE`
    pub fn size(&mut self, replies: &mut Replies) {
        match self.pairs() {
            Ok(pairs) => replies.integer(i64::try_from(pairs).unwrap_or(i64::MAX)),
            Err(error) => errors::write(&error, replies),
        }
    }

    /// Pairs; an engine that does not count them is asked for its keys.
    fn pairs(&mut self) -> Result<u64, HostError> {
        if let Some(pairs) = self.facts().pairs {
            return Ok(pairs);
        }
        self.client.list(None).try_fold(0, |pairs, key| key.map(|_| pairs + 1))
    }

    /// `SCAN`
    pub fn scan(&mut self, scan: &Scan<'_>, replies: &mut Replies) {
        let from = match scan.cursor {
            0 => None,
            cursor => match self.cursors.get(cursor) {
                Some(last) => Some(last.to_vec()),
                None => {
                    let what = "this cursor is too old, or of another server: begin again with 0";
                    return replies.error(format_args!("ERR {what}"));
                }
            },
        };
        match self.step(scan, from.as_deref()) {
            Ok((cursor, keys)) => {
                replies.array(2);
                replies.bulk(cursor.to_string().as_bytes());
                replies.array(keys.len());
                keys.iter().for_each(|key| replies.bulk(key));
            }
            Err(error) => errors::write(&error, replies),
        }
    }

    /// The keys of one step that fit, and where to go on.
    fn step(&mut self, scan: &Scan<'_>, behind: Option<&[u8]>) -> Result<(u64, Vec<Vec<u8>>), HostError> {
        let (mut keys, mut last, mut seen, mut bytes) = (Vec::new(), Vec::new(), 0, 0);
        for key in self.client.list(behind) {
            let key = key?;
            if behind == Some(key.as_slice()) {
                continue;
            }
            if seen == scan.count || bytes > SCAN_BYTES {
                return Ok((self.cursors.put(&last), keys));
            }
            (seen, bytes) = (seen + 1, bytes + key.len());
            last.clone_from(&key);
            if scan.pattern.is_none_or(|pattern| glob::matches(pattern, &key)) {
                keys.push(key);
            }
        }
        Ok((0, keys))
    }
}
