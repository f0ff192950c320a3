// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the store needs of its tree at the host. [`HostKv`] is one, over a block namespace; another is one that a program brings along.
//!
//! No call waits for the end of a stop: a write that is stopped is given back, or parked. A tree whose calls wait for anything else keeps
//! the caller's thread for as long.

use saker_engine::lsm::settings::MIN_BLOB_SIZE;
use saker_engine::write_gate::Stalls;
use saker_engine::{EngineConfig, EngineKind, WriteCondition};
use saker_host::host_kv::{Begun, HostKv, Op, Outcome, Ticket, Work};
use saker_host::{Connection, Driver, HostError};
use saker_link::Traffic;
use saker_sim::Instant;

/// What the store was made of, for a Format.
#[derive(Clone, Debug)]
pub struct Made {
    /// The namespace of blocks.
    pub blocks: u32,
    /// The namespace of pairs.
    pub pairs: u32,
    /// The main tree's engine.
    pub kind: EngineKind,
    /// What that was asked for.
    pub config: EngineConfig,
}

/// What the detector looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Tables of level 0 as the tree's own triggers count them: one memtable may become many.
    pub level0: u64,
    /// Bytes of memtables.
    pub memtable_bytes: u64,
    /// Bytes that compactions owe.
    pub pending_bytes: u64,
}

/// What the tree was opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that fill a memtable.
    pub memtable_bytes: u64,
    /// Bytes owed by compactions that stop writes.
    pub pending_bytes: u64,
}

/// The tree at the host.
pub trait MainTree: Send {
    /// Time is `now`.
    fn set_now(&mut self, now: Instant);

    /// Starts an operation. `Ok`: it is complete already. `Err`: it is on its way; [`advance`](Self::advance) will tell. A delete of what is
    /// not there ends with [`KvError::NotFound`](saker_engine::KvError::NotFound).
    ///
    /// # Errors
    /// Its ticket.
    fn submit(&mut self, op: Op, work: Work<'_>) -> Result<Outcome, Ticket>;

    /// The same, but a write that finds writes stopped is given back and leaves nothing: at once, or later by
    /// [`Answer::Stopped`](saker_host::host_kv::Answer::Stopped).
    fn submit_unless_stopped(&mut self, op: Op, work: Work<'_>) -> Begun;

    /// Goes on with what waited, and tells what has ended. True if anything happened.
    fn advance(&mut self, work: Work<'_>, done: &mut dyn FnMut(Ticket, Outcome)) -> bool;

    /// When something is due without anything completing.
    fn next_turn(&self) -> Option<Instant>;

    /// Whether its background work keeps up with writes.
    fn write_condition(&self) -> WriteCondition;

    /// What the detector looks at.
    fn load(&self) -> Load;

    /// What it was opened with.
    fn limits(&self) -> Limits;

    /// A number that is kept with that of the opening, where it is not 0: of a tree that was made with another one nothing is read.
    fn made_with(&self) -> u8 {
        0
    }

    /// Longest value in bytes.
    fn value_bytes_max(&self) -> u32;

    /// Longest payload of a batch in bytes.
    fn batch_bytes_max(&self) -> u32;

    /// Bytes that live, and that may live at once.
    fn fill_bytes(&self) -> (u64, u64);

    /// Counters by name.
    fn counters(&self) -> Vec<(&'static str, u64)>;

    /// When writes waited for it.
    fn stalls(&self) -> Stalls;

    /// Rings the doorbells that are due.
    fn ring(&mut self) {}

    /// Commands that no doorbell has announced.
    fn unrung(&self) -> u32 {
        0
    }

    /// Block commands so far, where the store's own queue carries them.
    fn commands(&self) -> u64 {
        0
    }

    /// What only the host can count of their traffic.
    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    /// Whether background work on the caller's thread is due.
    fn has_background(&self) -> bool {
        false
    }

    /// One quantum of that. Whether it worked.
    fn quantum(&mut self, work: Work<'_>) -> bool {
        let _ = work;
        false
    }

    /// So many quanta at most.
    fn background(&mut self, quanta: u32, work: Work<'_>) {
        let _ = (quanta, work);
    }

    /// Everything goes, wholly or not at all, and with it the mark of a Format, which is in the tree and flushed. Nothing is on its way.
    /// `connection` and `driver` are of the device below.
    ///
    /// # Errors
    /// Why it is not empty. The mark is there then.
    fn empty(
        &mut self,
        made: &Made,
        connection: &mut Connection,
        driver: &mut dyn Driver,
    ) -> Result<(), HostError>;
}

impl MainTree for HostKv {
    fn set_now(&mut self, now: Instant) {
        Self::set_now(self, now);
    }

    fn submit(&mut self, op: Op, work: Work<'_>) -> Result<Outcome, Ticket> {
        Self::submit(self, op, work)
    }

    fn submit_unless_stopped(&mut self, op: Op, work: Work<'_>) -> Begun {
        Self::submit_unless_stopped(self, op, work)
    }

    fn advance(&mut self, work: Work<'_>, done: &mut dyn FnMut(Ticket, Outcome)) -> bool {
        Self::advance(self, work, done)
    }

    fn next_turn(&self) -> Option<Instant> {
        Self::next_turn(self)
    }

    fn write_condition(&self) -> WriteCondition {
        Self::write_condition(self)
    }

    fn load(&self) -> Load {
        let of = |name| self.counter(name).unwrap_or(0);
        Load {
            level0: of("num_files_at_level0"),
            memtable_bytes: of("memtable_bytes"),
            pending_bytes: of("estimate_pending_compaction_bytes"),
        }
    }

    fn limits(&self) -> Limits {
        let all = self.settings();
        let of = |name| all.get(name).unwrap_or(u64::MAX);
        Limits {
            memtable_bytes: of("write_buffer_size"),
            pending_bytes: of("hard_pending_compaction_bytes_limit"),
        }
    }

    /// Its `min_blob_size`, by its number among the words of the setting.
    fn made_with(&self) -> u8 {
        self.settings().get(MIN_BLOB_SIZE).unwrap_or(0) as u8
    }

    fn value_bytes_max(&self) -> u32 {
        Self::value_bytes_max(self)
    }

    fn batch_bytes_max(&self) -> u32 {
        Self::batch_bytes_max(self)
    }

    fn fill_bytes(&self) -> (u64, u64) {
        Self::fill_bytes(self)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Self::counters(self)
    }

    fn stalls(&self) -> Stalls {
        Self::stalls(self)
    }

    fn ring(&mut self) {
        Self::ring(self);
    }

    fn unrung(&self) -> u32 {
        self.queue().unrung()
    }

    fn commands(&self) -> u64 {
        self.medium_stats().commands()
    }

    fn traffic(&self) -> Traffic {
        self.queue().stats().traffic()
    }

    fn has_background(&self) -> bool {
        Self::has_background(self)
    }

    fn quantum(&mut self, work: Work<'_>) -> bool {
        Self::quantum(self, work)
    }

    fn background(&mut self, quanta: u32, work: Work<'_>) {
        Self::background(self, quanta, work);
    }

    fn empty(
        &mut self,
        made: &Made,
        connection: &mut Connection,
        mut driver: &mut dyn Driver,
    ) -> Result<(), HostError> {
        while !self.is_still() {
            Self::ring(self);
            driver.drive();
            Self::advance(self, Work::Free, &mut |_, _| ());
        }
        connection.format(&mut driver, made.blocks)?;
        self.begin_again(made.kind, &made.config);
        Ok(())
    }
}

/// The tree of a store that does not know at compile time which one it has.
pub type AnyTree = Box<dyn MainTree>;

impl MainTree for AnyTree {
    fn set_now(&mut self, now: Instant) {
        (**self).set_now(now);
    }

    fn submit(&mut self, op: Op, work: Work<'_>) -> Result<Outcome, Ticket> {
        (**self).submit(op, work)
    }

    fn submit_unless_stopped(&mut self, op: Op, work: Work<'_>) -> Begun {
        (**self).submit_unless_stopped(op, work)
    }

    fn advance(&mut self, work: Work<'_>, done: &mut dyn FnMut(Ticket, Outcome)) -> bool {
        (**self).advance(work, done)
    }

    fn next_turn(&self) -> Option<Instant> {
        (**self).next_turn()
    }

    fn write_condition(&self) -> WriteCondition {
        (**self).write_condition()
    }

    fn load(&self) -> Load {
        (**self).load()
    }

    fn limits(&self) -> Limits {
        (**self).limits()
    }

    fn made_with(&self) -> u8 {
        (**self).made_with()
    }

    fn value_bytes_max(&self) -> u32 {
        (**self).value_bytes_max()
    }

    fn batch_bytes_max(&self) -> u32 {
        (**self).batch_bytes_max()
    }

    fn fill_bytes(&self) -> (u64, u64) {
        (**self).fill_bytes()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        (**self).counters()
    }

    fn stalls(&self) -> Stalls {
        (**self).stalls()
    }

    fn ring(&mut self) {
        (**self).ring();
    }

    fn unrung(&self) -> u32 {
        (**self).unrung()
    }

    fn commands(&self) -> u64 {
        (**self).commands()
    }

    fn traffic(&self) -> Traffic {
        (**self).traffic()
    }

    fn has_background(&self) -> bool {
        (**self).has_background()
    }

    fn quantum(&mut self, work: Work<'_>) -> bool {
        (**self).quantum(work)
    }

    fn background(&mut self, quanta: u32, work: Work<'_>) {
        (**self).background(quanta, work);
    }

    fn empty(
        &mut self,
        made: &Made,
        connection: &mut Connection,
        driver: &mut dyn Driver,
    ) -> Result<(), HostError> {
        (**self).empty(made, connection, driver)
    }
}
