// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nodes on their way to the medium.

use super::{Job, Out};
use crate::tree::TreeStore;
use crate::tree::reserve::{FOR_NODE_REPAIRS, FOR_NODES};
use saker_engine_api::Background;
use saker_log::{Reserve, page_of};
use saker_segment_store::{Page, PageAddr, SegmentStore, Stream};
use saker_sim::{Meter, Unit};

/// Nodes that a quantum writes.
const QUANTUM_NODES: u32 = 4;

impl TreeStore {
    /// Writes nodes that were made.
    pub(super) fn write_nodes<M: SegmentStore, W: Meter>(
        &mut self,
        job: &mut Job,
        m: &mut M,
        w: &mut W,
    ) -> Background {
        for done in 0..QUANTUM_NODES {
            let Some(out) = job.out.pop_front() else { break };
            if !self.has_room_for_node(FOR_NODES, m) {
                job.out.push_front(out);
                return if done > 0 { Background::Worked } else { Background::Waiting };
            }
            self.write_node(job, &out, m, w);
            if job.level > 0 {
                let page = PageAddr(job.made[out.link.0].new[out.link.1].stamp);
                self.own.cache.insert(page, &out.bytes);
            }
        }
        Background::Worked
    }

    fn has_room_for_node<M: SegmentStore>(&self, left: Reserve, m: &M) -> bool {
        let reserve = left.with_segments(self.manifest_left());
        self.log.room(m, Stream::Table, self.log.geometry().page_bytes, reserve).is_ok()
    }

    fn write_node<M: SegmentStore, W: Meter>(&mut self, job: &mut Job, out: &Out, m: &mut M, w: &mut W) {
        let bytes = self.log.geometry().page_bytes;
        let writer = self.log.begin(m, Stream::Table, bytes);
        let page = PageAddr(writer.log_addr().0 / u64::from(bytes));
        self.log.put(m, &writer, 0, &out.bytes);
        self.log.commit(m, writer);
        self.add_page(page);
        job.made[out.link.0].new[out.link.1].stamp = page.0;
        job.flying.insert(page, out.link);
        job.last = m.last_tag();
        self.own.stats.nodes_written += 1;
        w.work(Unit::PageSwitch, 1);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::ChecksumByte, u64::from(bytes));
    }

    /// Writes a node whose program failed elsewhere. Its content is in the page buffer.
    pub(super) fn write_again<M: SegmentStore, W: Meter>(
        &mut self,
        job: &mut Job,
        m: &mut M,
        w: &mut W,
    ) -> Background {
        let Some(page) = job.failed.last().copied().filter(|_| self.has_room_for_node(FOR_NODE_REPAIRS, m))
        else {
            return Background::Waiting;
        };
        job.failed.pop();
        if let (Some(link), Page::Resident { data, .. }) =
            (job.flying.remove(&page), page_of(&self.log, m, page))
        {
            let out = Out { link, bytes: data.to_vec() };
            self.drop_page(page);
            self.write_node(job, &out, m, w);
        }
        Background::Worked
    }
}
