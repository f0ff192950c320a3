// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A bank in pairs: its accounts, and what must be true of them whoever died.

use saker::{HostError, Kv};

/// Accounts of a bank.
pub const ACCOUNTS: u64 = 16;
/// What each has at first.
pub const EACH: u64 = 1000;

/// The key of an account; of four one is long, and one has the mark of envelopes.
pub fn account(n: u64) -> Vec<u8> {
    match n % 4 {
        1 => format!("the account with the number {n:04}").into_bytes(),
        3 => [&[0xFF, 0x4B], format!("account{n:07}").as_bytes()].concat(),
        _ => format!("account {n}").into_bytes(),
    }
}

/// The key under which a client counts its transfers.
pub fn counter(client: u64) -> Vec<u8> {
    format!("transfers of {client}").into_bytes()
}

/// A number in a value.
pub fn number(value: Option<Vec<u8>>) -> u64 {
    value.and_then(|value| value.first_chunk().map(|number| u64::from_le_bytes(*number))).unwrap_or_default()
}

/// A number as a value of a length that changes.
pub fn value(number: u64) -> Vec<u8> {
    let mut value = number.to_le_bytes().to_vec();
    value.resize(8 + (number % 300) as usize, 9);
    value
}

/// Opens all accounts at once, if there are none.
pub fn open_accounts(kv: &mut Kv) -> Result<(), HostError> {
    kv.transact(&mut |txn| {
        if txn.exists(&account(0))? {
            return Ok(());
        }
        (0..ACCOUNTS).try_for_each(|n| txn.put(&account(n), &value(EACH)))
    })
}

/// Asserts that no money came or went, and that what each client counted is what it was told, or one more.
pub fn audit(kv: &mut Kv, told: &[u64]) {
    let mut sum = 0;
    kv.transact(&mut |txn| {
        sum = 0;
        for n in 0..ACCOUNTS {
            sum += number(txn.get(&account(n))?);
        }
        Ok(())
    })
    .expect("reads");
    assert!(sum == ACCOUNTS * EACH || sum == 0 && told.iter().all(|told| *told == 0), "a sum of {sum}");
    for (client, told) in (0..).zip(told) {
        let counted = number(kv.get(&counter(client)).expect("reads"));
        assert!(
            counted == *told || counted == told + 1,
            "client {client} was told {told}, {counted} are there"
        );
    }
}
