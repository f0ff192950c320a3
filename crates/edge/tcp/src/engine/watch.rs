// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the log has of a subsystem: its controllers, faults, slow commands, and background work on request.

use std::sync::Arc;
use std::time::Duration;

use saker_flash::FlashStats;
use saker_nvme::fabrics::{self, FabricsCommand, property};
use saker_nvme::status::sct;
use saker_nvme::{Sqe, Status, admin};
use saker_sim::Instant;
use saker_target::{AuthFailure, ConnectionId, Limit, Rate, Subsystem};

use super::Flight;
use crate::local::Local;
use crate::logs::{Limits, shown, told};

/// How often the medium is asked for failures, and the engines for background work.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the background does, by the names of counters.
const BACKGROUND: [&str; 6] = [
    "flash_pages_programmed",
    "flash_segments_erased",
    "gc_segments",
    "checkpoints",
    "write_stops",
    "write_delays",
];

/// What a subsystem's thread tells the log.
#[derive(Debug)]
pub(crate) struct Watch {
    limits: Arc<Limits>,
    slow: Option<Duration>,
    looked_at: Instant,
    /// Authentications that failed.
    pub(super) authentication_failures: u64,
    media: FlashStats,
    /// Segments given up after failed erases.
    retired: u32,
    /// What the background had done, by [`BACKGROUND`].
    background: [u64; BACKGROUND.len()],
}

impl Watch {
    /// Commands that take `slow` are told of.
    pub(crate) fn new(limits: Arc<Limits>, slow: Option<Duration>) -> Self {
        Self {
            limits,
            slow,
            looked_at: Instant::ZERO,
            authentication_failures: 0,
            media: FlashStats::default(),
            retired: 0,
            background: [0; BACKGROUND.len()],
        }
    }

    /// A host was not heard of for its keep alive time-out.
    pub(super) fn expired(&self, subsystem: &Subsystem, id: ConnectionId) {
        let (cntlid, host) = subsystem.host(id).unwrap_or_default();
        told!(
            self.limits,
            WARN,
            KeepAlive,
            connection = id,
            host = shown(host),
            cntlid,
            "host is not heard of any more"
        );
    }

    /// A Fabrics command may have enabled, reset or shut down a controller.
    pub(super) fn controller(&self, subsystem: &Subsystem, id: ConnectionId, sqe: &Sqe, was_ready: bool) {
        let is_property = sqe.opcode == fabrics::OPCODE
            && matches!(
                FabricsCommand::decode(sqe),
                Ok(FabricsCommand::PropertySet { offset: property::CC, .. })
            );
        if !is_property || subsystem.is_ready(id) == was_ready {
            return;
        }
        let (cntlid, host) = subsystem.host(id).unwrap_or_default();
        if was_ready {
            told!(self.limits, INFO, Reset, connection = id, host = shown(host), cntlid, "controller reset");
        } else {
            told!(
                self.limits,
                INFO,
                Reset,
                connection = id,
                host = shown(host),
                cntlid,
                "controller enabled"
            );
        }
    }

    /// A host shuts its controller down.
    pub(super) fn shutdown(&self, subsystem: &Subsystem, id: ConnectionId) {
        let (cntlid, host) = subsystem.host(id).unwrap_or_default();
        told!(self.limits, INFO, Reset, connection = id, host = shown(host), cntlid, "controller shuts down");
    }

    /// The device has carried out an admin command.
    pub(super) fn device_answered(&self, subsystem: &Subsystem, id: ConnectionId, sqe: &Sqe, status: Status) {
        if sqe.opcode != admin::opcode::FORMAT_NVM {
            return;
        }
        let (nsid, (cntlid, host)) = (sqe.nsid.get(), subsystem.host(id).unwrap_or_default());
        told!(self.limits, WARN, Format, connection = id, host = shown(host), cntlid, nsid, %status, "namespace formatted");
    }

    /// An authentication has failed.
    pub(super) fn unauthenticated(&mut self, subsystem: &Subsystem, id: ConnectionId, why: AuthFailure) {
        self.authentication_failures += 1;
        let (cntlid, host) = subsystem.host(id).unwrap_or_default();
        let qid = subsystem.bound(id).map_or(0, |bound| bound.qid);
        let host = shown(host);
        told!(self.limits, WARN, Authentication, connection = id, host, cntlid, qid, %why, "authentication failed");
    }

    /// A host that had not authenticated had to make room.
    pub(super) fn evicted(&self, id: ConnectionId) {
        let why = "newer hosts authenticate";
        told!(
            self.limits,
            WARN,
            Authentication,
            connection = id,
            why,
            "a host that has not authenticated makes room"
        );
    }

    /// A host has begun to wait for a limit.
    pub(super) fn limited(&self, host: &str, limit: Limit) {
        let host = shown(host);
        let (nsid, rate) = match limit {
            Limit::Host(rate) => (None, rate),
            Limit::Namespace(nsid, rate) => (Some(nsid), rate),
        };
        let limit = Rate::name(rate);
        match nsid {
            None => told!(self.limits, INFO, Limit, host, limit, "host waits for its limit"),
            Some(nsid) => {
                told!(self.limits, INFO, Limit, host, nsid, limit, "host waits for a limit of a namespace")
            }
        }
    }

    /// A command has ended.
    #[inline]
    pub(super) fn finished(&self, flight: &Flight, status: Status, now: Instant) {
        let took = now.since(flight.begun.min(now));
        if self.slow.is_some_and(|slow| u128::from(took.as_nanos()) >= slow.as_nanos()) {
            self.tell_slow(flight, status, took);
        }
        if !status.is_success() && is_fault(status) {
            self.tell_fault(flight, status);
        }
    }

    #[cold]
    fn tell_slow(&self, flight: &Flight, status: Status, took: saker_sim::Duration) {
        let (opcode, nsid, _) = flight.entry;
        let (opcode, took_us) = (format_args!("{opcode:02X}h"), took.as_nanos() / 1000);
        told!(self.limits, WARN, Slow, connection = flight.connection, opcode, nsid, took_us, %status, "slow command");
    }

    #[cold]
    fn tell_fault(&self, flight: &Flight, status: Status) {
        let (opcode, nsid, _) = flight.entry;
        let opcode = format_args!("{opcode:02X}h");
        told!(self.limits, WARN, Fault, connection = flight.connection, opcode, nsid, %status, "command failed by a fault");
    }

    /// Looks now and then what the medium and the background have done.
    pub(super) fn look(&mut self, local: &mut Local, now: Instant) {
        if u128::from(now.since(self.looked_at).as_nanos()) < LOOK_EVERY.as_nanos() {
            return;
        }
        self.looked_at = now;
        local.shared().clocked.keep_counters();
        if tracing::enabled!(tracing::Level::WARN) {
            self.look_at_medium(local);
        }
        if tracing::enabled!(tracing::Level::DEBUG) {
            self.look_at_background(local);
        }
    }

    fn look_at_medium(&mut self, local: &mut Local) {
        let (media, retired) = local.shared().clocked.media();
        let failures = media.failures - self.media.failures.min(media.failures);
        if failures > 0 || retired > self.retired {
            told!(self.limits, WARN, Medium, failures, retired_segments = retired, "the medium failed");
        }
        (self.media, self.retired) = (media, retired);
    }
}

impl Watch {
    fn look_at_background(&mut self, local: &mut Local) {
        let counters = local.shared().clocked.counters();
        let sum =
            |name: &str| counters.iter().filter(|counter| counter.name == name).map(|c| c.value).sum::<u64>();
        let now = BACKGROUND.map(sum);
        let [programmed, erased, collected, checkpoints, stops, delays] =
            std::array::from_fn(|n| now[n] - self.background[n].min(now[n]));
        if now != self.background {
            tracing::debug!(
                programmed,
                erased,
                collected,
                checkpoints,
                stops,
                delays,
                "background in the last second"
            );
        }
        self.background = now;
    }
}

/// Whether a status tells of damage, of a failing medium or of a failure of ours, and not of what the host asked.
fn is_fault(status: Status) -> bool {
    let media = status.sct() == sct::MEDIA && !status.is(Status::COMPARE_FAILURE);
    media
        || [Status::INTERNAL_ERROR, Status::UNRECOVERED_ERROR, Status::DATA_TRANSFER_ERROR]
            .iter()
            .any(|s| status.is(*s))
}
