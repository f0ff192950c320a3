// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions go to a shard as they are: one shard knows them whole, or they are refused.

use crate::flight::Kind;
use crate::{Sharded, shard_of};
use saker_host::Driver;
use saker_link::{gather, prp_pieces};
use saker_nvme::group::{Ask, Form, GroupCommand, parse_transaction};
use saker_nvme::{Key, Sqe, Status};
use std::collections::VecDeque;

/// Names that are remembered: no device keeps the results of more.
const NAMES_MAX: usize = 256;

/// Which shard keeps the results of a transaction: the oldest names go first.
#[derive(Debug, Default)]
pub(crate) struct Whose(VecDeque<(Key, usize)>);

impl Whose {
    fn keeps(&mut self, id: Key, shard: usize) {
        self.forget(&id);
        self.0.push_back((id, shard));
        if self.0.len() > NAMES_MAX {
            self.0.pop_front();
        }
    }

    pub fn forget(&mut self, id: &Key) {
        self.0.retain(|(known, _)| known != id);
    }

    pub fn shard(&self, id: &Key) -> Option<usize> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, shard)| *shard)
    }
}

impl<T: Driver> Sharded<T> {
    /// Hands a transaction to the shard of all its keys.
    pub(crate) fn begin_transaction(&mut self, queue: usize, sqe: &Sqe, command: GroupCommand) {
        let (id, form, bytes) = match command {
            GroupCommand::OneWay { id, form, bytes } => (id, form, bytes),
            GroupCommand::BothWays { form, bytes, .. } => (None, form, bytes),
            _ => return self.front.complete(queue, sqe, Status::INVALID_FIELD, 0),
        };
        match self.shard_of_all(sqe, form, bytes, command.data_bytes()) {
            Err((status, at)) => self.front.complete(queue, sqe, status, u64::from(at)),
            Ok(shard) => {
                if let Some(id) = id {
                    self.kept.take(&id);
                    self.whose.keeps(id, shard);
                }
                let flight = self.begin(queue, sqe, 1, Kind::Single);
                self.hand_out(flight, shard, sqe);
            }
        }
    }

    fn shard_of_all(&self, sqe: &Sqe, form: Form, bytes: u32, data: u32) -> Result<usize, (Status, u32)> {
        if bytes > self.group_bytes_max {
            return Err((Status::INVALID_FIELD, 0));
        }
        let pieces = prp_pieces(sqe, data, self.front.space());
        let payload = pieces.and_then(|pieces| gather(&pieces, self.front.space())).map_err(|s| (s, 0))?;
        let payload = payload.get(..bytes as usize).unwrap_or_default();
        let (mut shards, mut range) = (Vec::new(), None);
        parse_transaction(form, payload, |e| {
            let key = payload.get(e.key.start as usize..e.key.end as usize).unwrap_or_default();
            if e.ask == Ask::Range && range.is_none() {
                range = Some(shards.len());
            }
            shards.push(shard_of(key, self.shards.len()));
        })
        .map_err(|malformed| (malformed.status(), malformed.at))?;
        let first = shards.first().copied().unwrap_or_default();
        // A range is in all shards.
        match shards.iter().position(|shard| *shard != first).into_iter().chain(range).min() {
            Some(place) => Err((Status::SEVERAL_SHARDS, place as u32)),
            None => Ok(first),
        }
    }
}
