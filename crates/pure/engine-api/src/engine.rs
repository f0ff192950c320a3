// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What drivers ask of an engine: the device over flash, the host over a block namespace.

use crate::answer::{Put, Token, Version, Versioned};
use crate::capabilities::{Capabilities, Capability, Unsupported};
use crate::context::Context;
use crate::groups::Groups;
use crate::hints::Hints;
use crate::inspect::Inspect;
use crate::job::{Background, Job, JobKind};
use crate::kv::{Condition, KvError, Sink, Source, StoreStats};
use crate::list::List;
use crate::scan::Scans;
use crate::settings::Settings;
use crate::task::Task;
use crate::write_condition::WriteCondition;
use saker_segment_store::{Completion, SegmentStore, Step, Tag, ready};
use saker_sim::Meter;
use std::fmt::Debug;

/// One shard of a store of pairs.
///
/// An engine never waits. `Need` names all the pages that the next call of the same operation looks at; the driver
/// brings and pins them until that call has returned. `Need` and `Blocked` leave what operations can observe as it was.
///
/// What not every engine can do is in the traits above it: each of their functions does nothing or refuses by name until an
/// engine writes its own, and [`capabilities`](Engine::capabilities) says which it has written. Operations have the names of the
/// NVMe KV command set.
pub trait Engine: Clone + Debug + List + Scans + Groups + Hints + Inspect {
    /// What it can do beyond the functions without a body here.
    fn capabilities(&self) -> Capabilities;

    /// Stores a pair. The value is fetched once, into its landing place.
    ///
    /// # Errors
    /// [`KvError::KeySize`], [`KvError::ValueSize`], the condition's [`KvError::Exists`] or [`KvError::NotFound`],
    /// [`KvError::CapacityExceeded`], [`KvError::Transfer`] if the value could not be fetched.
    fn store<M: SegmentStore, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Put, KvError>>;

    /// How the put ended that was answered with that token; `None`: it has not. It is told once, and means what the answer would have
    /// meant. Only an engine with [`Capability::Workers`] writes it.
    ///
    /// # Errors
    /// As [`Self::store`].
    fn outcome(&mut self, token: Token) -> Option<Result<Version, KvError>> {
        unreachable!("{token:?} is of no put of this engine")
    }

    /// Delivers a value, or its beginning where the sink has less room. Returns its whole length in bytes. Nothing is delivered
    /// that does not match its checksum.
    ///
    /// # Errors
    /// [`KvError::KeySize`], [`KvError::NotFound`], [`KvError::Corrupt`] and [`KvError::Unrecovered`] for a pair that cannot be
    /// read, [`KvError::Transfer`] if the sink refuses its bytes.
    fn retrieve<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>>;

    /// What [`version`](Groups::version) and [`retrieve`](Self::retrieve) say, in one look: the pair's version and the length of its value,
    /// of which up to `sink.room()` bytes were delivered; `None`: there is no such pair.
    ///
    /// # Errors
    /// Those of both, but for [`KvError::NotFound`].
    fn retrieve_versioned<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Versioned, KvError>> {
        match ready!(self.version(key, cx)) {
            Err(e) => Step::Done(Err(e)),
            Ok(None) => Step::Done(Ok(None)),
            Ok(Some(version)) => {
                self.retrieve(key, sink, cx).map(|bytes| bytes.map(|bytes| Some((version, bytes))))
            }
        }
    }

    /// Removes a pair. What says so is as durable as a stored pair before the answer.
    ///
    /// # Errors
    /// [`KvError::KeySize`], [`KvError::NotFound`].
    fn delete<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Version, KvError>>;

    /// Whether there is such a pair.
    ///
    /// # Errors
    /// [`KvError::KeySize`], [`KvError::NotFound`].
    fn exists<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>>;

    /// Makes what was acknowledged proof against the loss of the page buffer where it can be lost: when the returned tag and
    /// everything before it has finished, and a sync has followed.
    fn flush<M: SegmentStore>(&mut self, medium: &mut M) -> Tag;

    /// Whether a Flush that returned `tag` is on the medium, given that all I/O up to `finished` has finished.
    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool;

    /// Takes note of a finished I/O.
    fn completed<M: SegmentStore>(&mut self, done: &Completion, medium: &mut M);

    /// Background work that is due. Cheap: asked after every command.
    fn job<M: SegmentStore>(&self, medium: &M) -> Option<Job>;

    /// The background work that is due, as jobs that may run side by side now: `visit` sees each once, in the order of their urgency.
    /// Either [`Job::UPKEEP`] is among them and is the only one, or any of them may go on while others wait for pages. For drivers that
    /// have several cores for an engine; without a body of its own an engine hands out one job.
    ///
    /// Such a driver runs each of them on one core at a time, and [`Job::UPKEEP`] while nothing else of the engine runs. When there is no
    /// job, or none could do anything, it does [`Job::UPKEEP`]: only that finds out that nothing can be done.
    fn jobs<M: SegmentStore>(&self, medium: &M, visit: &mut dyn FnMut(Job)) {
        self.job(medium).into_iter().for_each(visit);
    }

    /// One quantum of a job; all I/O up to `finished` has finished. [`Job::UPKEEP`] is taken at any time. A job that is over, or was never
    /// handed out, does nothing.
    fn background<M: SegmentStore, W: Meter>(
        &mut self,
        job: Job,
        finished: Tag,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Background>;

    /// What the last quantum of [`Job::UPKEEP`] that worked was for, of an engine that tells its parts apart.
    fn did(&self) -> JobKind {
        JobKind::Upkeep
    }

    /// Whether background work keeps up with writes, as of the last operation or quantum.
    fn write_condition(&self) -> WriteCondition {
        WriteCondition::Normal
    }

    /// Whether background work that is due may wait for later calls: asked behind each write by a driver that has no core for it, so that
    /// writes wait for what it does. What is put off is done in larger pieces, which is less work: who was asked once may take on more at once
    /// than otherwise, where there is room.
    fn puts_off<M: SegmentStore>(&mut self, medium: &M) -> bool {
        let _ = medium;
        false
    }

    /// Work that needs nothing of the medium, for a driver that has a thread for it: asked behind each quantum while that thread has nothing to
    /// do. Who was asked once hands such work out from then on, so the driver goes on asking.
    fn next_task(&mut self) -> Option<Box<dyn Task>> {
        None
    }

    /// That work, done. What an earlier engine of the namespace handed out changes nothing.
    fn task_done(&mut self, task: Box<dyn Task>) {
        let _ = task;
    }

    /// A write had to wait in the condition `stopped`. Whether it would have to wait again, so that its driver need not try it; `false`
    /// also when that is not known.
    fn keeps_waiting(&self, stopped: WriteCondition) -> bool {
        let _ = stopped;
        false
    }

    /// So many of the next writes pass though writes are delayed: the driver has made them wait. From the first call on only that lets
    /// them pass. Before it a quantum of background work lets one pass, for drivers without a clock: they pay with work.
    fn let_pass(&mut self, writes: u32) {
        let _ = writes;
    }

    /// Counters.
    fn stats(&self) -> StoreStats;

    /// Bytes that live.
    fn live_bytes(&self) -> u64;

    /// Longest value it takes, in bytes; by default only its driver knows of a limit.
    fn value_bytes_max(&self) -> u32 {
        u32::MAX
    }

    /// Bytes that may live at once.
    fn capacity_bytes<M: SegmentStore>(&self, medium: &M) -> u64;

    /// Pairs of so long keys and values that fit if there are no others, by the formula of [`Engine::capacity_bytes`];
    /// 0 if none of that length is taken. What a structure that is there takes beyond what so many pairs need counts as
    /// it is.
    fn pairs_that_fit<M: SegmentStore>(&self, key_bytes: u32, value_bytes: u32, medium: &M) -> u64;

    /// A digest of everything that operations can observe, for tests of the contract.
    fn digest(&self) -> u64;

    /// Walks all that it remembers, and says what contradicts itself: counts that are not the sums of what they count, places in
    /// segments that are not the engine's, orders that are not kept, references to what does not exist. Between two calls only;
    /// it changes nothing and looks at no page. Tests ask every so many operations and after every recovery, so it may take as
    /// long as a walk through the index. An engine that has nothing to say answers `Ok(())`.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&self, medium: &dyn SegmentStore) -> Result<(), String>;

    /// The same store, empty, over a medium whose segments of this owner were erased.
    ///
    /// # Errors
    /// [`Unsupported`] without [`Capability::Reset`]: the driver recovers it instead, from the empty medium.
    fn reset<M: SegmentStore>(&self, medium: &M) -> Result<Self, Unsupported> {
        let _ = medium;
        Err(Unsupported(Capability::Reset))
    }

    /// `asked` is what its namespace is asked for from now on. Settings that are [live](crate::settings::Phase::Live) count at
    /// once, for all that has not begun; the others stay as they are. What is stored is not touched, and what may be stored
    /// stays as much.
    ///
    /// # Errors
    /// [`Unsupported`] without [`Capability::LiveSettings`].
    fn retune(&mut self, asked: &Settings, medium: &dyn SegmentStore) -> Result<(), Unsupported> {
        let _ = (asked, medium);
        Err(Unsupported(Capability::LiveSettings))
    }
}
