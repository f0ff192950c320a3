// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When writes of a namespace were stopped or delayed: log page C2h.
//!
//! It is of one active Key Value namespace, else 0Bh.

use saker_engine::write_gate::{Held, Hold, Period, WriteControl};
use saker_engine::{WriteCondition, WriteStallCause};
use saker_nvme::Status;
use saker_nvme::admin::GetLogPage;
use saker_nvme::vendor_specific::{WriteStallEntry, WriteStallSum, WriteStallsHead, WriteState};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

use super::logs::cut;
use super::namespace::{NamespaceKind, Visible};
use super::outcome::{Decision, Outcome};

pub(super) fn page(command: &GetLogPage, namespaces: Visible<'_>, bytes_max: u32) -> Decision {
    let facts = namespaces.find(command.nsid).map(|facts| &facts.kind);
    let Some(NamespaceKind::Kv { writes, .. }) = facts else {
        return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
    };
    let mut page = head(writes).as_bytes().to_vec();
    writes.stalls.recent.iter().for_each(|period| page.extend_from_slice(entry(period).as_bytes()));
    Ok(Outcome::data(cut(&page, command, bytes_max)?))
}

fn head(writes: &WriteControl) -> WriteStallsHead {
    let sums = |hold| WriteStallCause::ALL.map(|cause| sum(writes.stalls.of(hold, cause)));
    let head = WriteStallsHead {
        now: U64::new(writes.now.as_nanos()),
        delayed: sums(Hold::Delayed),
        stopped: sums(Hold::Stopped),
        ..WriteStallsHead::new(writes.stalls.recent.len() as u16)
    };
    match writes.condition {
        WriteCondition::Normal => head,
        WriteCondition::Delayed { cause, rate, delay } => WriteStallsHead {
            state: WriteState::Delayed as u8,
            cause: cause as u8,
            rate: U64::new(rate),
            delay: U32::new(delay),
            ..head
        },
        WriteCondition::Stopped { cause } => {
            WriteStallsHead { state: WriteState::Stopped as u8, cause: cause as u8, ..head }
        }
    }
}

fn sum(held: Held) -> WriteStallSum {
    WriteStallSum {
        periods: U64::new(held.periods),
        nanos: U64::new(held.time.as_nanos()),
        writes: U64::new(held.writes),
    }
}

fn entry(period: &Period) -> WriteStallEntry {
    let state = match period.hold {
        Hold::Stopped => WriteState::Stopped,
        Hold::Delayed => WriteState::Delayed,
    };
    WriteStallEntry {
        state: state as u8,
        cause: period.cause as u8,
        reserved_2: [0; 6],
        begin: U64::new(period.begin.as_nanos()),
        nanos: U64::new(period.length.as_nanos()),
        writes: U64::new(period.writes),
    }
}
