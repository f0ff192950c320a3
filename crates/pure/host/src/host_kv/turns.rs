// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that the engine delays or stops, for a driver that keeps time: each has its turn when its tokens have come. A driver that does
//! not pays for delayed writes with background work.

use super::{HostKv, Op, Outcome, Parked, Ticket};
use saker_engine::write_gate::{Released, Stalls, WriteGate};
use saker_engine::{Engine, WriteCondition};
use saker_segment_store::Stall;
use saker_sim::Instant;

/// Where an operation stands among delayed writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nowhere.
    None,
    /// It waits for its turn.
    Waits,
    /// It has its turn.
    Has,
}

/// Whose turn it is, and what time it is.
#[derive(Debug, Default)]
pub(super) struct Turns {
    gate: WriteGate<Ticket>,
    /// `None`: nobody has told.
    now: Option<Instant>,
    /// Some that are parked have their turn and were not tried since.
    has_released: bool,
}

impl Turns {
    /// Whether somebody has told the time.
    pub fn keeps_time(&self) -> bool {
        self.now.is_some()
    }

    /// All that are parked are tried now.
    pub fn begin_round(&mut self) {
        self.has_released = false;
    }
}

impl HostKv {
    /// Time is `now`. From the first call on delayed writes wait until their tokens have come: [`next_turn`](Self::next_turn) says when
    /// [`advance`](Self::advance) lets one go on.
    #[inline]
    pub fn set_now(&mut self, now: Instant) {
        if self.turns.now.replace(now).is_none() {
            self.store.let_pass(0);
        }
    }

    /// When a delayed write may go on.
    #[inline]
    pub fn next_turn(&self) -> Option<Instant> {
        if self.turns.has_released { self.turns.now } else { self.turns.gate.next() }
    }

    /// When writes were stopped or delayed, up to the time that was told last.
    pub fn stalls(&self) -> Stalls {
        self.turns.gate.stalls(self.turns.now.unwrap_or(Instant::ZERO))
    }

    /// An operation cannot go on now.
    #[cold]
    pub(super) fn hold_back(&mut self, parked: &mut Parked, stall: Stall) {
        if parked.escapes && stall == Stall::Debt {
            parked.was_stopped = self.store.write_condition().is_stopped();
            if parked.was_stopped {
                return;
            }
        }
        parked.stopped = WriteCondition::Normal;
        if stall == Stall::Debt {
            parked.stopped = self.store.write_condition();
        }
        let Some(now) = self.turns.now else { return };
        match stall {
            Stall::Delayed { bytes } => {
                parked.turn = Turn::Waits;
                self.turns.gate.delay(parked.ticket, bytes);
            }
            Stall::Debt => self.turns.gate.refused(parked.stopped, now, &mut parked.counted),
            _ => {}
        }
    }

    /// An operation was executed: a write that was let in may end a period without writes.
    pub(super) fn note_admitted(&mut self, op: &Op, outcome: &Outcome) {
        if !self.turns.gate.holds() {
            return;
        }
        let is_write = matches!(op, Op::Put(..) | Op::Delete(_) | Op::Batch(_));
        if let (Some(now), true, Ok(_)) = (self.turns.now, is_write, outcome) {
            self.turns.gate.admitted(self.store.write_condition(), now);
        }
    }

    /// The condition of writes may have changed, or time has passed: whose turn it is may go on.
    pub(super) fn look_at_turns(&mut self) {
        self.give_turns(None);
    }

    /// Whether a new operation that was just delayed has its turn without waiting.
    #[cold]
    pub(super) fn has_turn_at_once(&mut self, new: &mut Parked) -> bool {
        if new.turn != Turn::Waits {
            return false;
        }
        self.give_turns(Some(new));
        new.turn != Turn::Waits
    }

    /// Whose turn it is may go on; `new` is not among those that are parked.
    fn give_turns(&mut self, mut new: Option<&mut Parked>) {
        while let Some(released) = self.release() {
            let turn = if released.passes { Turn::Has } else { Turn::None };
            match &mut new {
                Some(new) if new.ticket == released.id => new.turn = turn,
                _ => {
                    let parked = self.parked.iter_mut().find(|parked| parked.ticket == released.id);
                    parked.into_iter().for_each(|parked| parked.turn = turn);
                    self.turns.has_released = true;
                }
            }
        }
    }

    fn release(&mut self) -> Option<Released<Ticket>> {
        if self.turns.gate.is_idle() {
            return None;
        }
        let (now, condition) = (self.turns.now?, self.store.write_condition());
        self.turns.gate.changed(condition, now);
        self.turns.gate.release(condition, now)
    }
}
