// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a session owns: a container that fills, a queue pair, and what is on its way over it. Any thread may take the lane
//! for a moment, to send what is in it or to take completions.

mod check;
mod end;
mod send;

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::task::Waker;

use saker_nvme::Key;

use super::calls::{CallId, Calls};
use super::container::{Container, Write};
use super::hub::Cover;
use super::index::IndexSlot;
use super::shared::Shared;
use super::ticket::Ticket;
use super::wire::{Answer, Wire};
use crate::error::HostError;

/// Of the containers that a debug build sends one in so many is preceded by a look at all that the lane remembers.
const CHECKED_EVERY: u32 = 31;

/// A queue pair and what goes over it.
#[derive(Debug)]
pub(super) struct Lane<W> {
    pub wire: W,
    pub book: Book,
}

/// Everything of a lane but its queue pair.
#[derive(Debug)]
pub(super) struct Book {
    pub number: u16,
    name: u16,
    groups: bool,
    next_container: NonZeroU32,
    next_group: u64,
    /// Fills.
    pub open: Container,
    /// Full, waiting for a slot.
    closed: VecDeque<Container>,
    /// In flight.
    sent: Vec<Sent>,
    /// What each slot's command is.
    flights: Box<[Flight]>,
    /// Keys whose parked write is to be moved on, with their stripes.
    ready: VecDeque<(u32, Key)>,
    spare: Vec<Container>,
    pub calls: Calls,
    /// The writes of the session since its last sync.
    pub current: Ticket,
    /// Those of earlier syncs that are not over, or failed and nobody was told.
    unsettled: Vec<Ticket>,
    /// Bytes of containers larger than usual that are on their way.
    long_bytes: usize,
    pub broken: Option<HostError>,
    pub unrung: bool,
    pub to_wake: Vec<Waker>,
    pub stats: LaneStats,
}

/// What a lane has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneStats {
    /// Commands submitted.
    pub commands: u64,
    /// Of them groups.
    pub groups: u64,
    /// Completions taken.
    pub completions: u64,
    /// Writes packed into containers.
    pub packed: u64,
    /// Writes that replaced one in the open container.
    pub replaced: u64,
    /// Writes parked behind an earlier one of their key.
    pub parked: u64,
    /// Parked writes that moved on into a container.
    pub moved: u64,
    /// Writes that came to their end.
    pub retired: u64,
    /// Bytes of payloads and single values that were handed to the queue.
    pub bytes: u64,
}

/// A container in flight.
#[derive(Debug)]
struct Sent {
    container: Container,
    state: State,
    /// Commands of it in flight.
    out: u32,
    failures: Vec<(u16, HostError)>,
}

/// What is to be done for a container in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but wait.
    Wait,
    /// Send its writes one by one, from this one on.
    Singles(u16),
    /// Fetch so many bytes of results under this group's number.
    Fetch(u64, u32),
}

/// What a slot's command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flight {
    None,
    Group(NonZeroU32, u64),
    Results(NonZeroU32),
    Single(NonZeroU32, u16),
    Call(CallId),
    Flush,
}

impl<W: Wire> Lane<W> {
    pub fn new(wire: W, number: u16, shared: &Shared) -> Self {
        let book = Book {
            number,
            name: wire.name(),
            groups: shared.options.container_bytes <= wire.group_bytes_max() && shared.options.batch > 1,
            next_container: NonZeroU32::MIN,
            next_group: 0,
            open: Container::new(shared.options.container_bytes),
            closed: VecDeque::new(),
            sent: Vec::new(),
            flights: vec![Flight::None; wire.slots()].into(),
            ready: VecDeque::new(),
            spare: Vec::new(),
            calls: Calls::default(),
            current: Ticket::new(),
            unsettled: Vec::new(),
            long_bytes: 0,
            broken: None,
            unrung: false,
            to_wake: Vec::new(),
            stats: LaneStats::default(),
        };
        Self { wire, book }
    }

    /// Takes every completion that is there.
    pub fn poll(&mut self, shared: &Shared) {
        let Self { wire, book } = self;
        while book.broken.is_none() {
            match wire.poll(&mut |answer: Answer<'_>| book.completed(shared, &answer)) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => book.break_down(shared, &error),
            }
        }
    }

    /// Takes completions, moves parked writes on, sends what is closed, and announces it.
    pub fn advance(&mut self, shared: &Shared) {
        self.poll(shared);
        self.send(shared);
        self.ring();
    }

    pub fn ring(&mut self) {
        if self.book.unrung {
            self.wire.ring();
            self.book.unrung = false;
        }
    }
}

impl Book {
    /// Whether a write can be packed without waiting.
    #[inline]
    pub fn has_room(&self, shared: &Shared) -> bool {
        self.closed.len() < shared.options.closed_max.max(1)
            && self.long_bytes <= shared.options.long_bytes_max
    }

    /// Nothing is in flight or about to be; the open container does not count.
    pub fn is_idle(&self) -> bool {
        self.closed.is_empty() && self.sent.is_empty() && self.ready.is_empty()
    }

    /// Puts a write of a key that is in no container into one.
    #[inline]
    pub fn pack(&mut self, shared: &Shared, stripe: u32, key: &Key, write: Write<'_>) -> Packed {
        self.stats.packed += 1;
        if let Ok(piece) = self.open.push(stripe, key, write) {
            return Packed { place: self.place(self.open.id, piece), is_long: false };
        }
        self.close_open(shared);
        if let Ok(piece) = self.open.push(stripe, key, write) {
            return Packed { place: self.place(self.open.id, piece), is_long: false };
        }
        self.pack_alone(stripe, key, write)
    }

    /// A write that no container of the usual size takes.
    #[cold]
    fn pack_alone(&mut self, stripe: u32, key: &Key, write: Write<'_>) -> Packed {
        let mut container = Container::for_one(key, write);
        container.clear(self.next_name());
        container.push(stripe, key, write).expect("a container made for this write takes it");
        let place = self.place(container.id, 0);
        self.long_bytes += container.capacity();
        self.closed.push_back(container);
        Packed { place, is_long: true }
    }

    const fn place(&self, container: NonZeroU32, piece: u16) -> IndexSlot {
        IndexSlot { lane: self.number, piece, container }
    }

    /// The container a write was just packed into.
    pub fn packed_into(&mut self, packed: Packed) -> &mut Container {
        match self.closed.back_mut() {
            Some(container) if packed.is_long => container,
            _ => &mut self.open,
        }
    }

    fn next_name(&mut self) -> NonZeroU32 {
        self.next_container = self.next_container.checked_add(1).unwrap_or(NonZeroU32::MIN);
        self.next_container
    }

    /// The open container, if there is something in it, waits to be sent; an empty one takes its place.
    pub fn close_open(&mut self, shared: &Shared) {
        if self.open.is_empty() {
            return;
        }
        let mut next = self.spare.pop().unwrap_or_else(|| Container::new(shared.options.container_bytes));
        next.clear(self.next_name());
        self.closed.push_back(std::mem::replace(&mut self.open, next));
    }

    /// The container of that name, wherever it is by now.
    pub fn find(&self, id: NonZeroU32) -> Option<&Container> {
        if self.open.id == id {
            return Some(&self.open);
        }
        let in_flight = self.sent.iter().map(|sent| &sent.container);
        in_flight.chain(&self.closed).find(|container| container.id == id)
    }

    /// Whether that place is in the open container.
    #[inline]
    pub fn is_open(&self, place: IndexSlot) -> bool {
        place.lane == self.number && place.container == self.open.id
    }

    /// The name of the open container if there is something in it.
    pub fn open_name(&self) -> Option<NonZeroU32> {
        (!self.open.is_empty()).then_some(self.open.id)
    }

    #[inline]
    pub fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    /// Who is told how a write ends that was just packed.
    #[inline]
    pub fn cover(&mut self, packed: Packed, cover: Cover<'_>) {
        let is_owned = self.packed_into(packed).owner.is_some();
        if is_owned && matches!(cover, Cover::Session) {
            return;
        }
        let ticket = self.ticket(cover);
        ticket.open();
        let container = self.packed_into(packed);
        match cover {
            Cover::Session => container.owner = Some(ticket),
            Cover::Ticket(_) => container.waiting.push((packed.place.piece, ticket)),
        }
    }

    /// The same for a write of the open container that was replaced.
    pub fn cover_again(&mut self, place: IndexSlot, cover: Cover<'_>) {
        self.stats.replaced += 1;
        self.cover(Packed { place, is_long: false }, cover);
    }

    pub fn ticket(&self, cover: Cover<'_>) -> Ticket {
        match cover {
            Cover::Session => self.current.clone(),
            Cover::Ticket(ticket) => ticket.clone(),
        }
    }

    /// Writes count for the next sync from now on; returns what this one waits for. What failed and nobody was told
    /// stays in it.
    pub fn next_epoch(&mut self) -> Vec<Ticket> {
        self.unsettled.retain(|ticket| !ticket.is_settled());
        self.unsettled.push(std::mem::take(&mut self.current));
        self.unsettled.clone()
    }

    /// Whether a container that is closed or in flight carries one of these.
    pub fn carries_closed(&self, tickets: &[&Ticket]) -> bool {
        let is_one = |ticket: &Ticket| tickets.iter().any(|other| other.is(ticket));
        let carries = |c: &Container| c.owner.iter().chain(c.waiting.iter().map(|(_, t)| t)).any(is_one);
        self.sent.iter().map(|sent| &sent.container).chain(&self.closed).any(carries)
    }

    pub fn containers(&self) -> usize {
        self.sent.len() + self.closed.len()
    }
}

/// Where a write has been packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    pub place: IndexSlot,
    is_long: bool,
}
