// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The operations of a group one by one, as many in flight as the queue takes.

use saker_link::STAGING_BYTES;
use saker_nvme::group::Op;
use saker_nvme::kv::StoreOptions;
use saker_nvme::{Key, KeyLengthError};

use super::groups::{Entry, OpOutcome};
use super::{Condition, DeleteMissing, KvClient};
use crate::driver::Driver;
use crate::error::{HostError, check};
use crate::kv_queue::{SubmitError, Ticket};

/// Outcomes that are not known yet, by slot.
struct Flying {
    tickets: Vec<Option<(Ticket, usize)>>,
    outcomes: Vec<Option<OpOutcome>>,
    left: usize,
}

impl<T: Driver> KvClient<T> {
    /// Carries the entries out. Keys that are written appear once among them, so their order does not matter.
    pub(super) fn singles(
        &mut self,
        entries: &[Entry<'_>],
        outcomes: &mut Vec<OpOutcome>,
    ) -> Result<(), HostError> {
        self.groups.stats.singles += entries.len() as u64;
        let mut flying = Flying {
            tickets: vec![None; self.queue.slots()],
            outcomes: entries.iter().map(|_| None).collect(),
            left: 0,
        };
        for (n, e) in entries.iter().enumerate() {
            if self.is_slow(e) || self.queue.is_amid_value() {
                // They wait by themselves, and would take the answers of the others.
                self.land_all(&mut flying)?;
            }
            if self.is_slow(e) {
                // More than one command each.
                flying.outcomes[n] = Some(self.alone(e));
                continue;
            }
            loop {
                match self.launch_single(e) {
                    Ok(ticket) => {
                        flying.tickets[usize::from(ticket.slot())] = Some((ticket, n));
                        flying.left += 1;
                        break;
                    }
                    Err(HostError::Submit(SubmitError::Full)) if flying.left > 0 => self.land(&mut flying)?,
                    Err(error) => {
                        flying.outcomes[n] = Some(Err(error));
                        break;
                    }
                }
            }
        }
        self.land_all(&mut flying)?;
        self.finish_long(entries, &mut flying);
        outcomes.extend(flying.outcomes.into_iter().map(|o| o.unwrap_or(Ok(None))));
        Ok(())
    }

    fn is_slow(&self, e: &Entry<'_>) -> bool {
        match e.op {
            Op::Store => e.value.len() > STAGING_BYTES,
            Op::Delete => self.delete_missing == DeleteMissing::Silent,
            Op::Retrieve | Op::Exist => false,
        }
    }

    fn alone(&mut self, e: &Entry<'_>) -> OpOutcome {
        if e.key.len() > Key::MAX_LEN {
            return self.alone_indirect(e);
        }
        let key = key_of(e)?;
        match e.op {
            Op::Store => self.put(&key, e.value).map(|()| None),
            Op::Delete if self.delete(&key)? => Ok(None),
            Op::Delete => Err(HostError::Kv(crate::KvError::NotFound)),
            Op::Retrieve => self.get(&key)?.map(Some).ok_or(HostError::Kv(crate::KvError::NotFound)),
            Op::Exist if self.exists(&key)? => Ok(None),
            Op::Exist => Err(HostError::Kv(crate::KvError::NotFound)),
        }
    }

    fn alone_indirect(&mut self, e: &Entry<'_>) -> OpOutcome {
        self.check_indirect(e)?;
        let missing = HostError::Kv(crate::KvError::NotFound);
        match e.op {
            Op::Store => self.put_indirect(e.key, e.value, Condition::Always).map(|()| None),
            Op::Delete => {
                if self.delete_indirect(e.key)? {
                    Ok(None)
                } else {
                    Err(missing)
                }
            }
            Op::Retrieve => self.get_indirect(e.key)?.map(Some).ok_or(missing),
            Op::Exist => {
                if self.exists_indirect(e.key)? {
                    Ok(None)
                } else {
                    Err(missing)
                }
            }
        }
    }

    fn check_indirect(&self, e: &Entry<'_>) -> Result<(), HostError> {
        if self.has_indirect_keys() { Ok(()) } else { Err(KeyLengthError(e.key.len()).into()) }
    }

    fn launch_indirect(&mut self, e: &Entry<'_>) -> Result<Ticket, HostError> {
        self.check_indirect(e)?;
        let ticket = match e.op {
            Op::Store => self.queue.store_indirect(e.key, e.value, StoreOptions::NONE),
            Op::Retrieve => self.queue.retrieve_indirect(e.key, STAGING_BYTES as u32),
            Op::Delete => self.queue.delete_indirect(e.key),
            Op::Exist => self.queue.exist_indirect(e.key),
        };
        ticket.map_err(HostError::Submit)
    }

    fn launch_single(&mut self, e: &Entry<'_>) -> Result<Ticket, HostError> {
        if self.queue.is_amid_value() {
            self.make_room()?;
        }
        if e.key.len() > Key::MAX_LEN {
            return self.launch_indirect(e);
        }
        let key = key_of(e)?;
        let ticket = match e.op {
            Op::Store => self.queue.store(&key, e.value, StoreOptions::NONE),
            Op::Retrieve => self.queue.retrieve(&key, STAGING_BYTES as u32),
            Op::Delete => self.queue.delete(&key),
            Op::Exist => self.queue.exist(&key),
        };
        ticket.map_err(HostError::Submit)
    }

    fn land_all(&mut self, flying: &mut Flying) -> Result<(), HostError> {
        while flying.left > 0 {
            self.land(flying)?;
        }
        Ok(())
    }

    /// Takes at least one completion.
    fn land(&mut self, flying: &mut Flying) -> Result<(), HostError> {
        self.queue.ring();
        self.queued.rung();
        let (mut wait, before) = (self.patience.wait(), flying.left);
        while flying.left == before {
            wait.drive(&mut self.driver)?;
            let queued = &mut self.queued;
            while let Some(polled) = self.queue.poll(|done| {
                let slot = &mut flying.tickets[usize::from(done.ticket.slot())];
                let Some((_, n)) = slot.take_if(|(ticket, _)| *ticket == done.ticket) else {
                    return queued.completed(&done);
                };
                flying.left -= 1;
                let (status, size) = (done.status, done.result as usize);
                let value = done.into_vec();
                // A value that is cut short is read again; what is read here is told from others by being whole.
                let whole = value.len() == size;
                flying.outcomes[n] =
                    check(status).map_or_else(|e| Some(Err(e)), |()| whole.then_some(Ok(Some(value))));
            }) {
                polled?;
            }
            self.go_on();
        }
        Ok(())
    }

    /// Values that were longer than the buffers, and the operations that have no value.
    fn finish_long(&mut self, entries: &[Entry<'_>], flying: &mut Flying) {
        for (e, outcome) in entries.iter().zip(&mut flying.outcomes) {
            match (e.op, &outcome) {
                (Op::Retrieve, None) => *outcome = Some(self.alone(e)),
                (Op::Retrieve, _) | (_, Some(Err(_))) => {}
                _ => *outcome = Some(Ok(None)),
            }
        }
    }
}

fn key_of(e: &Entry<'_>) -> Result<Key, HostError> {
    Key::new(e.key).map_err(HostError::from)
}
