// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Merges that are computed elsewhere: on another thread than the store's, which goes on meanwhile. A merge takes along blocks of its
//! inputs and brings full pages back; reading and writing the medium stay the store's.

use super::around::Apart;
use super::builder::Builder;
use super::job::Job;
use super::merger::Merger;
use super::stretch::Stretch;
use super::table::{Layout, Table};
use super::{Lsm, LsmStore};
use crate::ordered::background::Piece;
use saker_engine_api::{Ask, Background, KvError, Task};
use saker_segment_store::{SegmentStore, Step};
use saker_sim::{Meter, Unit};
use std::any::Any;
use std::sync::Arc;

/// Pages of each input that a merge takes along when it leaves: what it merges takes long beside the way there and back.
const AHEAD_PAGES: usize = 8;
/// Pages that one quantum loads.
const LOADED_PAGES: usize = 2;
/// Full pages with which a merge comes back, and that wait to be written when the next ones are computed.
const PAGES_OUT: usize = 16;

/// A merge that is computed elsewhere.
#[derive(Debug)]
struct Errand {
    /// Its job has the other half.
    ticket: Arc<()>,
    merger: Merger,
    apart: Box<Apart>,
}

/// Memory that is needed soon is asked for; work is not counted.
struct Asks(Ask);

impl Meter for Asks {
    #[inline(always)]
    fn work(&mut self, _: Unit, _: u64) {}

    #[inline(always)]
    fn touches(&self) -> bool {
        true
    }

    #[inline(always)]
    fn touch<T>(&mut self, at: &T) {
        (self.0)(std::ptr::from_ref(at).cast());
    }
}

impl Task for Errand {
    fn run(&mut self, ask: Ask) {
        let mut asks = Asks(ask);
        let Self { merger, apart, .. } = self;
        while !merger.is_sealed() && !merger.wants() && !merger.is_corrupt() && !merger.is_through() {
            if merger.pages_out() >= PAGES_OUT {
                break;
            }
            merger.go_on(&mut **apart, &mut asks);
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Whether entries of a table have nothing in the value log.
fn is_whole(table: &Table) -> bool {
    table.refs.iter().next().is_none()
}

impl Job {
    /// Whether it may compute now: all that it goes on with is at hand, and few of its pages wait to be written.
    fn is_ready(&self) -> bool {
        let has_blocks = !self.merger.wants() && !self.merger.is_through() && !self.merger.is_corrupt();
        !self.is_out && !self.merger.is_sealed() && self.out.len() < PAGES_OUT && has_blocks
    }
}

impl LsmStore {
    /// Whether a job's merge is computed elsewhere. What refers to records of the value log is not: they are counted while it is merged.
    pub(super) fn goes_out(&self, job: &mut Job) -> bool {
        if job.is_apart() {
            return true;
        }
        let is_packed = matches!(self.config.layout(self.log.geometry().page_bytes), Layout::Packed(_));
        if !self.own.hands_out || !is_packed || self.reveal.is_running() {
            return false;
        }
        let is_whole = job.is_whole.unwrap_or_else(|| self.has_whole_inputs(job));
        *job.is_whole.insert(is_whole)
    }

    fn has_whole_inputs(&self, job: &Job) -> bool {
        if job.is_flush() {
            return self.own.frozen.front().is_some_and(|table| table.refs.iter().next().is_none());
        }
        let is_input = |table: &&Arc<Table>| job.reads(table.id);
        self.own.levels.all().map(|(_, table)| table).filter(is_input).all(|table| is_whole(table))
    }

    /// Loads blocks that a merge takes along. `Waiting`: it has what it needs, and waits for the driver.
    pub(super) fn prepare<M: SegmentStore>(&mut self, job: &mut Job, m: &M) -> Piece {
        if job.apart.is_none() {
            job.apart = Some(Box::new(Apart::of(self, job.to(), job.replaces(), job.span())));
        }
        let page_bytes = self.log.geometry().page_bytes as usize;
        let (ahead, most) = (AHEAD_PAGES * page_bytes, LOADED_PAGES * page_bytes);
        let mut loaded = 0;
        for n in 0..job.merger.inputs.len() {
            while job.merger.inputs[n].has_more() && job.merger.inputs[n].bytes_ahead() < ahead {
                if loaded >= most {
                    return Step::Done(Ok(Background::Worked));
                }
                let Some((table, block)) = job.merger.inputs[n].next() else { break };
                let (table, memory) = (Arc::clone(table), job.merger.inputs[n].memory());
                match self.stretch(&table, block, memory, m) {
                    Step::Done(Ok(stretch)) => {
                        loaded += stretch.bytes.len();
                        job.merger.inputs[n].load_ahead(stretch);
                    }
                    Step::Done(Err(e)) => return Step::Done(Err(e)),
                    Step::Need(reads) => return Step::Need(reads),
                    Step::Blocked(stall) => return Step::Blocked(stall),
                }
            }
        }
        Step::Done(Ok(if loaded > 0 { Background::Worked } else { Background::Waiting }))
    }

    /// A block of a table and those that follow it in its page.
    fn stretch<M: SegmentStore>(
        &self,
        table: &Arc<Table>,
        n: usize,
        mut bytes: Vec<u8>,
        m: &M,
    ) -> Step<Result<Stretch, KvError>> {
        let Some((base, _)) = self.span_of_block(table, n) else { return Step::Done(Err(KvError::Corrupt)) };
        let page_bytes = self.log.geometry().page_bytes;
        let page_end = (base / page_bytes + 1) * page_bytes;
        let (mut behind, mut end) = (n, base);
        while let Some((_, last)) =
            self.span_of_block(table, behind).filter(|(_, last)| behind == n || *last <= page_end)
        {
            (behind, end) = (behind + 1, last);
        }
        for page in base / page_bytes..=end.saturating_sub(1) / page_bytes {
            let looked = base.saturating_sub(page * page_bytes)..(end - page * page_bytes).min(page_bytes);
            match self.table_page(table, page as usize, looked, m) {
                Ok(_) => {}
                Err(super::lookup::Seen::Bad(e)) => return Step::Done(Err(e)),
                Err(_) => return Step::Need(self.pages_of_block(table, n).to_vec()),
            }
        }
        bytes.resize((end - base) as usize, 0);
        let copied = self.copy_of(table, base, &mut bytes, m);
        let stretch = Stretch { table: Arc::clone(table), blocks: n..behind, bytes, base, end };
        Step::Done(copied.map(|()| stretch).ok_or(KvError::Corrupt))
    }

    /// Work for another thread: of the flush first, which writes wait for.
    pub(super) fn merge_to_compute(&mut self) -> Option<Box<dyn Task>> {
        self.own.hands_out = true;
        let page_bytes = self.log.geometry().page_bytes as usize;
        let Lsm { flush, compactions, .. } = &mut self.own;
        let mut jobs = flush.iter_mut().chain(compactions);
        let job = jobs.find(|job| job.apart.is_some() && job.is_ready())?;
        let begins = !job.merger.has_builder();
        job.take_pages();
        (job.is_out, job.ticket) = (true, Arc::default());
        let (ticket, mut merger) = (Arc::clone(&job.ticket), std::mem::take(&mut job.merger));
        let mut apart = job.apart.take()?;
        apart.take_along(&mut self.own, begins);
        // Memory comes from this thread: what two threads take and give back in turn makes each wait for the other.
        let pages = merger.builder().map_or(&mut apart.memory.pages, Builder::spare);
        (pages.len()..PAGES_OUT + 1).for_each(|_| pages.push(Vec::with_capacity(page_bytes)));
        Some(Box::new(Errand { ticket, merger, apart }))
    }

    /// Work that was computed. Of a store that was there before this one, nothing is kept.
    pub(super) fn merge_is_computed(&mut self, task: Box<dyn Task>) {
        let Ok(errand) = task.into_any().downcast::<Errand>() else { return };
        let Errand { ticket, merger, mut apart } = *errand;
        let Lsm { flush, compactions, .. } = &mut self.own;
        let mut jobs = flush.iter_mut().chain(compactions);
        let Some(job) = jobs.find(|job| job.is_out && Arc::ptr_eq(&job.ticket, &ticket)) else { return };
        job.is_back(merger);
        let told = apart.tell();
        job.apart = Some(apart);
        self.own.stats.picks.ended_early += told.ended_early;
        self.longest.forget(told.forgotten);
    }

    /// Whether a merge is computed elsewhere, or waits until the driver takes it.
    pub(super) fn waits_for_task(&self) -> bool {
        self.own.flush.iter().chain(&self.own.compactions).any(Job::waits_for_task)
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::Builder;
    use super::*;
    use crate::ordered::key::Key;
    use saker_segment_store::PageAddr;

    /// Pages of an input that are moved while the merge is away are where they are when it goes on.
    #[test]
    fn a_merge_that_is_back_knows_where_pages_have_gone() {
        let table = |page: u64| {
            let first = Key::new(b"key").unwrap();
            let table = Builder::new(7, first, 4096, 10, Layout::Packed(4096)).table().clone();
            Arc::new(Table { pages: vec![PageAddr(page)], ..table })
        };
        let mut job = Job::rewriting(1, &[table(1)]);
        let merger = std::mem::take(&mut job.merger);
        job.is_out = true;
        job.refresh(&table(9));
        job.is_back(merger);
        assert_eq!(job.merger.inputs[0].tables_left()[0].pages, [PageAddr(9)]);
        let _ = job.resting();
    }
}
