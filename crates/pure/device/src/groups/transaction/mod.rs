// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions: what a group asks for is judged as a whole by the pairs before it, and all of it is done or nothing. One call of
//! [`GroupRequest::transact`] judges and writes, and one that needs pages or is blocked has done neither: so no other command,
//! collection or Flush ever stands between the two.

mod keys;

use super::answers::Failures;
use super::source::{GroupReach, HostGroup};
use super::{GroupRequest, Kept, Life, refusal};
use crate::answer::{Outcome, Reply, kv_status};
use crate::config::TRANSFER_BYTES_MAX;
pub(super) use keys::Keys;
use saker_engine::transaction::{Ask, Found, Part};
use saker_engine::{
    AnyEngine, Capability, Context, Engine, GroupError, GroupFlags, GroupSource, Groups, KvError, NotDone,
    PairVersion, SourceError, transact,
};
use saker_nvme::group::{
    self, Asked, COUNT_BYTES, CountedRange, Form, GroupCommand, GroupId, Malformed, Op, Reason,
    TransactionResult, VERSION_BYTES, parse_transaction, result_bytes, write_transaction_results,
};
use saker_nvme::{Key, Status};
use saker_segment_store::{SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};

/// Where the results of a transaction go.
#[derive(Clone, Copy, Debug)]
enum Results {
    Nowhere,
    Kept(GroupId),
    /// Over the payload, in a buffer of so many bytes.
    Over(u32),
}

impl GroupRequest {
    /// Carries a transaction out, or refuses it.
    pub(super) fn transact<M: SegmentStore, W: Meter>(
        &mut self,
        store: &mut AnyEngine,
        kept: &mut Kept,
        reach: GroupReach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        let (form, bytes, results) = match self.command {
            GroupCommand::OneWay { id, form, bytes } => {
                (form, bytes, id.map_or(Results::Nowhere, Results::Kept))
            }
            GroupCommand::BothWays { form, bytes, buffer_bytes } => {
                (form, bytes, Results::Over(buffer_bytes))
            }
            _ => return Outcome::Done(Reply::status(Status::INVALID_FIELD)),
        };
        if !store.capabilities().has(Capability::Transactions) {
            return Outcome::Done(Reply::status(Status::NO_TRANSACTIONS));
        }
        if form == Form::All(Op::Store)
            && matches!(results, Results::Nowhere)
            && !self.is_judged
            && let Some(outcome) = self.store_all((form, bytes), store, reach, m, w)
        {
            return outcome;
        }
        match self.judge((form, bytes), results, store, kept.life, reach, m, w) {
            Step::Done(Ok(told)) => self.tell(told, results, kept, reach),
            Step::Done(Err(reply)) => Outcome::Done(reply),
            Step::Need(reads) => Outcome::Need(reads),
            Step::Blocked(stall) => Outcome::Blocked(stall),
        }
    }

    /// Stores without conditions land as a plain group does. `None`: something keeps one of them from being carried out; which is found
    /// out by judging them.
    fn store_all<M: SegmentStore, W: Meter>(
        &mut self,
        (form, bytes): (Form, u32),
        store: &mut AnyEngine,
        reach: GroupReach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Option<Outcome> {
        let Self { pieces, staged, is_judged, .. } = self;
        let mut source = HostGroup { reach, pieces, bytes, form, staged, flags: GroupFlags::ATOMIC };
        match store.group(&mut source, &mut Failures::default(), &mut Context::new(m, w)) {
            Step::Done(Ok(())) => Some(Outcome::Done(Reply::status(Status::SUCCESS))),
            Step::Need(reads) => Some(Outcome::Need(reads)),
            Step::Blocked(stall) => Some(Outcome::Blocked(stall)),
            Step::Done(Err(_)) => {
                *is_judged = true;
                None
            }
        }
    }

    /// Its results, once it is done.
    #[expect(clippy::too_many_arguments, reason = "an engine call takes its medium and meter")]
    fn judge<M: SegmentStore, W: Meter>(
        &mut self,
        (form, bytes): (Form, u32),
        results: Results,
        store: &mut AnyEngine,
        life: Life,
        reach: GroupReach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Vec<u8>, Reply>> {
        let entries = match self.entries((form, bytes), store, reach, w) {
            Ok(entries) => entries,
            Err(refused) => return Step::Done(Err(refusal(refused))),
        };
        let room = match results {
            Results::Nowhere => 0,
            Results::Kept(_) => TRANSFER_BYTES_MAX,
            Results::Over(bytes) => bytes,
        };
        let heads = COUNT_BYTES + entries.len() * result_bytes(self.mode);
        if !matches!(results, Results::Nowhere) && heads > room as usize {
            return Step::Done(Err(Reply::status(Status::INVALID_FIELD)));
        }
        let payload = self.staged.as_deref().unwrap_or_default();
        let parts: Vec<_> = entries.iter().map(|e| part(payload, e, life)).collect();
        w.work(Unit::Decode, parts.len() as u64);
        let mut keys = Keys { store, digest: reach.long_keys, m, w };
        match ready!(transact(&parts, &mut self.pages, &mut keys)) {
            Err(refused) => Step::Done(Err(not_done(refused, m))),
            Ok(_) if room == 0 => Step::Done(Ok(Vec::new())),
            Ok(found) => {
                let told: Vec<_> =
                    entries.iter().zip(&found).map(|(e, found)| told(e, found, life)).collect();
                let written = write_transaction_results(self.mode, &told, room as usize);
                Step::Done(Ok(written.unwrap_or_default()))
            }
        }
    }

    /// The entries of the payload, which is copied once.
    fn entries<W: Meter>(
        &mut self,
        (form, bytes): (Form, u32),
        store: &AnyEngine,
        reach: GroupReach<'_>,
        w: &mut W,
    ) -> Result<Vec<Asked>, GroupError<Malformed>> {
        if bytes > store.group_bytes_max() {
            return Err(GroupError::TooLong);
        }
        let is_copied = self.staged.is_none() && !reach.reach.dma_engine;
        w.work(Unit::CopyByte, if is_copied { u64::from(bytes) } else { 0 });
        let (pieces, staged, flags) = (&self.pieces, &mut self.staged, GroupFlags::ATOMIC);
        let mut source = HostGroup { reach, pieces, bytes, form, staged, flags };
        let payload = source.staged().map_err(|SourceError| GroupError::Transfer)?;
        let count = payload.first_chunk().map_or(0, |count| u32::from_le_bytes(*count) as usize);
        let mut entries = Vec::with_capacity(count.min(payload.len() / ENTRY_BYTES_MIN));
        parse_transaction(form, payload, |e| entries.push(e)).map_err(GroupError::Malformed)?;
        let takes_long = |e: &Asked| reach.long_keys.is_some() && e.ask != group::Ask::Range;
        let too_long = |e: &&Asked| e.key.len() > Key::MAX_LEN && !takes_long(e);
        if let Some(e) = entries.iter().find(too_long) {
            return Err(GroupError::Malformed(Malformed { at: e.key.start - 4, reason: Reason::KeySize }));
        }
        Ok(entries)
    }

    fn tell(&self, told: Vec<u8>, results: Results, kept: &mut Kept, reach: GroupReach<'_>) -> Outcome {
        let done = Reply::status(Status::SUCCESS);
        let length = told.len() as u32;
        Outcome::Done(match results {
            Results::Nowhere => done,
            Results::Kept(id) => {
                kept.keep(id, told);
                Reply { dw1: length, ..done }
            }
            Results::Over(_) => match self.pieces.write(reach.reach.space, 0, &told) {
                Ok(()) => Reply { dw1: length, bytes_out: length, ..done },
                Err(_) => Reply::status(Status::DATA_TRANSFER_ERROR),
            },
        })
    }
}

/// What an entry asks the engine for.
pub(super) fn part<'p>(payload: &'p [u8], e: &Asked, life: Life) -> Part<'p> {
    let bytes = |r: &std::ops::Range<u32>| &payload[r.start as usize..r.end as usize];
    let value = bytes(&e.value);
    let ask = match e.ask {
        group::Ask::Op(Op::Store) => Ask::Store(value),
        group::Ask::Op(Op::Delete) => Ask::Delete,
        group::Ask::Op(Op::Retrieve) => Ask::Retrieve,
        group::Ask::Op(Op::Exist) => Ask::Exist,
        group::Ask::Absent => Ask::Absent,
        group::Ask::Present => Ask::Present,
        group::Ask::Value => Ask::Value(value),
        group::Ask::Version => Ask::Version(wanted(value, life)),
        group::Ask::Range => {
            let range = CountedRange::decode(value).unwrap_or(CountedRange { count: 0, to: &[] });
            Ask::Range(range.count, (!range.to.is_empty()).then_some(range.to))
        }
    };
    Part { key: bytes(&e.key), ask }
}

/// The version that a host asks for, as the engine knows it: none has that of another life.
fn wanted(bytes: &[u8], life: Life) -> Option<PairVersion> {
    let number = bytes.last_chunk().map_or(0, |number| u128::from_le_bytes(*number));
    let there = PairVersion(number & ENGINE_BITS);
    match group::PairVersion::from_slice(bytes) {
        Some(version) if version.is_absent() => None,
        Some(version) if version == of_life(there, life) => Some(there),
        _ => Some(PairVersion::NEVER),
    }
}

/// The shortest entry: a length and a key.
const ENTRY_BYTES_MIN: usize = 8;

/// Engines' versions have 96 bits; those above count erasures of the namespace.
const ENGINE_BITS: u128 = (1 << 96) - 1;
const _: () = assert!(VERSION_BYTES == size_of::<u64>() + size_of::<u128>());

/// The version of a pair as hosts see it.
#[inline]
pub(crate) fn of_life(version: PairVersion, life: Life) -> group::PairVersion {
    debug_assert!(version.0 <= ENGINE_BITS && life.power_ons > 0);
    group::PairVersion::new(life.power_ons, u128::from(life.erasures) << 96 | version.0)
}

/// What an entry is answered.
fn told<'f>(e: &Asked, found: &'f Found, life: Life) -> TransactionResult<'f> {
    let reads = matches!(e.ask, group::Ask::Op(Op::Retrieve | Op::Exist));
    let is_missing = reads && found.version.is_none();
    let value = found.value.as_deref().filter(|_| e.ask == group::Ask::Op(Op::Retrieve)).unwrap_or_default();
    TransactionResult {
        status: if is_missing { Status::KEY_DOES_NOT_EXIST } else { Status::SUCCESS },
        bytes: value.len() as u32,
        version: found.version.filter(|_| reads).map(|version| of_life(version, life)),
        value: Some(value),
    }
}

/// The one table from refused transactions to status. DW0 is the place of the entry that refuses it.
pub(super) fn not_done<M: SegmentStore>(refused: NotDone, m: &M) -> Reply {
    let (status, place) = match refused {
        NotDone::Condition(place) => (Status::PRECONDITION_FAILED, place),
        NotDone::Member(place, e) => (kv_status(e), place),
        NotDone::WrittenTwice(place) => (Status::WRITTEN_TWICE, place),
        NotDone::TooLong => (Status::WRITES_TOO_LONG, 0),
        NotDone::CapacityExceeded => {
            // While the host's file refuses pages, nobody knows whether there would be room.
            let why = m.refusal().map_or(KvError::CapacityExceeded, KvError::Unrecovered);
            (kv_status(why), 0)
        }
        NotDone::Unsupported(_) => (Status::NO_TRANSACTIONS, 0),
        NotDone::NoOrder(place) => (Status::NO_RANGES, place),
    };
    Reply { dw0: place, ..Reply::status(status) }
}
