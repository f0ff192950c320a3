// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the host does with registers and queues, done at the remote controller.

use saker_link::{PairPlace, RelayPair, offset};
use saker_nvme::admin::feature::fid;
use saker_nvme::admin::{self, AdminCommand};
use saker_nvme::identify::{Controller, cns};
use saker_nvme::regs::{Aqa, Cc, Csts};
use saker_nvme::transfer::{Contents, admin_only_reads, contents_told, of_admin};
use saker_nvme::{Sqe, Status};
use saker_nvme_tcp::initiator::{Answer, Data};
use zerocopy::FromBytes;

use crate::connect;
use crate::error::RemoteError;
use crate::queue::Queue;
use crate::remote::Remote;
use crate::wire::{INLINE_ALWAYS, Wire};

/// Bytes of an entry and of the unit of IOCCSZ.
const SQE_BYTES: usize = 64;
const UNIT_BYTES: usize = 16;

impl Remote {
    pub(crate) fn follow_registers(&mut self) {
        let changes = self.registers.changes();
        if changes == self.changes_seen {
            return;
        }
        self.changes_seen = changes;
        let cc = Cc(self.register(offset::CC));
        let done = match (cc.en(), self.is_enabled) {
            (true, false) => self.enable(),
            (false, true) => self.disable(),
            (true, true) if cc.shn() != 0 => self.shut_down(cc),
            _ => return,
        };
        if done.is_err() {
            self.publish(Csts::default().with_cfs(true));
        }
    }

    fn register(&self, at: u32) -> u32 {
        self.registers.load_u32(at).unwrap_or(0)
    }

    fn publish(&self, csts: Csts) {
        let published = self.registers.publish_u32(offset::CSTS, csts.0);
        debug_assert!(published.is_ok(), "the block has CSTS");
    }

    /// Gives the admin queue its rings and enables the remote controller.
    fn enable(&mut self) -> Result<(), RemoteError> {
        let aqa = Aqa(self.register(offset::AQA));
        let base = |at| self.registers.load_u64(at).unwrap_or(0);
        let sq = (base(offset::ASQ), u32::from(aqa.asqs()) + 1);
        let place = PairPlace { qid: 0, sq, cq: (base(offset::ACQ), u32::from(aqa.acqs()) + 1) };
        let pair = RelayPair::new(&self.space, &self.doorbells, place).map_err(|_| RemoteError::Fatal)?;
        let mut wire = self.unbound.take().ok_or(RemoteError::Closed)?;
        connect::enable(&mut wire, self.options.timeout)?;
        let mut queue = Queue::new(sq.1 as u16, pair, &self.space);
        (queue.wire, queue.inline_max) = (Some(wire), INLINE_ALWAYS);
        self.queues = vec![Some(queue)];
        self.is_enabled = true;
        self.publish(Csts::default().with_rdy(true));
        Ok(())
    }

    /// All queues go; the admin connection stays.
    fn disable(&mut self) -> Result<(), RemoteError> {
        let admin = self.queues.drain(..).flatten().next();
        self.is_enabled = false;
        let mut wire = admin.and_then(|queue| queue.wire).ok_or(RemoteError::Closed)?;
        connect::set_cc(&mut wire, connect::enabled().with_en(false), self.options.timeout)?;
        connect::wait_for(&mut wire, self.options.timeout, |csts| !csts.rdy())?;
        self.unbound = Some(wire);
        self.publish(Csts::default());
        Ok(())
    }

    fn shut_down(&mut self, cc: Cc) -> Result<(), RemoteError> {
        let timeout = self.options.timeout;
        let Some(Some(Queue { wire: Some(wire), .. })) = self.queues.first_mut() else {
            return Err(RemoteError::Closed);
        };
        connect::set_cc(wire, connect::enabled().with_shn(cc.shn()), timeout)?;
        connect::wait_for(wire, timeout, |csts| csts.shst() == Csts::SHST_COMPLETE)?;
        self.publish(Csts::default().with_rdy(true).with_shst(Csts::SHST_COMPLETE));
        Ok(())
    }

    /// Sends everything the host has submitted.
    pub(crate) fn fetch_all(&mut self) {
        for n in 0..self.queues.len() {
            while let Some(sqe) = self.fetch(n) {
                if !self.is_reachable() {
                    self.complete(n, &sqe, Status::HOST_PATHING_ERROR);
                } else if n == 0 {
                    self.admin(&sqe);
                } else if let Some(queue) = &mut self.queues[n] {
                    let contents = self.contents.get(&sqe.nsid.get()).copied().unwrap_or(Contents::Kv);
                    queue.send(sqe, contents.transfer(&sqe), contents.only_reads(&sqe));
                }
            }
        }
    }

    fn fetch(&mut self, n: usize) -> Option<Sqe> {
        let queue = self.queues.get_mut(n)?.as_mut()?;
        queue.pair.post();
        queue.pair.fetch()
    }

    fn complete(&mut self, n: usize, sqe: &Sqe, status: Status) {
        if let Some(Some(queue)) = self.queues.get_mut(n) {
            queue.pair.complete(sqe, status, 0);
        }
    }

    /// Queues are made here; the rest is for the remote controller.
    fn admin(&mut self, sqe: &Sqe) {
        let status = match AdminCommand::decode(sqe) {
            Ok(AdminCommand::CreateCq(cq)) => {
                self.completion_queues.push((cq.qid, cq.base, cq.entries));
                Status::SUCCESS
            }
            Ok(AdminCommand::CreateSq(sq)) => self.create_queue(sq.qid, sq.base, sq.entries),
            Ok(AdminCommand::DeleteSq { qid }) => self.delete_queue(qid),
            Ok(AdminCommand::DeleteCq { .. }) => Status::SUCCESS,
            _ => return self.relay(sqe),
        };
        self.complete(0, sqe, status);
    }

    fn relay(&mut self, sqe: &Sqe) {
        if sqe.opcode == admin::opcode::SET_FEATURES && sqe.cdw10.get() as u8 == fid::NUMBER_OF_QUEUES {
            self.queues_asked = Some(sqe.cdw11.get());
        }
        let Some(transfer) = of_admin(sqe) else {
            return self.complete(0, sqe, Status::INVALID_OPCODE);
        };
        if let Some(Some(queue)) = self.queues.first_mut() {
            queue.send(*sqe, transfer, admin_only_reads(sqe));
        }
    }

    fn create_queue(&mut self, qid: u16, base: u64, entries: u32) -> Status {
        let Some(at) = self.completion_queues.iter().position(|(cqid, ..)| *cqid == qid) else {
            return Status::INVALID_QUEUE_ID;
        };
        let (_, cq_base, cq_entries) = self.completion_queues.remove(at);
        let place = PairPlace { qid, sq: (base, entries), cq: (cq_base, cq_entries) };
        let Ok(pair) = RelayPair::new(&self.space, &self.doorbells, place) else {
            return Status::PRP_OFFSET_INVALID;
        };
        let size = (qid, entries.min(u32::from(u16::MAX)) as u16);
        let connected = self.options.connect_queue(self.address, &self.subnqn, self.cntlid, size);
        let (wire, _) = match connected {
            Ok(connected) => connected,
            Err(RemoteError::Refused(status)) => return status,
            Err(_) => return Status::HOST_PATHING_ERROR,
        };
        let mut queue = Queue::new(size.1, pair, &self.space);
        (queue.wire, queue.inline_max) = (Some(wire), self.inline_max);
        let n = usize::from(qid);
        if self.queues.len() <= n {
            self.queues.resize_with(n + 1, || None);
        }
        self.queues[n] = Some(queue);
        Status::SUCCESS
    }

    fn delete_queue(&mut self, qid: u16) -> Status {
        let slot = self.queues.get_mut(usize::from(qid)).filter(|_| qid > 0);
        match slot.and_then(Option::take) {
            Some(_) => Status::SUCCESS,
            None => Status::INVALID_QUEUE_ID,
        }
    }

    pub(crate) fn take_answers(&mut self, n: usize) {
        let (mut inline_max, contents) = (None, &mut self.contents);
        if let Some(Some(queue)) = self.queues.get_mut(n) {
            queue.take_answers(|sqe, answer| {
                if n == 0 {
                    inline_max = inline_max.or(capsule_room(sqe, answer));
                    let known = |nsid| contents.get(&nsid).copied();
                    contents.extend(contents_told(sqe, &answer.data, known));
                }
            });
        }
        if let Some(bytes) = inline_max {
            self.inline_max = bytes;
        }
    }

    /// Asks for as many queues as the host did.
    pub(crate) fn ask_for_queues(&self, wire: &mut Wire) -> Result<(), RemoteError> {
        let Some(cdw11) = self.queues_asked else { return Ok(()) };
        let command = admin::SetFeatures { nsid: 0, fid: fid::NUMBER_OF_QUEUES, save: false, cdw11 };
        let sqe = admin::build::set_features(&command);
        wire.execute(sqe, Data::None, self.options.timeout).map(drop)
    }
}

/// In-capsule data of I/O commands, if this is the answer to Identify Controller.
fn capsule_room(sqe: &Sqe, answer: &Answer) -> Option<usize> {
    if sqe.opcode != admin::opcode::IDENTIFY || sqe.cdw10.get() as u8 != cns::CONTROLLER {
        return None;
    }
    let data = Controller::read_from_bytes(&answer.data).ok()?;
    Some((data.ioccsz.get() as usize * UNIT_BYTES).saturating_sub(SQE_BYTES))
}
