// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The NVMe controller: what it answers to registers and admin commands.
//!
//! It decides and moves nothing: it has no queues, copies no data, and knows neither time nor storage. The device around
//! it gives it register changes and admin commands and performs the [`RegisterAction`]s and [`Action`]s it gets back.
//! Whatever a host writes becomes a status or CSTS.CFS, never a panic.
//!
//! | module | decides |
//! |---|---|
//! | `register_block` | enable, disable, shutdown, subsystem reset |
//! | `identify`, `logs` | what the host can read of controller and namespaces |
//! | `features` | Get and Set Features |
//! | `queues` | which I/O queues exist |
//! | `stalls` | when writes were stopped or delayed: log page C2h |
//! | `settings` | settings of namespaces: log page C1h, and feature C0h |
//! | `format`, `aborts`, `events` | Format NVM, Abort, Asynchronous Event Request |
//! | `paths` | what it tells when it is one of several controllers: sharing and asymmetric access |
//! | `health` | error log and health counters |

mod aborts;
mod events;
mod features;
mod format;
mod health;
mod identify;
mod identity;
mod logs;
mod namespace;
mod outcome;
mod paths;
mod queues;
mod register_block;
mod settings;
mod stalls;
#[cfg(test)]
mod tests;

use saker_link::Registers;
use saker_nvme::admin::AdminCommand;
use saker_nvme::log::lid;
use saker_nvme::regs::{Cap, Csts, Vs};
use saker_nvme::vendor_specific::{Counter, FID_SETTING, LID_SETTINGS, LID_WRITE_STALLS};
use saker_nvme::{PointerRule, Sqe, Status, csi};

pub use crate::stats::HealthCounters;
use aborts::Aborts;
use events::Events;
use features::Features;
use health::Health;
pub use identity::{Identity, IdentityError, PAGE_BYTES, Transport};
use namespace::Visible;
pub use namespace::{CommandSets, NSID_MAX, NamespaceFacts, NamespaceKind, SettingFacts};
use outcome::Decision;
pub use outcome::{Action, Outcome};
pub use paths::Access;
use paths::Paths;
use queues::{QueueLimits, QueueTable};
use register_block::RegisterBlock;
pub use register_block::{RegisterAction, ShutdownKind};

/// SQID of the admin submission queue.
const ADMIN_QUEUE: u16 = 0;

/// An NVMe controller of Base Specification 2.0 without its queues.
#[derive(Debug)]
pub struct Controller {
    identity: Identity,
    registers: RegisterBlock,
    features: Features,
    queues: QueueTable,
    aborts: Aborts,
    events: Events,
    health: Health,
    /// CNTLIDs of the subsystem, ascending.
    controllers: Vec<u16>,
    /// Of a controller that is one of several.
    paths: Option<Paths>,
}

impl Controller {
    /// A disabled controller.
    ///
    /// # Errors
    /// A property that does not fit its field on the wire.
    pub fn new(identity: Identity) -> Result<Self, IdentityError> {
        identity.check()?;
        Ok(Self {
            registers: RegisterBlock::new(identity.caps()),
            features: Features::new(&identity),
            controllers: vec![identity.controller_id],
            identity,
            queues: QueueTable::default(),
            aborts: Aborts::default(),
            events: Events::default(),
            health: Health::default(),
            paths: None,
        })
    }

    /// The properties it was made with.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Register CAP.
    #[must_use]
    pub fn caps(&self) -> Cap {
        self.identity.caps()
    }

    /// Register VS.
    #[must_use]
    pub const fn version(&self) -> Vs {
        Vs::V2_0
    }

    /// Register CSTS, as last published.
    #[must_use]
    pub const fn status(&self) -> Csts {
        self.registers.csts()
    }

    /// Writes CAP, VS and CSTS. To be called once before the host looks.
    pub fn publish(&self, regs: &Registers) {
        self.registers.publish(regs);
    }

    /// Follows the host's register writes. To be called when [`Registers::changes`] has moved, and again until it answers
    /// [`RegisterAction::None`]: each call begins one action, and an action may be finished before the next call or
    /// later. After [`Controller::disabled`] it must be called again, for the host may have enabled meanwhile.
    pub fn on_register_change(&mut self, regs: &Registers) -> RegisterAction {
        self.registers.step(regs)
    }

    /// The admin queues are made: CSTS.RDY. Of no effect unless the last word was [`RegisterAction::Enable`].
    pub fn ready(&mut self, regs: &Registers) {
        self.registers.ready(regs);
    }

    /// The controller cannot go on: CSTS.CFS until a reset. For admin queues that cannot be made, and broken rings.
    pub fn fail(&mut self, regs: &Registers) {
        self.registers.fatal(regs);
    }

    /// Queues and commands are gone after [`RegisterAction::Disable`] or [`RegisterAction::SubsystemReset`]: CSTS.RDY
    /// clears; features return to their defaults; queue table, held requests and aborts are forgotten.
    pub fn disabled(&mut self, regs: &Registers) {
        if self.registers.disabled(regs) {
            self.features.reset();
            self.queues = QueueTable::default();
            self.aborts = Aborts::default();
            self.events = Events::default();
        }
    }

    /// Data is safe after [`RegisterAction::Shutdown`]: CSTS.SHST says complete.
    pub fn shutdown_done(&mut self, regs: &Registers) {
        self.registers.shutdown_done(regs);
    }

    /// The command sets that the host chose with CC.CSS.
    #[must_use]
    pub const fn command_sets(&self) -> CommandSets {
        self.registers.sets()
    }

    /// Whether I/O commands may use the namespace; otherwise they are 0Bh.
    #[must_use]
    pub const fn is_usable(&self, facts: &NamespaceFacts) -> bool {
        self.command_sets().contains(facts.csi())
    }

    /// Decides one command of the admin queue. A refusal is noted in the error log.
    pub fn admin(&mut self, sqe: &Sqe, namespaces: &[NamespaceFacts]) -> Outcome {
        self.decide(sqe, namespaces).unwrap_or_else(|status| {
            self.health.note_error(ADMIN_QUEUE, sqe, csi::NVM, status);
            Outcome::refused(status)
        })
    }

    fn decide(&mut self, sqe: &Sqe, all: &[NamespaceFacts]) -> Decision {
        let namespaces = Visible { all, sets: self.command_sets() };
        match AdminCommand::decode_with(sqe, self.pointer_rule())? {
            AdminCommand::DeleteSq { qid } => self.queues.delete_sq(qid),
            AdminCommand::CreateSq(command) => self.queues.create_sq(&command, self.queue_limits()),
            AdminCommand::GetLogPage(command) if command.lid == lid::ASYMMETRIC_ACCESS => {
                self.access_log(&command, namespaces)
            }
            AdminCommand::GetLogPage(command)
                if command.lid == LID_SETTINGS && self.has_vendor_commands() =>
            {
                settings::page(&command, namespaces, self.identity.max_transfer_bytes)
            }
            AdminCommand::GetLogPage(command)
                if command.lid == LID_WRITE_STALLS && self.has_vendor_commands() =>
            {
                stalls::page(&command, namespaces, self.identity.max_transfer_bytes)
            }
            AdminCommand::GetLogPage(command) => self.log_page(&command),
            AdminCommand::DeleteCq { qid } => self.queues.delete_cq(qid),
            AdminCommand::CreateCq(command) => self.queues.create_cq(&command, self.queue_limits()),
            AdminCommand::Identify(command) => {
                identify::decide(&command, &self.identity, namespaces, &self.controllers)
                    .map(|outcome| self.tell_paths(&command, outcome))
            }
            AdminCommand::Abort { sqid, cid } => {
                self.aborts.begin(sqid, cid, self.queues.has_submission(sqid))
            }
            AdminCommand::SetFeatures(command)
                if command.fid == FID_SETTING && self.has_vendor_commands() =>
            {
                settings::set(sqe, namespaces)
            }
            AdminCommand::SetFeatures(command) => {
                self.features.set(&command, !self.queues.is_empty(), namespaces)
            }
            AdminCommand::GetFeatures(command) => self.features.get(&command, namespaces),
            AdminCommand::AsyncEventRequest => self.events.request(),
            AdminCommand::KeepAlive => Ok(Outcome::done()),
            AdminCommand::FormatNvm(command) => format::decide(&command, sqe, namespaces),
        }
    }

    const fn has_vendor_commands(&self) -> bool {
        self.identity.vendor.is_some()
    }

    const fn pointer_rule(&self) -> PointerRule {
        if self.identity.sgl { PointerRule::Any } else { PointerRule::Prp }
    }

    /// Without I/O command sets no I/O queue is granted.
    fn queue_limits(&self) -> QueueLimits {
        let granted = self.features.values().queues;
        let usable = |zeroes_based: u16| match self.command_sets() {
            CommandSets::AdminOnly => 0,
            CommandSets::Nvm | CommandSets::All => zeroes_based + 1,
        };
        QueueLimits {
            submission: usable(granted.submission()),
            completion: usable(granted.completion()),
            entries: self.identity.max_queue_entries,
            vectors: self.identity.vectors(),
        }
    }

    /// Takes back what [`Controller::admin`] noted for an action that the device could not perform.
    ///
    /// Actions must be taken back in the order in which they failed, before another command is decided.
    pub fn undo(&mut self, action: &Action) {
        match action {
            Action::SetWriteCache(enabled) => self.features.undo_write_cache(*enabled),
            Action::HoldAsyncEvent => self.events.withdraw(),
            Action::Abort { .. } => self.aborts.done(),
            _ => self.queues.undo(action),
        }
    }

    /// An Abort has completed, whether or not it aborted something.
    pub fn abort_done(&mut self) {
        self.aborts.done();
    }

    /// Notes that a namespace's size, format or presence changed: for log page 04h and, where the host asked for it, an
    /// asynchronous event. See [`Controller::next_event`].
    pub fn namespace_changed(&mut self, nsid: u32) {
        let enabled = self.features.values().events.namespace_attribute();
        self.events.namespace_changed(nsid, enabled);
    }

    /// DW0 to complete one held Asynchronous Event Request with, if there is an event and a request.
    pub fn next_event(&mut self) -> Option<u32> {
        self.events.next()
    }

    /// The keep alive time-out in milliseconds that the host set, counted from its last Keep Alive; 0 for none.
    #[must_use]
    pub const fn keep_alive_ms(&self) -> u32 {
        self.features.values().keep_alive_ms
    }

    /// Whether the host has the volatile write cache switched on.
    #[must_use]
    pub const fn write_cache_enabled(&self) -> bool {
        self.identity.volatile_write_cache && self.features.values().write_cache
    }

    /// Notes a failed I/O command of submission queue `sqid` in the error log, which keeps the last 16, unless its
    /// status is but an answer: of a key that is not there, or is, of blocks that differ. Refusals of
    /// [`Controller::admin`] are noted already.
    pub fn note_failure(&mut self, sqid: u16, sqe: &Sqe, csi: u8, status: Status) {
        if !Self::is_answer(status) {
            self.health.note_error(sqid, sqe, csi, status);
        }
    }

    /// Whether an unsuccessful status answers what the command asked, such as whether a key exists. The error log has none of these.
    #[inline]
    pub fn is_answer(status: Status) -> bool {
        let answers = [Status::KEY_DOES_NOT_EXIST, Status::KEY_EXISTS, Status::COMPARE_FAILURE];
        answers.iter().any(|answer| status.is(*answer))
    }

    /// Notes an admin command that was refused before [`Controller::admin`] saw it.
    pub fn note_refusal(&mut self, sqe: &Sqe, status: Status) {
        self.health.note_error(ADMIN_QUEUE, sqe, csi::NVM, status);
    }

    /// What the device has done by now for all its hosts: the health log tells it. To be called before a command that
    /// may read the log.
    pub const fn note_counters(&mut self, counters: HealthCounters) {
        self.health.note_counters(counters);
    }

    /// Everything countable by now, by name: log page C3h tells it. To be called before a command that
    /// [asks for it](saker_nvme::vendor_specific::asks_for_counters).
    pub fn note_counted(&mut self, counted: Vec<Counter>) {
        self.health.note_counted(counted);
    }

    /// The controllers of the subsystem in ascending order, this one among them. Without a call it is the only one.
    pub fn note_controllers(&mut self, cntlids: Vec<u16>) {
        self.controllers = cntlids;
    }

    /// The keep alive time-out that Connect set, in milliseconds: what feature 0Fh is until the host sets another, and
    /// again after a reset.
    pub const fn connect_keep_alive(&mut self, ms: u32) {
        self.features.connect_keep_alive(ms);
    }

    /// The host identifier: that of Connect over Fabrics, else the data of [`Action::SetHostIdentifier`].
    pub const fn note_host_identifier(&mut self, identifier: [u8; 16], extended: bool) {
        self.features.note_host_identifier(identifier, extended);
    }
}
