// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups: what a payload writes is one batch of the store, so it goes to one tree as a whole, and a cut leaves all of it or nothing.
//!
//! A group of stores is on its way like a put. Any other one, and every [transaction](super::transactions), has its turn when all that
//! came before it has ended, and nothing is begun before it has: so what it looks at is what it writes over.

use super::Served;
use super::io::{Flight, Pieces, Then, status_of};
use super::results::{RESULTS_BYTES_MAX, Results, told_one};
use crate::main_tree::MainTree;
use crate::record::is_key;
use saker_engine::KvError;
use saker_host::host_kv::{Answer, Batch, Op, Outcome, Ticket, Work};
use saker_host::{Driver, WriteBatch};
use saker_link::{gather, prp_pieces};
use saker_nvme::group::results::ResultsWriter;
use saker_nvme::group::{Ask, Op as GroupOp, parse};
use saker_nvme::group::{Asked, Form, GroupCommand, GroupMode, Malformed, Reason};
use saker_nvme::{Key, PointerRule, Sqe, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Operations of one group that are on their way at once.
const ASKED_AT_ONCE: usize = 256;

/// What a host is refused with, and DW0 beside it.
pub(super) type Refused = (Status, u32);

/// A group as it came.
pub(super) struct Given {
    pub form: Form,
    pub mode: GroupMode,
    pub results: Results,
    pub payload: Vec<u8>,
}

impl Given {
    pub fn bytes(&self, range: &Range<u32>) -> &[u8] {
        self.payload.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// The batch of those of its writes that are to be carried out; `None`: there are none.
    pub fn batch<'a>(&self, writes: impl Iterator<Item = &'a Asked>) -> Option<Op> {
        let mut batch = WriteBatch::new();
        for entry in writes {
            match entry.ask {
                Ask::Op(GroupOp::Store) => batch.put(self.bytes(&entry.key), self.bytes(&entry.value)),
                _ => batch.delete(self.bytes(&entry.key)),
            };
        }
        Batch::new(batch).ok().map(Op::Batch)
    }

    /// The keys are the namespace's.
    pub fn check_keys(&self, entries: &[Asked]) -> Result<(), Refused> {
        let is_taken = |entry: &&Asked| !is_key(self.bytes(&entry.key));
        match entries.iter().find(is_taken) {
            Some(entry) => Err(malformed(Malformed { at: entry.key.start - 4, reason: Reason::KeySize })),
            None => Ok(()),
        }
    }
}

pub(super) fn malformed(malformed: Malformed) -> Refused {
    (malformed.status(), malformed.at)
}

impl<T: Driver, M: MainTree> Served<T, M> {
    /// Most bytes of a payload. Each write of it becomes a record, with a stamp; a delete becomes a store: at most twice as many bytes,
    /// which the main tree takes.
    pub(super) fn group_bytes_max(&self) -> u32 {
        self.store.main().batch_bytes_max() / 2
    }

    pub(super) fn begin_group(&mut self, queue: usize, sqe: &Sqe) -> Result<(), Status> {
        let (command, mode) = GroupCommand::decode_with_mode(sqe, PointerRule::Prp)?;
        let (form, bytes, id) = match command {
            GroupCommand::OneWay { id, form, bytes } => (form, bytes, id),
            GroupCommand::BothWays { form, bytes, .. } => (form, bytes, None),
            GroupCommand::Results { id, buffer_bytes } => {
                let told = self.fetched(&id, sqe, buffer_bytes)?;
                self.front.complete(queue, sqe, Status::SUCCESS, told);
                return Ok(());
            }
            _ => return Err(Status::INVALID_OPCODE),
        };
        if bytes > self.group_bytes_max() || command.data_bytes() > RESULTS_BYTES_MAX {
            return Err(Status::INVALID_FIELD);
        }
        let buffer = prp_pieces(sqe, command.data_bytes(), self.front.space())?;
        let payload = gather(&leading(&buffer, bytes), self.front.space())?;
        let results = match (command, id) {
            (GroupCommand::BothWays { .. }, _) => Results::Over(buffer),
            (_, Some(id)) => Results::Kept(id),
            (_, None) => Results::Nowhere,
        };
        let given = Given { form, mode, results, payload };
        let told = match mode.is_transaction {
            true => self.transact(given).map(Some),
            false => self.carry_out(given, queue, sqe),
        };
        match told {
            Ok(None) => {}
            Ok(Some(result)) => self.front.complete(queue, sqe, Status::SUCCESS, result),
            Err((status, place)) => self.front.complete(queue, sqe, status, place.into()),
        }
        Ok(())
    }

    /// DW0 and DW1 of a group that is no transaction; `None`: it is on its way.
    fn carry_out(&mut self, given: Given, queue: usize, sqe: &Sqe) -> Result<Option<u64>, Refused> {
        let entries = plain_entries(&given)?;
        given.check_keys(&entries)?;
        let longest = self.store.value_bytes_max() as usize;
        let fits = |entry: &Asked| entry.value.len() <= longest;
        if let Results::Kept(id) = &given.results {
            self.kept.forget(id);
        }
        if given.form == Form::All(GroupOp::Store)
            && !matches!(given.results, Results::Over(_))
            && entries.iter().all(fits)
            && let Some(op) = given.batch(entries.iter())
        {
            self.submit(Flight { queue, sqe: *sqe, then: Then::Tell }, op);
            return Ok(None);
        }
        if entries.iter().any(|entry| entry.ask.is_write()) {
            self.settle();
        }
        let looks = entries.iter().filter(|entry| entry.ask != Ask::Op(GroupOp::Store));
        let found = self.ask_all(looks.map(|entry| {
            let key = given.bytes(&entry.key).to_vec();
            if entry.ask == Ask::Op(GroupOp::Retrieve) { Op::Get(key) } else { Op::Exists(key) }
        }));
        let mut found = found.into_iter();
        let outcomes: Vec<Outcome> = entries
            .iter()
            .map(|entry| match entry.ask {
                Ask::Op(GroupOp::Store) if fits(entry) => Ok(Answer::Done),
                Ask::Op(GroupOp::Store) => Err(KvError::ValueSize),
                _ => found.next().unwrap_or(Err(KvError::Transfer)),
            })
            .collect();
        let writes =
            entries.iter().zip(&outcomes).filter(|(entry, told)| entry.ask.is_write() && told.is_ok());
        if let Some(op) = given.batch(writes.map(|(entry, _)| entry)) {
            self.write(op)?;
        }
        let room =
            if matches!(given.results, Results::Nowhere) { RESULTS_BYTES_MAX } else { given.results.room() };
        let mut writer = ResultsWriter::new(outcomes.len() as u32, room as usize);
        outcomes.into_iter().for_each(|outcome| told_one(&mut writer, outcome));
        let failed = writer.failed();
        let says_more = failed > 0 || given.form.may_read();
        self.tell_results(given.results, writer.finish(), says_more)
            .map(|bytes| Some(u64::from(failed) | u64::from(bytes) << 32))
    }

    /// Carries a batch out.
    pub(super) fn write(&mut self, op: Op) -> Result<(), Refused> {
        let ended = self.ask_all(std::iter::once(op)).pop().unwrap_or(Err(KvError::Transfer));
        ended.map(drop).map_err(|why| (status_of(why), 0))
    }

    /// The outcomes of operations, in their order. Nothing else is begun meanwhile.
    pub(super) fn ask_all(&mut self, ops: impl Iterator<Item = Op>) -> Vec<Outcome> {
        self.await_each(ops, |served, op| served.store.submit(op, Work::Free))
    }

    /// What both trees have of keys: the newest record of each, its stamp in front.
    pub(super) fn records(&mut self, keys: impl Iterator<Item = Key>) -> Vec<Outcome> {
        self.await_each(keys, |served, key| served.store.submit_record(key, Work::Free))
    }

    fn await_each<A>(
        &mut self,
        asked: impl Iterator<Item = A>,
        submit: impl Fn(&mut Self, A) -> Result<Outcome, Ticket>,
    ) -> Vec<Outcome> {
        let (mut all, mut asked) = (Vec::new(), asked.peekable());
        while asked.peek().is_some() {
            let some: Vec<A> = asked.by_ref().take(ASKED_AT_ONCE).collect();
            let begun: Vec<_> = some.into_iter().map(|one| submit(self, one)).collect();
            self.flights
                .awaited
                .extend(begun.iter().filter_map(|one| one.as_ref().err().map(|t| (*t, None))));
            while self.flights.awaited.values().any(Option::is_none) {
                self.go_on();
            }
            let mut ended: BTreeMap<Ticket, Option<Outcome>> = std::mem::take(&mut self.flights.awaited);
            all.extend(begun.into_iter().map(|one| match one {
                Ok(outcome) => outcome,
                Err(ticket) => ended.remove(&ticket).flatten().unwrap_or(Err(KvError::Transfer)),
            }));
        }
        all
    }
}

/// The entries of a group that is no transaction: a key that is written is named once.
fn plain_entries(given: &Given) -> Result<Vec<Asked>, Refused> {
    let mut entries = Vec::new();
    let asked = |e: saker_nvme::group::Entry| Asked { ask: Ask::Op(e.op), key: e.key, value: e.value };
    parse(given.form, &given.payload, |e| entries.push(asked(e))).map_err(malformed)?;
    let (mut named, mut written) = (BTreeSet::new(), BTreeSet::new());
    for entry in &entries {
        let key = given.bytes(&entry.key);
        let is_twice = written.contains(key) || entry.ask.is_write() && named.contains(key);
        if is_twice {
            return Err((Status::INVALID_FIELD, entry.key.start - 4));
        }
        named.insert(key);
        if entry.ask.is_write() {
            written.insert(key);
        }
    }
    Ok(entries)
}

/// The first so many bytes of a buffer.
fn leading(pieces: &Pieces, bytes: u32) -> Pieces {
    let mut left = bytes;
    let cut = |(at, has): &(u64, u32)| {
        let takes = (*has).min(left);
        left -= takes;
        (*at, takes)
    };
    pieces.iter().map(cut).filter(|(_, bytes)| *bytes > 0).collect()
}
