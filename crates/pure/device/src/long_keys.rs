// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys of 17 to 255 bytes. Their pairs are kept as hosts keep them through the standard commands
//! ([`saker_long_keys`]): so any engine has them, a List shows them, and hosts with and without these commands see the
//! same pairs. The device changes an envelope in one step, which two hosts could not.

use crate::answer::{Outcome, Reach, Reply, Timing, condition, kv_status};
use crate::config::TRANSFER_BYTES_MAX;
use crate::stats::HealthCounters;
use crate::transfer::{Aside, Pieces};
use saker_engine::{AnyEngine, Condition, Engine, GroupOp, KvError, Single};
use saker_engine::{Context, Value};
use saker_link::{DmaSpace, Sqe, Traffic};
use saker_long_keys::envelope::{self, Directory, check_digests, position, rewrite};
use saker_long_keys::{DEVICE_KEY_BYTES, NarrowDigest, device_key};
use saker_nvme::vendor_specific::{IndirectCommand, IndirectOp};
use saker_nvme::{PointerRule, Status};
use saker_profile::TimedOp;
use saker_segment_store::{SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};

/// Where the envelope of a key is.
pub type DeviceKey = [u8; DEVICE_KEY_BYTES];

/// A command whose key was somewhere else.
#[derive(Clone, Debug)]
pub struct IndirectRequest {
    command: IndirectCommand,
    key: Vec<u8>,
    pieces: Pieces,
    /// The value of a store, once it was fetched.
    value: Option<Vec<u8>>,
}

/// How an envelope has to change.
enum Change {
    None,
    Remove,
    /// By these bytes.
    Replace(Vec<u8>),
}

impl Change {
    fn apply<M: SegmentStore, W: Meter>(
        self,
        at: &DeviceKey,
        store: &mut AnyEngine,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        match self {
            Self::None => Step::Done(Ok(())),
            Self::Remove => store.delete(at, &mut Context::new(m, w)).map(|deleted| deleted.map(|_| ())),
            Self::Replace(bytes) => {
                let put = store.store(at, &mut &bytes[..], Condition::Always, &mut Context::new(m, w));
                put.map(|put| put.and_then(|put| put.wait(store).map(|_| ())))
            }
        }
    }
}

/// A member of a group under a long key, in one step.
pub fn single<M: SegmentStore, W: Meter>(
    Single { op, key, value }: Single<'_>,
    found: &mut Value,
    digest: NarrowDigest,
    store: &mut AnyEngine,
    m: &mut M,
    w: &mut W,
) -> Step<Result<(), KvError>> {
    let at = device_key(key, &digest);
    w.work(Unit::ChecksumByte, key.len() as u64);
    let before = match ready!(look(store, &at, digest, m, w)) {
        Ok(before) => before,
        Err(e) => return Step::Done(Err(e)),
    };
    let changed = match (op, before.value(key)) {
        (GroupOp::Store, _) => before.with(key, value).map(Change::Replace),
        (GroupOp::Delete, _) => without(&before, key),
        (_, None) => Err(KvError::NotFound),
        (GroupOp::Exist, Some(_)) => Ok(Change::None),
        (GroupOp::Retrieve, Some(value)) => {
            (found.length, found.bytes) = (value.len() as u32, value.to_vec());
            Ok(Change::None)
        }
    };
    match changed {
        Ok(change) => change.apply(&at, store, m, w),
        Err(e) => Step::Done(Err(e)),
    }
}

impl IndirectRequest {
    /// Decodes a command, resolves its data pointer, of a kind that `rule` admits, and fetches its key.
    ///
    /// # Errors
    /// As for [`IndirectCommand`]; 85h for a value that is too long; 04h for a key that is in no memory.
    pub fn decode(
        sqe: &Sqe,
        rule: PointerRule,
        value_bytes_max: u32,
        space: &DmaSpace,
    ) -> Result<Self, Status> {
        let command = IndirectCommand::decode_with(sqe, rule)?;
        if matches!(command.op, IndirectOp::Store { value_bytes, .. } if value_bytes > value_bytes_max) {
            return Err(Status::INVALID_VALUE_SIZE);
        }
        if command.data_bytes() > TRANSFER_BYTES_MAX {
            return Err(Status::INVALID_FIELD);
        }
        let pieces = Pieces::of(sqe, command.data_bytes(), space)?;
        let mut key = vec![0; usize::from(command.key_bytes)];
        space.read(command.key_address, &mut key).map_err(|_| Status::DATA_TRANSFER_ERROR)?;
        Ok(Self { command, key, pieces, value: None })
    }

    /// Its key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Bytes that the host sends at DPTR.
    pub fn bytes_in(&self) -> u32 {
        if self.is_store() { self.command.data_bytes() } else { 0 }
    }

    fn is_store(&self) -> bool {
        matches!(self.command.op, IndirectOp::Store { .. })
    }

    /// Whether it changes what is stored.
    pub fn is_write(&self) -> bool {
        matches!(self.command.op, IndirectOp::Store { .. } | IndirectOp::Delete)
    }

    /// Counts it for the health log: it succeeded, and `bytes_out` bytes went to the host.
    pub fn count_work(&self, bytes_out: u32, work: &mut HealthCounters) {
        match self.command.op {
            IndirectOp::Store { value_bytes, .. } => work.wrote(value_bytes),
            IndirectOp::Retrieve { .. } => work.read(bytes_out),
            IndirectOp::Delete | IndirectOp::Exist => {}
        }
    }

    /// Where its value is in host memory.
    pub fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// The key: one more fetch.
    pub fn aside(&self) -> Aside {
        Aside { exact: 1, bytes: u64::from(self.command.key_bytes), rounds: 1, ..Aside::default() }
    }

    /// Counts the fetch of the key.
    pub fn count_key(&self, traffic: &mut Traffic) {
        traffic.to_device.add_exact(self.command.key_address, u64::from(self.command.key_bytes));
    }

    /// What a latency table looks at.
    pub fn timing(&self) -> Timing {
        let op = match self.command.op {
            IndirectOp::Store { .. } => TimedOp::Store,
            IndirectOp::Retrieve { .. } => TimedOp::Retrieve,
            IndirectOp::Delete => TimedOp::Delete,
            IndirectOp::Exist => TimedOp::Exist,
        };
        Timing::Single(op, u32::from(self.command.key_bytes), self.command.data_bytes())
    }

    /// Executes it.
    pub fn execute<M: SegmentStore, W: Meter>(
        &mut self,
        store: &mut AnyEngine,
        digest: NarrowDigest,
        error_on_delete: bool,
        reach: Reach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        let at = device_key(&self.key, &digest);
        w.work(Unit::ChecksumByte, self.key.len() as u64);
        let before = match look(store, &at, digest, m, w) {
            Step::Done(Ok(before)) => before,
            Step::Done(Err(e)) => return Outcome::Done(Reply::status(kv_status(e))),
            Step::Need(reads) => return Outcome::Need(reads),
            Step::Blocked(stall) => return Outcome::Blocked(stall),
        };
        let changed = match self.command.op {
            IndirectOp::Retrieve { buffer_bytes } => {
                return Outcome::Done(self.retrieve(&before, buffer_bytes, reach, w));
            }
            IndirectOp::Exist => return Outcome::Done(Reply::status(exist(&before, &self.key))),
            IndirectOp::Store { options, .. } => self.stored(&before, condition(options), reach, w),
            IndirectOp::Delete => match without(&before, &self.key) {
                Err(KvError::NotFound) if !error_on_delete => Ok(Change::None),
                changed => changed,
            },
        };
        let change = match changed {
            Err(e) => return Outcome::Done(Reply::status(kv_status(e))),
            Ok(change) => change,
        };
        match change.apply(&at, store, m, w) {
            Step::Done(done) => {
                Outcome::Done(Reply::status(done.map_or_else(kv_status, |()| Status::SUCCESS)))
            }
            Step::Need(reads) => Outcome::Need(reads),
            Step::Blocked(stall) => Outcome::Blocked(stall),
        }
    }

    fn retrieve<W: Meter>(&self, before: &Envelope, buffer_bytes: u32, reach: Reach<'_>, w: &mut W) -> Reply {
        let Some(value) = before.value(&self.key) else { return Reply::status(Status::KEY_DOES_NOT_EXIST) };
        let wanted = &value[..value.len().min(buffer_bytes as usize)];
        w.work(Unit::CopyByte, if reach.dma_engine { 0 } else { wanted.len() as u64 });
        if !wanted.is_empty() && self.pieces.write(reach.space, 0, wanted).is_err() {
            return Reply::status(Status::DATA_TRANSFER_ERROR);
        }
        let (dw0, bytes_out) = (value.len() as u32, wanted.len() as u32);
        Reply { dw0, bytes_out, ..Reply::status(Status::SUCCESS) }
    }

    /// The envelope with this pair.
    fn stored<W: Meter>(
        &mut self,
        before: &Envelope,
        condition: Condition,
        reach: Reach<'_>,
        w: &mut W,
    ) -> Result<Change, KvError> {
        match (condition, before.value(&self.key).is_some()) {
            (Condition::MustExist, false) => return Err(KvError::NotFound),
            (Condition::MustNotExist, true) => return Err(KvError::Exists),
            _ => {}
        }
        let bytes = self.command.data_bytes() as usize;
        let Self { key, pieces, value, .. } = self;
        if value.is_none() {
            let mut fetched = vec![0; bytes];
            if bytes > 0 {
                pieces.read(reach.space, 0, &mut fetched).map_err(|_| KvError::Transfer)?;
            }
            w.work(Unit::CopyByte, if reach.dma_engine { 0 } else { bytes as u64 });
            *value = Some(fetched);
        }
        before.with(key, value.as_deref().unwrap_or_default()).map(Change::Replace)
    }
}

fn exist(before: &Envelope, key: &[u8]) -> Status {
    if before.value(key).is_some() { Status::SUCCESS } else { Status::KEY_DOES_NOT_EXIST }
}

fn without(before: &Envelope, key: &[u8]) -> Result<Change, KvError> {
    if before.value(key).is_none() {
        return Err(KvError::NotFound);
    }
    Ok(before.without(key)?.map_or(Change::Remove, Change::Replace))
}

/// The pairs of one digest, or none.
#[derive(Clone, Debug, Default)]
pub struct Envelope(Vec<u8>);

impl Envelope {
    /// The bytes, known to be good.
    fn entries(&self) -> Vec<envelope::Entry<'_>> {
        match Directory::parse(&self.0, self.0.len()) {
            Ok(Directory::Complete(entries)) => entries,
            _ => Vec::new(),
        }
    }

    /// The value of a key, if it has one.
    pub fn value(&self, key: &[u8]) -> Option<&[u8]> {
        let entries = self.entries();
        let at = position(&entries, key).ok()?;
        self.0.get(entries[at].value.clone())
    }

    /// With a pair.
    ///
    /// # Errors
    /// `ValueSize` if more pairs have one digest than an envelope counts.
    pub fn with(&self, key: &[u8], value: &[u8]) -> Result<Vec<u8>, KvError> {
        self.rewritten(key, Some((key, value)))
    }

    /// Without a pair that it has; `None`: nothing is left.
    ///
    /// # Errors
    /// None that can happen.
    pub fn without(&self, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        if self.entries().len() < 2 { Ok(None) } else { self.rewritten(key, None).map(Some) }
    }

    fn rewritten(&self, key: &[u8], pair: Option<(&[u8], &[u8])>) -> Result<Vec<u8>, KvError> {
        let (entries, mut bytes) = (self.entries(), Vec::new());
        let written = rewrite(&self.0, &entries, position(&entries, key), pair, &mut bytes);
        written.ok_or(KvError::Corrupt)?.map_err(|_| KvError::ValueSize)?;
        Ok(bytes)
    }

    /// From its bytes, which somebody wrote with Store.
    fn parse(bytes: Vec<u8>, at: &DeviceKey, digest: NarrowDigest) -> Result<Self, KvError> {
        match Directory::parse(&bytes, bytes.len()) {
            Ok(Directory::Complete(entries)) if check_digests(&entries, at, &digest).is_ok() => {}
            _ => return Err(KvError::Corrupt),
        }
        Ok(Self(bytes))
    }

    /// From bytes of [`Envelope::with`] or [`Envelope::without`].
    pub fn of(bytes: Option<Vec<u8>>) -> Self {
        Self(bytes.unwrap_or_default())
    }

    /// Its bytes; none if it has no pairs.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The envelope at a device key as it is now.
pub fn look<M: SegmentStore, W: Meter>(
    store: &mut AnyEngine,
    at: &DeviceKey,
    digest: NarrowDigest,
    m: &mut M,
    w: &mut W,
) -> Step<Result<Envelope, KvError>> {
    let mut bytes = Vec::new();
    Step::Done(match ready!(store.retrieve(at, &mut bytes, &mut Context::new(m, w))) {
        Ok(_) => Envelope::parse(bytes, at, digest),
        Err(KvError::NotFound) => Ok(Envelope::default()),
        Err(e) => Err(e),
    })
}
