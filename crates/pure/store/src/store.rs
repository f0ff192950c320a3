// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store as a whole.

use crate::lane::Lane;
use crate::outcome::Refusal;
use crate::work::Prices;
use saker_sim::{Activity, Instant};

/// Names a background job of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId(pub u32);

/// Work that a store has to do some time, in quanta. The driver picks the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackgroundJob {
    /// Its name.
    pub id: JobId,
    /// What a core does that does a quantum of it.
    pub activity: Activity,
}

/// In which order a modelled core and what is below it meet. Everything else the loop decides alike for all stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Who rings.
    pub doorbells: Doorbells,
    /// Who takes completions, and what they cost whom.
    pub completions: Completions,
}

/// Who rings doorbells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doorbells {
    /// Each lane its own, when its core is through with submitting and before it does anything else.
    OfLane {
        /// It takes completions that are there before it rings, as well as afterwards.
        looks_first: bool,
    },
    /// One for all lanes. It is an event of its own when the core that submitted first is through with it, after whatever lanes
    /// do at that time.
    OfStore,
}

/// Who takes completions, and what they cost whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completions {
    /// A lane its own, when it acts, or when it waits and something has completed. An operation ends when the core is through
    /// with its completion.
    EachEnds,
    /// The same, but the operations end when the core is through with all that came.
    AllEnd,
    /// Whoever looks takes everybody's, as soon as something has completed. The work is shared by those whose operations it
    /// completed; where it completed none, the next core pays.
    Shared,
}

/// A store.
pub trait KvStore {
    /// Its lanes.
    type Lane: Lane;

    /// Opens the next lane.
    ///
    /// # Errors
    /// [`Refusal::Lanes`] when all have been opened that the store was made for.
    fn open_lane(&mut self) -> Result<Self::Lane, Refusal>;

    /// Names of the operations that it takes ([`Op::name`](crate::Op::name)). It refuses all others by name.
    fn capabilities(&self) -> Vec<&'static str>;

    /// In which order cores and the store meet in virtual time.
    fn order(&self) -> Order;

    /// What it charges a core for in virtual time. Against the clock: nothing.
    fn prices(&self) -> Prices {
        Prices::default()
    }

    /// Counters by name.
    fn stats(&self) -> Vec<(&'static str, u64)>;

    /// Cores on which its background jobs go on side by side. With one its jobs take turns with lanes, on their cores: the driver asks
    /// [`background`](Self::background). With several each job has a core of its own: the driver asks
    /// [`begin_jobs`](Self::begin_jobs).
    fn background_cores(&self) -> usize {
        1
    }

    /// The background job that could do a quantum now, of a store that does one at a time.
    fn background(&self) -> Option<BackgroundJob> {
        None
    }

    /// The jobs that begin now, side by side: `visit` sees each once, and the number of its core. A quantum of each follows, and no
    /// other is begun on that core before [`rest`](Self::rest), or before a quantum that did not work.
    fn begin_jobs(&mut self, visit: &mut dyn FnMut(usize, BackgroundJob)) {
        self.background().into_iter().for_each(|job| visit(0, job));
    }

    /// What a core was busy with that has just done a quantum of a job: where the store tells more than the job does.
    fn did(&self, job: &BackgroundJob) -> Activity {
        job.activity
    }

    /// The time of a quantum is over that worked: its effects count. For stores whose jobs go on side by side.
    fn rest(&mut self, _: JobId) {}

    /// One quantum of a background job. Whether it worked: otherwise there is nothing to do before something completes or an
    /// operation comes.
    fn quantum(&mut self, _: JobId, _: Instant) -> bool {
        false
    }

    /// The time below the lanes. This function and the next four have bodies for a store whose device has the clock's time and
    /// goes on by itself; a store in virtual time writes all of them.
    fn now(&self) -> Instant {
        Instant::ZERO
    }

    /// When something happens below the lanes without them; `None`: nothing, or on a clock of its own.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Time is `now`: handles what lanes have announced, and everything that happens until then. Whether something completed.
    fn advance(&mut self, now: Instant) -> bool {
        let _ = now;
        false
    }

    /// Lets happen what happens up to `until`, but no further than to where something completes: then returns when that was.
    fn go_on(&mut self, until: Instant) -> Option<Instant> {
        let _ = until;
        None
    }

    /// For somebody who waits and has nothing else to do: what was announced is seen, and the next thing happens.
    fn drive(&mut self) {}

    /// A job is over. What the store does afterwards on its own and the job is to be charged with.
    fn settle(&mut self) {}
}
