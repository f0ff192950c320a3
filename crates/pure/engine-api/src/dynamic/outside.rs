// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Boxed engines as engines.

use super::engine::{DynContext, DynEngine, DynRecover};
use super::group::{Keeping, Refused};
use crate::answer::{PairVersion, Put, Token, Version};
use crate::capabilities::{Capabilities, Unsupported};
use crate::context::Context;
use crate::engine::Engine;
use crate::groups::{Answers, GroupError, GroupSource, Groups};
use crate::hints::Hints;
use crate::inspect::Inspect;
use crate::job::{Background, Job, JobKind};
use crate::kv::{Condition, KvError, Memory, Sink, Source, StoreStats};
use crate::list::List;
use crate::recover::Recover;
use crate::scan::{Pairs, Scan, Scanned, Scans, Snapshot};
use crate::settings::Settings;
use crate::task::Task;
use crate::write_condition::WriteCondition;
use saker_log::recover::{Damage, Progress};
use saker_log::{LogFlip, LogStats};
use saker_segment_store::{Completion, SegmentStore, Step, Tag};
use saker_sim::Meter;

/// An engine of which drivers know no more than that it is one.
#[derive(Debug)]
pub struct Outside(Box<dyn DynEngine>);

impl Outside {
    /// Takes an engine.
    pub fn new(engine: impl Engine + Send + 'static) -> Self {
        Self(Box::new(engine))
    }
}

impl Clone for Outside {
    fn clone(&self) -> Self {
        Self(self.0.fork())
    }
}

/// The context as trait objects.
fn lent<'c, M: SegmentStore, W: Meter>(cx: &'c mut Context<'_, M, W>) -> DynContext<'c> {
    Context { medium: cx.medium, meter: cx.meter }
}

impl Engine for Outside {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn store<M: SegmentStore, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Put, KvError>> {
        self.0.store(key, value, condition, &mut lent(cx))
    }

    fn outcome(&mut self, token: Token) -> Option<Result<Version, KvError>> {
        self.0.outcome(token)
    }

    fn retrieve<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>> {
        self.0.retrieve(key, sink, &mut lent(cx))
    }

    fn delete<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Version, KvError>> {
        self.0.delete(key, &mut lent(cx))
    }

    fn exists<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        self.0.exists(key, &mut lent(cx))
    }

    fn flush<M: SegmentStore>(&mut self, medium: &mut M) -> Tag {
        self.0.flush(medium)
    }

    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        self.0.is_flushed(tag, finished)
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, medium: &mut M) {
        self.0.completed(done, medium);
    }

    fn job<M: SegmentStore>(&self, medium: &M) -> Option<Job> {
        self.0.job(medium)
    }

    fn jobs<M: SegmentStore>(&self, medium: &M, visit: &mut dyn FnMut(Job)) {
        self.0.jobs(medium, visit);
    }

    fn background<M: SegmentStore, W: Meter>(
        &mut self,
        job: Job,
        finished: Tag,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Background> {
        self.0.background(job, finished, &mut lent(cx))
    }

    fn did(&self) -> JobKind {
        self.0.did()
    }

    fn write_condition(&self) -> WriteCondition {
        self.0.write_condition()
    }

    fn keeps_waiting(&self, stopped: WriteCondition) -> bool {
        self.0.keeps_waiting(stopped)
    }

    fn let_pass(&mut self, writes: u32) {
        self.0.let_pass(writes);
    }

    fn next_task(&mut self) -> Option<Box<dyn Task>> {
        self.0.next_task()
    }

    fn task_done(&mut self, task: Box<dyn Task>) {
        self.0.task_done(task);
    }

    fn stats(&self) -> StoreStats {
        self.0.stats()
    }

    fn value_bytes_max(&self) -> u32 {
        self.0.value_bytes_max()
    }

    fn live_bytes(&self) -> u64 {
        self.0.live_bytes()
    }

    fn capacity_bytes<M: SegmentStore>(&self, medium: &M) -> u64 {
        self.0.capacity_bytes(medium)
    }

    fn pairs_that_fit<M: SegmentStore>(&self, key_bytes: u32, value_bytes: u32, medium: &M) -> u64 {
        self.0.pairs_that_fit(key_bytes, value_bytes, medium)
    }

    fn digest(&self) -> u64 {
        self.0.digest()
    }

    fn check(&self, medium: &dyn SegmentStore) -> Result<(), String> {
        self.0.check(medium)
    }

    fn reset<M: SegmentStore>(&self, medium: &M) -> Result<Self, Unsupported> {
        self.0.reset(medium).map(Self)
    }

    fn retune(&mut self, asked: &Settings, medium: &dyn SegmentStore) -> Result<(), Unsupported> {
        self.0.retune(asked, medium)
    }
}

impl List for Outside {
    fn list<M: SegmentStore, W: Meter>(
        &mut self,
        from: &[u8],
        mut visit: impl FnMut(&[u8]) -> bool,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        self.0.list(from, &mut visit, &mut lent(cx))
    }
}

impl Scans for Outside {
    fn snapshot(&mut self) -> Result<Snapshot, Unsupported> {
        self.0.snapshot()
    }

    fn share(&mut self, snapshot: Snapshot) {
        self.0.share(snapshot);
    }

    fn release(&mut self, snapshot: Snapshot) {
        self.0.release(snapshot);
    }

    fn scan<M: SegmentStore, W: Meter, P: Pairs>(
        &mut self,
        scan: &Scan<'_>,
        pairs: &mut P,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Scanned, KvError>> {
        self.0.scan(scan, pairs, &mut lent(cx))
    }
}

impl Groups for Outside {
    fn group_bytes_max(&self) -> u32 {
        self.0.group_bytes_max()
    }

    fn group<M: SegmentStore, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        source: &mut G,
        answers: &mut A,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), GroupError<G::Malformed>>> {
        let mut kept = Keeping::new(source);
        let step = self.0.group(&mut kept, answers, &mut lent(cx));
        step.map(|done| done.map_err(|refused| told(refused, &kept)))
    }

    fn version<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Option<PairVersion>, KvError>> {
        self.0.version(key, &mut lent(cx))
    }
}

/// A refusal with what the source has kept.
fn told<G: GroupSource>(refused: GroupError<Refused>, kept: &Keeping<'_, G>) -> GroupError<G::Malformed> {
    match refused {
        GroupError::Malformed(Refused) => {
            GroupError::Malformed(kept.malformed().expect("only its source refuses a payload"))
        }
        GroupError::Duplicate(at) => GroupError::Duplicate(at),
        GroupError::TooLong => GroupError::TooLong,
        GroupError::CapacityExceeded => GroupError::CapacityExceeded,
        GroupError::Transfer => GroupError::Transfer,
        GroupError::Member(n, e) => GroupError::Member(n, e),
        GroupError::Unsupported(what) => GroupError::Unsupported(what),
    }
}

impl Hints for Outside {
    fn prefetch_hint<W: Meter>(&self, key: &[u8], meter: &mut W) {
        self.0.prefetch_hint(key, meter);
    }

    fn reserve(&mut self, pairs: u64) {
        self.0.reserve(pairs);
    }

    fn bind(&mut self, name: &[u8], keys: &mut dyn ExactSizeIterator<Item = &[u8]>) -> Result<(), KvError> {
        self.0.bind(name, keys)
    }
}

impl Inspect for Outside {
    fn log_stats(&self) -> LogStats {
        self.0.log_stats()
    }

    fn memory(&self) -> Memory {
        self.0.memory()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.0.counters()
    }

    fn counter(&self, name: &str) -> Option<u64> {
        self.0.counter(name)
    }

    fn settings(&self) -> Settings {
        self.0.settings()
    }

    fn place_of<M: SegmentStore>(&mut self, key: &[u8], medium: &mut M) -> Option<(u64, u32)> {
        self.0.place_of(key, medium)
    }

    fn spoils<M: SegmentStore>(&self, wrong: LogFlip, medium: &M) -> Option<LogFlip> {
        self.0.spoils(wrong, medium)
    }

    fn settle(&mut self) {
        self.0.settle();
    }
}

/// A boxed engine on its way back.
#[derive(Debug)]
pub struct OutsideRecovery(Box<dyn DynRecover>);

impl OutsideRecovery {
    /// Takes a recovery.
    pub fn new(recovery: impl Recover<Engine: Engine + Send + 'static> + Send + 'static) -> Self {
        Self(Box::new(recovery))
    }
}

impl Clone for OutsideRecovery {
    fn clone(&self) -> Self {
        Self(self.0.fork())
    }
}

impl Recover for OutsideRecovery {
    type Engine = Outside;

    fn step<M: SegmentStore>(&mut self, medium: &mut M) -> Step<Result<Progress, Damage>> {
        self.0.step(medium)
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, medium: &mut M) {
        self.0.completed(done, medium);
    }

    fn finish(self) -> Outside {
        Outside(self.0.finish())
    }
}
