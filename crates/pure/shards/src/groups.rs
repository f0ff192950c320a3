// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups: checked as a whole, split by shard, and their results put together again.

use crate::flight::{GroupFlight, Kind, Results};
use crate::part::Part;
use crate::{Sharded, shard_of};
use saker_host::Driver;
use saker_link::{gather, prp_pieces, scatter};
use saker_nvme::group::{Entry, Form, GroupCommand, Packer, parse};
use saker_nvme::{Key, PointerRule, Sqe, Status};
use std::collections::BTreeMap;

/// Longest buffer for values of one group without a buffer of the host's, in bytes.
const VALUES_BYTES_MAX: u32 = 256 << 10;

/// A refusal: its status, and DW0.
type Refused = (Status, u32);

impl<T: Driver> Sharded<T> {
    pub(crate) fn begin_group(&mut self, queue: usize, sqe: &Sqe) {
        let decoded = match GroupCommand::decode_with_mode(sqe, PointerRule::Prp) {
            Ok((command, mode)) if mode.is_transaction => return self.begin_transaction(queue, sqe, command),
            Ok((command, _)) => Ok(command),
            Err(status) => Err(status),
        };
        let answer = match decoded {
            Err(status) => Err((status, 0)),
            Ok(GroupCommand::Results { id, .. }) if self.whose.shard(&id).is_some() => {
                let shard = self.whose.shard(&id).unwrap_or_default();
                let flight = self.begin(queue, sqe, 1, Kind::Single);
                return self.hand_out(flight, shard, sqe);
            }
            Ok(GroupCommand::Results { id, buffer_bytes }) => self.fetch_results(sqe, &id, buffer_bytes),
            Ok(GroupCommand::OneWay { id, form, bytes }) => {
                id.iter().for_each(|id| self.whose.forget(id));
                let results = id.map_or(Results::Counted, Results::Named);
                return self.carry_out(queue, sqe, (form, bytes), results, VALUES_BYTES_MAX);
            }
            Ok(GroupCommand::BothWays { form, bytes, buffer_bytes }) => {
                match prp_pieces(sqe, buffer_bytes, self.front.space()) {
                    Err(status) => Err((status, 0)),
                    Ok(pieces) => {
                        let results = Results::Over(pieces);
                        return self.carry_out(queue, sqe, (form, bytes), results, buffer_bytes);
                    }
                }
            }
            Ok(_) => Err((Status::INVALID_OPCODE, 0)),
        };
        let (status, dw0) = answer.map_or_else(|refused| refused, |length| (Status::SUCCESS, length));
        self.front.complete(queue, sqe, status, u64::from(dw0));
    }

    fn fetch_results(&mut self, sqe: &Sqe, id: &Key, room: u32) -> Result<u32, Refused> {
        let results = self.kept.get(id).ok_or((Status::KEY_DOES_NOT_EXIST, 0))?;
        let (length, fits) = (results.len() as u32, results.len().min(room as usize));
        let pieces = prp_pieces(sqe, room, self.front.space());
        pieces
            .and_then(|pieces| scatter(&pieces, self.front.space(), &results[..fits]))
            .map_err(|status| (status, 0))?;
        if length <= room {
            self.kept.take(id);
        }
        Ok(length)
    }

    fn carry_out(&mut self, queue: usize, sqe: &Sqe, group: (Form, u32), results: Results, bytes_max: u32) {
        // A list of pages describes the whole buffer.
        let pieces = match &results {
            Results::Over(pieces) => Ok(beginning(pieces, group.1)),
            _ => prp_pieces(sqe, group.1, self.front.space()),
        };
        match self.split(pieces, group) {
            Err((status, at)) => self.front.complete(queue, sqe, status, u64::from(at)),
            Ok((payload, entries)) => {
                let count = self.shards.len();
                let mut members = vec![Vec::new(); count];
                for (n, e) in entries.iter().enumerate() {
                    members[shard_of(key_of(&payload, e), count)].push(n);
                }
                let parts: Vec<_> = members
                    .iter()
                    .map(|of| pack(group.0, &payload, of.iter().map(|n| &entries[*n])))
                    .collect();
                let left = members.iter().filter(|of| !of.is_empty()).count() as u16;
                let outcomes = vec![(Status::INTERNAL_ERROR, None); entries.len()];
                let ops = entries.iter().map(|e| e.op).collect();
                let flight = GroupFlight { results, bytes_max, ops, members, outcomes };
                let flight = self.begin(queue, sqe, left, Kind::Group(Box::new(flight)));
                for (n, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_empty()) {
                    self.send(flight, n, group.0, part, bytes_max);
                }
            }
        }
    }

    fn send(&mut self, flight: u32, n: usize, form: Form, payload: &[u8], bytes_max: u32) {
        let room = if form.may_read() { bytes_max } else { 0 };
        let (shard, part) = (&mut self.shards[n], Part { flight, n: n as u16 });
        let submitted = shard.queue.group_both_ways(form, payload, room);
        if shard.note(submitted, part).is_err() {
            self.refused(part);
        }
    }

    /// The payload, copied once, and its entries, if it is a good one: nothing of another may reach a shard.
    fn split(
        &self,
        pieces: Result<Vec<(u64, u32)>, Status>,
        (form, bytes): (Form, u32),
    ) -> Result<(Vec<u8>, Vec<Entry>), Refused> {
        if bytes > self.group_bytes_max() {
            return Err((Status::INVALID_FIELD, 0));
        }
        let payload =
            pieces.and_then(|pieces| gather(&pieces, self.front.space())).map_err(|status| (status, 0))?;
        let mut entries = Vec::new();
        parse(form, &payload, |e| entries.push(e)).map_err(|malformed| (malformed.status(), malformed.at))?;
        let mut seen: BTreeMap<&[u8], bool> = BTreeMap::new();
        for e in &entries {
            let writes = e.op.is_write();
            let wrote = seen.insert(key_of(&payload, e), writes);
            if wrote.is_some_and(|wrote| wrote || writes) {
                return Err((Status::INVALID_FIELD, e.key.start - 4));
            }
        }
        Ok((payload, entries))
    }

    /// What the shards' log page says.
    fn group_bytes_max(&self) -> u32 {
        self.group_bytes_max
    }

    /// All parts have ended.
    pub(crate) fn end_group(&mut self, id: u32) {
        let flight = self.flights.get_mut(id);
        let Kind::Group(group) = std::mem::replace(&mut flight.kind, Kind::Single) else { return };
        let (mut group, mut status) = (*group, Status::SUCCESS);
        let results = std::mem::replace(&mut group.results, Results::Counted);
        let (writer, reads) = group.write();
        let (failed, bytes) = (writer.failed(), writer.finish());
        let length = match results {
            Results::Counted => 0,
            // Nothing is to be told but what DW0 tells.
            Results::Named(id) if failed == 0 && !reads => {
                self.kept.take(&id);
                0
            }
            Results::Named(id) => {
                let length = bytes.len() as u32;
                self.kept.keep(id, bytes);
                length
            }
            Results::Over(pieces) => {
                status = scatter(&pieces, self.front.space(), &bytes).err().unwrap_or(status);
                bytes.len() as u32
            }
        };
        self.finish(id, status, u64::from(failed) | u64::from(length) << 32);
    }
}

/// The first `bytes` bytes of a buffer.
fn beginning(pieces: &[(u64, u32)], bytes: u32) -> Vec<(u64, u32)> {
    let mut left = bytes;
    let cut = |(at, length): &(u64, u32)| {
        let taken = left.min(*length);
        left -= taken;
        (*at, taken)
    };
    pieces.iter().map(cut).filter(|(_, taken)| *taken > 0).collect()
}

fn key_of<'p>(payload: &'p [u8], e: &Entry) -> &'p [u8] {
    &payload[e.key.start as usize..e.key.end as usize]
}

/// A payload of these entries; empty without any.
fn pack<'e>(form: Form, payload: &[u8], entries: impl Iterator<Item = &'e Entry>) -> Vec<u8> {
    let mut buffer = vec![0; payload.len()];
    let Some(mut packer) = Packer::new(form, &mut buffer) else { return Vec::new() };
    let mut count = 0;
    for e in entries {
        let value = &payload[e.value.start as usize..e.value.end as usize];
        packer.push(e.op, key_of(payload, e), value).expect("a part is no longer than the whole");
        count += 1;
    }
    let bytes = packer.finish();
    buffer.truncate(if count > 0 { bytes } else { 0 });
    buffer
}
