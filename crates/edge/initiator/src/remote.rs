// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The remote controller behind local rings.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use saker_link::{DmaSpace, Doorbells, Registers, offset};
use saker_nvme::fabrics::{self, ConnectData};
use saker_nvme::regs::{Cap, Csts};
use saker_nvme::transfer::Contents;

use crate::back_off::{self, BackOff};
use crate::connect::{self, ADMIN_ENTRIES, Options};
use crate::error::RemoteError;
use crate::queue::Queue;
use crate::wire::{INLINE_ALWAYS, Wire, rest_on};

/// A controller on the network. [`Remote::advance`] does all the work.
#[derive(Debug)]
pub struct Remote {
    pub(crate) options: Options,
    pub(crate) address: SocketAddr,
    pub(crate) subnqn: String,
    pub(crate) cntlid: u16,
    pub(crate) space: Arc<DmaSpace>,
    pub(crate) registers: Arc<Registers>,
    pub(crate) doorbells: Arc<Doorbells>,
    pub(crate) changes_seen: u32,
    pub(crate) is_enabled: bool,
    /// The admin connection before the host has given the admin queue its rings.
    pub(crate) unbound: Option<Wire>,
    /// By QID; the admin queue is the first.
    pub(crate) queues: Vec<Option<Queue>>,
    /// Completion queues whose submission queue is to come: QID, base, entries.
    pub(crate) completion_queues: Vec<(u16, u64, u32)>,
    /// CDW11 of the last Set Features "Number of Queues".
    pub(crate) queues_asked: Option<u32>,
    /// Namespaces of blocks that the host has asked about; all others hold pairs.
    pub(crate) contents: BTreeMap<u32, Contents>,
    /// In-capsule data of I/O commands, as Identify Controller said.
    pub(crate) inline_max: usize,
    /// When something last came in.
    heard_at: Instant,
    idle_turns: u32,
    /// After attempts to connect have failed, when to try again.
    pub(crate) retry_at: Option<Instant>,
    reconnects: u64,
}

/// I/O queue pairs.
const QUEUE_PAIRS: u16 = 64;
/// Turns without any traffic before a turn waits for some.
const SPINS: u32 = 64;
/// The longest a turn waits.
const REST: Duration = Duration::from_millis(10);

impl Remote {
    /// Connects the admin queue of a subsystem. `space` is the host's memory.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn open(options: Options, space: Arc<DmaSpace>) -> Result<Self, RemoteError> {
        let address = options.resolve()?;
        let subnqn = match &options.subnqn {
            Some(name) => name.clone(),
            None => options.discover(address)?,
        };
        let (mut wire, cntlid) =
            options.connect_queue(address, &subnqn, ConnectData::ANY_CONTROLLER, (0, ADMIN_ENTRIES))?;
        let registers = Arc::new(Registers::new());
        publish(&registers, &mut wire, options.timeout)?;
        Ok(Self {
            options,
            address,
            subnqn,
            cntlid,
            space,
            registers,
            doorbells: Doorbells::new(QUEUE_PAIRS + 1),
            changes_seen: 0,
            is_enabled: false,
            unbound: Some(wire),
            queues: Vec::new(),
            completion_queues: Vec::new(),
            queues_asked: None,
            contents: BTreeMap::new(),
            inline_max: 0,
            heard_at: Instant::now(),
            idle_turns: 0,
            retry_at: None,
            reconnects: 0,
        })
    }

    /// The host's memory.
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

    /// The subsystem's name.
    #[must_use]
    pub fn subnqn(&self) -> &str {
        &self.subnqn
    }

    /// How often the connection was lost and made again.
    #[must_use]
    pub const fn reconnects(&self) -> u64 {
        self.reconnects
    }

    /// Whoever waits is about to leave: from here on a target that does not answer for so long is given up, and a lost connection is
    /// tried again once.
    pub fn hurry(&mut self, timeout: Duration) {
        self.options.timeout = self.options.timeout.min(timeout);
        self.options.reconnect = Duration::ZERO;
    }

    /// Relays what there is. While commands are in flight and nothing moves, it waits for the network, a moment at most.
    pub fn advance(&mut self) {
        self.follow_registers();
        self.fetch_all();
        match self.pump() {
            Ok(true) => {
                self.heard_at = Instant::now();
                self.idle_turns = 0;
            }
            Ok(false) => self.idle(),
            Err(_) => self.lost(),
        }
    }

    /// Moves bytes and takes answers. True if anything moved.
    fn pump(&mut self) -> Result<bool, RemoteError> {
        let mut moved = false;
        for n in 0..self.queues.len() {
            let Some(queue) = &mut self.queues[n] else { continue };
            let Some(wire) = queue.wire.as_mut().filter(|wire| wire.in_flight() > 0) else { continue };
            moved |= wire.pump()?;
            self.take_answers(n);
        }
        Ok(moved)
    }

    fn in_flight(&self) -> usize {
        self.queues.iter().flatten().map(|queue| queue.in_flight).sum()
    }

    fn idle(&mut self) {
        if self.in_flight() == 0 {
            (self.idle_turns, self.heard_at) = (0, Instant::now());
            return;
        }
        if self.heard_at.elapsed() > self.options.timeout {
            return self.lost();
        }
        self.idle_turns += 1;
        if self.idle_turns > SPINS {
            let wires: Vec<&Wire> =
                self.queues.iter().flatten().filter_map(|queue| queue.wire.as_ref()).collect();
            rest_on(&wires, REST);
        }
    }

    /// A connection is gone, and with it the association: connects again, waiting longer each time.
    pub(crate) fn lost(&mut self) {
        self.queues.iter_mut().flatten().for_each(Queue::lose);
        let mut back_off = BackOff::new(self.options.reconnect);
        while self.reconnect().is_err() {
            if !back_off.pause() {
                self.queues.iter_mut().flatten().for_each(Queue::give_up);
                self.retry_at = Some(Instant::now() + back_off::LONGEST);
                return;
            }
        }
        self.retry_at = None;
        self.reconnects += 1;
        self.heard_at = Instant::now();
    }

    /// Whether commands can be sent; after a loss that lasted, tries again once in a while.
    pub(crate) fn is_reachable(&mut self) -> bool {
        let Some(at) = self.retry_at else { return true };
        if Instant::now() < at {
            return false;
        }
        if self.reconnect().is_err() {
            self.retry_at = Some(Instant::now() + back_off::LONGEST);
            return false;
        }
        self.retry_at = None;
        self.reconnects += 1;
        true
    }

    /// Makes a controller and its queues as they were.
    fn reconnect(&mut self) -> Result<(), RemoteError> {
        let entries = (0, ADMIN_ENTRIES);
        let any = ConnectData::ANY_CONTROLLER;
        let (mut admin, cntlid) = self.options.connect_queue(self.address, &self.subnqn, any, entries)?;
        let mut wires = Vec::new();
        if self.is_enabled {
            connect::enable(&mut admin, self.options.timeout)?;
            self.ask_for_queues(&mut admin)?;
            for queue in self.queues.iter().flatten().filter(|queue| queue.qid() > 0) {
                let entries = (queue.qid(), queue.entries);
                wires.push(self.options.connect_queue(self.address, &self.subnqn, cntlid, entries)?.0);
            }
        }
        self.cntlid = cntlid;
        self.bind_admin(admin);
        let io = self.queues.iter_mut().flatten().filter(|queue| queue.qid() > 0);
        io.zip(wires).for_each(|(queue, wire)| queue.resume(wire));
        Ok(())
    }

    fn bind_admin(&mut self, wire: Wire) {
        match self.queues.first_mut() {
            Some(Some(queue)) => {
                queue.inline_max = INLINE_ALWAYS;
                queue.resume(wire);
            }
            _ => self.unbound = Some(wire),
        }
    }
}

/// Shows CAP, VS and CSTS of the remote controller in the local block.
fn publish(registers: &Registers, wire: &mut Wire, timeout: Duration) -> Result<(), RemoteError> {
    let cap = Cap(connect::property(wire, fabrics::property::CAP, true, timeout)?);
    let vs = connect::property(wire, fabrics::property::VS, false, timeout)? as u32;
    let published = registers
        .publish_u64(offset::CAP, cap.0)
        .and_then(|()| registers.publish_u32(offset::VS, vs))
        .and_then(|()| registers.publish_u32(offset::CSTS, Csts::default().0));
    debug_assert!(published.is_ok(), "the block has these registers");
    Ok(())
}
