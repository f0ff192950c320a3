// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Results of groups: over the payload, or kept until the host fetches them.

use super::Served;
use super::groups::Refused;
use super::io::{Pieces, status_of};
use crate::main_tree::MainTree;
use saker_host::Driver;
use saker_host::host_kv::{Answer, Outcome};
use saker_link::{prp_pieces, scatter};
use saker_nvme::group::GroupId;
use saker_nvme::group::results::ResultsWriter;
use saker_nvme::{Sqe, Status};
use std::collections::VecDeque;

/// Bytes of results that are kept, at most.
pub(super) const RESULTS_BYTES_MAX: u32 = 4 << 20;
/// Groups whose results are kept.
const KEPT_MAX: usize = 256;

/// Where results go.
#[derive(Debug)]
pub(super) enum Results {
    Nowhere,
    /// To be fetched under that name.
    Kept(GroupId),
    /// Over the payload.
    Over(Pieces),
}

impl Results {
    /// Bytes that they may have.
    pub fn room(&self) -> u32 {
        match self {
            Self::Nowhere => 0,
            Self::Kept(_) => RESULTS_BYTES_MAX,
            Self::Over(pieces) => pieces.iter().map(|(_, bytes)| bytes).sum(),
        }
    }
}

/// Results that wait to be fetched, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Kept(VecDeque<(GroupId, Vec<u8>)>);

impl Kept {
    pub fn keep(&mut self, id: GroupId, results: Vec<u8>) {
        self.forget(&id);
        self.0.push_back((id, results));
        if self.0.len() > KEPT_MAX {
            self.0.pop_front();
        }
    }

    pub fn forget(&mut self, id: &GroupId) {
        self.0.retain(|(kept, _)| kept != id);
    }
}

impl<T: Driver, M: MainTree> Served<T, M> {
    /// Results go where the host wants them: how many bytes of them there are.
    pub(super) fn tell_results(
        &mut self,
        to: Results,
        results: Vec<u8>,
        says_more: bool,
    ) -> Result<u32, Refused> {
        let bytes = results.len() as u32;
        match to {
            Results::Nowhere => Ok(0),
            Results::Kept(_) if !says_more => Ok(0),
            Results::Kept(id) => {
                self.kept.keep(id, results);
                Ok(bytes)
            }
            Results::Over(pieces) => match scatter(&pieces, self.front.space(), &results) {
                Ok(()) => Ok(bytes),
                Err(status) => Err((status, 0)),
            },
        }
    }

    /// Group Results: they are forgotten once all of them fit.
    pub(super) fn fetched(&mut self, id: &GroupId, sqe: &Sqe, buffer_bytes: u32) -> Result<u64, Status> {
        let pieces = prp_pieces(sqe, buffer_bytes, self.front.space())?;
        let found = self.kept.0.iter().find(|(kept, _)| kept == id);
        let (_, results) = found.ok_or(Status::KEY_DOES_NOT_EXIST)?;
        let bytes = results.len();
        let fits = bytes.min(buffer_bytes as usize);
        scatter(&pieces, self.front.space(), results.get(..fits).unwrap_or_default())?;
        if fits == bytes {
            self.kept.forget(id);
        }
        Ok(bytes as u64)
    }
}

pub(super) fn told_one(writer: &mut ResultsWriter, outcome: Outcome) {
    match outcome {
        Ok(Answer::Value(value)) => {
            if writer.begin_value(value.len() as u32) {
                writer.value(&value);
            }
        }
        Ok(_) => writer.push(Status::SUCCESS),
        Err(why) => writer.push(status_of(why)),
    }
}
