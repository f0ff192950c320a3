// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups: many operations in one command where the device has groups, the same operations pipelined where it has not.
//!
//! A group is not a [transaction](KvClient::transaction): each operation is carried out or fails as it is reported, whatever becomes of the others.
//! A key that a group writes appears once in it.

use saker_link::STAGING_BYTES;
use saker_nvme::group::results::{RESULT_BYTES, ResultsReader};
use saker_nvme::group::{Form, Op, Refused, entry_bytes, padded};
use saker_nvme::{Key, Status};

use super::{DeleteMissing, Ended, KvClient, submitted};
use crate::driver::Driver;
use crate::error::{HostError, KvError, ProtocolError, check};
use crate::reserved::check_storable;

/// What became of one operation: the value of a retrieve, `None` for the others.
pub type OpOutcome = Result<Option<Vec<u8>>, HostError>;

/// Groups of a client so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupStats {
    /// Groups that were sent.
    pub groups: u64,
    /// Their operations.
    pub grouped: u64,
    /// Operations of groups that were sent one by one: the device has no groups, or had no room for the whole group.
    pub singles: u64,
    /// Commands that fetched results.
    pub fetches: u64,
}

/// What a client keeps for groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) stats: GroupStats,
    next_id: u64,
    /// Tells this client's groups from those of other hosts of the device.
    salt: [u8; SALT_BYTES],
    /// Bytes of the values of the last retrieves, per value: how large buffers are made.
    value_bytes: usize,
    /// The engine of the namespace takes none, whatever the device says.
    refused: bool,
}

/// Bytes of a group's name that tell hosts apart.
const SALT_BYTES: usize = 6;
/// Values are expected to be at least so long.
const VALUE_BYTES_MIN: usize = 64;
/// Largest buffer for results that is made on expectation.
const BUFFER_BYTES_MAX: usize = 1 << 20;

/// An operation of a group.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// What is done.
    pub op: Op,
    /// With which key.
    pub key: &'a [u8],
    /// The value of a store; empty for the others.
    pub value: &'a [u8],
}

/// Is shown what became of each operation, in their order: the value of a retrieve, `None` for the others.
pub type Shown<'v> = &'v mut dyn FnMut(Result<Option<&[u8]>, HostError>);

/// What a compound command is (compound commands, HotStorage'19, section 2.3: the argument of `begin_compound`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compound {
    /// A collection: each operation is carried out or fails by itself.
    Operations,
    /// A transaction: all operations are carried out, or none. The paper's `CC_TRANSACTION`.
    Transaction,
}

/// A group that is being put together: `begin`, then operations, then [`commit`](GroupBuilder::commit).
#[derive(Debug)]
#[must_use = "nothing happens before commit"]
pub struct GroupBuilder<'c, T> {
    client: &'c mut KvClient<T>,
    /// `None`: that of the first operation.
    form: Option<Form>,
    compound: Compound,
    ops: Vec<(Op, std::ops::Range<usize>, std::ops::Range<usize>)>,
    bytes: Vec<u8>,
}

impl<T: Driver> GroupBuilder<'_, T> {
    /// Adds a store. Keys of more than 16 bytes need a device that takes them
    /// ([`has_indirect_keys`](KvClient::has_indirect_keys)).
    ///
    /// # Errors
    /// [`HostError::Group`] if the group has another form; [`HostError::ReservedKey`].
    pub fn store(&mut self, key: impl AsRef<[u8]>, value: &[u8]) -> Result<&mut Self, HostError> {
        check_storable(key.as_ref())?;
        self.add(Op::Store, key.as_ref(), value)
    }

    /// Adds a retrieve.
    ///
    /// # Errors
    /// As [`GroupBuilder::store`].
    pub fn retrieve(&mut self, key: impl AsRef<[u8]>) -> Result<&mut Self, HostError> {
        self.add(Op::Retrieve, key.as_ref(), &[])
    }

    /// Adds a delete. Deleting a key that is not there is [`KvError::NotFound`](crate::KvError::NotFound).
    ///
    /// # Errors
    /// As [`GroupBuilder::store`].
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<&mut Self, HostError> {
        self.add(Op::Delete, key.as_ref(), &[])
    }

    /// Adds a question. A key that is not there is [`KvError::NotFound`](crate::KvError::NotFound).
    ///
    /// # Errors
    /// As [`GroupBuilder::store`].
    pub fn exist(&mut self, key: impl AsRef<[u8]>) -> Result<&mut Self, HostError> {
        self.add(Op::Exist, key.as_ref(), &[])
    }

    fn add(&mut self, op: Op, key: &[u8], value: &[u8]) -> Result<&mut Self, HostError> {
        if let Form::All(only) = *self.form.get_or_insert(Form::All(op))
            && only != op
        {
            return Err(HostError::Group(Refused::Type));
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let key = start..self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ops.push((op, key.clone(), key.end..self.bytes.len()));
        Ok(self)
    }

    /// Sends the group, in several commands if it is longer than the device takes, and returns what became of each
    /// operation. One that is a [transaction](Compound::Transaction) is sent in one command.
    ///
    /// # Errors
    /// [`HostError`] if the commands could not be carried out; what was done of them is not known then, but what the
    /// device refuses as a whole (a key written and named twice: [`HostError::Status`]) changed nothing. Of a transaction
    /// [`HostError::Batch`] with the first operation that cannot be carried out, [`HostError::TransactionLength`],
    /// [`HostError::NoTransactions`]: nothing was done then, unless no answer came.
    pub fn commit(self) -> Result<Vec<OpOutcome>, HostError> {
        let Self { client, form, compound, ops, bytes } = self;
        let entry = |(op, key, value): &(Op, std::ops::Range<usize>, std::ops::Range<usize>)| Entry {
            op: *op,
            key: &bytes[key.clone()],
            value: &bytes[value.clone()],
        };
        let entries: Vec<_> = ops.iter().map(entry).collect();
        match (compound, form) {
            (_, None) => Ok(Vec::new()),
            (Compound::Operations, Some(form)) => client.group(form, &entries),
            (Compound::Transaction, Some(_)) => client.whole_group(&entries),
        }
    }

    /// The same, each outcome with its key.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_with_keys(self) -> Result<Vec<(Vec<u8>, OpOutcome)>, HostError> {
        let keys: Vec<_> = self.ops.iter().map(|(_, key, _)| self.bytes[key.clone()].to_vec()).collect();
        Ok(keys.into_iter().zip(self.commit()?).collect())
    }
}

impl<T: Driver> KvClient<T> {
    /// Begins a group of that form.
    pub fn begin(&mut self, form: Form) -> GroupBuilder<'_, T> {
        GroupBuilder {
            client: self,
            form: Some(form),
            compound: Compound::Operations,
            ops: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Begins a compound command as the paper has it: its first operation says of which type all are.
    pub fn begin_compound(&mut self, compound: Compound) -> GroupBuilder<'_, T> {
        GroupBuilder { client: self, form: None, compound, ops: Vec::new(), bytes: Vec::new() }
    }

    /// Groups so far.
    pub fn group_stats(&self) -> GroupStats {
        self.groups.stats
    }

    /// Whether the device takes groups, as far as is known: that an engine takes none shows at the first.
    pub fn has_groups(&self) -> bool {
        self.queue.available().methods.groups() && !self.groups.refused
    }

    /// Tells the device that these keys are read together; `name` again replaces them. A device without prefetch groups is
    /// told nothing. Returns whether it was.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn prefetch_group(&mut self, name: &Key, keys: &[impl AsRef<[u8]>]) -> Result<bool, HostError> {
        if !self.queue.available().methods.prefetch_groups() {
            return Ok(false);
        }
        let entries: Vec<_> =
            keys.iter().map(|k| Entry { op: Op::Retrieve, key: k.as_ref(), value: &[] }).collect();
        let payload = pack(Form::All(Op::Retrieve), &entries)?;
        self.make_room()?;
        let ticket = submitted(self.queue.prefetch_group(*name, &payload))?;
        check(self.wait_ended(ticket)?.status).map(|()| true)
    }

    /// Carries the entries out, in as many commands as their bytes need.
    pub(crate) fn group(&mut self, form: Form, entries: &[Entry<'_>]) -> Result<Vec<OpOutcome>, HostError> {
        let mut outcomes = Vec::with_capacity(entries.len());
        let mut keep = |outcome: Result<Option<&[u8]>, HostError>| {
            outcomes.push(outcome.map(|value| value.map(<[u8]>::to_vec)));
        };
        self.show_group(form, entries, &mut keep)?;
        Ok(outcomes)
    }

    /// The same; values are shown where they lie.
    pub(crate) fn show_group(
        &mut self,
        form: Form,
        entries: &[Entry<'_>],
        shown: Shown<'_>,
    ) -> Result<(), HostError> {
        self.settle_all()?;
        let bytes_max = self.group_bytes_max();
        let mut rest = entries;
        while !rest.is_empty() {
            let count = leading(form, rest, bytes_max);
            let (now, later) = rest.split_at(count.max(1));
            rest = later;
            let is_one = count < 2 && now.iter().all(|e| self.is_one_step(e));
            if count == 0 || is_one || !self.has_groups() {
                self.show_singles(now, shown)?;
            } else {
                match self.one_group(form, now, shown) {
                    // Alone, a delete of what is not there is answered by a device that is only read, too.
                    Err(HostError::Kv(KvError::WriteProtected)) if count == 1 => {
                        self.show_singles(now, shown)?
                    }
                    outcome => outcome?,
                }
            }
        }
        Ok(())
    }

    /// Bytes of a payload.
    pub(super) fn group_bytes_max(&self) -> usize {
        self.queue.available().group_bytes_max.min(self.value_bytes_max) as usize
    }

    /// Whether one command carries it out. A delete that is asked for before does not: somebody else could come between.
    pub(crate) fn is_one_step(&self, e: &Entry<'_>) -> bool {
        e.op != Op::Delete || self.delete_missing == DeleteMissing::Reported
    }

    fn show_singles(&mut self, entries: &[Entry<'_>], shown: Shown<'_>) -> Result<(), HostError> {
        let mut outcomes = Vec::with_capacity(entries.len());
        self.singles(entries, &mut outcomes)?;
        outcomes
            .into_iter()
            .for_each(|outcome| shown(outcome.as_ref().map(Option::as_deref).map_err(Clone::clone)));
        Ok(())
    }

    fn one_group(&mut self, form: Form, entries: &[Entry<'_>], shown: Shown<'_>) -> Result<(), HostError> {
        let payload = pack(form, entries)?;
        let retrieves = entries.iter().filter(|e| e.op == Op::Retrieve).count();
        match self.send_packed(form, &payload, (entries.len(), retrieves))? {
            Some(results) => self.take_results(&results, entries, shown),
            // Alone, some of them may still find room.
            None => self.show_singles(entries, shown),
        }
    }

    /// The results of a payload of so many entries, so many of which retrieve; `None`: none of it was carried out.
    pub(super) fn send_packed(
        &mut self,
        form: Form,
        payload: &[u8],
        (entries, retrieves): (usize, usize),
    ) -> Result<Option<Vec<u8>>, HostError> {
        let results = if form.may_read() && self.queue.available().methods.groups_both_ways() {
            self.both_ways(form, payload, (entries, retrieves))?
        } else {
            self.one_way(form, payload)?
        };
        if results.is_some() {
            self.groups.stats.groups += 1;
            self.groups.stats.grouped += entries as u64;
        }
        Ok(results)
    }

    /// The results of a group in one command. `None`: there was no room for the group as a whole.
    fn both_ways(
        &mut self,
        form: Form,
        payload: &[u8],
        (entries, retrieves): (usize, usize),
    ) -> Result<Option<Vec<u8>>, HostError> {
        let value_bytes = padded(self.groups.value_bytes.max(VALUE_BYTES_MIN));
        let expected = (4 + entries * RESULT_BYTES + retrieves * value_bytes).min(BUFFER_BYTES_MAX);
        let buffer_bytes = expected.max(payload.len()).max(STAGING_BYTES) as u32;
        self.make_room()?;
        let ticket = submitted(self.queue.group_both_ways(form, payload, buffer_bytes))?;
        let (ended, results) = self.wait_data(ticket)?;
        self.whole(ended.status, results)
    }

    /// The same in two: the group, and if something is to be told, its results.
    fn one_way(&mut self, form: Form, payload: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        let id = self.next_group_id();
        self.make_room()?;
        let ticket = submitted(self.queue.group(form, Some(id), payload))?;
        let Ended { status, result_high: bytes, .. } = self.wait_ended(ticket)?;
        if bytes == 0 || !status.is_success() {
            return self.whole(status, Vec::new());
        }
        self.make_room()?;
        self.groups.stats.fetches += 1;
        let ticket = submitted(self.queue.group_results(id, bytes))?;
        let (ended, results) = self.wait_data(ticket)?;
        check(ended.status)?;
        Ok(Some(results))
    }

    /// The results of a group that was carried out; `None` if it was refused for want of room, or because this namespace's
    /// engine takes none.
    fn whole(&mut self, status: Status, results: Vec<u8>) -> Result<Option<Vec<u8>>, HostError> {
        self.groups.refused |= status.is(Status::INVALID_OPCODE);
        if status.is(Status::CAPACITY_EXCEEDED) || status.is(Status::INVALID_OPCODE) {
            return Ok(None);
        }
        check(status)?;
        Ok(Some(results))
    }

    /// Tells the groups of this client from those of other hosts of the device by six bytes that they do not have.
    pub fn set_group_salt(&mut self, salt: [u8; SALT_BYTES]) {
        self.groups.salt = salt;
    }

    /// A name that no other group of this queue has, nor one of another queue or host.
    pub(super) fn next_group_id(&mut self) -> Key {
        self.groups.next_id += 1;
        let (queue, n) = (self.queue.pair().queue(), self.groups.next_id);
        let mut name = [0; 16];
        name[..2].copy_from_slice(&queue.to_le_bytes());
        name[2..10].copy_from_slice(&n.to_le_bytes());
        name[10..].copy_from_slice(&self.groups.salt);
        Key::new(&name).expect("a name has sixteen bytes")
    }

    /// No results at all mean that everything succeeded.
    pub(super) fn take_results(
        &mut self,
        results: &[u8],
        entries: &[Entry<'_>],
        shown: Shown<'_>,
    ) -> Result<(), HostError> {
        if results.is_empty() {
            entries.iter().for_each(|_| shown(Ok(None)));
            return Ok(());
        }
        let mut reader = ResultsReader::new(results).ok_or(ProtocolError::Group)?;
        for e in entries {
            let result = reader.next().ok_or(ProtocolError::Group)?;
            match (check(result.status), e.op, result.value) {
                (Err(error), ..) => shown(Err(error)),
                (Ok(()), Op::Retrieve, value) => {
                    self.groups.value_bytes = result.bytes as usize;
                    match value {
                        Some(value) => shown(Ok(Some(value))),
                        None => shown(
                            self.fetch_alone(e.key).as_ref().map(Option::as_deref).map_err(Clone::clone),
                        ),
                    }
                }
                (Ok(()), ..) => shown(Ok(None)),
            }
        }
        Ok(())
    }

    /// A value that did not fit the results.
    fn fetch_alone(&mut self, key: &[u8]) -> OpOutcome {
        if key.len() > Key::MAX_LEN {
            return self.get_indirect(key)?.map(Some).ok_or(HostError::Kv(KvError::NotFound));
        }
        let key = Key::new(key)?;
        self.get(&key)?.map(Some).ok_or(HostError::Kv(KvError::NotFound))
    }
}

/// How many of the entries fit one payload.
fn leading(form: Form, entries: &[Entry<'_>], bytes_max: usize) -> usize {
    let mut bytes = saker_nvme::group::COUNT_BYTES;
    let fits = |e: &&Entry<'_>| {
        bytes += form.lead_bytes() + entry_bytes(e.op, e.key.len(), e.value.len());
        bytes <= bytes_max
    };
    entries.iter().take_while(fits).count()
}

fn pack(form: Form, entries: &[Entry<'_>]) -> Result<Vec<u8>, HostError> {
    let bytes = entries.iter().fold(saker_nvme::group::COUNT_BYTES, |sum, e| {
        sum + form.lead_bytes() + entry_bytes(e.op, e.key.len(), e.value.len())
    });
    let mut payload = vec![0; bytes];
    let mut packer = saker_nvme::group::Packer::new(form, &mut payload).ok_or(Refused::Full)?;
    for e in entries {
        packer.push(e.op, e.key, e.value)?;
    }
    packer.finish();
    Ok(payload)
}

/// Whether the outcome says that the key is or was there.
pub(crate) fn existed(outcome: OpOutcome) -> Result<bool, HostError> {
    match outcome {
        Ok(_) => Ok(true),
        Err(HostError::Kv(KvError::NotFound)) => Ok(false),
        Err(error) => Err(error),
    }
}
