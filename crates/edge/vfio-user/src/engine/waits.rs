// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sleeping while there is nothing to do, and the end.

use std::os::fd::AsFd;
use std::time::{Duration, Instant as Clock};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use saker::{Error, Rest, close_device};

use super::{Engine, LEAVING, WITHOUT_MEMORY};

/// Work that is due so soon is not slept for.
const SOON: Duration = Duration::from_micros(100);
/// How often whoever sleeps looks around.
const TICK: Duration = Duration::from_millis(500);
/// The longest that the end waits for the medium; an image recovers what is left.
const SHUTDOWN: Duration = Duration::from_secs(30);

impl Engine {
    pub(super) fn is_polling(&self) -> bool {
        self.doorbells.is_some() && self.client.is_some()
    }

    /// Space of the image goes back when nothing has been asked for a while. True: there is more, now.
    pub(super) fn gives_space_back(&mut self, rest: &mut Rest) -> bool {
        self.device.next_deadline().is_none() && rest.is_long(Clock::now()) && self.device.give_space_back()
    }

    /// Whether nobody is served any more. A client that can be asked to leave is asked, and served until it has left.
    pub(super) fn is_over(&mut self) -> bool {
        if !self.is_stopped() {
            return false;
        }
        if self.leave_by.is_none() && self.client.is_some() && self.request.tell(0) {
            tracing::info!(socket = self.socket, "the client is asked to leave");
            self.leave_by = Some(Clock::now() + LEAVING);
        }
        self.client.is_none() || self.has_to_end()
    }

    /// Whether it ends now, whatever goes on.
    pub(super) fn has_to_end(&self) -> bool {
        self.is_stopped() && self.leave_by.is_none_or(|by| Clock::now() >= by)
    }

    /// Until there is something to do.
    pub(super) fn sleep(&self) {
        let deadline = self.device.next_deadline().map_or(TICK, |at| {
            let now = self.base + saker_sim::Duration::from_nanos(self.begun.elapsed().as_nanos() as u64);
            Duration::from_nanos(at.since(now).as_nanos())
        });
        let patience = match self.without_memory {
            Some(_) => WITHOUT_MEMORY,
            None => deadline.saturating_sub(SOON).min(TICK),
        };
        let timeout = Timespec::try_from(patience).unwrap_or_default();
        let (socket, wanted) = match &self.client {
            Some(client) if client.session.has_unsent() => (client.session.socket(), PollFlags::OUT),
            Some(client) => (client.session.socket(), PollFlags::IN),
            None => (self.listener.as_fd(), PollFlags::IN),
        };
        // Nothing else comes once it was told to stop.
        let for_wake = if self.leave_by.is_some() { PollFlags::empty() } else { PollFlags::IN };
        let wake = PollFd::new(&self.stop.wake, for_wake);
        // A signal ends it early, which harms nobody.
        let asked = PollFd::new(&self.questions.wake, PollFlags::IN);
        let _ = poll(&mut [PollFd::from_borrowed_fd(socket, wanted), wake, asked], Some(&timeout));
    }

    /// Nobody is served any more; what was acknowledged is made safe.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.questions.end();
        self.leave(&"the server stops");
        let (events, late) = self.lag.counts();
        if events > 0 {
            tracing::info!(
                socket = self.socket,
                events,
                late,
                "events of the device, and those over 5 us late"
            );
        }
        self.advance();
        while !self.device.is_disabled() {
            self.advance();
        }
        self.flush();
        close_device(self.device)
    }

    /// Everything acknowledged leaves the page buffer, as for a driver that sets CC.SHN.
    fn flush(&mut self) {
        if !self.function.begin_shutdown() {
            return;
        }
        let begun = Clock::now();
        while !self.function.is_shut_down() && begun.elapsed() < SHUTDOWN {
            self.advance();
        }
    }
}
