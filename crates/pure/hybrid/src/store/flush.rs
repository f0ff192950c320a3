// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A Flush goes to both trees.

use super::Hybrid;
use super::flight::{Flight, Flushing};
use crate::main_tree::MainTree;
use saker_engine::KvError;
use saker_host::host_kv::{Answer, Op, Work};

impl<M: MainTree> Hybrid<M> {
    /// Both trees are flushed: the device's if it has anything.
    pub(super) fn begin_flush(&mut self, id: u64, w: &mut Work<'_>) {
        let mut flushing = Flushing { left: 1, failed: None };
        if self.has_device_part() {
            if self.device.flush(id).is_err() {
                return self.hold(id, Flight::Flush(flushing));
            }
            flushing.left += 1;
        }
        match self.ask_main(id, Op::Flush, w) {
            Some(outcome) => self.flushed(id, flushing, outcome.err()),
            None => _ = self.flights.insert(id, Flight::Flush(flushing)),
        }
    }

    pub(super) fn flushed(&mut self, id: u64, mut flushing: Flushing, failed: Option<KvError>) {
        flushing.left -= 1;
        flushing.failed = flushing.failed.or(failed);
        if flushing.left > 0 {
            self.flights.insert(id, Flight::Flush(flushing));
            return;
        }
        self.end(id, flushing.failed.map_or(Ok(Answer::Done), Err));
    }
}
