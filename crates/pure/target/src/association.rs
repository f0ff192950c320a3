// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One host's controller.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use saker_device::controller::{
    Access, Action, Controller, HealthCounters, Identity, NamespaceFacts, Outcome, RegisterAction,
};
use saker_link::{Registers, offset};
use saker_nvme::admin::feature::fid;
use saker_nvme::admin::{self, AdminCommand};
use saker_nvme::fabrics::{FabricsCommand, property};
use saker_nvme::identify::cns;
use saker_nvme::log::lid;
use saker_nvme::regs::Aqa;
use saker_nvme::vendor_specific::Counter;
use saker_nvme::{PointerRule, Sqe, Status};
use saker_sim::Instant;

use crate::discovery::{self, Portal};
use crate::identify;
use crate::kind::Kind;
use crate::policy::HostPolicy;
use crate::{Answer, ConnectionId, Reaction};

/// A host's controller and its queues.
#[derive(Debug)]
pub(crate) struct Association {
    pub hostnqn: String,
    pub hostid: [u8; 16],
    pub admin: ConnectionId,
    /// The port that the host came by.
    pub port: u16,
    /// I/O queues by QID.
    pub queues: BTreeMap<u16, ConnectionId>,
    /// What the host may do.
    pub policy: Arc<HostPolicy>,
    /// Whether the host comes by an address that only this machine reaches.
    pub is_local: bool,
    /// QIDs of queues that have not authenticated yet.
    pub barred: BTreeSet<u16>,
    pub last_seen: Instant,
    kind: Kind,
    controller: Controller,
    registers: Registers,
    /// Tokens and CIDs of Asynchronous Event Requests.
    held: VecDeque<(u16, u16)>,
    /// Tokens of those that were aborted and are not answered yet.
    aborted: Vec<u16>,
}

impl Association {
    pub fn new(
        identity: Identity,
        kind: Kind,
        (hostnqn, hostid): (String, [u8; 16]),
        admin: ConnectionId,
        now: Instant,
        keep_alive_ms: u32,
    ) -> Self {
        let mut controller = Controller::new(identity).expect("the identity was checked with the subsystem");
        controller.connect_keep_alive(keep_alive_ms);
        controller.note_host_identifier(hostid, true);
        if kind == Kind::Nvm {
            controller.share(Access::Optimized);
        }
        let registers = Registers::new();
        controller.publish(&registers);
        Self {
            hostnqn,
            hostid,
            admin,
            port: 0,
            queues: BTreeMap::new(),
            policy: Arc::default(),
            is_local: true,
            barred: BTreeSet::new(),
            last_seen: now,
            kind,
            controller,
            registers,
            held: VecDeque::new(),
            aborted: Vec::new(),
        }
    }

    pub fn is_ready(&self) -> bool {
        self.controller.status().rdy()
    }

    /// Whether its host has not authenticated yet.
    pub fn is_half_open(&self) -> bool {
        self.barred.contains(&0)
    }

    pub fn is_usable(&self, facts: &NamespaceFacts) -> bool {
        self.controller.is_usable(facts)
    }

    pub fn has_write_cache_off(&self) -> bool {
        !self.controller.write_cache_enabled()
    }

    pub fn queues_granted(&self, io_queues_max: u16) -> u16 {
        if self.kind == Kind::Discovery { 0 } else { io_queues_max }
    }

    /// Whether no command has come for the keep alive time-out. It does not run while the host computes what authenticates it, which
    /// has a time-out of its own.
    pub fn is_expired(&self, now: Instant) -> bool {
        let ms = self.controller.keep_alive_ms();
        ms > 0 && !self.is_half_open() && now.since(self.last_seen).as_nanos() / 1_000_000 > u64::from(ms)
    }

    /// A command of the admin queue has this CID: a request for events that is held with it has been given up, and is
    /// answered to nobody.
    pub fn give_up_event_request(&mut self, cid: u16) {
        self.abort_held(cid);
    }

    /// A Fabrics command of a connected queue.
    pub fn fabrics(&mut self, sqe: &Sqe, is_admin: bool) -> Reaction {
        let command = match FabricsCommand::decode(sqe) {
            Ok(command) => command,
            Err(status) => return Reaction::Complete(Answer::status(status)),
        };
        match command {
            // Bound already: the controller is busy with this queue.
            FabricsCommand::Connect(_) => Reaction::Complete(Answer::status(Status::CONNECT_CONTROLLER_BUSY)),
            FabricsCommand::Disconnect if !is_admin => Reaction::CompleteAndClose(Answer::result(0)),
            FabricsCommand::Authenticate(_) => Reaction::Complete(Answer::status(Status::INVALID_OPCODE)),
            _ if !is_admin => Reaction::Complete(Answer::status(Status::INVALID_OPCODE)),
            FabricsCommand::PropertyGet { offset, wide } => Reaction::Complete(self.property(offset, wide)),
            FabricsCommand::PropertySet { offset, wide, value } => self.set_property(offset, wide, value),
            FabricsCommand::Disconnect => Reaction::Complete(Answer::status(Status::INVALID_FIELD)),
        }
    }

    fn property(&self, offset: u32, wide: bool) -> Answer {
        let word = |at| u64::from(self.registers.load_u32(at).unwrap_or(0));
        match (offset, wide) {
            // A subsystem reset would be every host's.
            (property::CAP, true) => Answer::result(self.controller.caps().with_nssrs(false).0),
            (property::VS, false) => Answer::result(word(offset::VS)),
            (property::CC, false) => Answer::result(word(offset::CC)),
            (property::CSTS, false) => Answer::result(word(offset::CSTS)),
            _ => Answer::status(Status::INVALID_FIELD),
        }
    }

    fn set_property(&mut self, offset: u32, wide: bool, value: u64) -> Reaction {
        if (offset, wide) != (property::CC, false) {
            return Reaction::Complete(Answer::status(Status::INVALID_FIELD));
        }
        // The admin queue is the connection: the registers that would describe it hold what any ring might.
        let aqa = Aqa::default().with_asqs(1).with_acqs(1);
        let written = self.registers.store_u32(offset::AQA, aqa.0);
        let written = written.and_then(|()| self.registers.store_u32(offset::CC, value as u32));
        debug_assert!(written.is_ok(), "the block has these registers");
        self.follow_registers()
    }

    fn follow_registers(&mut self) -> Reaction {
        loop {
            match self.controller.on_register_change(&self.registers) {
                RegisterAction::None => return Reaction::Complete(Answer::result(0)),
                RegisterAction::Enable { .. } => self.controller.ready(&self.registers),
                RegisterAction::Disable | RegisterAction::SubsystemReset => {
                    self.controller.disabled(&self.registers);
                    self.held.clear();
                }
                RegisterAction::Shutdown(_) => return Reaction::FlushThenShutdown,
            }
        }
    }

    pub fn shutdown_done(&mut self) {
        self.controller.shutdown_done(&self.registers);
        // The host may have asked for more meanwhile; a second shutdown cannot be among it.
        let _ = self.follow_registers();
    }

    /// What the next command may ask for: what the device has done, and the controllers of the subsystem.
    pub fn note_subsystem(&mut self, counters: HealthCounters, cntlids: &[u16]) {
        self.controller.note_counters(counters);
        self.controller.note_controllers(cntlids.to_vec());
    }

    /// Everything countable, for a command that asks for it.
    pub fn note_counted(&mut self, counted: Vec<Counter>) {
        self.controller.note_counted(counted);
    }

    /// An I/O command of queue `qid` has failed.
    pub fn note_failure(&mut self, qid: u16, sqe: &Sqe, csi: u8, status: Status) {
        self.controller.note_failure(qid, sqe, csi, status);
    }

    /// An admin command. `others_write_through`: another host has switched the write cache off.
    pub fn admin(
        &mut self,
        token: u16,
        sqe: &Sqe,
        facts: &[NamespaceFacts],
        portals: &[Portal],
        others_write_through: bool,
    ) -> Reaction {
        if !self.is_ready() {
            return Reaction::Complete(Answer::status(Status::COMMAND_SEQUENCE_ERROR));
        }
        if let Err(status) = self.policy.rights.check_admin(sqe, self.is_local) {
            self.controller.note_refusal(sqe, status);
            return Reaction::Complete(Answer::status(status));
        }
        let narrowed = self.policy.rights.narrow(facts);
        let facts = narrowed.as_deref().unwrap_or(facts);
        if let Some(answer) = self.fabrics_only(sqe, portals) {
            if !answer.status.is_success() {
                self.controller.note_refusal(sqe, answer.status);
            }
            return Reaction::Complete(answer);
        }
        let local = sqe.with_prp(0, 0);
        let outcome = self.controller.admin(&local, facts);
        self.react(token, &local, outcome, others_write_through)
    }

    /// Admin commands that a controller over Fabrics answers otherwise than one with rings.
    fn fabrics_only(&mut self, sqe: &Sqe, portals: &[Portal]) -> Option<Answer> {
        if admin::QUEUE_OPCODES.contains(&sqe.opcode) {
            return Some(Answer::status(Status::INVALID_OPCODE));
        }
        let command = AdminCommand::decode_with(sqe, PointerRule::Sgl);
        match command {
            Err(status) => Some(Answer::status(status)),
            Ok(AdminCommand::GetLogPage(log))
                if log.lid == lid::DISCOVERY && self.kind == Kind::Discovery =>
            {
                Some(match discovery::log(portals, &log) {
                    Ok(data) => Answer { data, ..Answer::result(0) },
                    Err(status) => Answer::status(status),
                })
            }
            Ok(AdminCommand::Identify(command))
                if self.kind == Kind::Discovery && command.cns != cns::CONTROLLER =>
            {
                Some(Answer::status(Status::INVALID_FIELD))
            }
            Ok(AdminCommand::FormatNvm(_)) if self.kind == Kind::Discovery => {
                Some(Answer::status(Status::INVALID_OPCODE))
            }
            Ok(_) => None,
        }
    }

    fn react(&mut self, token: u16, sqe: &Sqe, outcome: Outcome, others_write_through: bool) -> Reaction {
        let mut data = outcome.data.unwrap_or_default();
        if sqe.opcode == admin::opcode::IDENTIFY && sqe.cdw10.get() as u8 == cns::CONTROLLER {
            identify::for_fabrics(&mut data, self.kind);
        }
        let answer = Answer { status: outcome.status, result: u64::from(outcome.dw0), data };
        match outcome.action {
            None => Reaction::Complete(answer),
            Some(Action::HoldAsyncEvent) => {
                self.held.push_back((token, sqe.cid.get()));
                Reaction::Hold
            }
            Some(Action::Abort { sqid, cid }) => {
                self.controller.abort_done();
                let is_aborted = sqid == 0 && self.abort_held(cid);
                Reaction::Complete(if is_aborted { Answer { result: 0, ..answer } } else { answer })
            }
            // The cache is the device's: it is on only while no host wants it off.
            Some(Action::SetWriteCache(true)) if others_write_through => Reaction::Complete(answer),
            Some(_) => Reaction::Device(*sqe),
        }
    }

    /// Only requests for events wait here: other commands are executed as they come, and there is nothing to take back.
    fn abort_held(&mut self, cid: u16) -> bool {
        let Some(at) = self.held.iter().position(|(_, held)| *held == cid) else { return false };
        self.controller.undo(&Action::HoldAsyncEvent);
        self.aborted.extend(self.held.remove(at).map(|(token, _)| token));
        true
    }

    /// The device refused what [`Reaction::Device`] asked for.
    pub fn device_refused(&mut self, sqe: &Sqe) {
        if sqe.opcode == admin::opcode::SET_FEATURES && sqe.cdw10.get() as u8 == fid::VOLATILE_WRITE_CACHE {
            self.controller.undo(&Action::SetWriteCache(sqe.cdw11.get() & 1 != 0));
        }
    }

    /// How well the host reaches the namespaces this way.
    pub fn access(&self) -> Access {
        self.controller.access()
    }

    pub fn set_access(&mut self, access: Access) {
        self.controller.set_access(access);
    }

    pub fn namespace_changed(&mut self, nsid: u32) {
        self.controller.namespace_changed(nsid);
    }

    /// A held request to complete, and what with.
    pub fn next_event(&mut self) -> Option<(u16, Answer)> {
        if let Some(token) = self.aborted.pop() {
            return Some((token, Answer::status(Status::ABORT_REQUESTED)));
        }
        let dw0 = self.controller.next_event()?;
        self.held.pop_front().map(|(token, _)| (token, Answer::result(u64::from(dw0))))
    }
}
