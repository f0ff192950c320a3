// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups: many operations in one command, executed by one call of the engine (HotStorage'19).

mod answers;
mod bulk;
mod gather;
mod kept;
mod keys;
mod long;
mod singly;
mod source;
mod split;
mod transaction;

use crate::answer::{Outcome, Reach, Reply, Timing, kv_status};
use crate::config::TRANSFER_BYTES_MAX;
use crate::transfer::{Aside, Pieces};
use answers::{Failing, Failures, Told};
use gather::Vector;
pub use kept::{Kept, Life};
use saker_engine::{
    Answers, AnyEngine, Capability, Context, Engine, GroupError, GroupFlags, GroupSource, Groups, Hints,
    SourceError,
};
use saker_link::{Sqe, Traffic};
use saker_long_keys::{NarrowDigest, device_key};
use saker_nvme::group::{Form, GroupCommand, GroupId, GroupMode, Malformed, Op, parse};
use saker_nvme::vendor_specific::Methods;
use saker_nvme::{Key, PointerRule, Status};
use saker_profile::TimedOp;
use saker_segment_store::{Reads, SegmentStore, Step};
use saker_sim::{Meter, Unit};
use source::{Fault, GroupReach, HostGroup, plain};
pub use split::{SplitRequest, Splits};
pub(crate) use transaction::of_life;

/// A group command on its way.
#[derive(Clone, Debug)]
pub struct GroupRequest {
    command: GroupCommand,
    mode: GroupMode,
    pieces: Pieces,
    /// The payload, once it was needed aside from its landing.
    staged: Option<Vec<u8>>,
    /// Whether keys were found that are longer than the engine's.
    has_long_keys: bool,
    /// Pages that such keys needed.
    pages: Reads,
    /// Of a vector of addresses.
    vector: Option<Vector>,
    /// Of a Bulk Put.
    bulk: bulk::Progress,
    /// Over an engine without groups.
    singly: Option<Box<singly::Progress>>,
    /// Of a transaction of stores: it has to be looked at member by member.
    is_judged: bool,
}

impl GroupRequest {
    /// Decodes a command and resolves its data pointer, of a kind that `rule` admits. Whether the device has groups was looked at before.
    ///
    /// # Errors
    /// As for [`GroupCommand`]; 02h for more data than a command can move.
    pub fn decode(
        sqe: &Sqe,
        rule: PointerRule,
        methods: Methods,
        space: &saker_link::DmaSpace,
    ) -> Result<Self, Status> {
        let (command, mode) = if methods.transactions() {
            GroupCommand::decode_with_mode(sqe, rule)?
        } else {
            (GroupCommand::decode_with(sqe, rule)?, GroupMode::PLAIN)
        };
        if command.data_bytes() > TRANSFER_BYTES_MAX {
            return Err(Status::INVALID_FIELD);
        }
        let pieces = Pieces::of(sqe, command.data_bytes(), space)?;
        let vector = match command {
            GroupCommand::Vector { pages, bytes } => Some(Vector::fetch(&pieces, bytes, pages, space)?),
            _ => None,
        };
        let (staged, has_long_keys) = (None, false);
        Ok(Self {
            command,
            mode,
            pieces,
            staged,
            has_long_keys,
            pages: Reads::new(),
            vector,
            bulk: bulk::Progress::default(),
            singly: None,
            is_judged: false,
        })
    }

    /// Bytes that the host sends.
    pub fn bytes_in(&self) -> u32 {
        self.command.bytes_in()
    }

    /// Where its data is.
    pub fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// What the device fetches beside the data at DPTR.
    pub fn aside(&self) -> Aside {
        self.vector.as_ref().map_or(Aside::default(), Vector::aside)
    }

    /// Counts it.
    pub fn count_aside(&self, traffic: &mut Traffic) {
        if let Some(vector) = &self.vector {
            vector.count_operands(traffic);
        }
    }

    /// Whether it may change what is stored.
    pub fn is_write(&self) -> bool {
        match self.command {
            GroupCommand::OneWay { form, .. } | GroupCommand::BothWays { form, .. } => form.may_write(),
            GroupCommand::Vector { .. } | GroupCommand::Bulk { .. } => true,
            GroupCommand::Results { .. } | GroupCommand::Prefetch { .. } => false,
        }
    }

    /// What a latency table looks at. A mixed group counts as stores, results that are read alone as nothing.
    pub fn timing(&self, space: &saker_link::DmaSpace) -> Timing {
        let (form, bytes) = match self.command {
            GroupCommand::OneWay { form, bytes, .. } => (form, bytes),
            // Values come back in the same payload format (HotStorage'19, section 3.1).
            GroupCommand::BothWays { form: form @ Form::All(Op::Retrieve), buffer_bytes, .. } => {
                (form, buffer_bytes)
            }
            GroupCommand::BothWays { form, bytes, .. } => (form, bytes),
            GroupCommand::Bulk { bytes } => (Form::All(Op::Store), bytes),
            GroupCommand::Vector { .. } => {
                let packed = self.vector.as_ref().map_or((0, 0), |v| (v.count(), v.packed_bytes() as u32));
                return Timing::Group(TimedOp::Store, packed.0, packed.1);
            }
            GroupCommand::Results { .. } | GroupCommand::Prefetch { .. } => return Timing::Nothing,
        };
        let mut count = [0; 4];
        let known = bytes >= 4 && self.pieces.read(space, 0, &mut count).is_ok();
        // A count that is not true is refused later; until then it must not take longer than any true one.
        let pairs = if known { u32::from_le_bytes(count).min(bytes / 8) } else { 0 };
        let op = match form {
            Form::All(Op::Retrieve) => TimedOp::Retrieve,
            Form::All(Op::Delete) => TimedOp::Delete,
            Form::All(Op::Exist) => TimedOp::Exist,
            Form::All(Op::Store) | Form::Mixed => TimedOp::Store,
        };
        Timing::Group(op, pairs, bytes)
    }

    /// Executes it.
    pub fn execute<M: SegmentStore, W: Meter>(
        &mut self,
        store: &mut AnyEngine,
        kept: &mut Kept,
        long_keys: Option<NarrowDigest>,
        reach: Reach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        let reach = GroupReach { reach, long_keys };
        if self.mode.is_transaction {
            return self.transact(store, kept, reach, m, w);
        }
        match self.command {
            GroupCommand::OneWay { id, form, bytes } => match id {
                None => self.carry_out_untold(form, bytes, store, reach, m, w),
                Some(id) => {
                    let mut told = Told::new(TRANSFER_BYTES_MAX);
                    let outcome = self.carry_out_told(form, bytes, &mut told, store, reach, m, w);
                    keep(outcome, id, told, kept)
                }
            },
            GroupCommand::BothWays { form, bytes, buffer_bytes } => {
                let mut told = Told::new(buffer_bytes);
                let outcome = self.carry_out_told(form, bytes, &mut told, store, reach, m, w);
                self.send(outcome, told, reach.reach)
            }
            GroupCommand::Results { id, buffer_bytes } => self.fetch(&id, buffer_bytes, kept, reach.reach, w),
            GroupCommand::Prefetch { id, bytes } => Outcome::Done(self.bind(&id, bytes, store, reach)),
            GroupCommand::Vector { .. } => match self.gather(reach.reach.space) {
                Ok((form, bytes)) => self.carry_out_untold(form, bytes, store, reach, m, w),
                Err(Ok(malformed)) => Outcome::Done(refusal(GroupError::Malformed(malformed))),
                Err(Err(SourceError)) => Outcome::Done(refusal(GroupError::Transfer)),
            },
            GroupCommand::Bulk { bytes } => self.unpack(bytes, store, reach, m, w),
        }
    }

    /// A group whose host asks for no more than how many operations failed.
    fn carry_out_untold<M: SegmentStore, W: Meter>(
        &mut self,
        form: Form,
        bytes: u32,
        store: &mut AnyEngine,
        reach: GroupReach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        if !store.capabilities().has(Capability::Groups) {
            return self.carry_out_singly((form, bytes), &mut Told::new(0), store, reach, m, w);
        }
        self.carry_out(form, bytes, &mut Failures::default(), store, reach, m, w)
    }

    #[expect(clippy::too_many_arguments, reason = "an engine call takes its medium and meter")]
    fn carry_out_told<M: SegmentStore, W: Meter>(
        &mut self,
        form: Form,
        bytes: u32,
        told: &mut Told,
        store: &mut AnyEngine,
        reach: GroupReach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        if !store.capabilities().has(Capability::Groups) {
            return self.carry_out_singly((form, bytes), told, store, reach, m, w);
        }
        self.carry_out(form, bytes, told, store, reach, m, w)
    }

    #[expect(clippy::too_many_arguments, reason = "an engine call takes its medium and meter")]
    fn carry_out<M: SegmentStore, W: Meter, A: Answers + Failing>(
        &mut self,
        form: Form,
        bytes: u32,
        answers: &mut A,
        store: &mut AnyEngine,
        reach: GroupReach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        let Self { pieces, staged, has_long_keys, pages, .. } = self;
        let long_keys = reach.long_keys;
        let flags = GroupFlags::NONE;
        let mut source = HostGroup { reach, pieces, bytes, form, staged, flags };
        let step = if *has_long_keys {
            None
        } else {
            Some(store.group(&mut source, answers, &mut Context::new(m, w)))
        };
        let step = match (step, long_keys) {
            (None | Some(Step::Done(Err(GroupError::Malformed(Fault::LongKey)))), Some(digest)) => {
                *has_long_keys = true;
                match source.staged() {
                    Ok(payload) => long::carry_out(form, payload, digest, pages, answers, store, m, w),
                    Err(SourceError) => Step::Done(Err(GroupError::Transfer)),
                }
            }
            (Some(step), _) => step.map(|done| done.map_err(plain)),
            (None, None) => unreachable!("long keys are looked for only where they are taken"),
        };
        match step {
            Step::Done(Ok(())) => {
                Outcome::Done(Reply { dw0: answers.failed(), ..Reply::status(Status::SUCCESS) })
            }
            Step::Done(Err(refused)) => Outcome::Done(refusal(refused)),
            Step::Need(reads) => Outcome::Need(reads),
            Step::Blocked(stall) => Outcome::Blocked(stall),
        }
    }

    /// Binds the keys of the payload.
    fn bind(&self, id: &GroupId, bytes: u32, store: &mut AnyEngine, reach: GroupReach<'_>) -> Reply {
        let mut payload = vec![0; bytes as usize];
        if !payload.is_empty() && self.pieces.read(reach.reach.space, 0, &mut payload).is_err() {
            return Reply::status(Status::DATA_TRANSFER_ERROR);
        }
        let mut keys = Vec::new();
        if let Err(malformed) = parse(Form::All(Op::Retrieve), &payload, |e| keys.push(e.key)) {
            return refusal(GroupError::Malformed(malformed));
        }
        let stored_under = |key: std::ops::Range<u32>| {
            let key = &payload[key.start as usize..key.end as usize];
            match reach.long_keys {
                Some(digest) if key.len() > Key::MAX_LEN => device_key(key, &digest).to_vec(),
                _ => key.to_vec(),
            }
        };
        let keys: Vec<_> = keys.into_iter().map(stored_under).collect();
        if !store.capabilities().has(Capability::Bind) {
            // A hint: it may be ignored.
            return Reply::status(Status::SUCCESS);
        }
        let bound = store.bind(id.as_bytes(), &mut keys.iter().map(Vec::as_slice));
        Reply::status(bound.map_or_else(kv_status, |()| Status::SUCCESS))
    }

    /// Results over the payload.
    fn send(&self, outcome: Outcome, told: Told, reach: Reach<'_>) -> Outcome {
        let Outcome::Done(reply) = outcome else { return outcome };
        if !reply.status.is_success() {
            return Outcome::Done(reply);
        }
        let results = told.finish();
        let length = results.len() as u32;
        // No result without a value is longer than its entry, and values are left out where they do not fit.
        debug_assert!(length <= self.pieces.bytes());
        Outcome::Done(match self.pieces.write(reach.space, 0, &results) {
            Ok(()) => Reply { dw1: length, bytes_out: length, ..reply },
            Err(_) => Reply::status(Status::DATA_TRANSFER_ERROR),
        })
    }

    fn fetch<W: Meter>(
        &self,
        id: &GroupId,
        buffer_bytes: u32,
        kept: &mut Kept,
        reach: Reach<'_>,
        w: &mut W,
    ) -> Outcome {
        let Some(n) = kept.position(id) else {
            return Outcome::Done(Reply::status(Status::KEY_DOES_NOT_EXIST));
        };
        let results = &kept.results[n].1;
        let (length, fits) = (results.len() as u32, results.len().min(buffer_bytes as usize));
        w.work(Unit::CopyByte, if reach.dma_engine { 0 } else { fits as u64 });
        if self.pieces.write(reach.space, 0, &results[..fits]).is_err() {
            return Outcome::Done(Reply::status(Status::DATA_TRANSFER_ERROR));
        }
        if length <= buffer_bytes {
            kept.take(id);
        }
        Outcome::Done(Reply { dw0: length, bytes_out: fits as u32, ..Reply::status(Status::SUCCESS) })
    }
}

/// Keeps the results of a group that was carried out, if there is anything in them that DW0 does not tell.
fn keep(outcome: Outcome, id: GroupId, told: Told, kept: &mut Kept) -> Outcome {
    let Outcome::Done(reply) = outcome else { return outcome };
    if !reply.status.is_success() {
        return Outcome::Done(reply);
    }
    let plain = !told.reads && reply.dw0 == 0;
    let results = told.finish();
    let dw1 = if plain { 0 } else { results.len() as u32 };
    if plain {
        kept.take(&id);
    } else {
        kept.keep(id, results);
    }
    Outcome::Done(Reply { dw1, ..reply })
}

/// The one table from refused groups to status. DW0 is the offset of what is wrong in the payload.
fn refusal(refused: GroupError<Malformed>) -> Reply {
    let (status, at) = match refused {
        GroupError::Malformed(malformed) => (malformed.status(), malformed.at),
        GroupError::Duplicate(at) => (Status::INVALID_FIELD, at),
        GroupError::TooLong => (Status::INVALID_FIELD, 0),
        GroupError::CapacityExceeded => (Status::CAPACITY_EXCEEDED, 0),
        GroupError::Transfer => (Status::DATA_TRANSFER_ERROR, 0),
        GroupError::Member(n, e) => (kv_status(e), n),
        GroupError::Unsupported(_) => (Status::INVALID_FIELD, 0),
    };
    Reply { dw0: at, ..Reply::status(status) }
}

/// An identification is a name of up to 16 bytes, like a key.
const _: () = assert!(saker_nvme::group::ID_BYTES_MAX == Key::MAX_LEN);
