// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which hosts and queues are connected to a subsystem.

mod authenticate;
mod hosts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use saker_device::controller::{Access, HealthCounters, Identity, NamespaceFacts, Transport};
use saker_nvme::fabrics::{Connect, ConnectData, InvalidParameter, auth_required, nqn_of};
use saker_nvme::vendor_specific::{Capabilities, Counter};
use saker_nvme::{Sqe, Status, admin, csi, fabrics};
use saker_sim::Instant;

use crate::association::Association;
use crate::authentication::QueueAuth;
use crate::discovery::Portal;
use crate::kind::Kind;
use crate::policy::Policies;
use crate::traffic::NamespaceRates;
pub use hosts::Hosts;

use crate::{Answer, ConnectionId, IO_QUEUES_MAX, QUEUE_ENTRIES_MAX, Reaction, TRANSFER_BYTES_MAX};

/// What a subsystem is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubsystemConfig {
    /// SUBNQN.
    pub nqn: String,
    /// Serial number.
    pub serial: String,
    /// Model.
    pub model: String,
    /// Firmware revision.
    pub firmware: String,
    /// Whether completed writes may be lost with the power before a Flush.
    pub volatile_write_cache: bool,
    /// Log page C0h: the vendor commands that need no memory of a local host's; `None` without any.
    pub vendor: Option<Capabilities>,
    /// Which hosts may connect.
    pub hosts: Hosts,
    /// What they have to prove and may do.
    pub policies: Policies,
    /// What its discovery log tells, for [`Kind::Discovery`].
    pub portals: Vec<Portal>,
    /// Its controllers.
    pub kind: Kind,
    /// Controllers at most.
    pub controllers_max: usize,
    /// Ports by which other machines come: what their hosts may do by default is less.
    pub remote_ports: BTreeSet<u16>,
    /// What may go to its namespaces in a second.
    pub namespace_rates: NamespaceRates,
}

/// A connected queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// CNTLID.
    pub cntlid: u16,
    /// QID: 0 for the admin queue.
    pub qid: u16,
    /// Entries.
    pub entries: u16,
    /// Whether it has to authenticate before it can do anything else.
    pub must_authenticate: bool,
    /// Bytes of memory that all queues of its host may hold beyond what each has for itself.
    pub memory_max: Option<usize>,
}

impl Bound {
    /// DW0 of the completion of Connect: CNTLID, and AUTHREQ.
    #[must_use]
    pub const fn dw0(self) -> u32 {
        self.cntlid as u32 | if self.must_authenticate { auth_required::TRANSACTION } else { 0 }
    }
}

/// Why a Connect failed: status, and DW0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Status.
    pub status: Status,
    /// DW0: what it points at.
    pub dw0: u32,
}

impl From<InvalidParameter> for Refusal {
    fn from(parameter: InvalidParameter) -> Self {
        Self { status: Status::CONNECT_INVALID_PARAMETERS, dw0: parameter.dw0() }
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self { status, dw0: 0 }
    }
}

/// A subsystem with its controllers.
#[derive(Debug)]
pub struct Subsystem {
    config: SubsystemConfig,
    associations: BTreeMap<u16, Association>,
    bound: BTreeMap<ConnectionId, Bound>,
    /// Of queues that have to authenticate, or have done so.
    auths: BTreeMap<ConnectionId, QueueAuth>,
    last_cntlid: u16,
    /// What the device has done, as last told.
    counters: HealthCounters,
    /// How well namespaces are reached by a port, where it is not as well as can be.
    access: BTreeMap<u16, Access>,
    /// Connections whose controllers had to make room.
    evicted: Vec<ConnectionId>,
}

/// CNTLIDs above are reserved.
const CNTLID_MAX: u16 = 0xFFEF;

impl Subsystem {
    /// A subsystem without controllers.
    ///
    /// # Errors
    /// Names that do not fit their fields.
    pub fn new(config: SubsystemConfig) -> Result<Self, saker_device::controller::IdentityError> {
        identity(&config, 1).check()?;
        Ok(Self {
            config,
            associations: BTreeMap::new(),
            bound: BTreeMap::new(),
            auths: BTreeMap::new(),
            last_cntlid: 0,
            counters: HealthCounters::default(),
            access: BTreeMap::new(),
            evicted: Vec::new(),
        })
    }

    /// SUBNQN.
    #[must_use]
    pub fn nqn(&self) -> &str {
        &self.config.nqn
    }

    /// Controllers there are.
    #[must_use]
    pub fn controllers(&self) -> usize {
        self.associations.len()
    }

    /// Connect on `connection`.
    ///
    /// # Errors
    /// The status and DW0 to complete it with.
    pub fn connect(
        &mut self,
        connection: ConnectionId,
        connect: &Connect,
        data: &ConnectData,
        now: Instant,
    ) -> Result<Bound, Refusal> {
        if connect.record_format != 0 {
            return Err(Status::CONNECT_INCOMPATIBLE_FORMAT.into());
        }
        let hostnqn = nqn_of(&data.hostnqn).ok_or(InvalidParameter::HOSTNQN)?;
        if nqn_of(&data.subnqn) != Some(self.nqn()) {
            return Err(InvalidParameter::SUBNQN.into());
        }
        if !self.config.hosts.admit(hostnqn) {
            return Err(Status::CONNECT_INVALID_HOST.into());
        }
        if connect.sqsize == 0 || connect.sqsize >= QUEUE_ENTRIES_MAX {
            return Err(InvalidParameter::SQSIZE.into());
        }
        if self.has_all_connections(hostnqn) {
            return Err(Status::CONNECT_CONTROLLER_BUSY.into());
        }
        let cntlid = if connect.qid == 0 {
            self.connect_admin(connection, connect, data, hostnqn, now)?
        } else {
            self.connect_io(connection, connect, data, hostnqn)?
        };
        let must_authenticate = self.demand(connection, hostnqn);
        let (qid, entries) = (connect.qid, connect.sqsize + 1);
        let memory_max = self.policy_of(hostnqn).memory_max;
        let bound = Bound { cntlid, qid, entries, must_authenticate, memory_max };
        self.bound.insert(connection, bound);
        if must_authenticate {
            self.bar(connection, true);
        }
        Ok(bound)
    }

    /// Says by which port a connection came: its controller reaches the namespaces as well as the port does. To be called right
    /// after [`Subsystem::connect`]; of no effect on I/O queues.
    pub fn came_by(&mut self, connection: ConnectionId, port: u16) {
        let access = self.access.get(&port).copied().unwrap_or_default();
        let is_local = !self.config.remote_ports.contains(&port);
        if let Some(association) = self.association(connection).filter(|a| a.admin == connection) {
            (association.port, association.is_local) = (port, is_local);
            association.set_access(access);
        }
    }

    /// Changes how well namespaces are reached by a port. Hosts that asked to be told have [`Subsystem::events`].
    pub fn set_access(&mut self, port: u16, access: Access) {
        self.access.insert(port, access);
        self.associations.values_mut().filter(|a| a.port == port).for_each(|a| a.set_access(access));
    }

    fn connect_admin(
        &mut self,
        connection: ConnectionId,
        connect: &Connect,
        data: &ConnectData,
        hostnqn: &str,
        now: Instant,
    ) -> Result<u16, Refusal> {
        if data.cntlid.get() != ConnectData::ANY_CONTROLLER {
            return Err(InvalidParameter::CNTLID.into());
        }
        self.make_room(hostnqn);
        if self.associations.len() >= self.config.controllers_max {
            return Err(Status::CONNECT_CONTROLLER_BUSY.into());
        }
        let cntlid = self.free_cntlid();
        let identity = identity(&self.config, cntlid);
        let host = (hostnqn.to_owned(), data.hostid);
        let kind = self.config.kind;
        let mut association = Association::new(identity, kind, host, connection, now, connect.keep_alive_ms);
        association.policy = Arc::clone(self.config.policies.of(hostnqn));
        self.associations.insert(cntlid, association);
        Ok(cntlid)
    }

    fn free_cntlid(&mut self) -> u16 {
        loop {
            self.last_cntlid = if self.last_cntlid >= CNTLID_MAX { 1 } else { self.last_cntlid + 1 };
            if !self.associations.contains_key(&self.last_cntlid) {
                return self.last_cntlid;
            }
        }
    }

    fn connect_io(
        &mut self,
        connection: ConnectionId,
        connect: &Connect,
        data: &ConnectData,
        hostnqn: &str,
    ) -> Result<u16, Refusal> {
        let cntlid = data.cntlid.get();
        let association = self.associations.get_mut(&cntlid).ok_or(InvalidParameter::CNTLID)?;
        if association.hostnqn != hostnqn {
            return Err(InvalidParameter::HOSTNQN.into());
        }
        if association.hostid != data.hostid {
            return Err(InvalidParameter::HOSTID.into());
        }
        if connect.qid > association.queues_granted(IO_QUEUES_MAX) {
            return Err(InvalidParameter::QID.into());
        }
        if !association.is_ready() || association.queues.contains_key(&connect.qid) {
            return Err(Status::COMMAND_SEQUENCE_ERROR.into());
        }
        association.queues.insert(connect.qid, connection);
        Ok(cntlid)
    }

    /// The controller of a connection and the host that it belongs to, as the host named itself.
    #[must_use]
    pub fn host(&self, connection: ConnectionId) -> Option<(u16, &str)> {
        let cntlid = self.bound(connection)?.cntlid;
        self.associations.get(&cntlid).map(|association| (cntlid, association.hostnqn.as_str()))
    }

    /// Whether the controller of a connection is enabled.
    #[must_use]
    pub fn is_ready(&self, connection: ConnectionId) -> bool {
        let association = self.bound(connection).and_then(|bound| self.associations.get(&bound.cntlid));
        association.is_some_and(Association::is_ready)
    }

    /// What a connection is bound to.
    #[must_use]
    pub fn bound(&self, connection: ConnectionId) -> Option<Bound> {
        self.bound.get(&connection).copied()
    }

    /// Whether a queue has still to authenticate: nothing that it asks for is done.
    #[must_use]
    pub fn is_barred(&self, bound: Bound) -> bool {
        self.associations.get(&bound.cntlid).is_none_or(|association| association.barred.contains(&bound.qid))
    }

    /// Whether a command of this queue goes to [`Subsystem::command`] rather than to the device.
    #[must_use]
    pub fn is_for_controller(bound: Bound, sqe: &Sqe) -> bool {
        bound.qid == 0 || sqe.opcode == fabrics::OPCODE
    }

    /// What the device has done by now: the health log of every controller tells it, whichever host asked for it.
    pub const fn note_counters(&mut self, counters: HealthCounters) {
        self.counters = counters;
    }

    /// Everything countable by now, for the next command of this connection, which
    /// [asks for it](saker_nvme::vendor_specific::asks_for_counters).
    pub fn note_counted(&mut self, connection: ConnectionId, counted: Vec<Counter>) {
        if let Some(association) = self.association(connection) {
            association.note_counted(counted);
        }
    }

    /// An I/O command of a connected queue has failed, here or in the device: for the error log of its controller.
    pub fn io_failed(
        &mut self,
        connection: ConnectionId,
        sqe: &Sqe,
        facts: &[NamespaceFacts],
        status: Status,
    ) {
        let Some(bound) = self.bound(connection) else { return };
        let of = facts.iter().find(|facts| facts.nsid == sqe.nsid.get());
        if let Some(association) = self.associations.get_mut(&bound.cntlid) {
            association.note_failure(bound.qid, sqe, of.map_or(csi::NVM, NamespaceFacts::csi), status);
        }
    }

    /// A command of an admin queue, or a Fabrics command.
    pub fn command(
        &mut self,
        connection: ConnectionId,
        token: u16,
        sqe: &Sqe,
        facts: &[NamespaceFacts],
        now: Instant,
    ) -> Reaction {
        let Some(bound) = self.bound(connection) else {
            return Reaction::Complete(Answer::status(Status::COMMAND_SEQUENCE_ERROR));
        };
        let others_write_through = self.has_write_through(Some(bound.cntlid));
        let cntlids: Vec<u16> = self.associations.keys().copied().collect();
        let association = self.associations.get_mut(&bound.cntlid).expect("a bound queue has its controller");
        if association.barred.contains(&bound.qid) {
            return Reaction::Complete(Answer::status(Status::AUTHENTICATION_REQUIRED));
        }
        association.last_seen = now;
        if bound.qid == 0 {
            association.give_up_event_request(sqe.cid.get());
        }
        if sqe.opcode == fabrics::OPCODE {
            return association.fabrics(sqe, bound.qid == 0);
        }
        association.note_subsystem(self.counters, &cntlids);
        association.admin(token, sqe, facts, &self.config.portals, others_write_through)
    }

    fn has_write_through(&self, except: Option<u16>) -> bool {
        let others = self.associations.iter().filter(|(cntlid, _)| Some(**cntlid) != except);
        self.config.volatile_write_cache && others.into_iter().any(|(_, a)| a.has_write_cache_off())
    }

    /// Whether the device must write through because a host wants it.
    #[must_use]
    pub fn wants_write_through(&self) -> bool {
        self.has_write_through(None)
    }

    /// Checks whether an I/O command may use the namespace, and notes that the host lives.
    ///
    /// # Errors
    /// 191h before the queue has authenticated, 0Ch before the controller is ready, 302h where this way is closed, 0Bh for a namespace of
    /// a command set that is not enabled or that does not exist for the host, 20h for a write of a host that may only read.
    pub fn admit_io(
        &mut self,
        bound: Bound,
        sqe: &Sqe,
        facts: &[NamespaceFacts],
        now: Instant,
    ) -> Result<(), Status> {
        let association = self.associations.get_mut(&bound.cntlid).ok_or(Status::COMMAND_SEQUENCE_ERROR)?;
        if association.barred.contains(&bound.qid) {
            return Err(Status::AUTHENTICATION_REQUIRED);
        }
        association.last_seen = now;
        if !association.is_ready() {
            return Err(Status::COMMAND_SEQUENCE_ERROR);
        }
        association.access().check()?;
        association.policy.rights.check_io(sqe, facts)?;
        match facts.iter().find(|ns| ns.nsid == sqe.nsid.get()) {
            Some(ns) if !association.is_usable(ns) => Err(Status::INVALID_NAMESPACE_OR_FORMAT),
            _ => Ok(()),
        }
    }

    /// The Flush of [`Reaction::FlushThenShutdown`] has completed.
    pub fn shutdown_done(&mut self, connection: ConnectionId) {
        if let Some(association) = self.association(connection) {
            association.shutdown_done();
        }
    }

    /// The command of [`Reaction::Device`] has completed.
    pub fn device_answered(&mut self, connection: ConnectionId, sqe: &Sqe, status: Status) {
        if !status.is_success() {
            if let Some(association) = self.association(connection) {
                association.device_refused(sqe);
            }
        } else if sqe.opcode == admin::opcode::FORMAT_NVM {
            self.was_formatted(sqe.nsid.get());
        }
    }

    /// A namespace, or all of them (FFFFFFFFh), have been formatted: by a host, or by who serves it in another way.
    pub fn was_formatted(&mut self, nsid: u32) {
        self.associations.values_mut().for_each(|a| a.namespace_changed(nsid));
    }

    fn association(&mut self, connection: ConnectionId) -> Option<&mut Association> {
        let bound = self.bound.get(&connection)?;
        self.associations.get_mut(&bound.cntlid)
    }

    /// Held event requests to complete: connection, token and answer.
    pub fn events(&mut self) -> Vec<(ConnectionId, u16, Answer)> {
        let each = |a: &mut Association| {
            let admin = a.admin;
            std::iter::from_fn(|| a.next_event())
                .map(|(token, answer)| (admin, token, answer))
                .collect::<Vec<_>>()
        };
        self.associations.values_mut().flat_map(each).collect()
    }

    /// A connection is gone. With the admin queue goes the controller: the connections of its I/O queues, to be closed.
    pub fn disconnected(&mut self, connection: ConnectionId) -> Vec<ConnectionId> {
        self.auths.remove(&connection);
        let Some(bound) = self.bound.remove(&connection) else { return Vec::new() };
        if bound.qid != 0 {
            if let Some(association) = self.associations.get_mut(&bound.cntlid) {
                association.queues.remove(&bound.qid);
                association.barred.remove(&bound.qid);
            }
            return Vec::new();
        }
        let association = self.associations.remove(&bound.cntlid);
        association.map_or_else(Vec::new, |a| a.queues.into_values().collect())
    }

    /// Admin connections of hosts that have not been heard of for their keep alive time-out, to be closed.
    #[must_use]
    pub fn expired(&self, now: Instant) -> Vec<ConnectionId> {
        self.associations.values().filter(|a| a.is_expired(now)).map(|a| a.admin).collect()
    }
}

fn identity(config: &SubsystemConfig, cntlid: u16) -> Identity {
    Identity {
        serial: config.serial.clone(),
        model: config.model.clone(),
        firmware: config.firmware.clone(),
        subnqn: config.nqn.clone(),
        uuid: [0; 16],
        controller_id: cntlid,
        max_queue_pairs: IO_QUEUES_MAX,
        max_queue_entries: u32::from(QUEUE_ENTRIES_MAX),
        max_transfer_bytes: TRANSFER_BYTES_MAX,
        volatile_write_cache: config.volatile_write_cache,
        sgl: false,
        transport: match config.kind {
            Kind::Nvm => Transport::Fabrics,
            Kind::Discovery => Transport::Discovery,
        },
        vendor: config.vendor,
    }
}
