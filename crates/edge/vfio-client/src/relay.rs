// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host library's queues, served by a controller behind a socket. The library's buffers are its own: data goes through memory
//! that the device reaches.

mod farewell;
mod flights;
mod lost;
mod queue;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use saker_link::{DmaSpace, DoorbellKind, Doorbells, PairPlace, Registers, RelayPair, offset};
use saker_nvme::admin::AdminCommand;
use saker_nvme::admin::feature::fid;
use saker_nvme::regs::{Aqa, Cc, Csts};
use saker_nvme::transfer::{Contents, of_admin};
use saker_nvme::vendor_specific::{Capabilities, LID_CAPABILITIES};
use saker_nvme::{Sqe, Status, admin};

use crate::error::VfioError;
use crate::function::{ADMIN_ENTRIES, Function};
use farewell::Farewell;
use flights::{Flight, Flights, SLOT_PAGES_MAX};
use queue::Queue;

/// Which device, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The socket.
    pub path: PathBuf,
    /// Commands in flight.
    pub depth: u16,
    /// How long a server that has gone is tried again.
    pub reconnect: Duration,
}

/// Queue pairs: the admin queue and those of a library that has a few.
const QUEUE_PAIRS: u16 = 65;
/// Turns without a completion before a turn waits.
const SPINS: u32 = 2_000;
/// How long it waits at a time.
const REST: Duration = Duration::from_millis(10);

/// A device. [`Relay::advance`] does all the work.
#[derive(Debug)]
pub struct Relay {
    options: Options,
    function: Function,
    space: Arc<DmaSpace>,
    registers: Arc<Registers>,
    doorbells: Arc<Doorbells>,
    changes_seen: u32,
    /// The library's admin queue.
    admin: Option<RelayPair>,
    /// Completion queues whose submission queue is to come: QID, base, entries.
    completion_queues: Vec<(u16, u64, u32)>,
    /// By QID.
    queues: BTreeMap<u16, Queue>,
    contents: BTreeMap<u32, Contents>,
    queues_asked: Option<Sqe>,
    idle_turns: u32,
    reconnects: u64,
    is_lost: bool,
    farewell: Farewell,
}

impl Relay {
    /// Connects to the server. `space` is the host library's memory.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn open(options: Options, space: Arc<DmaSpace>) -> Result<Self, VfioError> {
        let mut function = Function::open(&options.path, pages(options.depth))?;
        let farewell = Farewell::of(&mut function)?;
        let registers = Arc::new(Registers::new());
        let (cap, vs) = (function.capabilities()?, function.register(8)?);
        let published = registers
            .publish_u64(offset::CAP, cap.0)
            .and_then(|()| registers.publish_u32(offset::VS, vs))
            .and_then(|()| registers.publish_u32(offset::CSTS, 0));
        debug_assert!(published.is_ok(), "the block has these registers");
        Ok(Self {
            options,
            function,
            space,
            registers,
            doorbells: Doorbells::new(QUEUE_PAIRS),
            changes_seen: 0,
            admin: None,
            completion_queues: Vec::new(),
            queues: BTreeMap::new(),
            contents: BTreeMap::new(),
            queues_asked: None,
            idle_turns: 0,
            reconnects: 0,
            is_lost: false,
            farewell,
        })
    }

    /// The host library's memory.
    #[must_use]
    pub const fn space(&self) -> &Arc<DmaSpace> {
        &self.space
    }

    /// The register block.
    #[must_use]
    pub const fn registers(&self) -> &Arc<Registers> {
        &self.registers
    }

    /// The doorbells.
    #[must_use]
    pub const fn doorbells(&self) -> &Arc<Doorbells> {
        &self.doorbells
    }

    /// How often the server had gone and was there again.
    #[must_use]
    pub const fn reconnects(&self) -> u64 {
        self.reconnects
    }

    /// Hands over what there is and takes completions. While commands are in flight and none completes, it waits, a moment at
    /// most.
    pub fn advance(&mut self) {
        if !self.farewell.begin() {
            return self.lost();
        }
        self.follow_registers();
        // Who has to leave begins nothing.
        let handed_over = if self.farewell.is_wanted() { Ok(()) } else { self.hand_over() };
        match handed_over.and_then(|()| self.take_all()) {
            Ok(_) if self.is_at_rest() => {
                self.idle_turns = 0;
                if self.farewell.end() {
                    self.leave();
                }
            }
            Ok(true) => self.idle_turns = 0,
            Ok(false) => {
                self.idle_turns += 1;
                if self.idle_turns > SPINS && self.function.rest(REST).is_err() {
                    self.lost();
                }
            }
            Err(_) => self.lost(),
        }
    }

    /// Whether no command is with the device.
    fn is_at_rest(&self) -> bool {
        self.queues.values().all(|queue| queue.flights.is_empty())
    }

    fn follow_registers(&mut self) {
        let changes = self.registers.changes();
        if changes == self.changes_seen {
            return;
        }
        self.changes_seen = changes;
        let cc = Cc(self.registers.load_u32(offset::CC).unwrap_or(0));
        let csts = match (cc.en(), self.admin.is_some()) {
            (true, false) => self.enable().map(|()| Csts::default().with_rdy(true)),
            (true, true) if cc.shn() != 0 => {
                let complete = Csts::default().with_rdy(true).with_shst(Csts::SHST_COMPLETE);
                self.function.shut_down().map(|()| complete)
            }
            (false, true) => {
                self.admin = None;
                self.queues.clear();
                self.function.disable().map(|()| Csts::default())
            }
            _ => return,
        };
        let csts = csts.unwrap_or_else(|_| Csts::default().with_cfs(true));
        let published = self.registers.publish_u32(offset::CSTS, csts.0);
        debug_assert!(published.is_ok(), "the block has CSTS");
    }

    /// Enables the controller, and gives the library's admin queue its rings.
    fn enable(&mut self) -> Result<(), VfioError> {
        let aqa = Aqa(self.registers.load_u32(offset::AQA).unwrap_or(0));
        let base = |at| self.registers.load_u64(at).unwrap_or(0);
        let sq = (base(offset::ASQ), u32::from(aqa.asqs()) + 1);
        let cq = (base(offset::ACQ), u32::from(aqa.acqs()) + 1);
        let pair = RelayPair::new(&self.space, &self.doorbells, PairPlace { qid: 0, sq, cq })?;
        self.function.enable()?;
        self.admin = Some(pair);
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), VfioError> {
        while let Some(sqe) = self.admin.as_mut().and_then(|pair| {
            pair.post();
            pair.fetch()
        }) {
            let (status, result) = self.admin_command(&sqe)?;
            if let Some(pair) = &mut self.admin {
                pair.complete(&sqe, status, result);
            }
        }
        let (function, contents) = (&mut self.function, &self.contents);
        for (qid, queue) in &mut self.queues {
            if queue.hand_over(&self.space, function, contents) {
                queue.remote.ring();
                function.tell(*qid, DoorbellKind::SqTail)?;
            }
        }
        Ok(())
    }

    fn take_all(&mut self) -> Result<bool, VfioError> {
        let mut any = false;
        for (qid, queue) in &mut self.queues {
            if queue.take(&self.space) {
                any = true;
                queue.remote.ring_cq();
                self.function.tell(*qid, DoorbellKind::CqHead)?;
            }
        }
        Ok(any)
    }

    /// Queues are made here; the rest is the controller's.
    fn admin_command(&mut self, sqe: &Sqe) -> Result<(Status, u64), VfioError> {
        let status = match AdminCommand::decode(sqe) {
            Ok(AdminCommand::CreateCq(cq)) => {
                self.completion_queues.push((cq.qid, cq.base, cq.entries));
                Status::SUCCESS
            }
            Ok(AdminCommand::CreateSq(sq)) => return self.create_queue(sq.qid, sq.base, sq.entries),
            Ok(AdminCommand::DeleteSq { qid }) => return self.delete_queue(qid),
            Ok(AdminCommand::DeleteCq { .. }) => Status::SUCCESS,
            // It would be held, and with it this end of the admin queue.
            Ok(AdminCommand::AsyncEventRequest) => Status::INVALID_OPCODE,
            _ => return self.relay_admin(sqe),
        };
        Ok((status, 0))
    }

    fn create_queue(&mut self, qid: u16, base: u64, entries: u32) -> Result<(Status, u64), VfioError> {
        let Some(at) = self.completion_queues.iter().position(|(cqid, ..)| *cqid == qid) else {
            return Ok((Status::INVALID_QUEUE_ID, 0));
        };
        let (_, cq_base, cq_entries) = self.completion_queues.remove(at);
        let place = PairPlace { qid, sq: (base, entries), cq: (cq_base, cq_entries) };
        let Ok(local) = RelayPair::new(&self.space, &self.doorbells, place) else {
            return Ok((Status::PRP_OFFSET_INVALID, 0));
        };
        let interrupts = !self.function.is_mapped();
        let remote = match self.function.create_pair(qid, entries, interrupts) {
            Ok(remote) => remote,
            Err(VfioError::Admin(status)) => return Ok((status, 0)),
            Err(error) => return Err(error),
        };
        self.queues.insert(qid, Queue { local, remote, entries, flights: Flights::default() });
        Ok((Status::SUCCESS, 0))
    }

    fn delete_queue(&mut self, qid: u16) -> Result<(Status, u64), VfioError> {
        if self.queues.remove(&qid).is_none() {
            return Ok((Status::INVALID_QUEUE_ID, 0));
        }
        for sqe in [admin::build::delete_sq(qid), admin::build::delete_cq(qid)] {
            self.function.raw_admin(&sqe)?;
        }
        Ok((Status::SUCCESS, 0))
    }

    fn relay_admin(&mut self, sqe: &Sqe) -> Result<(Status, u64), VfioError> {
        if sqe.opcode == admin::opcode::SET_FEATURES && sqe.cdw10.get() as u8 == fid::NUMBER_OF_QUEUES {
            self.queues_asked = Some(*sqe);
        }
        let Some(transfer) = of_admin(sqe) else { return Ok((Status::INVALID_OPCODE, 0)) };
        let flight = match Flight::new(*sqe, transfer, (false, false), &self.space) {
            Ok(flight) => flight,
            Err(status) => return Ok((status, 0)),
        };
        let sent = match flight.send(&self.space, self.function.space()) {
            Ok(sent) => sent,
            Err(status) => return Ok((status, 0)),
        };
        let cqe = self.function.raw_admin(&sent)?;
        let mut data = flight.received(u64::MAX);
        if cqe.status().is_success() {
            let known = |nsid| self.contents.get(&nsid).copied();
            self.contents.extend(saker_nvme::transfer::contents_told(sqe, &data, known));
            if sqe.opcode == admin::opcode::GET_LOG_PAGE && sqe.cdw10.get() as u8 == LID_CAPABILITIES {
                Capabilities::narrow(&mut data);
            }
            if let Err(status) = flight.deliver(&self.space, &data) {
                return Ok((status, 0));
            }
        }
        Ok((cqe.status(), cqe.result()))
    }
}

/// Pages for rings, and for the data of all commands in flight. Those that are never touched cost nothing.
fn pages(depth: u16) -> u32 {
    let rings = 4 * ADMIN_ENTRIES + 1024;
    rings + (u32::from(depth) + 4) * SLOT_PAGES_MAX
}
