// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A server that has gone.

use std::time::{Duration, Instant};

use saker_link::DoorbellKind;
use saker_nvme::Status;

use super::farewell::Farewell;
use super::{Relay, pages};
use crate::error::VfioError;
use crate::function::Function;

/// Between two attempts to reach a server.
const PAUSE: Duration = Duration::from_millis(50);

impl Relay {
    /// The server has gone: connects again. What only reads is sent once more, of the rest nobody knows whether it was done.
    pub(super) fn lost(&mut self) {
        if self.is_lost {
            return self.give_up();
        }
        for queue in self.queues.values_mut() {
            queue.fail(|flight| !flight.only_reads, Status::ABORTED_BY_HOST);
        }
        let deadline = Instant::now() + self.options.reconnect;
        while let Err(error) = self.reconnect() {
            if Instant::now() >= deadline || matches!(error, VfioError::Class(_) | VfioError::Admin(_)) {
                self.is_lost = true;
                return self.give_up();
            }
            std::thread::sleep(PAUSE);
        }
        self.reconnects += 1;
        self.idle_turns = 0;
    }

    /// The server wants the device back, and no command is with it: leaves in order, so that nothing is of unknown outcome, and tries
    /// for as long as for a server that has gone.
    pub(super) fn leave(&mut self) {
        // A server that has gone meanwhile is no worse than one that goes.
        let _ = self.function.leave();
        self.lost();
    }

    fn give_up(&mut self) {
        for queue in self.queues.values_mut() {
            queue.fail(|_| true, Status::HOST_PATHING_ERROR);
            while let Some(sqe) = queue.fetch() {
                queue.local.complete(&sqe, Status::HOST_PATHING_ERROR, 0);
            }
        }
        if let Some(pair) = &mut self.admin {
            while let Some(sqe) = pair.fetch() {
                pair.complete(&sqe, Status::HOST_PATHING_ERROR, 0);
            }
        }
    }

    fn reconnect(&mut self) -> Result<(), VfioError> {
        let mut function = Function::open(&self.options.path, pages(self.options.depth))?;
        if self.admin.is_some() {
            function.enable()?;
            if let Some(sqe) = self.queues_asked {
                function.raw_admin(&sqe)?;
            }
        }
        let interrupts = !function.is_mapped();
        let mut pairs = Vec::new();
        for (qid, queue) in &self.queues {
            pairs.push(function.create_pair(*qid, queue.entries, interrupts)?);
        }
        for ((qid, queue), pair) in self.queues.iter_mut().zip(pairs) {
            queue.remote = pair;
            queue.resume(&self.space, function.space());
            queue.remote.ring();
            function.tell(*qid, DoorbellKind::SqTail)?;
        }
        self.farewell = Farewell::of(&mut function)?;
        self.function = function;
        Ok(())
    }
}
