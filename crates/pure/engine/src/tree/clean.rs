// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where nodes lie: segments that nothing needs are given back, nodes in segments of which little is needed are moved. A node
//! moves as if something in it had changed, and so do those above it.

use super::TreeStore;
use super::descend::{Stop, Trail};
use super::merge::Job;
use super::node::Child;
use super::pack::MOVED_SEGMENTS;
use crate::ordered::block::{Block, name_of};
use crate::ordered::key::Key;
use saker_engine_api::{Background, KvError, Progress};
use saker_log::{SegmentState, page_of};
use saker_segment_store::{Page, PageAddr, SegmentId, SegmentStore, Step, Stream, Tag};
use saker_sim::Meter;

/// Pages that a quantum looks at.
const QUANTUM_PAGES: u32 = 8;

/// Looking for the nodes of a segment that the tree has.
#[derive(Clone, Debug)]
struct Search {
    victim: SegmentId,
    next: u32,
    /// Their keys by level.
    found: Vec<Vec<Key>>,
}

/// Where the moving of nodes stands.
#[derive(Clone, Debug, Default)]
pub struct State {
    search: Option<Box<Search>>,
    /// Segments from which nothing can be moved until something is given back.
    tried: Vec<SegmentId>,
}

impl State {
    /// Whether nodes are being looked for.
    pub fn is_running(&self) -> bool {
        self.search.is_some()
    }
}

impl TreeStore {
    /// Releases segments of nodes in which nothing is needed.
    pub(super) fn release_dead_nodes<M: SegmentStore>(&mut self, m: &mut M) {
        self.own.pins.is_swept = false;
        self.own.clean.tried.clear();
        for n in 0..self.log.geometry().segments {
            let id = SegmentId(n);
            let s = self.log.segment(id);
            let dead = s.state == SegmentState::Closed && s.live_bytes == 0 && s.stream() == Stream::Table;
            if dead && !s.has_failed() && s.in_flight == 0 {
                self.log.release(id, m);
                self.own.stats.node_segments_released += 1;
            }
        }
    }

    /// Ends the repair of segments of nodes whose failed pages have been written again.
    pub(super) fn repair_nodes<M: SegmentStore>(&mut self, finished: Tag, m: &mut M) -> Background {
        let failed = self.log.has_failures().then(|| self.log.tables_to_repair()).flatten();
        let Some(id) = failed else { return Background::Idle };
        let geometry = self.log.geometry();
        let mut pages = self.log.segment(id).failed_pages().iter().map(|n| geometry.page(id, *n));
        if pages.any(|page| self.own.job.as_ref().is_some_and(|job| job.has_page(page))) {
            return Background::Idle;
        }
        self.log.end_repair(id, m);
        self.log.pump(finished, m);
        self.own.pins.is_swept = true;
        Background::Worked
    }

    /// Moves the nodes of a segment. `Idle`: none is worth it.
    pub(super) fn clean_step<M: SegmentStore, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Background, KvError>> {
        if self.own.job.is_some() {
            return Step::Done(Ok(Background::Idle));
        }
        let mut search = match self.own.clean.search.take().or_else(|| self.new_search(m)) {
            Some(search) => search,
            None => return Step::Done(Ok(Background::Idle)),
        };
        let mut trail = Trail::default();
        let step = self.search_step(&mut search, &mut trail, m, w);
        match step {
            Ok(Progress::More) => self.own.clean.search = Some(search),
            Ok(Progress::Finished) => self.begin_moving(*search),
            Err(_) => self.own.clean.search = Some(search),
        }
        trail.step(step).map(|done| done.map(|_| Background::Worked))
    }

    /// Looks at some pages.
    fn search_step<M: SegmentStore, W: Meter>(
        &mut self,
        search: &mut Search,
        trail: &mut Trail,
        m: &M,
        w: &mut W,
    ) -> Result<Progress, Stop> {
        for _ in 0..QUANTUM_PAGES {
            if search.next >= self.log.segment(search.victim).next_page {
                return Ok(Progress::Finished);
            }
            let page = self.log.geometry().page(search.victim, search.next);
            *trail = Trail::default();
            trail.read.note(page);
            if let Some((level, key)) = self.used_node(page, trail, m, w)? {
                let levels = search.found.len().max(level as usize + 1);
                search.found.resize(levels, Vec::new());
                search.found[level as usize].push(key);
            }
            search.next += 1;
        }
        Ok(Progress::More)
    }

    /// The level and the first key of the node on a page, if the tree has it.
    fn used_node<M: SegmentStore, W: Meter>(
        &self,
        page: PageAddr,
        trail: &mut Trail,
        m: &M,
        w: &mut W,
    ) -> Result<Option<(u32, Key)>, Stop> {
        let data = match page_of(&self.log, m, page) {
            Page::Resident { data, .. } => data,
            Page::Absent => return Err(Stop::Absent),
            // If the tree has it, its readers find out.
            Page::Erased | Page::Torn | Page::Failed => return Ok(None),
        };
        let Some((birth, level)) = name_of(data) else { return Ok(None) };
        let first = Block::open(data, birth, level).and_then(|block| block.get(0));
        let Some(first) = first.filter(|_| level < self.own.tree.height) else { return Ok(None) };
        let here = self.locate(&self.own.tree, &first.key, level, trail, m, w)?;
        let is_used = here.is_some_and(|at| at.child == Child { page, birth });
        Ok(is_used.then_some((level, first.key)))
    }

    fn begin_moving(&mut self, mut search: Search) {
        if search.found.is_empty() {
            self.manifest.wanted |= self.manifest_helps();
            return self.own.clean.tried.push(search.victim);
        }
        search.found.iter_mut().for_each(|keys| keys.sort_unstable());
        let most = u64::from(MOVED_SEGMENTS * self.log.geometry().segment_pages);
        let job = Job::moving(self.own.tree, self.log.next_sequence(), search.found);
        self.own.job = Some(job.writes_at_most(most).resting());
        // Only when its old pages have gone it is worth another look.
        self.own.clean.tried.push(search.victim);
    }

    fn new_search<M: SegmentStore>(&self, m: &M) -> Option<Box<Search>> {
        if m.free_segments() > self.free_low(m).max(self.config.move_nodes_up_to_free) {
            return None;
        }
        // Where there is not, all nodes are written anew instead.
        if !self.own.has_held() && !self.has_room_for_all(MOVED_SEGMENTS, m) {
            return None;
        }
        let victim = self.node_victim()?;
        Some(Box::new(Search { victim, next: 0, found: Vec::new() }))
    }

    /// A closed segment at least half of which is not needed.
    fn node_victim(&self) -> Option<SegmentId> {
        let half = self.log.geometry().segment_bytes() / 2;
        let is_victim = |id: &SegmentId| {
            let s = self.log.segment(*id);
            let closed = s.state == SegmentState::Closed && s.stream() == Stream::Table;
            let is_worth_it = s.live_bytes > 0 && self.nodes_in(*id) <= half;
            closed && is_worth_it && s.in_flight == 0 && !s.has_failed() && !self.own.clean.tried.contains(id)
        };
        let all = (0..self.log.geometry().segments).map(SegmentId).filter(is_victim);
        all.min_by_key(|id| self.nodes_in(*id))
    }

    /// Bytes of the newest tree's nodes in a segment.
    fn nodes_in(&self, id: SegmentId) -> u64 {
        u64::from(self.own.nodes[id.0 as usize]) * self.page_bytes()
    }
}
