// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Steps of `saker txn` on a device.

use saker::{Kv, Require, SplitOutcome, Transaction, TransactionEnd};
use saker_host::HostError;

use crate::store::{Read, Step, Transacted, TransactionId};

/// An ID as the device knows it.
pub fn wire(id: TransactionId) -> saker::TransactionId {
    saker::TransactionId { host: id.host, number: id.number }
}

/// What became of a transaction, in words.
pub const fn in_words(told: SplitOutcome) -> &'static str {
    match told {
        SplitOutcome::Done | SplitOutcome::DoneBefore => "done",
        SplitOutcome::NotDone => "not done",
        SplitOutcome::Open => "open",
    }
}

/// Runs the steps again while others change what they read.
pub fn whenever(kv: &mut Kv, steps: &[Step]) -> Result<Transacted, HostError> {
    let mut reads = Vec::new();
    kv.transact(&mut |txn| {
        reads.clear();
        steps.iter().try_for_each(|step| perform(txn, step, &mut reads))
    })?;
    Ok(Transacted { reads, was_done: false })
}

/// Runs of a transaction with an ID while others change what it reads.
const RUNS_MAX: u32 = 10_000;

/// The same under an ID. One that was carried out before has read nothing that counts.
pub fn once(kv: &mut Kv, steps: &[Step], id: TransactionId) -> Result<Transacted, HostError> {
    let mut runs = 0;
    loop {
        let (mut reads, mut txn) = (Vec::new(), kv.begin_transaction()?);
        let read = steps.iter().try_for_each(|step| perform(&mut txn, step, &mut reads));
        runs += 1;
        match read.and_then(|()| txn.commit_as(wire(id))) {
            Err(HostError::Conflict { .. }) if runs < RUNS_MAX => {}
            Err(error) => return Err(error),
            Ok(TransactionEnd::Done) => return Ok(Transacted { reads, was_done: false }),
            Ok(TransactionEnd::DoneBefore) => return Ok(Transacted { reads: Vec::new(), was_done: true }),
        }
    }
}

fn perform(txn: &mut Transaction<'_>, step: &Step, reads: &mut Vec<Read>) -> Result<(), HostError> {
    match step {
        Step::Get(key) => {
            let value = txn.get(key)?;
            reads.push((key.clone(), value));
            Ok(())
        }
        Step::Put(key, value) => txn.put(key, value),
        Step::Delete(key) => txn.delete(key).map(drop),
        Step::RequireAbsent(key) => txn.require(key, Require::Absent),
        Step::RequirePresent(key) => txn.require(key, Require::Present),
        Step::RequireValue(key, value) => txn.require(key, Require::Value(value.clone())),
    }
}
