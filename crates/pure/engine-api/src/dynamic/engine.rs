// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The twins of [`Engine`] and [`Recover`] without type parameters.

use super::group::{DynGroupSource, Group, Refused};
use super::lend::{From, Into, Lent, Looked, Metered, Taken, Told};
use crate::answer::{PairVersion, Put, Token, Version};
use crate::capabilities::{Capabilities, Unsupported};
use crate::context::Context;
use crate::engine::Engine;
use crate::groups::{Answers, GroupError};
use crate::job::{Background, Job, JobKind};
use crate::kv::{Condition, KvError, Memory, Sink, Source, StoreStats};
use crate::recover::Recover;
use crate::scan::{Pairs, Scan, Scanned, Snapshot};
use crate::settings::Settings;
use crate::task::Task;
use crate::write_condition::WriteCondition;
use saker_log::recover::{Damage, Progress};
use saker_log::{LogFlip, LogStats};
use saker_segment_store::{Completion, SegmentStore, Step, Tag};
use saker_sim::Meter;
use std::fmt::Debug;

/// A [`Context`] of trait objects.
pub type DynContext<'a> = Context<'a, dyn SegmentStore + 'a, dyn Meter + 'a>;

/// The twin of [`Engine`] and of the traits above it. Every engine that can be sent to another thread has it; each function is
/// the engine's own of that name.
pub trait DynEngine: Debug + Send {
    /// A copy: a fork of the run.
    fn fork(&self) -> Box<dyn DynEngine>;
    /// [`Engine::capabilities`].
    fn capabilities(&self) -> Capabilities;
    /// [`Engine::store`].
    fn store(
        &mut self,
        key: &[u8],
        value: &mut dyn Source,
        condition: Condition,
        cx: &mut DynContext<'_>,
    ) -> Step<Result<Put, KvError>>;
    /// [`Engine::outcome`].
    fn outcome(&mut self, token: Token) -> Option<Result<Version, KvError>>;
    /// [`Engine::retrieve`].
    fn retrieve(
        &mut self,
        key: &[u8],
        sink: &mut dyn Sink,
        cx: &mut DynContext<'_>,
    ) -> Step<Result<u32, KvError>>;
    /// [`Engine::delete`].
    fn delete(&mut self, key: &[u8], cx: &mut DynContext<'_>) -> Step<Result<Version, KvError>>;
    /// [`Engine::exists`].
    fn exists(&mut self, key: &[u8], cx: &mut DynContext<'_>) -> Step<Result<(), KvError>>;
    /// [`List::list`](crate::List::list).
    fn list(
        &mut self,
        from: &[u8],
        visit: &mut dyn FnMut(&[u8]) -> bool,
        cx: &mut DynContext<'_>,
    ) -> Step<Result<(), KvError>>;
    /// [`Scans::snapshot`](crate::Scans::snapshot).
    fn snapshot(&mut self) -> Result<Snapshot, Unsupported>;
    /// [`Scans::share`](crate::Scans::share).
    fn share(&mut self, snapshot: Snapshot);
    /// [`Scans::release`](crate::Scans::release).
    fn release(&mut self, snapshot: Snapshot);
    /// [`Scans::scan`](crate::Scans::scan).
    fn scan(
        &mut self,
        scan: &Scan<'_>,
        pairs: &mut dyn Pairs,
        cx: &mut DynContext<'_>,
    ) -> Step<Result<Scanned, KvError>>;
    /// [`Groups::group_bytes_max`](crate::Groups::group_bytes_max).
    fn group_bytes_max(&self) -> u32;
    /// [`Groups::group`](crate::Groups::group).
    fn group(
        &mut self,
        source: &mut dyn DynGroupSource,
        answers: &mut dyn Answers,
        cx: &mut DynContext<'_>,
    ) -> Step<Result<(), GroupError<Refused>>>;
    /// [`Groups::version`](crate::Groups::version).
    fn version(&mut self, key: &[u8], cx: &mut DynContext<'_>) -> Step<Result<Option<PairVersion>, KvError>>;
    /// [`Hints::prefetch_hint`](crate::Hints::prefetch_hint).
    fn prefetch_hint(&self, key: &[u8], meter: &mut dyn Meter);
    /// [`Hints::reserve`](crate::Hints::reserve).
    fn reserve(&mut self, pairs: u64);
    /// [`Hints::bind`](crate::Hints::bind).
    fn bind(&mut self, name: &[u8], keys: &mut dyn ExactSizeIterator<Item = &[u8]>) -> Result<(), KvError>;
    /// [`Engine::flush`].
    fn flush(&mut self, medium: &mut dyn SegmentStore) -> Tag;
    /// [`Engine::is_flushed`].
    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool;
    /// [`Engine::completed`].
    fn completed(&mut self, done: &Completion, medium: &mut dyn SegmentStore);
    /// [`Engine::job`].
    fn job(&self, medium: &dyn SegmentStore) -> Option<Job>;
    /// [`Engine::jobs`].
    fn jobs(&self, medium: &dyn SegmentStore, visit: &mut dyn FnMut(Job));
    /// [`Engine::background`].
    fn background(&mut self, job: Job, finished: Tag, cx: &mut DynContext<'_>) -> Step<Background>;
    /// [`Engine::did`].
    fn did(&self) -> JobKind;
    /// [`Engine::write_condition`].
    fn write_condition(&self) -> WriteCondition;
    /// [`Engine::keeps_waiting`].
    fn keeps_waiting(&self, stopped: WriteCondition) -> bool;
    /// [`Engine::next_task`].
    fn next_task(&mut self) -> Option<Box<dyn Task>>;
    /// [`Engine::task_done`].
    fn task_done(&mut self, task: Box<dyn Task>);
    /// [`Engine::let_pass`].
    fn let_pass(&mut self, writes: u32);
    /// [`Engine::stats`].
    fn stats(&self) -> StoreStats;
    /// [`Engine::live_bytes`].
    fn live_bytes(&self) -> u64;
    /// [`Engine::value_bytes_max`].
    fn value_bytes_max(&self) -> u32;
    /// [`Engine::capacity_bytes`].
    fn capacity_bytes(&self, medium: &dyn SegmentStore) -> u64;
    /// [`Engine::pairs_that_fit`].
    fn pairs_that_fit(&self, key_bytes: u32, value_bytes: u32, medium: &dyn SegmentStore) -> u64;
    /// [`Engine::digest`].
    fn digest(&self) -> u64;
    /// [`Engine::check`].
    fn check(&self, medium: &dyn SegmentStore) -> Result<(), String>;
    /// [`Engine::reset`].
    fn reset(&self, medium: &dyn SegmentStore) -> Result<Box<dyn DynEngine>, Unsupported>;
    /// [`Engine::retune`].
    fn retune(&mut self, asked: &Settings, medium: &dyn SegmentStore) -> Result<(), Unsupported>;
    /// [`Inspect::log_stats`](crate::Inspect::log_stats).
    fn log_stats(&self) -> LogStats;
    /// [`Inspect::memory`](crate::Inspect::memory).
    fn memory(&self) -> Memory;
    /// [`Inspect::counters`](crate::Inspect::counters).
    fn counters(&self) -> Vec<(&'static str, u64)>;
    /// [`Inspect::counter`](crate::Inspect::counter).
    fn counter(&self, name: &str) -> Option<u64>;
    /// [`Inspect::settings`](crate::Inspect::settings).
    fn settings(&self) -> Settings;
    /// [`Inspect::place_of`](crate::Inspect::place_of).
    fn place_of(&mut self, key: &[u8], medium: &mut dyn SegmentStore) -> Option<(u64, u32)>;
    /// [`Inspect::spoils`](crate::Inspect::spoils).
    fn spoils(&self, wrong: LogFlip, medium: &dyn SegmentStore) -> Option<LogFlip>;
    /// [`Inspect::settle`](crate::Inspect::settle).
    fn settle(&mut self);
}

/// A call with the context as the types that engines are generic over.
macro_rules! with {
    ($context:ident, $cx:ident => $call:expr) => {{
        let (mut medium, mut meter) = (Lent(&mut *$context.medium), Metered(&mut *$context.meter));
        let $cx = &mut Context::new(&mut medium, &mut meter);
        $call
    }};
}

impl<E: Engine + Send + 'static> DynEngine for E {
    fn fork(&self) -> Box<dyn DynEngine> {
        Box::new(self.clone())
    }

    fn capabilities(&self) -> Capabilities {
        Engine::capabilities(self)
    }

    fn store(
        &mut self,
        key: &[u8],
        value: &mut dyn Source,
        condition: Condition,
        cx: &mut DynContext<'_>,
    ) -> Step<Result<Put, KvError>> {
        with!(cx, cx => Engine::store(self, key, &mut From(value), condition, cx))
    }

    fn retrieve(
        &mut self,
        key: &[u8],
        sink: &mut dyn Sink,
        cx: &mut DynContext<'_>,
    ) -> Step<Result<u32, KvError>> {
        with!(cx, cx => Engine::retrieve(self, key, &mut Into(sink), cx))
    }

    fn delete(&mut self, key: &[u8], cx: &mut DynContext<'_>) -> Step<Result<Version, KvError>> {
        with!(cx, cx => Engine::delete(self, key, cx))
    }

    fn exists(&mut self, key: &[u8], cx: &mut DynContext<'_>) -> Step<Result<(), KvError>> {
        with!(cx, cx => Engine::exists(self, key, cx))
    }

    fn list(
        &mut self,
        from: &[u8],
        visit: &mut dyn FnMut(&[u8]) -> bool,
        cx: &mut DynContext<'_>,
    ) -> Step<Result<(), KvError>> {
        with!(cx, cx => crate::List::list(self, from, visit, cx))
    }

    fn snapshot(&mut self) -> Result<Snapshot, Unsupported> {
        crate::Scans::snapshot(self)
    }

    fn share(&mut self, snapshot: Snapshot) {
        crate::Scans::share(self, snapshot);
    }

    fn release(&mut self, snapshot: Snapshot) {
        crate::Scans::release(self, snapshot);
    }

    fn scan(
        &mut self,
        scan: &Scan<'_>,
        pairs: &mut dyn Pairs,
        cx: &mut DynContext<'_>,
    ) -> Step<Result<Scanned, KvError>> {
        with!(cx, cx => crate::Scans::scan(self, scan, &mut Taken(pairs), cx))
    }

    fn group_bytes_max(&self) -> u32 {
        crate::Groups::group_bytes_max(self)
    }

    fn group(
        &mut self,
        source: &mut dyn DynGroupSource,
        answers: &mut dyn Answers,
        cx: &mut DynContext<'_>,
    ) -> Step<Result<(), GroupError<Refused>>> {
        with!(cx, cx => crate::Groups::group(self, &mut Group(source), &mut Told(answers), cx))
    }

    fn version(&mut self, key: &[u8], cx: &mut DynContext<'_>) -> Step<Result<Option<PairVersion>, KvError>> {
        with!(cx, cx => crate::Groups::version(self, key, cx))
    }

    fn prefetch_hint(&self, key: &[u8], meter: &mut dyn Meter) {
        crate::Hints::prefetch_hint(self, key, &mut Metered(meter));
    }

    fn reserve(&mut self, pairs: u64) {
        crate::Hints::reserve(self, pairs);
    }

    fn bind(&mut self, name: &[u8], keys: &mut dyn ExactSizeIterator<Item = &[u8]>) -> Result<(), KvError> {
        crate::Hints::bind(self, name, keys)
    }

    fn flush(&mut self, medium: &mut dyn SegmentStore) -> Tag {
        Engine::flush(self, &mut Lent(medium))
    }

    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        Engine::is_flushed(self, tag, finished)
    }

    fn completed(&mut self, done: &Completion, medium: &mut dyn SegmentStore) {
        Engine::completed(self, done, &mut Lent(medium));
    }

    fn job(&self, medium: &dyn SegmentStore) -> Option<Job> {
        Engine::job(self, &Looked(medium))
    }

    fn jobs(&self, medium: &dyn SegmentStore, visit: &mut dyn FnMut(Job)) {
        Engine::jobs(self, &Looked(medium), visit);
    }

    fn background(&mut self, job: Job, finished: Tag, cx: &mut DynContext<'_>) -> Step<Background> {
        with!(cx, cx => Engine::background(self, job, finished, cx))
    }

    fn did(&self) -> JobKind {
        Engine::did(self)
    }

    fn write_condition(&self) -> WriteCondition {
        Engine::write_condition(self)
    }

    fn keeps_waiting(&self, stopped: WriteCondition) -> bool {
        Engine::keeps_waiting(self, stopped)
    }

    fn outcome(&mut self, token: Token) -> Option<Result<Version, KvError>> {
        Engine::outcome(self, token)
    }
    fn let_pass(&mut self, writes: u32) {
        Engine::let_pass(self, writes);
    }
    fn next_task(&mut self) -> Option<Box<dyn Task>> {
        Engine::next_task(self)
    }
    fn task_done(&mut self, task: Box<dyn Task>) {
        Engine::task_done(self, task);
    }

    fn stats(&self) -> StoreStats {
        Engine::stats(self)
    }

    fn value_bytes_max(&self) -> u32 {
        Engine::value_bytes_max(self)
    }

    fn live_bytes(&self) -> u64 {
        Engine::live_bytes(self)
    }

    fn capacity_bytes(&self, medium: &dyn SegmentStore) -> u64 {
        Engine::capacity_bytes(self, &Looked(medium))
    }

    fn pairs_that_fit(&self, key_bytes: u32, value_bytes: u32, medium: &dyn SegmentStore) -> u64 {
        Engine::pairs_that_fit(self, key_bytes, value_bytes, &Looked(medium))
    }

    fn digest(&self) -> u64 {
        Engine::digest(self)
    }

    fn check(&self, medium: &dyn SegmentStore) -> Result<(), String> {
        Engine::check(self, medium)
    }

    fn reset(&self, medium: &dyn SegmentStore) -> Result<Box<dyn DynEngine>, Unsupported> {
        let empty = Engine::reset(self, &Looked(medium))?;
        Ok(Box::new(empty))
    }

    fn retune(&mut self, asked: &Settings, medium: &dyn SegmentStore) -> Result<(), Unsupported> {
        Engine::retune(self, asked, medium)
    }

    fn log_stats(&self) -> LogStats {
        crate::Inspect::log_stats(self)
    }

    fn memory(&self) -> Memory {
        crate::Inspect::memory(self)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        crate::Inspect::counters(self)
    }

    fn counter(&self, name: &str) -> Option<u64> {
        crate::Inspect::counter(self, name)
    }

    fn settings(&self) -> Settings {
        crate::Inspect::settings(self)
    }

    fn place_of(&mut self, key: &[u8], medium: &mut dyn SegmentStore) -> Option<(u64, u32)> {
        crate::Inspect::place_of(self, key, &mut Lent(medium))
    }

    fn spoils(&self, wrong: LogFlip, medium: &dyn SegmentStore) -> Option<LogFlip> {
        crate::Inspect::spoils(self, wrong, &Looked(medium))
    }

    fn settle(&mut self) {
        crate::Inspect::settle(self);
    }
}

/// The twin of [`Recover`].
pub trait DynRecover: Debug + Send {
    /// A copy: a fork of the run.
    fn fork(&self) -> Box<dyn DynRecover>;
    /// [`Recover::step`].
    fn step(&mut self, medium: &mut dyn SegmentStore) -> Step<Result<Progress, Damage>>;
    /// [`Recover::completed`].
    fn completed(&mut self, done: &Completion, medium: &mut dyn SegmentStore);
    /// [`Recover::finish`].
    fn finish(self: Box<Self>) -> Box<dyn DynEngine>;
}

impl<R: Recover<Engine: Engine + Send + 'static> + Send + 'static> DynRecover for R {
    fn fork(&self) -> Box<dyn DynRecover> {
        Box::new(self.clone())
    }

    fn step(&mut self, medium: &mut dyn SegmentStore) -> Step<Result<Progress, Damage>> {
        Recover::step(self, &mut Lent(medium))
    }

    fn completed(&mut self, done: &Completion, medium: &mut dyn SegmentStore) {
        Recover::completed(self, done, &mut Lent(medium));
    }

    fn finish(self: Box<Self>) -> Box<dyn DynEngine> {
        Box::new(Recover::finish(*self))
    }
}
