// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions with an ID: sent in parts if one command does not take them, and asked about when an answer was lost.

use saker_nvme::Status;
use saker_nvme::group::{
    COUNT_BYTES, LENGTH_BYTES, SPLIT_BYTES_MAX, SplitAction, SplitOutcome, ToAsk, TransactionId, pack_part,
};

use super::transactions::TransactionRefused;
use super::{Ended, KvClient, submitted};
use crate::driver::Driver;
use crate::error::{HostError, ProtocolError, check};

/// How a transaction with an ID was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEnd {
    /// Now.
    Done,
    /// Before, under the same ID: nothing was done now.
    DoneBefore,
}

/// Bytes of the type of an entry in parts.
const TYPE_BYTES: usize = LENGTH_BYTES;

impl<T: Driver> KvClient<T> {
    /// Whether the device has transactions with an ID, as its log page says.
    pub fn has_split_transactions(&self) -> bool {
        self.queue.available().methods.split_transactions()
    }

    /// Carries the entries out as a transaction of that ID, none of which reads. Queued writes end first. Each part takes as many bytes as
    /// one command does.
    ///
    /// # Errors
    /// [`HostError::TransactionLength`] for an entry that no command takes, and for more than [`SPLIT_BYTES_MAX`] together;
    /// [`HostError::NoTransactions`]; and what keeps a command from being answered: the same transaction may be sent again then.
    pub fn transaction_as(
        &mut self,
        id: TransactionId,
        entries: &[ToAsk<'_>],
    ) -> Result<Result<TransactionEnd, TransactionRefused>, HostError> {
        if !self.has_split_transactions() {
            return Err(HostError::NoTransactions("the device has none with an ID"));
        }
        let parts = parts(entries, self.transaction_bytes_max())?;
        self.settle_all()?;
        if parts.is_empty() {
            let (begun, _) = self.control(id, SplitAction::Begin)?;
            check(begun)?;
            let (status, place) = self.control(id, SplitAction::Commit)?;
            return ended(status, place);
        }
        let last = parts.len() - 1;
        for (n, part) in parts.iter().enumerate() {
            let payload = match pack_part(part.iter().copied()) {
                Err(malformed) if n > 0 => {
                    // Its parts would stay at the device.
                    self.control(id, SplitAction::Abort)?;
                    return Err(malformed.into());
                }
                packed => packed?,
            };
            self.make_room()?;
            let sent = self.queue.transaction_part(id, n == 0, n == last, &payload);
            let Ended { status, result, .. } = self.wait_ended(submitted(sent)?)?;
            if n == last || !status.is_success() {
                return ended(status, result);
            }
        }
        Err(ProtocolError::Group.into())
    }

    /// What became of a transaction. One that was not carried out may still be, if a commit of it is on its way.
    ///
    /// # Errors
    /// [`KvError::Forgotten`](crate::KvError::Forgotten) for a number that is older than the device remembers; others.
    pub fn transaction_outcome(&mut self, id: TransactionId) -> Result<SplitOutcome, HostError> {
        if !self.has_split_transactions() {
            return Err(HostError::NoTransactions("the device has none with an ID"));
        }
        let (status, outcome) = self.control(id, SplitAction::Outcome)?;
        check(status)?;
        SplitOutcome::from_number(outcome).ok_or_else(|| ProtocolError::Group.into())
    }

    fn control(&mut self, id: TransactionId, action: SplitAction) -> Result<(Status, u32), HostError> {
        self.make_room()?;
        let ticket = submitted(self.queue.transaction_control(id, action))?;
        let Ended { status, result, .. } = self.wait_ended(ticket)?;
        Ok((status, result))
    }
}

/// How a transaction ended. The device counts entries from the first part on.
fn ended(status: Status, result: u32) -> Result<Result<TransactionEnd, TransactionRefused>, HostError> {
    if !status.is_success() {
        return Ok(Err(TransactionRefused { status, place: result as usize }));
    }
    match SplitOutcome::from_number(result) {
        Some(SplitOutcome::Done) => Ok(Ok(TransactionEnd::Done)),
        Some(SplitOutcome::DoneBefore) => Ok(Ok(TransactionEnd::DoneBefore)),
        _ => Err(ProtocolError::Group.into()),
    }
}

/// The entries divided into parts of at most so many bytes.
fn parts<'e, 'p>(entries: &'e [ToAsk<'p>], bytes_max: usize) -> Result<Vec<&'e [ToAsk<'p>]>, HostError> {
    let (mut parts, mut begin, mut bytes, mut all) = (Vec::new(), 0, COUNT_BYTES, COUNT_BYTES);
    for (n, (ask, key, value)) in entries.iter().enumerate() {
        let more = TYPE_BYTES + ask.entry_bytes(key.len(), value.len());
        if COUNT_BYTES + more > bytes_max {
            return Err(HostError::TransactionLength { bytes: COUNT_BYTES + more, bytes_max });
        }
        if bytes + more > bytes_max {
            parts.push(entries.get(begin..n).unwrap_or_default());
            (begin, bytes) = (n, COUNT_BYTES);
        }
        bytes += more;
        all += more;
    }
    if all > SPLIT_BYTES_MAX {
        return Err(HostError::TransactionLength { bytes: all, bytes_max: SPLIT_BYTES_MAX });
    }
    let last = entries.get(begin..).unwrap_or_default();
    parts.extend((!last.is_empty()).then_some(last));
    Ok(parts)
}
