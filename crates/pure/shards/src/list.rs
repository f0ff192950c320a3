// SPDX-License-Identifier: Apache-2.0 OR MIT
//! List through the shards, one behind the other.

use crate::flight::{Kind, ListFlight};
use crate::part::Part;
use crate::shard::Ended;
use crate::{Sharded, shard_of};
use saker_host::Driver;
use saker_link::{prp_pieces, scatter};
use saker_nvme::kv_list::{ListReader, ListWriter};
use saker_nvme::{Key, KvCommand, Sqe, Status};

/// Longest answer that is put together here, in bytes.
const LIST_BYTES_MAX: u32 = 4 << 20;

impl<T: Driver> Sharded<T> {
    pub(crate) fn begin_list(&mut self, queue: usize, sqe: &Sqe) {
        match self.list_of(sqe) {
            Err(status) => self.front.complete(queue, sqe, status, 0),
            Ok(list) => {
                let flight = self.begin(queue, sqe, 0, Kind::List(Box::new(list)));
                self.ask(flight);
            }
        }
    }

    fn list_of(&self, sqe: &Sqe) -> Result<ListFlight, Status> {
        let Ok(KvCommand::List { start: from, buffer_bytes: bytes }) = KvCommand::decode(sqe) else {
            return Err(KvCommand::decode(sqe).err().unwrap_or(Status::INVALID_OPCODE));
        };
        if bytes > LIST_BYTES_MAX {
            return Err(Status::INVALID_FIELD);
        }
        let pieces = prp_pieces(sqe, bytes, self.front.space())?;
        let shard = from.map_or(0, |key| shard_of(key.as_bytes(), self.shards.len()));
        Ok(ListFlight { pieces, from, bytes, shard, keys: Vec::new() })
    }

    /// Asks the shard whose turn it is.
    fn ask(&mut self, id: u32) {
        let flight = self.flights.get_mut(id);
        let Kind::List(list) = &flight.kind else { return };
        flight.left += 1;
        let part = Part { flight: id, n: list.shard as u16 };
        let is_first = list.keys.is_empty() && list.from.is_some_and(|key| self.is_of(&key, part.n));
        let Kind::List(list) = &self.flights.get_mut(id).kind else { return };
        let (from, bytes, shard) = (list.from.filter(|_| is_first), list.bytes, list.shard);
        let shard = &mut self.shards[shard];
        let submitted = shard.queue.list(from.as_ref(), bytes);
        if shard.note(submitted, part).is_err() {
            self.refused(part);
        }
    }

    fn is_of(&self, key: &Key, shard: u16) -> bool {
        shard_of(key.as_bytes(), self.shards.len()) == usize::from(shard)
    }

    /// A shard has told its keys: if none is new to the host, the next one is asked.
    pub(crate) fn listed(&mut self, id: u32, ended: Ended) {
        let last = self.shards.len() - 1;
        let Kind::List(list) = &mut self.flights.get_mut(id).kind else { return };
        if !ended.status.is_success() {
            return self.finish(id, ended.status, 0);
        }
        let told = ListReader::new(&ended.data).into_iter().flatten().map_while(Result::ok);
        list.keys.extend(told);
        let is_new = list.keys.iter().any(|key| Some(*key) != list.from);
        if !is_new && list.shard < last {
            list.shard += 1;
            return self.ask(id);
        }
        let status = self.tell(id).err().unwrap_or(Status::SUCCESS);
        self.finish(id, status, 0);
    }

    fn tell(&mut self, id: u32) -> Result<(), Status> {
        let Kind::List(list) = &self.flights.get_mut(id).kind else { return Ok(()) };
        let mut page = vec![0; list.bytes as usize];
        let mut writer = ListWriter::new(&mut page).map_err(|_| Status::INVALID_FIELD)?;
        let _ = list.keys.iter().try_for_each(|key| writer.push(key));
        let bytes = writer.bytes();
        scatter(&list.pieces, self.front.space(), &page[..bytes])
    }
}
