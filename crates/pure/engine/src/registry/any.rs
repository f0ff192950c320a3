// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engines there are, behind one type, for drivers that learn from an image or a URL which one to run.

use super::EngineKind;
use crate::{EngineConfig, Factory};
use saker_engine_api::{Engine, Outside, OutsideRecovery, Recover, Unsupported};
use saker_log::recover::{Damage, Progress};
use saker_segment_store::{Completion, SegmentStore, Step};

/// Two enums with a variant for each line of the registry, and all matches over them.
macro_rules! any {
    (($dollar:tt) $($word:ident $variant:ident $name:ident = $module:ident::$factory:ident;)*) => {
        /// Any engine.
        #[derive(Clone, Debug)]
        pub enum AnyEngine {
            $(
                #[doc = concat!("[`EngineKind::", stringify!($name), "`].")]
                $variant(Box<<crate::$module::$factory as Factory>::Engine>),
            )*
            /// One from outside, of which no more is known.
            Other(Box<Outside>),
        }

        /// Any engine on its way back.
        #[derive(Clone, Debug)]
        pub enum AnyRecovery {
            $(
                #[doc = concat!("[`EngineKind::", stringify!($name), "`].")]
                $variant(Box<<crate::$module::$factory as Factory>::Recovery>),
            )*
            /// One from outside, of which no more is known.
            Other(Box<OutsideRecovery>),
        }

        impl AnyEngine {
            /// Which it is; `None`: one from outside.
            pub fn kind(&self) -> Option<EngineKind> {
                match self {
                    $(Self::$variant(_) => Some(EngineKind::$name),)*
                    Self::Other(_) => None,
                }
            }

            /// The same store, empty.
            fn reset_same<M: SegmentStore>(&self, m: &M) -> Result<Self, Unsupported> {
                Ok(match self {
                    $(Self::$variant(e) => Self::$variant(Box::new(e.reset(m)?)),)*
                    Self::Other(e) => Self::Other(Box::new(e.reset(m)?)),
                })
            }
        }

        impl AnyRecovery {
            fn finished(self) -> AnyEngine {
                match self {
                    $(Self::$variant(r) => AnyEngine::$variant(Box::new(r.finish())),)*
                    Self::Other(r) => AnyEngine::Other(Box::new(r.finish())),
                }
            }
        }

        /// The same call, of whichever engine it is, or whichever recovery.
        macro_rules! each {
            ($dollar any:expr, $dollar it:ident => $dollar call:expr) => {
                each!(AnyEngine, $dollar any, $dollar it => $dollar call)
            };
            ($dollar of:ident, $dollar any:expr, $dollar it:ident => $dollar call:expr) => {
                match $dollar any {
                    $($dollar of::$variant($dollar it) => $dollar call,)*
                    $dollar of::Other($dollar it) => $dollar call,
                }
            };
        }
    };
}

engines!(($) any);

saker_engine_api::forward_engine!(AnyEngine, each, AnyEngine::reset_same);

impl AnyEngine {
    /// An empty store of that kind on an empty medium.
    pub fn new(kind: EngineKind, config: &EngineConfig, m: &dyn SegmentStore) -> Self {
        (kind.registration().create)(config, m)
    }

    /// An engine from outside.
    pub fn other(engine: impl Engine + Send + 'static) -> Self {
        Self::Other(Box::new(Outside::new(engine)))
    }

    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        self.kind().map_or("other", EngineKind::name)
    }
}

impl AnyRecovery {
    /// The engine of that kind, on a medium that may have something of it.
    pub fn new(kind: EngineKind, config: &EngineConfig, m: &dyn SegmentStore) -> Self {
        (kind.registration().recover)(config, m)
    }

    /// An engine from outside.
    pub fn other(recovery: impl Recover<Engine: Engine + Send + 'static> + Send + 'static) -> Self {
        Self::Other(Box::new(OutsideRecovery::new(recovery)))
    }
}

impl Recover for AnyRecovery {
    type Engine = AnyEngine;

    fn step<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        each!(AnyRecovery, self, r => r.step(m))
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        each!(AnyRecovery, self, r => r.completed(done, m));
    }

    fn finish(self) -> AnyEngine {
        self.finished()
    }
}
