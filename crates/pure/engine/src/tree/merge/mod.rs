// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Merging a buffer into the tree: level by level from the leaves up, each node written elsewhere. A level is done when all its
//! pages are on the medium, those whose program failed written once more; only then does the level above refer to them.

mod input;
mod install;
mod rebuild;
mod write;

use super::descend::{Located, Stop, Trail};
use super::node::Child;
use super::{Tree, TreeStore};
use crate::ordered::key::{Entry, Key};
use crate::ordered::memtable::{Memtable, Position};
use crate::ordered::refs::Refs;
use saker_duty::Duty;
use saker_engine_api::{Background, KvError};
use saker_segment_store::{PageAddr, SegmentStore, Step, Tag};
use saker_sim::{Free, Meter};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Nodes that are read together.
const WINDOW_NODES: usize = 16;
/// Pages that may wait to be written before more nodes are made.
const OUT_PAGES_MAX: usize = 32;

/// Neighbours under one parent that were replaced.
#[derive(Clone, Debug)]
struct Change {
    /// The first one's key in its parent.
    lo: Option<Key>,
    olds: usize,
    /// Links to what replaces them. A page is known when it is written.
    new: Vec<Entry>,
}

/// Nodes on their way: entries of neighbours under one parent that go on together.
#[derive(Clone, Debug)]
struct Open {
    lo: Option<Key>,
    olds: usize,
    items: Vec<Entry>,
    /// The neighbour behind.
    next: Option<Key>,
}

/// A page to be written, and the link that waits for its place.
#[derive(Clone, Debug)]
struct Out {
    link: (usize, usize),
    bytes: Vec<u8>,
}

/// Whether every node of a level is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum All {
    /// Only those in which something changes.
    No,
    /// Those from this key on; `None`: all.
    From(Option<Key>),
    /// All have been.
    Done,
}

/// A merge on its way.
#[derive(Clone, Debug)]
pub struct Job {
    /// What is merged; `None`: nodes are only moved.
    updates: Option<Arc<Memtable>>,
    /// Of each key the newest version up to `upto` counts, if it is newer than `after`, which an earlier root has.
    after: u64,
    upto: u64,
    /// Nodes to be moved: a key of each by level, in order.
    touched: Vec<Vec<Key>>,
    /// Whether every node is made anew.
    all: All,
    /// Pages that it writes at most.
    pages_max: u64,
    base: Tree,
    /// The root that this makes.
    seq: u64,
    level: u32,
    /// Where the input of this level stands.
    at: Position,
    change: usize,
    touch: usize,
    /// A node that a small neighbour needs.
    forced: Option<Key>,
    /// Of the level below, and of this one.
    changes: Vec<Change>,
    made: Vec<Change>,
    open: Option<Open>,
    out: VecDeque<Out>,
    flying: BTreeMap<PageAddr, (usize, usize)>,
    failed: Vec<PageAddr>,
    last: Tag,
    /// The root has but one child, which takes its place.
    is_sunk: bool,
    dead: Vec<Child>,
    written: Vec<PageAddr>,
    gained: Refs,
    lost: Vec<Entry>,
    entries_gained: u64,
    entries_lost: u64,
    duty: Duty,
}

impl Job {
    /// Its store has it where it finds it again, and may go with it.
    pub fn resting(mut self) -> Box<Self> {
        self.duty.rest();
        Box::new(self)
    }

    fn new(base: Tree, seq: u64, updates: Option<Arc<Memtable>>, (after, upto): (u64, u64)) -> Self {
        Self {
            updates,
            after,
            upto,
            touched: Vec::new(),
            all: All::No,
            pages_max: 0,
            base,
            seq,
            level: 0,
            at: Position::Start,
            change: 0,
            touch: 0,
            forced: None,
            changes: Vec::new(),
            made: Vec::new(),
            open: None,
            out: VecDeque::new(),
            flying: BTreeMap::new(),
            failed: Vec::new(),
            last: Tag::default(),
            is_sunk: false,
            dead: Vec::new(),
            written: Vec::new(),
            gained: Refs::default(),
            lost: Vec::new(),
            entries_gained: 0,
            entries_lost: 0,
            duty: Duty::new("a merge is installed, or goes on later"),
        }
    }

    /// Moves nodes: keys of them by level.
    pub fn moving(base: Tree, seq: u64, touched: Vec<Vec<Key>>) -> Self {
        Self { touched, ..Self::new(base, seq, None, (0, u64::MAX)) }
    }

    /// The same, with every node made anew.
    pub fn of_all(self) -> Self {
        let all = if self.base.root.is_some() { All::From(None) } else { All::No };
        let pages_max = self.pages_max.max(self.base.pages);
        Self { all, pages_max, ..self }
    }

    /// The same, which writes so many pages at most.
    pub fn writes_at_most(self, pages_max: u64) -> Self {
        Self { pages_max, ..self }
    }

    /// Pages that it will still write at most.
    pub fn pages_left(&self) -> u64 {
        self.pages_max.saturating_sub((self.written.len() + self.flying.len()) as u64)
    }

    /// Whether it could still need what is on a page.
    pub fn has_page(&self, page: PageAddr) -> bool {
        self.flying.contains_key(&page)
    }

    /// Pages that it has written, and that no tree has yet.
    pub fn pages(&self) -> impl Iterator<Item = PageAddr> {
        self.flying.keys().chain(&self.written).copied()
    }

    /// Whether it merges a buffer.
    pub fn merges(&self) -> bool {
        self.updates.is_some()
    }

    /// A program failed.
    pub fn page_failed(&mut self, page: PageAddr) {
        if self.flying.contains_key(&page) {
            self.failed.push(page);
        }
    }

    fn is_at_root(&self) -> bool {
        self.level + 1 >= self.base.height
    }
}

impl TreeStore {
    /// One piece of the merge that is due. `Idle`: none is.
    pub(super) fn merge_step<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Background, KvError>> {
        if self.own.imm.is_none() && self.is_full() {
            self.freeze_full(m);
        }
        if self.own.job.is_none() {
            let Some(imm) = &self.own.imm else { return Step::Done(Ok(Background::Idle)) };
            let updates = Some(Arc::clone(&imm.updates));
            let job = Job::new(self.own.tree, self.log.next_sequence(), updates, self.next_round(0));
            let job = if self.must_write_all(m) {
                job.writes_at_most(self.pages_of_all()).of_all()
            } else {
                job.writes_at_most(self.pages_of_merge())
            };
            self.own.job = Some(job.resting());
        }
        let Some(mut job) = self.own.job.take() else { return Step::Done(Ok(Background::Idle)) };
        job.duty.owe();
        let step = self.job_step(&mut job, finished, m, w);
        if matches!(step, Step::Done(Ok(Background::Idle))) {
            self.install(*job);
            return Step::Done(Ok(Background::Worked));
        }
        job.duty.rest();
        self.own.job = Some(job);
        step
    }

    /// The versions that the next root is for: up to those that the oldest snapshot of a part of the buffer sees. One from
    /// before the buffer's first write can see copies in it that a collection had made by then.
    fn next_round(&self, after: u64) -> (u64, u64) {
        let part = |version: &u64| {
            let imm = self.own.imm.as_ref();
            imm.is_some_and(|imm| imm.first <= *version + 1 && *version < imm.last && *version > after)
        };
        let mut versions = self.own.pins.snapshots.iter().map(|held| held.version);
        (after, versions.find(part).unwrap_or(u64::MAX))
    }

    /// `Idle`: all that belongs to the new root is on the medium.
    fn job_step<M: SegmentStore, W: Meter>(
        &mut self,
        job: &mut Job,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Background, KvError>> {
        if !job.failed.is_empty() {
            return Step::Done(Ok(self.write_again(job, m, w)));
        }
        if !job.out.is_empty() {
            return Step::Done(Ok(self.write_nodes(job, m, w)));
        }
        if job.base.root.is_none() && job.level == 0 && self.first_leaves(job) {
            return Step::Done(Ok(Background::Worked));
        }
        if job.visit_from(None).is_some() {
            let mut trail = Trail::default();
            let step = self.rebuild_window(job, &mut trail, m, w);
            return trail.step(step).map(|done| done.map(|()| Background::Worked));
        }
        if job.open.is_some() {
            self.close(job);
            return Step::Done(Ok(Background::Worked));
        }
        if job.last > finished {
            return Step::Done(Ok(Background::Waiting));
        }
        let did = if self.next_level(job) { Background::Worked } else { Background::Idle };
        Step::Done(Ok(did))
    }

    /// Makes nodes anew, several at a time. On an error nothing happened.
    fn rebuild_window<M: SegmentStore, W: Meter>(
        &mut self,
        job: &mut Job,
        trail: &mut Trail,
        m: &M,
        w: &mut W,
    ) -> Result<(), Stop> {
        let window = self.window(job, trail, m, w)?;
        for place in window {
            let is_needed = job.forced.is_none_or(|key| place.lo == Some(key));
            if !is_needed || job.out.len() >= OUT_PAGES_MAX {
                break;
            }
            let node = self.node(place.child, job.level, &mut Trail::default(), m, &mut Free)?;
            let items = (0..node.count()).map(|n| node.get(n)).collect::<Option<Vec<_>>>();
            let items = items.ok_or(KvError::Corrupt)?;
            self.rebuild(job, &place, items, w)?;
        }
        Ok(())
    }

    /// The next nodes that are to be made anew, all of them here.
    fn window<M: SegmentStore, W: Meter>(
        &self,
        job: &Job,
        trail: &mut Trail,
        m: &M,
        w: &mut W,
    ) -> Result<Vec<Located>, Stop> {
        let (mut window, mut from, mut is_absent) = (Vec::new(), None, false);
        while let Some(key) = job.visit_from(from).filter(|_| window.len() < WINDOW_NODES) {
            match self.locate(&job.base, &key, job.level, trail, m, w) {
                Ok(Some(place)) => {
                    match self.node(place.child, job.level, trail, m, w) {
                        Err(Stop::Absent) => is_absent = true,
                        Err(failed) => return Err(failed),
                        Ok(_) => {}
                    }
                    window.push(place);
                    from = place.hi;
                }
                Ok(None) => break,
                // What stands before it can be done first.
                Err(Stop::Absent) if !window.is_empty() => break,
                Err(stop) => return Err(stop),
            }
            if from.is_none() {
                break;
            }
        }
        if is_absent { Err(Stop::Absent) } else { Ok(window) }
    }

    /// Goes up a level. `false`: the root is made.
    fn next_level(&mut self, job: &mut Job) -> bool {
        job.written.extend(std::mem::take(&mut job.flying).into_keys());
        if !job.is_at_root() {
            job.changes = std::mem::take(&mut job.made);
            (job.level, job.change, job.touch) = (job.level + 1, 0, 0);
            job.begin_level();
            return true;
        }
        let links: Vec<Entry> = job.made.iter().flat_map(|change| change.new.iter().copied()).collect();
        if links.len() <= 1 {
            return false;
        }
        job.made.clear();
        job.level += 1;
        job.open = Some(Open { lo: None, olds: 0, items: links, next: None });
        true
    }
}
