// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices that the process serves beside this server, by whatever way: the metrics tell of them, and the watchdog asks whether their
//! threads go on.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use saker_nvme::vendor_specific::Counter;

/// A device that is served beside this server, by a thread of its own.
pub trait Neighbour: fmt::Debug + Send + Sync {
    /// The subsystem's name in metrics.
    fn name(&self) -> String;

    /// Has its thread say, between two turns of its work, that it goes on. False if there is none any more.
    fn pulse(&self, told: Sender<()>) -> bool;

    /// Has its thread tell everything that it counts. False if there is none any more.
    fn counters(&self, told: Sender<Vec<Counter>>) -> bool;
}

/// What a neighbour counts, if it answers within that time.
pub(crate) fn counters(neighbour: &Arc<dyn Neighbour>, within: Duration) -> Option<Vec<Counter>> {
    let (told, answer) = channel();
    neighbour.counters(told).then(|| answer.recv_timeout(within).ok()).flatten()
}
