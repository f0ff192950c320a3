// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transfers of one host between the accounts of a bank, each a transaction.

#[path = "../../saker/tests/support/transfers.rs"]
mod bank;

use bank::value;
pub use bank::{ACCOUNTS, EACH, account, audit, counter, number, open_accounts};
use saker::{HostError, Kv};
use saker_sim::Rng;

/// Moves some money, and counts that; the client's number of transfers then.
pub fn transfer(kv: &mut Kv, client: u64, rng: &mut Rng) -> Result<u64, HostError> {
    let from = rng.below(ACCOUNTS);
    let to = (from + 1 + rng.below(ACCOUNTS - 1)) % ACCOUNTS;
    let (part, mut count) = (rng.below(100), 0);
    kv.transact(&mut |txn| {
        let (has, had) = (number(txn.get(&account(from))?), number(txn.get(&account(to))?));
        let moved = has * part / 100;
        txn.put(&account(from), &value(has - moved))?;
        txn.put(&account(to), &value(had + moved))?;
        count = number(txn.get(&counter(client))?) + 1;
        txn.put(&counter(client), &value(count))
    })?;
    Ok(count)
}
