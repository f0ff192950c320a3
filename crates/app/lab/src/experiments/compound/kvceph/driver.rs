// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What KVCeph's driver does with the operations of a transaction (section 3.2): it collects them, and then sends each as a command
//! of its own. Two more drivers keep transactions whole: one logs all of it under a designated key first, one leaves it to the device.

use super::super::key;
use crate::error::LabError;
use saker_host::{Condition, Driver, HostError, KvClient};
use saker_nvme::group::{Ask, COUNT_BYTES, Form, Op, ToAsk, pack_transaction, parse_transaction};
use saker_nvme::{Key, Status};

/// What keeps a transaction whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Nothing: a command for each operation, as published.
    Bare,
    /// A log under a designated key, then as bare; after a crash the log is carried out again.
    Software,
    /// A transaction of the device.
    Hardware,
}

impl Way {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Bare, "bare"), (Self::Software, "software"), (Self::Hardware, "hardware")];
}

/// Operations of a transaction: a key of 17 to 255 bytes, and its value; `None`: it is removed.
pub type Collected = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Says in the count of a log that its entries have types.
const TYPED: u8 = 0x80;

/// A driver with its client.
#[derive(Debug)]
pub struct KvCeph<'c, T> {
    client: &'c mut KvClient<T>,
    way: Way,
    /// Nothing is durable without a Flush.
    volatile: bool,
}

impl<'c, T: Driver> KvCeph<'c, T> {
    /// A driver. `volatile`: the device has no capacitor.
    pub fn new(client: &'c mut KvClient<T>, way: Way, volatile: bool) -> Self {
        Self { client, way, volatile }
    }

    /// Carries a transaction out. It is durable then.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn submit(&mut self, writes: &Collected) -> Result<(), LabError> {
        match self.way {
            Way::Bare => self.singles(writes)?,
            Way::Software => {
                let log = log_of(writes)?;
                self.client.put(&log_key()?, &log)?;
                self.sync()?;
                self.singles(writes)?;
            }
            Way::Hardware => {
                let entries: Vec<ToAsk<'_>> = writes.iter().map(entry).collect();
                self.client.transaction(&entries)?.map_err(|refused| HostError::from(refused.status))?;
            }
        }
        self.sync()
    }

    /// After a crash: the last transaction that was logged is carried out again.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn recover(&mut self) -> Result<(), LabError> {
        if self.way == Way::Software
            && let Some(log) = self.client.get(&log_key()?)?
        {
            self.singles(&logged(log)?)?;
            self.sync()?;
        }
        Ok(())
    }

    fn singles(&mut self, writes: &Collected) -> Result<(), LabError> {
        for (key, value) in writes {
            match value {
                Some(value) => self.client.put_indirect(key, value, Condition::Always)?,
                None => _ = self.client.delete_indirect(key)?,
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), LabError> {
        if self.volatile { Ok(self.client.flush()?) } else { Ok(()) }
    }
}

fn entry((key, value): &(Vec<u8>, Option<Vec<u8>>)) -> ToAsk<'_> {
    match value {
        Some(value) => (Ask::Op(Op::Store), key, value),
        None => (Ask::Op(Op::Delete), key, &[]),
    }
}

/// The designated key.
fn log_key() -> Result<Key, LabError> {
    Key::new(&key(u32::MAX, Key::MAX_LEN)).map_err(|e| LabError::Host(e.into()))
}

/// What is written under the designated key: the payload of Figure 1. If something is removed, entries have types and the count says so.
///
/// # Errors
/// A key that is none.
pub fn log_of(writes: &Collected) -> Result<Vec<u8>, LabError> {
    let (form, mut log) = pack_transaction(writes.iter().map(entry)).map_err(HostError::from)?;
    if form == Form::Mixed {
        log[COUNT_BYTES - 1] |= TYPED;
    }
    Ok(log)
}

/// The transaction of a log.
fn logged(mut log: Vec<u8>) -> Result<Collected, LabError> {
    let Some(last) = log.get_mut(COUNT_BYTES - 1) else { return Err(LabError::Missing("a log".into())) };
    let form = if *last & TYPED == 0 { Form::All(Op::Store) } else { Form::Mixed };
    *last &= !TYPED;
    let mut writes = Collected::new();
    let part = |r: std::ops::Range<u32>| log[r.start as usize..r.end as usize].to_vec();
    parse_transaction(form, &log, |e| {
        let value = (e.ask == Ask::Op(Op::Store)).then(|| part(e.value));
        writes.push((part(e.key), value));
    })
    .map_err(|_| HostError::from(Status::INVALID_FIELD))?;
    Ok(writes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_what_was_logged() {
        let stores: Collected = (0..3).map(|n| (key(n, 32), Some(vec![n as u8; 1024]))).collect();
        let log = log_of(&stores).unwrap();
        assert_eq!(log.len(), 3196);
        assert_eq!(logged(log).unwrap(), stores);
        let mixed: Collected = vec![(key(1, 20), None), (key(2, 17), Some(b"value".to_vec()))];
        assert_eq!(logged(log_of(&mixed).unwrap()).unwrap(), mixed);
    }

    #[test]
    fn a_log_that_is_none_is_an_error() {
        for log in [&[][..], &[1, 0, 0, 0], &[1, 0, 0, TYPED, 9]] {
            assert!(logged(log.to_vec()).is_err(), "{log:?}");
        }
    }
}
