// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the time of each command went, for whoever wants to draw it.

use saker_nvme::Status;
use saker_sim::{Duration, Instant};

/// A part of a command's time in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Waiting for the link, the dispatcher or a core.
    Queue,
    /// Its entries come over the link, payload entries too.
    Fetch,
    /// Its data crosses the link.
    Transfer,
    /// Dispatcher and core.
    Firmware,
    /// Waiting for pages, room, programs or syncs of the media.
    Flash,
    /// Its completion crosses the link.
    Completion,
}

impl Part {
    /// All, in the order in which most commands pass them.
    pub const ALL: [Self; 6] =
        [Self::Queue, Self::Fetch, Self::Transfer, Self::Firmware, Self::Flash, Self::Completion];

    /// The name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Fetch => "fetch",
            Self::Transfer => "transfer",
            Self::Firmware => "firmware",
            Self::Flash => "flash",
            Self::Completion => "completion",
        }
    }
}

/// The times of one I/O command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTrace {
    /// Submission queue.
    pub qid: u16,
    /// Command identifier.
    pub cid: u16,
    /// Opcode.
    pub opcode: u8,
    /// How it ended.
    pub status: Status,
    /// When the device saw it.
    pub begun: Instant,
    /// What happened one after the other from then on, without gaps; parts can come again.
    pub spans: Vec<(Part, Duration)>,
}

impl CommandTrace {
    /// All the time it took in one part.
    #[must_use]
    pub fn total(&self, part: Part) -> Duration {
        let spans = self.spans.iter().filter(|(p, _)| *p == part);
        spans.fold(Duration::ZERO, |sum, (_, length)| sum + *length)
    }

    /// From the doorbell to the completion in the host's memory.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.spans.iter().fold(Duration::ZERO, |sum, (_, length)| sum + *length)
    }
}

/// Collects the spans of a command on its way; costs nothing while nobody traces.
#[derive(Clone, Debug)]
pub(crate) struct Clockwork {
    begun: Instant,
    marked: Instant,
    spans: Option<Vec<(Part, Duration)>>,
}

impl Clockwork {
    pub fn new(now: Instant, traced: bool) -> Self {
        Self { begun: now, marked: now, spans: traced.then(Vec::new) }
    }

    /// When the device saw the command.
    pub const fn begun(&self) -> Instant {
        self.begun
    }

    /// What has passed since the last mark was `part`, of which at most `service`; before that it waited.
    #[inline]
    pub fn lap(&mut self, now: Instant, part: Part, service: Duration) {
        let Some(spans) = &mut self.spans else { return };
        let passed = now.since(self.marked);
        let waited = passed - service;
        for (part, length) in [(Part::Queue, waited), (part, passed - waited)] {
            if length > Duration::ZERO {
                spans.push((part, length));
            }
        }
        self.marked = now;
    }

    /// The trace of a command that has ended, if it is traced.
    pub fn finish(&mut self, qid: u16, cid: u16, opcode: u8, status: Status) -> Option<CommandTrace> {
        Some(CommandTrace { qid, cid, opcode, status, begun: self.begun, spans: self.spans.take()? })
    }
}
