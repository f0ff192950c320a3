// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The admin queue: one command at a time.

use saker_link::{DmaRegion, DmaSpace, HostQueuePair, PAGE_BYTES, RingError};
use saker_nvme::{Cqe, Sqe, Status, prp};

use super::{Connection, Port};
use crate::driver::{Driver, Patience};
use crate::error::{HostError, ProtocolError, check};

/// The admin queue pair is queue 0.
const ADMIN_QUEUE: u16 = 0;

#[derive(Debug)]
pub(super) struct AdminQueue {
    pair: HostQueuePair,
    next_cid: u16,
    /// A command got no answer: it may still come, and its data with it.
    lost_step: bool,
}

impl AdminQueue {
    pub(super) fn new(port: &Port, entries: u32) -> Result<Self, RingError> {
        let pair = HostQueuePair::new(&port.space, &port.doorbells, ADMIN_QUEUE, entries, entries)?;
        Ok(Self { pair, next_cid: 0, lost_step: false })
    }

    pub(super) fn pair(&self) -> &HostQueuePair {
        &self.pair
    }

    /// Sends `sqe` and waits for its completion, whatever its status.
    fn execute(&mut self, sqe: Sqe, driver: &mut impl Driver, patience: Patience) -> Result<Cqe, HostError> {
        let cid = self.begin(sqe)?;
        let answer = self.wait(cid, driver, patience);
        self.lost_step = answer.is_err();
        answer
    }

    /// Sends `sqe`. Nothing else is sent before its completion was taken.
    fn begin(&mut self, sqe: Sqe) -> Result<u16, HostError> {
        if self.lost_step {
            return Err(ProtocolError::AdminQueue.into());
        }
        let cid = self.next_cid;
        self.next_cid = cid.wrapping_add(1);
        // One command at a time never fills a queue, unless the controller reports a wrong head.
        self.pair.submit(&sqe.with_cid(cid)).map_err(|_| ProtocolError::AdminQueue)?;
        self.pair.ring();
        // Until it is answered.
        self.lost_step = true;
        Ok(cid)
    }

    fn wait(&mut self, cid: u16, driver: &mut impl Driver, patience: Patience) -> Result<Cqe, HostError> {
        let mut wait = patience.wait();
        loop {
            if let Some(answer) = self.poll(cid) {
                return answer;
            }
            wait.drive(driver)?;
        }
    }

    /// The completion of the command that was sent, if it is there.
    fn poll(&mut self, cid: u16) -> Option<Result<Cqe, HostError>> {
        let cqe = self.pair.poll()?;
        self.pair.ring_cq();
        let answered = cqe.cid.get();
        let stranger = || saker_link::CompletionError::NotInFlight(answered).into();
        self.lost_step = answered != cid;
        Some(if answered == cid { Ok(cqe) } else { Err(stranger()) })
    }
}

/// An admin command on its way.
#[derive(Debug)]
#[must_use = "no other admin command is sent before it is answered"]
pub struct AdminTicket(u16);

impl Connection {
    /// Sends an admin command without data as it is (but for its CID), and waits for nothing: [`poll_admin`](Self::poll_admin) tells when
    /// it is answered. Until then every other admin command is refused.
    ///
    /// # Errors
    /// [`HostError`] if the admin queue cannot be used.
    pub fn begin_admin(&mut self, sqe: Sqe) -> Result<AdminTicket, HostError> {
        self.admin.begin(sqe).map(AdminTicket)
    }

    /// How the admin command ended that was sent without waiting; `None`: it has not.
    pub fn poll_admin(&mut self, ticket: &AdminTicket) -> Option<Result<(), HostError>> {
        self.admin.poll(ticket.0).map(|answer| check(answer?.status()))
    }

    /// Sends an admin command as it is (but for its CID) and returns its completion if the status is success.
    ///
    /// # Errors
    /// [`HostError`], with the meaning of the status.
    pub fn execute_admin(&mut self, driver: &mut impl Driver, sqe: Sqe) -> Result<Cqe, HostError> {
        let cqe = self.admin.execute(sqe, driver, self.patience)?;
        check(cqe.status())?;
        Ok(cqe)
    }

    /// Sends an admin command as it is (but for its CID and data pointer) and returns what became of it, whatever its
    /// status: status, DW0 and DW1, and the `room` bytes it was given to fill, a multiple of 4.
    ///
    /// # Errors
    /// [`HostError`] if there is no answer.
    pub fn raw_admin(
        &mut self,
        driver: &mut impl Driver,
        sqe: Sqe,
        room: u32,
    ) -> Result<(Status, u64, Vec<u8>), HostError> {
        let mut data = vec![0; room as usize];
        if room == 0 {
            let cqe = self.admin.execute(sqe, driver, self.patience)?;
            return Ok((cqe.status(), cqe.result(), data));
        }
        let buffer = AdminBuffer::new(&self.port.space, data.len())?;
        buffer.data.write(0, &data).map_err(|_| ProtocolError::AdminQueue)?;
        let cqe = self.admin.execute(sqe.with_prp(buffer.prp1, buffer.prp2), driver, self.patience)?;
        buffer.data.read(0, &mut data).map_err(|_| ProtocolError::AdminQueue)?;
        Ok((cqe.status(), cqe.result(), data))
    }

    /// Sends an admin command that fills `into`, a multiple of 4 bytes long.
    pub(super) fn read_admin(
        &mut self,
        driver: &mut impl Driver,
        sqe: Sqe,
        into: &mut [u8],
    ) -> Result<(), HostError> {
        let buffer = AdminBuffer::new(&self.port.space, into.len())?;
        self.execute_admin(driver, sqe.with_prp(buffer.prp1, buffer.prp2))?;
        buffer.data.read(0, into).map_err(|_| ProtocolError::AdminQueue.into())
    }
}

/// Arena pages for the data of one command, with their PRP list.
struct AdminBuffer {
    data: DmaRegion,
    _list: Option<DmaRegion>,
    prp1: u64,
    prp2: u64,
}

impl AdminBuffer {
    fn new(space: &std::sync::Arc<DmaSpace>, bytes: usize) -> Result<Self, HostError> {
        let data = space.alloc_bytes(bytes)?;
        let (page, bytes) = (PAGE_BYTES as u32, bytes as u32);
        let entries = prp::list_entries_needed(data.iova(), bytes, page, 0);
        let list = if entries > 0 { Some(space.alloc_bytes(entries as usize * 8)?) } else { None };
        let list_iova = list.as_ref().map_or(0, DmaRegion::iova);
        let mut written = Ok(());
        let prps = prp::build(data.iova(), bytes, page, list_iova, |at, entry| {
            written = written.and(space.write_u64(at, entry));
        });
        let (prp1, prp2) = prps.map_err(|_| ProtocolError::AdminQueue)?;
        written.map_err(|_| ProtocolError::AdminQueue)?;
        Ok(Self { data, _list: list, prp1, prp2 })
    }
}
