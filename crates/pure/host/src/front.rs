// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a host sees of a device that is made of others: registers, doorbells and queues, in memory that it shares with them.

use crate::connect::Port;
use saker_link::{BarBuffer, DmaSpace, Doorbells, PairPlace, Registers, RelayPair, offset};
use saker_nvme::admin::feature::{NumberOfQueues, fid};
use saker_nvme::admin::{self, AdminCommand};
use saker_nvme::regs::{Aqa, Cap, Cc, Csts};
use saker_nvme::{Sqe, Status};
use std::sync::Arc;

/// I/O queue pairs.
const QUEUE_PAIRS: u16 = 64;
/// CAP.MQES, 0's based.
const QUEUE_ENTRIES_MAX: u16 = 4095;
/// NVMe 2.0.
const VERSION: u32 = 0x0002_0000;

/// What the host's registers ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing new.
    Nothing,
    /// To be enabled.
    On,
    /// To shut down in order.
    ShutDown,
    /// To be disabled: what is on its way ends first.
    Off,
}

/// What is to be done with an admin command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admin {
    /// It is carried out: status and result.
    Done(Status, u64),
    /// A queue is to be deleted by [`Front::delete_queue`], once nothing of it is on its way.
    DeleteQueue(u16),
    /// It waits for an event that never comes.
    Waits,
    /// Whoever has this decides.
    Other,
}

/// Registers and queues. Whoever has it carries the commands out.
#[derive(Debug)]
pub struct Front {
    space: Arc<DmaSpace>,
    registers: Arc<Registers>,
    doorbells: Arc<Doorbells>,
    bar: Arc<BarBuffer>,
    changes_seen: u32,
    /// By QID; the admin queue is the first.
    queues: Vec<Option<RelayPair>>,
    /// Completion queues whose submission queue is to come: QID, base, entries.
    completion_queues: Vec<(u16, u64, u32)>,
}

impl Front {
    /// In that memory, not enabled.
    #[must_use]
    pub fn new(space: Arc<DmaSpace>) -> Self {
        let registers = Arc::new(Registers::new());
        let cap = Cap::default()
            .with_mqes(QUEUE_ENTRIES_MAX)
            .with_cqr(true)
            .with_css(Cap::CSS_NVM | Cap::CSS_IO_SETS)
            .with_to(1);
        let published = registers
            .publish_u64(offset::CAP, cap.0)
            .and_then(|()| registers.publish_u32(offset::VS, VERSION))
            .and_then(|()| registers.publish_u32(offset::CSTS, Csts::default().0));
        debug_assert!(published.is_ok(), "the block has these registers");
        Self {
            space,
            registers,
            doorbells: Doorbells::new(QUEUE_PAIRS + 1),
            bar: BarBuffer::new(QUEUE_PAIRS),
            changes_seen: 0,
            queues: Vec::new(),
            completion_queues: Vec::new(),
        }
    }

    /// What the host connects to.
    #[must_use]
    pub fn port(&self) -> Port {
        Port {
            space: Arc::clone(&self.space),
            registers: Arc::clone(&self.registers),
            doorbells: Arc::clone(&self.doorbells),
            bar: Arc::clone(&self.bar),
        }
    }

    /// The memory.
    #[must_use]
    pub fn space(&self) -> &DmaSpace {
        &self.space
    }

    /// Queues there are, the admin queue among them.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.queues.len()
    }

    /// The next command of queue `n`.
    pub fn fetch(&mut self, n: usize) -> Option<Sqe> {
        let pair = self.queues.get_mut(n)?.as_mut()?;
        pair.post();
        pair.fetch()
    }

    /// Completes a command of queue `n`.
    pub fn complete(&mut self, n: usize, sqe: &Sqe, status: Status, result: u64) {
        if let Some(Some(pair)) = self.queues.get_mut(n) {
            pair.complete(sqe, status, result);
        }
    }

    /// What has changed in the registers since the last call.
    pub fn asked(&mut self) -> Asked {
        let changes = self.registers.changes();
        if changes == self.changes_seen {
            return Asked::Nothing;
        }
        self.changes_seen = changes;
        let cc = Cc(self.registers.load_u32(offset::CC).unwrap_or(0));
        match (cc.en(), self.queues.is_empty()) {
            (true, true) => Asked::On,
            (true, false) if cc.shn() != 0 => Asked::ShutDown,
            (true, false) => Asked::Nothing,
            (false, _) => Asked::Off,
        }
    }

    /// It is enabled, with an admin queue where the registers say.
    pub fn turn_on(&mut self) {
        let aqa = Aqa(self.registers.load_u32(offset::AQA).unwrap_or(0));
        let base = |at| self.registers.load_u64(at).unwrap_or(0);
        let sq = (base(offset::ASQ), u32::from(aqa.asqs()) + 1);
        let cq = (base(offset::ACQ), u32::from(aqa.acqs()) + 1);
        let pair = RelayPair::new(&self.space, &self.doorbells, PairPlace { qid: 0, sq, cq });
        self.queues = pair.ok().map(Some).into_iter().collect();
        let is_on = !self.queues.is_empty();
        self.publish(Csts::default().with_rdy(is_on).with_cfs(!is_on));
    }

    /// Shutdown is complete.
    pub fn shut_down(&self) {
        self.publish(Csts::default().with_rdy(true).with_shst(Csts::SHST_COMPLETE));
    }

    /// It is disabled, and has no queue.
    pub fn turn_off(&mut self) {
        self.queues.clear();
        self.completion_queues.clear();
        self.publish(Csts::default());
    }

    fn publish(&self, csts: Csts) {
        let published = self.registers.publish_u32(offset::CSTS, csts.0);
        debug_assert!(published.is_ok(), "the block has CSTS");
    }

    /// Carries out what is about queues alone, and what is the same whatever the device is made of.
    pub fn admin(&mut self, sqe: &Sqe) -> Admin {
        let (status, result) = match AdminCommand::decode(sqe) {
            Ok(AdminCommand::CreateCq(cq)) => {
                self.completion_queues.push((cq.qid, cq.base, cq.entries));
                (Status::SUCCESS, 0)
            }
            Ok(AdminCommand::CreateSq(sq)) => (self.create_queue(sq.qid, sq.base, sq.entries), 0),
            Ok(AdminCommand::DeleteSq { qid }) => return Admin::DeleteQueue(qid),
            Ok(AdminCommand::DeleteCq { .. }) => (Status::SUCCESS, 0),
            _ => match (sqe.opcode, sqe.cdw10.get() as u8) {
                (admin::opcode::ASYNC_EVENT_REQUEST, _) => return Admin::Waits,
                (admin::opcode::KEEP_ALIVE, _) => (Status::SUCCESS, 0),
                // DW0 bit 0: not aborted, which is always allowed.
                (admin::opcode::ABORT, _) => (Status::SUCCESS, 1),
                (admin::opcode::SET_FEATURES, fid::NUMBER_OF_QUEUES) => (Status::SUCCESS, granted()),
                // All command sets are enabled.
                (admin::opcode::SET_FEATURES, fid::COMMAND_SET_PROFILE) => (Status::SUCCESS, 0),
                _ => return Admin::Other,
            },
        };
        Admin::Done(status, result)
    }

    /// A submission queue for a completion queue of the same number.
    fn create_queue(&mut self, qid: u16, base: u64, entries: u32) -> Status {
        let Some(at) = self.completion_queues.iter().position(|(cqid, ..)| *cqid == qid) else {
            return Status::INVALID_QUEUE_ID;
        };
        let (_, cq_base, cq_entries) = self.completion_queues.remove(at);
        let place = PairPlace { qid, sq: (base, entries), cq: (cq_base, cq_entries) };
        let Ok(pair) = RelayPair::new(&self.space, &self.doorbells, place) else {
            return Status::PRP_OFFSET_INVALID;
        };
        let n = usize::from(qid);
        if self.queues.len() <= n {
            self.queues.resize_with(n + 1, || None);
        }
        self.queues[n] = Some(pair);
        Status::SUCCESS
    }

    /// A queue goes; nothing of it is on its way.
    pub fn delete_queue(&mut self, qid: u16) -> Status {
        let slot = self.queues.get_mut(usize::from(qid)).filter(|_| qid > 0);
        slot.and_then(Option::take).map_or(Status::INVALID_QUEUE_ID, |_| Status::SUCCESS)
    }
}

/// How many queues a host gets: the answer to Set Features, Number of Queues.
fn granted() -> u64 {
    let last = QUEUE_PAIRS - 1;
    u64::from(NumberOfQueues::default().with_submission(last).with_completion(last).0)
}
