// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One type out of several engines: each function of the traits, handed on to whichever it is.

/// Implements [`Engine`](crate::Engine) and the traits above it for a type that is one of several engines, without a virtual call.
///
/// `$each!(this, e => call)` makes the call with `e` bound to the `Box` of whichever engine `this` is. What makes another value of
/// the type, [`Engine::reset`](crate::Engine::reset), is `$reset`, a function of the type and the medium.
#[macro_export]
macro_rules! forward_engine {
    ($any:ty, $each:ident, $reset:path) => {
        const _: () = {
            use $crate::forwarded::*;

            $crate::forward_engine! { @trait Engine for $any, $each;
                {
                    fn reset<M: SegmentStore>(&self, medium: &M) -> Result<Self, Unsupported> {
                        $reset(self, medium)
                    }
                }
                looks fn capabilities() -> Capabilities;
                changes fn store<M: SegmentStore, W: Meter, S: Source>(
                    key: &[u8], value: &mut S, condition: Condition, cx: &mut Context<'_, M, W>
                ) -> Step<Result<Put, KvError>>;
                changes fn outcome(token: Token) -> Option<Result<Version, KvError>>;
                changes fn retrieve<M: SegmentStore, W: Meter, K: Sink>(
                    key: &[u8], sink: &mut K, cx: &mut Context<'_, M, W>
                ) -> Step<Result<u32, KvError>>;
                changes fn retrieve_versioned<M: SegmentStore, W: Meter, K: Sink>(
                    key: &[u8], sink: &mut K, cx: &mut Context<'_, M, W>
                ) -> Step<Result<Versioned, KvError>>;
                changes fn delete<M: SegmentStore, W: Meter>(
                    key: &[u8], cx: &mut Context<'_, M, W>
                ) -> Step<Result<Version, KvError>>;
                changes fn exists<M: SegmentStore, W: Meter>(
                    key: &[u8], cx: &mut Context<'_, M, W>
                ) -> Step<Result<(), KvError>>;
                changes fn flush<M: SegmentStore>(medium: &mut M) -> Tag;
                looks fn is_flushed(tag: Tag, finished: Tag) -> bool;
                changes fn completed<M: SegmentStore>(done: &Completion, medium: &mut M) -> ();
                looks fn job<M: SegmentStore>(medium: &M) -> Option<Job>;
                looks fn jobs<M: SegmentStore>(medium: &M, visit: &mut dyn FnMut(Job)) -> ();
                changes fn background<M: SegmentStore, W: Meter>(
                    job: Job, finished: Tag, cx: &mut Context<'_, M, W>
                ) -> Step<Background>;
                looks fn did() -> JobKind;
                looks fn write_condition() -> WriteCondition;
                changes fn puts_off<M: SegmentStore>(medium: &M) -> bool;
                changes fn next_task() -> Option<Box<dyn Task>>;
                changes fn task_done(task: Box<dyn Task>) -> ();
                looks fn keeps_waiting(stopped: WriteCondition) -> bool;
                changes fn let_pass(writes: u32) -> ();
                looks fn stats() -> StoreStats;
                looks fn live_bytes() -> u64;
                looks fn value_bytes_max() -> u32;
                looks fn capacity_bytes<M: SegmentStore>(medium: &M) -> u64;
                looks fn pairs_that_fit<M: SegmentStore>(key_bytes: u32, value_bytes: u32, medium: &M) -> u64;
                looks fn digest() -> u64;
                looks fn check(medium: &dyn SegmentStore) -> Result<(), String>;
                changes fn retune(asked: &Settings, medium: &dyn SegmentStore) -> Result<(), Unsupported>;
            }
            $crate::forward_engine! { @trait List for $any, $each; {}
                changes fn list<M: SegmentStore, W: Meter>(
                    from: &[u8], visit: impl FnMut(&[u8]) -> bool, cx: &mut Context<'_, M, W>
                ) -> Step<Result<(), KvError>>;
            }
            $crate::forward_engine! { @trait Scans for $any, $each; {}
                changes fn snapshot() -> Result<Snapshot, Unsupported>;
                changes fn share(snapshot: Snapshot) -> ();
                changes fn release(snapshot: Snapshot) -> ();
                changes fn scan<M: SegmentStore, W: Meter, P: Pairs>(
                    scan: &Scan<'_>, pairs: &mut P, cx: &mut Context<'_, M, W>
                ) -> Step<Result<Scanned, KvError>>;
            }
            $crate::forward_engine! { @trait Groups for $any, $each; {}
                looks fn group_bytes_max() -> u32;
                changes fn group<M: SegmentStore, W: Meter, G: GroupSource, A: Answers>(
                    source: &mut G, answers: &mut A, cx: &mut Context<'_, M, W>
                ) -> Step<Result<(), GroupError<G::Malformed>>>;
                changes fn version<M: SegmentStore, W: Meter>(
                    key: &[u8], cx: &mut Context<'_, M, W>
                ) -> Step<Result<Option<PairVersion>, KvError>>;
            }
            $crate::forward_engine! { @trait Hints for $any, $each; {}
                looks fn prefetch_hint<W: Meter>(key: &[u8], meter: &mut W) -> ();
                changes fn reserve(pairs: u64) -> ();
                changes fn bind(
                    name: &[u8], keys: &mut dyn ExactSizeIterator<Item = &[u8]>
                ) -> Result<(), KvError>;
            }
            $crate::forward_engine! { @trait Inspect for $any, $each; {}
                looks fn log_stats() -> LogStats;
                looks fn memory() -> Memory;
                looks fn counters() -> Vec<(&'static str, u64)>;
                looks fn counter(name: &str) -> Option<u64>;
                looks fn settings() -> Settings;
                changes fn place_of<M: SegmentStore>(key: &[u8], medium: &mut M) -> Option<(u64, u32)>;
                looks fn spoils<M: SegmentStore>(wrong: LogFlip, medium: &M) -> Option<LogFlip>;
                changes fn settle() -> ();
            }
        };
    };
    (@trait $trait:ident for $any:ty, $each:ident; {$($own:tt)*}
        $($how:ident fn $name:ident $(<$($param:ident: $bound:path),*>)? ($($arg:ident: $of:ty),*) -> $out:ty;)*
    ) => {
        impl $trait for $any {
            $($crate::forward_engine! {
                @$how $trait, $each, $name [$($($param: $bound),*)?] ($($arg: $of),*) -> $out
            })*
            $($own)*
        }
    };
    (@looks $trait:ident, $each:ident, $name:ident [$($param:ident: $bound:path),*] ($($arg:ident: $of:ty),*) -> $out:ty) => {
        #[inline]
        fn $name<$($param: $bound),*>(&self, $($arg: $of),*) -> $out {
            $each!(self, e => $trait::$name(&**e, $($arg),*))
        }
    };
    (@changes $trait:ident, $each:ident, $name:ident [$($param:ident: $bound:path),*] ($($arg:ident: $of:ty),*) -> $out:ty) => {
        #[inline]
        fn $name<$($param: $bound),*>(&mut self, $($arg: $of),*) -> $out {
            $each!(self, e => $trait::$name(&mut **e, $($arg),*))
        }
    };
}

/// What the table of [`forward_engine`] names.
#[doc(hidden)]
pub mod forwarded {
    pub use crate::{
        Answers, Background, Capabilities, Condition, Context, Engine, GroupError, GroupSource, Groups,
        Hints, Inspect, Job, JobKind, KvError, List, Memory, PairVersion, Pairs, Put, Scan, Scanned, Scans,
        Settings, Sink, Snapshot, Source, StoreStats, Task, Token, Unsupported, Version, Versioned,
        WriteCondition,
    };
    pub use saker_log::{LogFlip, LogStats};
    pub use saker_segment_store::{Completion, SegmentStore, Step, Tag};
    pub use saker_sim::Meter;
}
