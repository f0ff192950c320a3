// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores at the host that lanes share: HostKV, and the hybrid of it with the device's own tree. What a driver needs of either.

use super::batch::Takes;
use super::host_ops::takes;
use saker_engine::write_gate::Stalls;
use saker_engine::{Job, JobKind};
use saker_host::CacheStats;
use saker_host::host_kv::{BlockCacheStats, HostKv, Op, Outcome, Ticket, Work};
use saker_hybrid::Hybrid;
use saker_link::Traffic;
use saker_sim::Instant;

/// A store at the host. None of its calls waits.
pub trait Hosted {
    /// The tree over the block namespace.
    fn tree(&self) -> &HostKv;
    /// The same, for its background work.
    fn tree_mut(&mut self) -> &mut HostKv;
    /// Time is `now`.
    fn set_now(&mut self, now: Instant);
    /// Starts an operation. `Ok`: it is complete already. `Err`: it is on its way; [`advance`](Self::advance) will tell.
    ///
    /// # Errors
    /// Its ticket.
    fn submit(&mut self, op: Op, work: Work<'_>) -> Result<Outcome, Ticket>;
    /// Takes completions and goes on with what waited. True if anything happened.
    fn advance(&mut self, work: Work<'_>, done: &mut dyn FnMut(Ticket, Outcome)) -> bool;
    /// When something is due without anything completing.
    fn next_turn(&self) -> Option<Instant>;
    /// Rings the doorbells that are due.
    fn ring(&mut self);
    /// Commands that no doorbell has announced.
    fn unrung(&self) -> u32;
    /// Commands submitted so far.
    fn commands(&self) -> u64;
    /// What only the host can count of the link's traffic.
    fn traffic(&self) -> Traffic;
    /// Counters by name.
    fn counters(&self) -> Vec<(&'static str, u64)>;
    /// Whether it does nothing more by itself.
    fn is_settled(&self) -> bool;

    /// What it takes beyond single pairs.
    fn takes(&self) -> Takes {
        takes(self.tree())
    }

    /// When writes were stopped or delayed.
    fn stalls(&self) -> Stalls {
        self.tree().stalls()
    }

    /// Reads of pages as blocks, and times that operations waited for them.
    fn block_reads(&self) -> (u64, u64) {
        (self.tree().medium_stats().reads, self.tree().waits())
    }

    /// Counters of the caches: for blocks, and for pairs.
    fn caches(&self) -> (BlockCacheStats, CacheStats) {
        (self.tree().block_cache_stats(), self.tree().cache_stats())
    }

    /// Whether a quantum of background work is due.
    fn has_background(&self) -> bool {
        self.tree().has_background()
    }

    /// One quantum of background work.
    fn quantum(&mut self, work: Work<'_>) -> bool {
        self.tree_mut().quantum(work)
    }

    /// The jobs that begin now.
    fn begin_jobs(&mut self, visit: &mut dyn FnMut(usize, Job)) {
        self.tree_mut().begin_jobs(visit);
    }

    /// One quantum of a worker.
    fn quantum_of(&mut self, worker: usize, work: Work<'_>) -> bool {
        self.tree_mut().quantum_of(worker, work)
    }

    /// What the last quantum of a worker was for.
    fn did(&self, worker: usize) -> JobKind {
        self.tree().did(worker)
    }

    /// The time of a quantum that worked is over.
    fn rest(&mut self, worker: usize) {
        self.tree_mut().rest(worker);
    }
}

impl Hosted for HostKv {
    fn tree(&self) -> &HostKv {
        self
    }

    fn tree_mut(&mut self) -> &mut HostKv {
        self
    }

    fn set_now(&mut self, now: Instant) {
        Self::set_now(self, now);
    }

    fn submit(&mut self, op: Op, work: Work<'_>) -> Result<Outcome, Ticket> {
        Self::submit(self, op, work)
    }

    fn advance(&mut self, work: Work<'_>, done: &mut dyn FnMut(Ticket, Outcome)) -> bool {
        Self::advance(self, work, done)
    }

    fn next_turn(&self) -> Option<Instant> {
        Self::next_turn(self)
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

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Self::counters(self)
    }

    fn is_settled(&self) -> bool {
        true
    }
}

impl Hosted for Hybrid {
    fn tree(&self) -> &HostKv {
        self.main()
    }

    fn tree_mut(&mut self) -> &mut HostKv {
        self.main_mut()
    }

    fn set_now(&mut self, now: Instant) {
        Self::set_now(self, now);
    }

    fn submit(&mut self, op: Op, work: Work<'_>) -> Result<Outcome, Ticket> {
        Self::submit(self, op, work)
    }

    fn advance(&mut self, work: Work<'_>, done: &mut dyn FnMut(Ticket, Outcome)) -> bool {
        Self::advance(self, work, done)
    }

    fn next_turn(&self) -> Option<Instant> {
        Self::next_turn(self)
    }

    fn ring(&mut self) {
        Self::ring(self);
    }

    fn unrung(&self) -> u32 {
        Self::unrung(self)
    }

    fn commands(&self) -> u64 {
        Self::commands(self)
    }

    fn traffic(&self) -> Traffic {
        Self::traffic(self)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Self::counters(self)
    }

    fn is_settled(&self) -> bool {
        Self::is_settled(self)
    }
}
