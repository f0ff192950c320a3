// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that are not answered.

use saker_nvme::Sqe;
use saker_nvme::admin::opcode;
use saker_nvme::tcp::FatalError;

/// Where a command stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Waits for memory to receive data.
    WaitsToReceive,
    /// Waits for memory to send data.
    WaitsToSend,
    /// Its R2T is out.
    Receiving,
    /// It is with the caller.
    Executing,
}

#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub sqe: Sqe,
    pub stage: Stage,
    /// Whether data goes to the host.
    pub is_read: bool,
    /// Bytes of memory it takes or wants.
    pub bytes: u32,
    /// What has been received.
    pub data: Vec<u8>,
    /// A data digest was wrong.
    pub is_spoilt: bool,
    /// The host uses its CID for another command: nobody waits for its answer.
    pub is_given_up: bool,
}

impl Flight {
    /// An Asynchronous Event Request: an admin command without a namespace. Opcode 0Ch of an I/O queue names one.
    fn is_event_request(&self) -> bool {
        self.sqe.opcode == opcode::ASYNC_EVENT_REQUEST && self.sqe.nsid.get() == 0
    }
}

const CID_WORDS: usize = (1 << 16) / 64;

/// Flights by token, which is also the TTAG.
#[derive(Debug, Default)]
pub(super) struct Flights {
    slots: Vec<Option<Flight>>,
    free: Vec<u16>,
    /// A bit for each CID in use; empty until the first command.
    cids: Vec<u64>,
}

impl Flights {
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn has_cid(&self, cid: u16) -> bool {
        let word = self.cids.get(usize::from(cid / 64)).copied().unwrap_or(0);
        word & (1 << (cid % 64)) != 0
    }

    /// Whether a command with that CID must be refused. A request for events that is held with it is given up instead:
    /// SPDK forgets its requests before it shuts a controller down, and uses their CIDs again (spdk/spdk,
    /// lib/nvme/nvme_tcp.c).
    pub fn conflicts(&mut self, cid: u16) -> bool {
        if !self.has_cid(cid) {
            return false;
        }
        let mut with_cid =
            self.slots.iter_mut().flatten().filter(|f| f.sqe.cid.get() == cid && !f.is_given_up);
        let Some(flight) = with_cid.find(|flight| flight.is_event_request()) else { return true };
        flight.is_given_up = true;
        self.mark(cid, false);
        false
    }

    pub fn insert(&mut self, flight: Flight) -> Result<u16, FatalError> {
        self.mark(flight.sqe.cid.get(), true);
        if let Some(token) = self.free.pop() {
            if let Some(slot) = self.slots.get_mut(usize::from(token)) {
                *slot = Some(flight);
            }
            return Ok(token);
        }
        let token = u16::try_from(self.slots.len()).map_err(|_| FatalError::Sequence)?;
        self.slots.push(Some(flight));
        Ok(token)
    }

    pub fn get(&self, token: u16) -> Option<&Flight> {
        self.slots.get(usize::from(token))?.as_ref()
    }

    pub fn get_mut(&mut self, token: u16) -> Option<&mut Flight> {
        self.slots.get_mut(usize::from(token))?.as_mut()
    }

    pub fn remove(&mut self, token: u16) -> Option<Flight> {
        let flight = self.slots.get_mut(usize::from(token))?.take()?;
        self.free.push(token);
        if !flight.is_given_up {
            self.mark(flight.sqe.cid.get(), false);
        }
        Some(flight)
    }

    fn mark(&mut self, cid: u16, used: bool) {
        if self.cids.is_empty() {
            self.cids = vec![0; CID_WORDS];
        }
        if let Some(word) = self.cids.get_mut(usize::from(cid / 64)) {
            let bit = 1 << (cid % 64);
            *word = if used { *word | bit } else { *word & !bit };
        }
    }
}
