// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bulk Put, after KV-CSD: one command brings many pairs, and the device unpacks them into records of their own. What it
//! costs beside a group: a header and a copy of each pair, and a command that can be cut in its middle.

use super::answers::Failures;
use super::singly::{single, store_of};
use super::source::GroupReach;
use super::{GroupRequest, refusal};
use crate::answer::{Outcome, Reply};
use saker_engine::Value;
use saker_engine::{Answers, AnyEngine, GroupError};
use saker_link::DmaSpace;
use saker_nvme::Status;
use saker_nvme::group::{Entry, Form, Op, parse};
use saker_segment_store::{SegmentStore, Step};
use saker_sim::Meter;

/// How far it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    entries: Option<Vec<Entry>>,
    done: usize,
    failures: Failures,
}

impl GroupRequest {
    /// Stores one pair after the other, as far as it goes now.
    pub(super) fn unpack<M: SegmentStore, W: Meter>(
        &mut self,
        bytes: u32,
        store: &mut AnyEngine,
        GroupReach { reach, long_keys }: GroupReach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        if let Err(reply) = self.fetch_bulk(bytes, reach.space) {
            return Outcome::Done(reply);
        }
        let payload = self.staged.as_deref().unwrap_or_default();
        let Progress { entries, done, failures } = &mut self.bulk;
        for e in entries.as_deref().unwrap_or_default().iter().skip(*done) {
            let key = &payload[e.key.start as usize..e.key.end as usize];
            let value = &payload[e.value.start as usize..e.value.end as usize];
            match single(store_of(key, value), &mut Value::default(), long_keys, store, m, w) {
                Step::Done(result) => failures.done(result),
                Step::Need(reads) => return Outcome::Need(reads),
                Step::Blocked(stall) => return Outcome::Blocked(stall),
            }
            *done += 1;
        }
        Outcome::Done(Reply { dw0: failures.0, ..Reply::status(Status::SUCCESS) })
    }

    pub(super) fn fetch_bulk(&mut self, bytes: u32, space: &DmaSpace) -> Result<(), Reply> {
        if self.bulk.entries.is_some() {
            return Ok(());
        }
        let mut payload = vec![0; bytes as usize];
        if bytes > 0 && self.pieces.read(space, 0, &mut payload).is_err() {
            return Err(Reply::status(Status::DATA_TRANSFER_ERROR));
        }
        let mut entries = Vec::new();
        parse(Form::All(Op::Store), &payload, |e| entries.push(e))
            .map_err(|malformed| refusal(GroupError::Malformed(malformed)))?;
        (self.staged, self.bulk.entries) = (Some(payload), Some(entries));
        Ok(())
    }
}
