// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups over engines that have none of their own: each member is an operation of the engine, or of an envelope if its key
//! is long. The payload is copied once, and checked as a whole before anything is done.

use super::answers::{Failing, Told};
use super::{GroupRequest, refusal, source};
use crate::answer::{Outcome, Reply};
use crate::long_keys;
use saker_engine::{AnyEngine, GroupError, GroupFlags, GroupOp, GroupSource, KvError, Single, SourceError};
use saker_engine::{Context, Singly, Value};
use saker_long_keys::NarrowDigest;
use saker_nvme::group::Malformed;
use saker_nvme::{Key, Status};
use saker_segment_store::{SegmentStore, Stall, Step};
use saker_sim::Meter;
use source::GroupReach;

/// How far such a group is, and what it has answered.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    group: Singly,
    told: Told,
}

/// One operation under a key of any length.
pub(super) fn single<M: SegmentStore, W: Meter>(
    single: Single<'_>,
    found: &mut Value,
    digest: Option<NarrowDigest>,
    store: &mut AnyEngine,
    m: &mut M,
    w: &mut W,
) -> Step<Result<(), KvError>> {
    let step = match digest.filter(|_| single.key.len() > Key::MAX_LEN) {
        Some(digest) => long_keys::single(single, found, digest, store, m, w),
        None => single.execute(found, store, &mut Context::new(m, w)),
    };
    step.map(|done| done.map_err(|error| truthful(error, m)))
}

/// As for whole commands: while the host's file refuses pages, nobody knows whether there would be room.
fn truthful<M: SegmentStore>(error: KvError, m: &M) -> KvError {
    let why = m.refusal().filter(|_| error == KvError::CapacityExceeded);
    why.map_or(error, KvError::Unrecovered)
}

impl GroupRequest {
    /// Carries a group out as far as it goes now. The answers are in `told` when it is done.
    pub(super) fn carry_out_singly<M: SegmentStore, W: Meter>(
        &mut self,
        (form, bytes): (saker_nvme::group::Form, u32),
        told: &mut Told,
        store: &mut AnyEngine,
        reach: GroupReach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        if self.singly.is_none() {
            let empty = Told::new(told.bytes_max());
            match self.begin_singly((form, bytes), reach, w) {
                Ok(group) => self.singly = Some(Box::new(Progress { group, told: empty })),
                Err(refused) => return Outcome::Done(refusal(refused)),
            }
        }
        let payload = self.staged.as_deref().unwrap_or_default();
        let Some(progress) = &mut self.singly else { return Outcome::Blocked(Stall::Busy) };
        let step = progress.group.step(payload, &mut progress.told, |member, found| {
            single(member, found, reach.long_keys, store, m, w)
        });
        match step {
            Step::Done(()) => {
                std::mem::swap(told, &mut progress.told);
                Outcome::Done(Reply { dw0: told.failed(), ..Reply::status(Status::SUCCESS) })
            }
            Step::Need(reads) => Outcome::Need(reads),
            Step::Blocked(stall) => Outcome::Blocked(stall),
        }
    }

    /// What is blocked does not go on, for that reason. True if that ends a group that was done in part, by executing
    /// it again.
    pub fn give_up(&mut self, why: KvError) -> bool {
        let Some(progress) = &mut self.singly else { return false };
        progress.group.give_up(why);
        true
    }

    fn begin_singly<W: Meter>(
        &mut self,
        (form, bytes): (saker_nvme::group::Form, u32),
        reach: GroupReach<'_>,
        w: &mut W,
    ) -> Result<Singly, GroupError<Malformed>> {
        let reach = GroupReach { long_keys: None, ..reach };
        let mut staged = self.staged.take();
        let (pieces, flags) = (&self.pieces, GroupFlags::NONE);
        let mut group = source::HostGroup { reach, pieces, bytes, form, staged: &mut staged, flags };
        let copied = group.staged().map(|_| ());
        let payload = group.staged.take().unwrap_or_default();
        let begun = match copied {
            Err(SourceError) => Err(GroupError::Transfer),
            Ok(()) => Singly::new(&group, &payload, w).map_err(source::plain),
        };
        self.staged = Some(payload);
        begun
    }
}

/// A pair of a Bulk Put is a store.
pub(super) fn store_of<'p>(key: &'p [u8], value: &'p [u8]) -> Single<'p> {
    Single { op: GroupOp::Store, key, value }
}
