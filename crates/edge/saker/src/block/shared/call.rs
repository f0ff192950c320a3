// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands of one call on a block namespace that several threads use.

use crate::block::Block;
use crate::block::data::FLYING_MAX;
use crate::error::Error;
use saker_host::host_kv::BlockQueue;
use saker_host::{HostError, ProtocolError};
use saker_nvme::Status;
use std::collections::BTreeMap;
use std::ops::Range;

/// How a command ended, with the data of a read.
pub(super) type Answer = (Status, Vec<u8>);

/// Commands that somebody waits for, with what another thread has taken from the queue for them.
pub(super) type Awaited = BTreeMap<u64, Option<Answer>>;

/// What goes to the device: it says whether a command took a part of the bytes.
pub(super) type Submit<'a> = dyn FnMut(&mut Block, u64, &Range<usize>) -> Option<u64> + 'a;

/// Commands of one call.
pub(super) struct Call<'a> {
    pub(super) submit: &'a mut Submit<'a>,
    pub(super) take: &'a mut dyn FnMut(&Range<usize>, &[u8]) -> bool,
    pub(super) parts: &'a mut dyn Iterator<Item = (u64, Range<usize>)>,
    pub(super) next: Option<(u64, Range<usize>)>,
    pub(super) flying: Vec<(u64, Range<usize>)>,
    pub(super) done: Result<(), Error>,
}

impl Call<'_> {
    /// Whether nothing is left to wait for.
    pub(super) fn is_over(&self) -> bool {
        self.flying.is_empty() && (self.next.is_none() || self.done.is_err())
    }

    /// Sends what the queue takes.
    pub(super) fn send(&mut self, block: &mut Block, awaited: &mut Awaited) {
        while self.done.is_ok() && self.flying.len() < FLYING_MAX {
            let Some((at, part)) = self.next.as_ref() else { break };
            match (self.submit)(block, *at, part) {
                Some(ticket) => {
                    awaited.insert(ticket, None);
                    self.flying.push((ticket, part.clone()));
                    self.next = self.parts.next();
                }
                // Nothing is in flight, so it is not for want of a slot.
                None if awaited.is_empty() => self.done = Err(HostError::from(ProtocolError::Queues).into()),
                None => break,
            }
        }
        block.queue.ring();
    }

    /// One of the commands has ended.
    fn answered(&mut self, at: usize, status: Status, data: &[u8]) {
        let (_, part) = self.flying.swap_remove(at);
        let answer = match status.is_success() {
            false => Err(HostError::from(status).into()),
            true if (self.take)(&part, data) => Ok(()),
            true => Err(HostError::from(ProtocolError::Format).into()),
        };
        if self.done.is_ok() {
            self.done = answer;
        }
    }

    /// Takes what other threads have found.
    pub(super) fn collect(&mut self, awaited: &mut Awaited) {
        for at in (0..self.flying.len()).rev() {
            let ticket = self.flying[at].0;
            if let Some(Some(_)) = awaited.get(&ticket)
                && let Some(Some((status, data))) = awaited.remove(&ticket)
            {
                self.answered(at, status, &data);
            }
        }
    }

    /// Takes one completion from the queue, whosever it is. False: there is none.
    pub(super) fn look(&mut self, block: &mut Block, awaited: &mut Awaited) -> bool {
        let looked = block.queue.poll_with(|ticket, status, data| {
            match self.flying.iter().position(|(own, _)| *own == ticket) {
                Some(at) => {
                    awaited.remove(&ticket);
                    self.answered(at, status, data);
                }
                // Of a call that gave up waiting nobody wants to know.
                None => {
                    if let Some(answer) = awaited.get_mut(&ticket) {
                        *answer = Some((status, data.to_vec()));
                    }
                }
            }
        });
        looked.is_some()
    }
}
