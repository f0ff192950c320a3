// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose answer has just gone out. A host that has one command under way at a time asks again soon: a command that takes long begins right
//! behind its answer, while that host has to think, and not a moment before it asks.

use saker_sim::Instant;

use super::HostId;

/// How long a host that was answered is expected to ask again. Longer than the way to a host of this machine and back takes; what is held
/// meanwhile loses no more than this.
const EXPECTED_FOR_NANOS: u64 = 100_000;

/// The last answer to a host.
#[derive(Clone, Copy, Debug)]
struct Answer {
    host: HostId,
    at: Instant,
    /// In which round.
    round: u64,
}

/// The last answers to two hosts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    last: Option<Answer>,
    other: Option<Answer>,
    round: u64,
}

impl Answers {
    pub const fn begin_round(&mut self) {
        self.round += 1;
    }

    /// A command of a host has ended.
    pub fn note(&mut self, host: HostId, at: Instant) {
        if self.last.is_some_and(|last| last.host != host) {
            self.other = self.last;
        }
        self.last = Some(Answer { host, at, round: self.round });
    }

    /// Whether another host is about to ask: it was answered, not in the round before this one, and not long ago.
    pub fn expects_another(&self, host: HostId, now: Instant) -> bool {
        let others = [self.last, self.other].into_iter().flatten().find(|answer| answer.host != host);
        others.is_some_and(|answer| {
            answer.round + 1 < self.round && now.since(answer.at).as_nanos() < EXPECTED_FOR_NANOS
        })
    }
}
