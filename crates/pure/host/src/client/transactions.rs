// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions of a client: all or nothing, in one command, or in two where host and device share no memory.

use saker_link::{STAGING_BYTES, WINDOW_BYTES_MAX};
use saker_nvme::Status;
use saker_nvme::group::{
    Ask, COUNT_BYTES, Form, GroupMode, Op, PairVersion, ToAsk, TransactionResult, pack_transaction, padded,
    read_transaction_results, result_bytes,
};

use super::groups::{Entry, OpOutcome};
use super::{Ended, KvClient, submitted};
use crate::driver::Driver;
use crate::error::{HostError, KvError, ProtocolError, check};

/// What an entry of a transaction was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionAnswer {
    /// The version of the pair that was read, or that of none.
    pub version: PairVersion,
    /// The value that was retrieved; `None`: there was no pair, or none was asked for.
    pub value: Option<Vec<u8>>,
}

/// A transaction that the device refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionRefused {
    /// Why.
    pub status: Status,
    /// The entry that refused it.
    pub place: usize,
}

/// Answers, or the refusal.
pub type TransactionOutcome = Result<Vec<TransactionAnswer>, TransactionRefused>;

const COUNTED: GroupMode = GroupMode { is_transaction: true, has_versions: false };
const VERSIONED: GroupMode = GroupMode { is_transaction: true, has_versions: true };

/// Bytes that values are expected to have at first.
const VALUE_BYTES: usize = 1024;

impl<T: Driver> KvClient<T> {
    /// Whether the device has transactions, as its log page says. That an engine has none shows at the first: see
    /// [`KvClient::probe_transactions`].
    pub fn has_transactions(&self) -> bool {
        let methods = self.queue.available().methods;
        methods.transactions() && methods.groups()
    }

    /// Whether transactions take keys of 17 to 255 bytes.
    pub fn has_long_keys_in_transactions(&self) -> bool {
        self.has_transactions() && self.queue.available().methods.long_keys_in_transactions()
    }

    /// Asks the namespace whether it has transactions, without changing anything.
    ///
    /// # Errors
    /// [`HostError::NoTransactions`] if not.
    pub fn probe_transactions(&mut self) -> Result<(), HostError> {
        if !self.has_transactions() {
            return Err(HostError::NoTransactions("the device has none"));
        }
        let probe: ToAsk<'_> = (Ask::Op(Op::Exist), b"?", b"");
        match self.transaction(&[probe])? {
            Ok(_) => Ok(()),
            Err(refused) if refused.status.is(Status::NO_TRANSACTIONS) => {
                Err(HostError::NoTransactions(ENGINE))
            }
            Err(refused) => Err(refused.status.into()),
        }
    }

    /// Most bytes of a transaction's payload.
    pub fn transaction_bytes_max(&self) -> usize {
        self.queue.available().group_bytes_max.min(self.value_bytes_max) as usize
    }

    /// Carries the entries out as a transaction, and answers those that read. Queued writes end first. Keys have as many bytes as the
    /// device takes in groups.
    ///
    /// # Errors
    /// [`HostError::TransactionLength`] for one that is too long for a command, or whose answer is, [`HostError::NoTransactions`], and what keeps a
    /// command from being answered: whether the transaction took place is not known then.
    pub fn transaction(&mut self, entries: &[ToAsk<'_>]) -> Result<TransactionOutcome, HostError> {
        if !self.has_transactions() {
            return Err(HostError::NoTransactions("the device has none"));
        }
        let (form, payload) = pack_transaction(entries.iter().copied())?;
        let bytes_max = self.transaction_bytes_max();
        if payload.len() > bytes_max {
            return Err(HostError::TransactionLength { bytes: payload.len(), bytes_max });
        }
        self.settle_all()?;
        let reads =
            entries.iter().filter(|(ask, ..)| matches!(ask, Ask::Op(Op::Retrieve | Op::Exist))).count();
        if reads == 0 {
            return self.blind(form, &payload, entries.len());
        }
        let retrieves = entries.iter().filter(|(ask, ..)| *ask == Ask::Op(Op::Retrieve)).count();
        let mut value_bytes = entries.len() * result_bytes(VERSIONED) + retrieves * VALUE_BYTES;
        let only_reads = reads == entries.len();
        loop {
            let (status, place, results) = self.reading(form, &payload, COUNT_BYTES + value_bytes)?;
            if !status.is_success() {
                return Ok(Err(TransactionRefused { status, place: place as usize }));
            }
            let results = read_transaction_results(VERSIONED, &results)
                .filter(|results| results.len() == entries.len());
            let results = results.ok_or(ProtocolError::Group)?;
            if !results.iter().any(|result| result.value.is_none()) {
                return Ok(Ok(results.into_iter().zip(entries).map(|(r, e)| answer(&r, e)).collect()));
            }
            if !only_reads {
                return Err(ProtocolError::Group.into());
            }
            // Nothing was changed: it is asked again with room for what is there now.
            let values: usize = results.iter().map(|result| padded(result.bytes as usize)).sum();
            let heads = entries.len() * result_bytes(VERSIONED);
            let (bytes, bytes_max) = (COUNT_BYTES + heads + values, WINDOW_BYTES_MAX);
            if bytes > bytes_max {
                return Err(HostError::TransactionLength { bytes, bytes_max });
            }
            value_bytes = (heads + 2 * values).min(bytes_max - COUNT_BYTES);
        }
    }

    /// Carries the entries of a group out as a transaction. What each was answered: as in a group.
    pub(super) fn whole_group(&mut self, entries: &[Entry<'_>]) -> Result<Vec<OpOutcome>, HostError> {
        let asks: Vec<_> = entries.iter().map(|e| -> ToAsk<'_> { (Ask::Op(e.op), e.key, e.value) }).collect();
        let answers = match self.transaction(&asks)? {
            Ok(answers) => answers,
            Err(refused) if refused.status.is(Status::NO_TRANSACTIONS) => {
                return Err(HostError::NoTransactions(ENGINE));
            }
            Err(refused) => {
                let key = entries.get(refused.place).map(|e| e.key.to_vec()).unwrap_or_default();
                let bytes = entries.iter().map(|e| e.key.len() + e.value.len()).sum();
                return Err(self.refusal(refused.status, key, bytes));
            }
        };
        let told = |(e, answer): (&Entry<'_>, TransactionAnswer)| match e.op {
            Op::Retrieve | Op::Exist if answer.version.is_absent() => Err(HostError::Kv(KvError::NotFound)),
            _ => Ok(answer.value),
        };
        Ok(entries.iter().zip(answers).map(told).collect())
    }

    /// Why a transaction that writes so many bytes was refused.
    pub(crate) fn refusal(&self, status: Status, key: Vec<u8>, bytes: usize) -> HostError {
        if status.is(Status::WRITES_TOO_LONG) {
            return HostError::TransactionLength { bytes, bytes_max: self.transaction_bytes_max() };
        }
        refusal(status, key)
    }

    /// A transaction that reads nothing.
    fn blind(&mut self, form: Form, payload: &[u8], entries: usize) -> Result<TransactionOutcome, HostError> {
        self.make_room()?;
        let ticket = submitted(self.queue.group_in_mode(form, COUNTED, None, payload))?;
        let Ended { status, result: place, .. } = self.wait_ended(ticket)?;
        self.groups.stats.groups += 1;
        self.groups.stats.grouped += entries as u64;
        if status.is_success() {
            return Ok(Ok(vec![TransactionAnswer::default(); entries]));
        }
        Ok(Err(TransactionRefused { status, place: place as usize }))
    }

    /// One that reads: its status, DW0 and results.
    fn reading(
        &mut self,
        form: Form,
        payload: &[u8],
        room: usize,
    ) -> Result<(Status, u32, Vec<u8>), HostError> {
        self.make_room()?;
        self.groups.stats.groups += 1;
        if self.queue.available().methods.groups_both_ways() {
            let buffer = room.max(payload.len()).max(STAGING_BYTES) as u32;
            let sent = self.queue.group_both_ways_in_mode(form, VERSIONED, payload, buffer);
            let ticket = submitted(sent)?;
            let (ended, results) = self.wait_data(ticket)?;
            return Ok((ended.status, ended.result, results));
        }
        let id = self.next_group_id();
        let ticket = submitted(self.queue.group_in_mode(form, VERSIONED, Some(id), payload))?;
        let Ended { status, result: place, result_high: bytes } = self.wait_ended(ticket)?;
        if !status.is_success() {
            return Ok((status, place, Vec::new()));
        }
        let bytes_max = WINDOW_BYTES_MAX;
        if bytes as usize > bytes_max {
            return Err(HostError::TransactionLength { bytes: bytes as usize, bytes_max });
        }
        self.make_room()?;
        self.groups.stats.fetches += 1;
        let ticket = submitted(self.queue.group_results(id, bytes))?;
        let (fetched, results) = self.wait_data(ticket)?;
        check(fetched.status)?;
        Ok((status, place, results))
    }
}

/// What users can do about an engine that has none.
pub(super) const ENGINE: &str = "the engine of this namespace has none";

fn answer(result: &TransactionResult<'_>, (ask, ..): &ToAsk<'_>) -> TransactionAnswer {
    let retrieved = *ask == Ask::Op(Op::Retrieve) && result.status.is_success();
    TransactionAnswer {
        version: result.version.unwrap_or_default(),
        value: result.value.filter(|_| retrieved).map(<[u8]>::to_vec),
    }
}

/// Why a range cannot be in a transaction.
pub(crate) const NO_ORDER: &str =
    "the engine keeps no order of keys, so that nobody can look for new ones in a range";

/// Of a transaction that was refused for another reason than a condition.
pub(crate) fn refusal(status: Status, key: Vec<u8>) -> HostError {
    if status.is(Status::NO_RANGES) {
        return HostError::NoTransactions(NO_ORDER);
    }
    if status.is(Status::SEVERAL_SHARDS) {
        return HostError::SeveralShards { key };
    }
    match HostError::from(status) {
        HostError::Kv(
            error @ (KvError::NotFound | KvError::ValueLength | KvError::KeyLength | KvError::Damaged),
        ) => HostError::Batch { key, error: Box::new(error.into()) },
        error => error,
    }
}
