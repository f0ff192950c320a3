// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations and outcomes as HostKV has them.

use super::batch::{TOO_LONG, Takes, write_batch};
use super::hosted::Hosted;
use saker_engine::KvError;
use saker_host::host_kv::{self, Answer, HostKv};
use saker_nvme::Key;
use saker_store::{Failure, Op, Outcome, Refusal, SnapshotId};

/// What HostKV takes with any engine.
const CAPABILITIES: &[&str] = &["put", "get", "delete", "exists", "flush"];

/// What a store at the host takes.
pub fn capabilities(store: &impl Hosted) -> Vec<&'static str> {
    store.takes().names(CAPABILITIES)
}

/// What a HostKV takes beyond single pairs.
pub(super) fn takes(store: &HostKv) -> Takes {
    let batch_bytes = if store.takes_batches() { store.batch_bytes_max() as usize } else { 0 };
    Takes { batch_bytes, scans: store.takes_scans(), lists: false }
}

/// An operation as that store takes it; `None`: there is nothing to do.
///
/// # Errors
/// [`Refusal`] for what it lacks.
#[inline]
pub fn operation(op: Option<&Op>, store: &impl Hosted) -> Result<Option<host_kv::Op>, Refusal> {
    Ok(Some(match op {
        Some(Op::Put(key, value)) => host_kv::Op::Put(key.clone(), value.clone()),
        Some(Op::Get(key)) => host_kv::Op::Get(key.clone()),
        Some(Op::Delete(key)) => host_kv::Op::Delete(key.clone()),
        Some(Op::Exists(key)) => host_kv::Op::Exists(key.clone()),
        Some(Op::Flush) => host_kv::Op::Flush,
        Some(Op::Batch(writes)) if writes.is_empty() && store.takes().batch_bytes > 0 => return Ok(None),
        Some(other) => rare(other, store.takes())?,
        None => return Err(Refusal::Unsupported("nothing")),
    }))
}

/// What not every engine takes.
#[cold]
fn rare(op: &Op, takes: Takes) -> Result<host_kv::Op, Refusal> {
    Ok(match op {
        Op::Batch(writes) if takes.batch_bytes > 0 => {
            let batch = host_kv::Batch::new(write_batch(writes)?).map_err(|_| TOO_LONG)?;
            if batch.bytes() as usize > takes.batch_bytes {
                return Err(TOO_LONG);
            }
            host_kv::Op::Batch(batch)
        }
        Op::Scan { from, entries, snapshot } if takes.scans => {
            if from.len() > Key::MAX_LEN {
                return Err(Refusal::KeyLength(from.len()));
            }
            let snapshot = snapshot.map(|id| id.0);
            host_kv::Op::Scan { from: from.clone(), backwards: false, entries: *entries, snapshot }
        }
        Op::Snapshot if takes.scans => host_kv::Op::Snapshot,
        Op::Release(snapshot) if takes.scans => host_kv::Op::Release(snapshot.0),
        other => return Err(Refusal::Unsupported(other.name())),
    })
}

/// How it ended.
#[inline]
pub fn outcome(outcome: &host_kv::Outcome) -> Outcome<'_> {
    match outcome {
        Ok(Answer::Value(value)) => Outcome::value(value),
        Ok(Answer::Done) => Outcome::DONE,
        Ok(Answer::Pairs(data)) => Outcome::Pairs { data },
        Ok(Answer::Snapshot(number)) => Outcome::Snapshot(SnapshotId(*number)),
        Ok(Answer::NoSnapshot) => Outcome::Failed(Failure::NoSnapshot),
        Ok(Answer::Stopped) => Outcome::Failed(Failure::Other("writes are stopped")),
        Err(KvError::NotFound) => Outcome::Absent,
        Err(KvError::CapacityExceeded) => Outcome::Failed(Failure::Capacity),
        Err(KvError::KeySize) => Outcome::Failed(Failure::Other("invalid key size")),
        Err(KvError::ValueSize) => Outcome::Failed(Failure::Other("invalid value size")),
        Err(KvError::Corrupt) => Outcome::Failed(Failure::Other("the pair does not match its checksum")),
        Err(_) => Outcome::Failed(Failure::Other("the pair cannot be read or written")),
    }
}
