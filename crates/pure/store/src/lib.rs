// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a key-value store is to whoever drives it, wherever its engine runs and whichever clock there is.
//!
//! | module | holds |
//! |---|---|
//! | [`op`] | operations, and a lane's share of a job |
//! | [`outcome`] | how they end: outcomes, refusals, stalls |
//! | [`lane`] | [`Lane`]: one application thread's way into a store |
//! | [`work`] | what a lane did, and what that costs a core |
//! | [`store`] | [`KvStore`]: opens lanes, has background jobs and deadlines |
//!
//! A **driver** is a loop over this trait: one in virtual time (`world/src/driver`), one against the clock
//! (`bench/src/clock/driver.rs`). It deals a job's operations round to lanes, keeps as many in flight as the job says, and
//! measures. A store never waits inside a call. It answers
//!
//! * [`Done`](Submitted::Done): the outcome, at once;
//! * [`Pending`](Submitted::Pending): a **ticket**; [`Lane::poll`] brings the outcome of each ticket exactly once;
//! * [`Stalled`](Submitted::Stalled): a **stall**, with its cause and when to try again; nothing has happened;
//! * [`Refused`](Submitted::Refused): never; what a store lacks it refuses by name.
//!
//! The loop is shared, the prices are not: a store says what a command, a page, a completion cost ([`Prices`]), and in which
//! order a modelled core and the store meet ([`Order`]).
#![forbid(unsafe_code)]

pub mod lane;
pub mod op;
pub mod outcome;
pub mod store;
pub mod work;

pub use lane::{Completed, Drain, Lane, Submitted, Ticket};
pub use op::{Op, Share, SnapshotId};
pub use outcome::{Failure, Outcome, Refusal, Stall, StallCause};
pub use store::{BackgroundJob, Completions, Doorbells, JobId, KvStore, Order};
pub use work::{Prices, Work};
