// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that begin when all earlier ones of their owner have ended ([`Order::Behind`]).
//!
//! Until then they wait here, and later programs of the same segment behind them, since pages of a block are programmed in order. To their owner
//! they are on their way. A power cut leaves nothing of them: so where such a page is found, all before it are there, too.

use super::Flash;
use super::jobs::JobKind;
use crate::nand::timing::{TimingModel, Work};
use saker_segment_store::{Order, PageAddr, PageHeader, SlotId, Stream, Tag};
use saker_sim::Class;
use std::collections::{BTreeSet, VecDeque};

/// A program on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) tag: Tag,
    pub(super) at: PageAddr,
    pub(super) slot: SlotId,
    pub(super) owner: u16,
}

/// Programs that have not ended, and those of them that have not begun.
#[derive(Clone, Debug, Default)]
pub(super) struct Ordered {
    /// By owner; only with a timing model.
    running: BTreeSet<(u16, Tag)>,
    waiting: VecDeque<(Program, Order, Class)>,
}

impl Ordered {
    /// Programs that have not begun.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// A program has ended. Whether others may wait for that.
    #[inline]
    pub(super) fn ended(&mut self, owner: u16, tag: Tag) -> bool {
        self.running.remove(&(owner, tag)) && !self.waiting.is_empty()
    }

    /// Forgets what waits of an owner; the tags.
    pub(super) fn drop_all(&mut self, dropped: u16) -> Vec<Tag> {
        self.running.retain(|(owner, _)| *owner != dropped);
        let of_it: Vec<_> =
            self.waiting.iter().filter(|(p, ..)| p.owner == dropped).map(|(p, ..)| p.tag).collect();
        self.waiting.retain(|(p, ..)| p.owner != dropped);
        of_it
    }

    fn has_earlier(&self, p: &Program) -> bool {
        self.running.range((p.owner, Tag(0))..(p.owner, p.tag)).next().is_some()
    }
}

impl Flash {
    /// Begins a program, or lets it wait.
    pub(super) fn submit_program(&mut self, p: Program, order: Order) {
        let class = self.class;
        let segment = |at| self.shape.geometry.segment_of(at);
        let queues =
            self.ordered.waiting.iter().any(|(q, ..)| q.owner == p.owner && segment(q.at) == segment(p.at));
        let waits = queues || order == Order::Behind && self.ordered.has_earlier(&p);
        self.ordered.running.insert((p.owner, p.tag));
        if waits {
            self.ordered.waiting.push_back((p, order, class));
        } else {
            self.begin_program(p, class);
        }
    }

    /// Whether a page holds what a collection copied, where that makes a difference.
    fn is_copy(&self, slot: SlotId, at: PageAddr) -> bool {
        if !self.model.as_ref().is_some_and(TimingModel::copies_are_free) {
            return false;
        }
        let header = PageHeader::decode(self.page_buffer.oob(slot), at);
        header.is_ok_and(|header| header.is_some_and(|header| header.stream == Stream::Gc))
    }

    fn begin_program(&mut self, p: Program, class: Class) {
        let Program { tag, at, slot, owner } = p;
        let is_copy = self.is_copy(slot, at);
        let work = if is_copy { Work::Copy(at) } else { Work::Program(at) };
        self.start(JobKind::Program { tag, at, slot, owner }, work, class);
    }

    /// Begins what need not wait any more: of each owner the first, and those behind it.
    pub(super) fn begin_waiting(&mut self) {
        let (mut blocked, mut still) = (BTreeSet::new(), VecDeque::new());
        for (p, order, class) in std::mem::take(&mut self.ordered.waiting) {
            let waits = order == Order::Behind && self.ordered.has_earlier(&p);
            if !blocked.contains(&p.owner) && !waits {
                self.begin_program(p, class);
            } else {
                blocked.insert(p.owner);
                still.push_back((p, order, class));
            }
        }
        self.ordered.waiting = still;
    }
}

#[cfg(test)]
mod tests {
    use crate::nand::timing::NandModel;
    use crate::nand::{Cell, Cells, PowerCut, Shape, Timings};
    use crate::{FaultPlan, Flash, MemCells};
    use saker_segment_store::{
        Geometry, Order, PageAddr, PageBuffer, PageHeader, SegmentId, SegmentStore, Stream,
    };
    use saker_sim::{Class, Duration};

    const TIMED: Timings = Timings::Nand(NandModel {
        reads: [Duration::from_nanos(50_000); 3],
        program: Duration::from_nanos(600_000),
        program_pages: 1,
        copies_are_free: false,
        erase: Duration::from_nanos(3_000_000),
        channel_bandwidth: 400_000_000,
    });
    const GEOMETRY: Geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 16, segments: 4 };

    fn flash() -> Flash {
        let media = MemCells::new(Shape { geometry: GEOMETRY, channels: 4, luns: 4 });
        let page_buffer = PageBuffer::heap(16, 512, 64);
        let mut flash = Flash::power_on(media, page_buffer, Some(TIMED), FaultPlan::default());
        flash.pool_mut().set_quota(1, 2);
        flash.pool_mut().set_quota(2, 2);
        flash
    }

    fn program(flash: &mut Flash, owner: u16, page: u64, order: Order) {
        let at = PageAddr(page);
        let header = PageHeader {
            owner,
            shard: 0,
            stream: Stream::User,
            epoch: 0,
            sequence: page + 1,
            addr: at,
            used_bytes: 512,
            first_record: 0,
            data_crc: 0,
        };
        let mut view = flash.view(owner, Class::Foreground);
        let slot = view.page_buffer_mut().open(&header).expect("a free slot");
        view.page_buffer_mut().publish(slot, 512);
        view.page_buffer_mut().seal(slot, false);
        view.program(at, slot, order);
    }

    fn is_there(cells: &MemCells, page: u64) -> bool {
        matches!(cells.cell(PageAddr(page)), Cell::Programmed { .. })
    }

    /// At every event and for many fates of what is under way: a page that is there has all before it.
    #[test]
    fn a_page_behind_others_is_there_only_with_them() {
        let mut flash = flash();
        let first = flash.view(1, Class::Foreground).allocate().expect("free");
        assert_eq!(first, SegmentId(0));
        for page in 0..12 {
            program(&mut flash, 1, page, if page % 4 == 3 { Order::Behind } else { Order::Any });
        }
        let (mut seen, mut overtaken) = (0, 0);
        loop {
            for seed in 0..40 {
                let (cells, _) = flash.cut(PowerCut { seed, ring_kept: false });
                let there: Vec<_> = (0..12).map(|page| is_there(&cells, page)).collect();
                for page in (3..12).step_by(4).filter(|page| there[*page]) {
                    assert!(there[..page].iter().all(|is| *is), "{there:?}");
                    seen += 1;
                }
                overtaken += there.windows(2).filter(|w| !w[0] && w[1]).count();
            }
            while flash.take_completion().is_some() {}
            let Some(at) = flash.next_at() else { break };
            flash.step(at);
        }
        assert!(flash.is_quiet() && seen > 100 && overtaken > 100, "{seen} pages, {overtaken} overtaken");
    }

    /// Nobody waits for programs of another owner.
    #[test]
    fn owners_do_not_wait_for_each_other() {
        let mut flash = flash();
        flash.view(1, Class::Foreground).allocate().expect("free");
        flash.view(2, Class::Foreground).allocate().expect("free");
        program(&mut flash, 1, 0, Order::Any);
        program(&mut flash, 2, 17, Order::Behind);
        assert_eq!(flash.ordered.waiting(), 0);
        program(&mut flash, 1, 1, Order::Behind);
        program(&mut flash, 1, 2, Order::Any);
        assert_eq!(flash.ordered.waiting(), 2, "later pages of the block wait, too");
    }
}
