// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a group reads: found before anything is done, and asked for together.

use super::super::HashStore;
use saker_engine_api::GroupOp;
use saker_log::{Bytes, LogAddr, Look, lines};
use saker_segment_store::{SegmentStore, Step};
use saker_sim::Meter;
use saker_value_log::RecordAddr;

/// Where the records lie that a group retrieves, in the order of its members; `None`: there is no such key. Memory for it is used again and
/// again.
pub type Found = Vec<Option<RecordAddr>>;

impl HashStore {
    /// Looks up what the group retrieves. `Need` names the pages of all these values. Their lines are asked for on the way: they come
    /// together, not one behind the other.
    pub(super) fn reads_resident<M: SegmentStore, W: Meter>(&mut self, m: &M, w: &mut W) -> Step<()> {
        let Self { plan, found, index, log, .. } = self;
        found.clear();
        let mut is_absent = false;
        for p in plan.members.iter().filter(|p| p.member.op == GroupOp::Retrieve) {
            let addr = p.place.and_then(|place| index.get(place));
            found.push(addr);
            let Some(range) = addr.map(range_of) else { continue };
            match range.look(log, m) {
                Look::Whole(record) if w.touches() => lines(record).for_each(|byte| w.touch(byte)),
                Look::Whole(_) => {}
                Look::Absent(_) | Look::Elsewhere => {
                    is_absent |= matches!(range.resident(log, m), Step::Need(_))
                }
            }
        }
        if is_absent { self.absent(m, w) } else { Step::Done(()) }
    }

    /// The pages of all that was found, whatever is here already: nothing of it may leave while the others come.
    #[cold]
    fn absent<M: SegmentStore, W: Meter>(&self, m: &M, w: &mut W) -> Step<()> {
        let mut pages = Vec::new();
        for addr in self.found.iter().flatten() {
            let range = range_of(*addr);
            pages.extend(range.pages(&self.log));
            range.ahead(&self.log, m).for_each(|byte| w.touch(byte));
        }
        pages.sort_unstable();
        pages.dedup();
        Step::Need(pages)
    }
}

#[inline]
fn range_of(addr: RecordAddr) -> Bytes {
    Bytes::new(LogAddr(addr.position()), addr.bytes())
}
