// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The detector, which finds stalls of the main tree, and the controller, which sends each write one way.

use crate::main_tree::{Limits, Load, MainTree};
use crate::options::Detector;
use crate::planted::{self, Fault};
use crate::store::Hybrid;
use saker_sim::{Duration, Instant};

/// Which way a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// To the main tree. `escapes`: not if that stops it.
    Main { escapes: bool },
    /// To the device's tree.
    Device,
    /// Neither now.
    Wait,
}

/// What it remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detecting {
    /// When it looks next.
    next_look: Instant,
    load: Load,
    /// What it said last.
    pub redirects: bool,
    /// The device's tree has refused a write for want of room.
    pub device_is_full: bool,
    /// What the main tree was opened with.
    limits: Option<Limits>,
}

/// How often the exact detector looks at level 0: it needs that for rollbacks alone.
const EXACT_LOOK: Duration = Duration::from_nanos(1_000_000);

impl<M: MainTree> Hybrid<M> {
    /// Looks at the main tree when it is time to. What it sees has been so since the last event, so nothing has to happen at that time.
    pub(crate) fn look_if_due(&mut self) {
        let now = self.now.unwrap_or(Instant::ZERO);
        if self.now.is_some() && now < self.detecting.next_look {
            return;
        }
        let every = match self.options.detector {
            Detector::Published => self.options.poll,
            Detector::Exact => EXACT_LOOK,
        };
        self.detecting.next_look = now + every;
        self.look();
    }

    pub(crate) fn look(&mut self) {
        let load = self.main.load();
        self.detecting.load = load;
        if self.options.detector == Detector::Published {
            let redirects = self.is_published_stall(&load);
            self.note_redirects(redirects);
        }
    }

    /// `Monitor_Consumer` of lewis461/KVAccel (`kvaccel/db/db_impl/db_impl_master.cc`).
    fn is_published_stall(&mut self, load: &Load) -> bool {
        let limits = *self.detecting.limits.get_or_insert_with(|| self.main.limits());
        let most = u64::from(self.options.redirect_level0);
        load.level0 >= most
            || load.level0 + load.memtable_bytes.checked_div(limits.memtable_bytes).unwrap_or(0) >= most
            || load.pending_bytes >= limits.pending_bytes.saturating_sub(self.options.reserve_bytes)
    }

    pub(crate) fn note_redirects(&mut self, redirects: bool) {
        if redirects && !self.detecting.redirects {
            self.stats.redirections += 1;
        }
        self.detecting.redirects = redirects;
    }

    /// Tables in level 0, as of the last look.
    pub(crate) fn level0(&self) -> u64 {
        self.detecting.load.level0
    }

    /// When the detector looks next.
    pub(crate) fn next_look(&self) -> Instant {
        self.detecting.next_look
    }

    /// Which way a write goes that takes so many bytes in the device's tree.
    pub(crate) fn route(&mut self, record_bytes: Option<usize>) -> Route {
        if self.options.blocks_writers && self.returning.is_under_way() {
            return Route::Wait;
        }
        // One that is too long for the device's tree waits for the main tree, and so does every one when that is full.
        let takes =
            record_bytes.is_some() && !self.detecting.device_is_full && !planted::is(Fault::BlindDetector);
        match self.options.detector {
            Detector::Exact => Route::Main { escapes: takes },
            Detector::Published if !self.detecting.redirects => Route::Main { escapes: false },
            Detector::Published if !takes => {
                self.stats.turned_back += 1;
                Route::Main { escapes: false }
            }
            Detector::Published if self.is_device_open() => Route::Device,
            // The verdict may be older than the stall.
            Detector::Published if !self.main.write_condition().is_stopped() => {
                Route::Main { escapes: false }
            }
            Detector::Published => Route::Wait,
        }
    }

    /// Whether the device's tree takes writes now.
    pub(crate) fn is_device_open(&self) -> bool {
        !self.returning.is_emptying() && self.views.opening == 0
    }
}
