// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When writes of a namespace were stopped or delayed: log page C2h of devices that have it.

use saker_engine::write_gate::{Held, Hold, Period, Stalls, WriteControl};
use saker_engine::{WriteCondition, WriteStallCause};
use saker_nvme::log::{SupportedLogs, lid};
use saker_nvme::vendor_specific::{
    LID_WRITE_STALLS, WriteStallEntry, WriteStallSum, WriteStallsHead, WriteState,
};
use saker_sim::{Duration, Instant};
use zerocopy::FromBytes;

use super::Connection;
use crate::driver::Driver;
use crate::error::HostError;

/// Most periods that are asked for, whatever a device says it has.
const PERIODS_MAX: u16 = 1 << 10;

impl Connection {
    /// What write control of a Key Value namespace does and has done; `None`: the device does not tell.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn write_control(
        &mut self,
        driver: &mut impl Driver,
        nsid: u32,
    ) -> Result<Option<WriteControl>, HostError> {
        let supported = self.whole_log::<SupportedLogs>(driver, lid::SUPPORTED)?;
        if !supported.is_some_and(|page| page.contains(LID_WRITE_STALLS)) {
            return Ok(None);
        }
        let head_bytes = size_of::<WriteStallsHead>() as u32;
        let Some((head, _)) = taken_apart(&self.get_log(driver, nsid, LID_WRITE_STALLS, head_bytes)?) else {
            return Ok(None);
        };
        // A period may begin between the two: the second page says itself how many it has, and the last ones are what is wanted, so
        // one more is asked for.
        let periods = u32::from(head.count.get().min(PERIODS_MAX)) + 1;
        let bytes = head_bytes + periods * size_of::<WriteStallEntry>() as u32;
        let page = self.get_log(driver, nsid, LID_WRITE_STALLS, bytes)?;
        Ok(taken_apart(&page).map(|(head, periods)| told(&head, periods)))
    }
}

/// The head of a page, and its periods as far as they are there. `None`: it is another page.
fn taken_apart(page: &[u8]) -> Option<(WriteStallsHead, Vec<WriteStallEntry>)> {
    let (head, rest) = WriteStallsHead::read_from_prefix(page).ok().filter(|(head, _)| head.is_known())?;
    let entries = rest.chunks_exact(size_of::<WriteStallEntry>()).take(head.count.get().into());
    let entries = entries.filter_map(|bytes| WriteStallEntry::read_from_bytes(bytes).ok());
    Some((head, entries.collect()))
}

fn told(head: &WriteStallsHead, periods: Vec<WriteStallEntry>) -> WriteControl {
    let held = Hold::ALL.map(|hold| match hold {
        Hold::Delayed => head.delayed.map(sum),
        Hold::Stopped => head.stopped.map(sum),
    });
    let stalls = Stalls::told(held, periods.iter().filter_map(period).collect());
    WriteControl { condition: condition(head), now: Instant::from_nanos(head.now.get()), stalls }
}

/// A state or a cause that a later device has is none that we can name: writes go on.
fn condition(head: &WriteStallsHead) -> WriteCondition {
    match (WriteState::decode(head.state), cause(head.cause)) {
        (Some(WriteState::Delayed), Some(cause)) => {
            WriteCondition::Delayed { cause, rate: head.rate.get(), delay: head.delay.get() }
        }
        (Some(WriteState::Stopped), Some(cause)) => WriteCondition::Stopped { cause },
        _ => WriteCondition::Normal,
    }
}

fn cause(byte: u8) -> Option<WriteStallCause> {
    WriteStallCause::ALL.get(usize::from(byte)).copied()
}

fn sum(sum: WriteStallSum) -> Held {
    let time = Duration::from_nanos(sum.nanos.get());
    Held { periods: sum.periods.get(), time, writes: sum.writes.get() }
}

/// A period; `None`: of a state or a cause that a later device has.
fn period(entry: &WriteStallEntry) -> Option<Period> {
    let hold = match WriteState::decode(entry.state)? {
        WriteState::Delayed => Hold::Delayed,
        WriteState::Stopped => Hold::Stopped,
        WriteState::Normal => return None,
    };
    Some(Period {
        hold,
        cause: cause(entry.cause)?,
        begin: Instant::from_nanos(entry.begin.get()),
        length: Duration::from_nanos(entry.nanos.get()),
        writes: entry.writes.get(),
    })
}
