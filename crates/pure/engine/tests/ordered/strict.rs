// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A driver that brings what `Need` names and nothing else, anew for every call: so each call must name all pages that the
//! next one looks at.

use crate::ordered::Ordered;
use crate::ordered::bench::{Bench, OWNER, scale};
use crate::ordered::groups::{expected, random};
use crate::ordered::layout::{Answered, Payload};
use saker_engine::{Background, Condition, Context, Job};
use saker_flash::{FaultPlan, NamespaceSegments};
use saker_segment_store::{
    Geometry, Order, Page, PageAddr, PageBuffer, PowerHistory, Reads, SegmentId, SegmentStore, SegmentView,
    SlotId, Step, Tag,
};
use saker_sim::{Class, Free, Seed};

/// A medium of which only some pages are here.
struct Strict<'a> {
    view: NamespaceSegments<'a>,
    here: &'a Reads,
}

impl SegmentStore for Strict<'_> {
    fn geometry(&self) -> Geometry {
        self.view.geometry()
    }
    fn page_buffer(&self) -> &PageBuffer {
        self.view.page_buffer()
    }
    fn page_buffer_mut(&mut self) -> &mut PageBuffer {
        self.view.page_buffer_mut()
    }
    fn page(&self, at: PageAddr) -> Page<'_> {
        match self.view.page(at) {
            Page::Resident { .. } if !self.here.contains(&at) => Page::Absent,
            page => page,
        }
    }
    fn allocate(&mut self) -> Option<SegmentId> {
        self.view.allocate()
    }
    fn epoch(&self, segment: SegmentId) -> u32 {
        self.view.epoch(segment)
    }
    fn free_segments(&self) -> u32 {
        self.view.free_segments()
    }
    fn quota_segments(&self) -> u32 {
        self.view.quota_segments()
    }
    fn program(&mut self, at: PageAddr, slot: SlotId, order: Order) -> Tag {
        self.view.program(at, slot, order)
    }
    fn erase(&mut self, segment: SegmentId) -> Tag {
        self.view.erase(segment)
    }
    fn sync(&mut self) -> Tag {
        self.view.sync()
    }
    fn last_tag(&self) -> Tag {
        self.view.last_tag()
    }
    fn survey(&self) -> Vec<SegmentView> {
        self.view.survey()
    }
    fn history(&self) -> PowerHistory {
        self.view.history()
    }
}

/// Most times in a row that one call may need pages: memtables, a node or table of each level, and the value.
const TURNS_MAX: u32 = 60;

/// Calls until no page is needed; a blocked operation waits for background work.
fn strictly<S: Ordered, T>(
    bench: &mut Bench<S>,
    mut op: impl FnMut(&mut S, &mut Strict<'_>) -> Step<T>,
) -> T {
    let (mut here, mut turns) = (Reads::new(), 0);
    loop {
        let before = bench.store.digest();
        let view = bench.flash.view(OWNER, Class::Foreground);
        match op(&mut bench.store, &mut Strict { view, here: &here }) {
            Step::Done(done) => return done,
            Step::Need(reads) => {
                assert_eq!(before, bench.store.digest(), "what waits for pages changes nothing");
                assert!(!reads.is_empty() && turns < TURNS_MAX, "it never has all that it looks at");
                (here, turns) = (reads, turns + 1);
            }
            Step::Blocked(_) => {
                (here, turns) = (Reads::new(), 0);
                bench.settle();
                background(bench);
            }
        }
    }
}

fn background<S: Ordered>(bench: &mut Bench<S>) -> bool {
    let finished = bench.flash.finished();
    let (mut here, mut turns) = (Reads::new(), 0);
    let did = loop {
        let view = bench.flash.view(OWNER, Class::Background);
        let step = bench.store.background(
            Job::UPKEEP,
            finished,
            &mut Context::new(&mut Strict { view, here: &here }, &mut Free),
        );
        match step {
            Step::Done(did) => break did,
            Step::Need(reads) => {
                assert!(turns < TURNS_MAX, "background work never has all that it looks at");
                (here, turns) = (reads, turns + 1);
            }
            Step::Blocked(stall) => panic!("background blocked: {stall:?}"),
        }
    };
    bench.settle();
    did == Background::Worked
}

/// Groups of every form, and single operations between them, with a snapshot held now and then.
pub fn every_need_names_all_pages<S: Ordered>() {
    for seed in saker_testing::seeds(scale(1)) {
        let mut rng = Seed(seed).rng();
        let mut bench = Bench::<S>::new(S::small(seed % 2 == 0), FaultPlan::default());
        let mut snapshots = Vec::new();
        for step in 0..2000 {
            let entries = random::<S>(&mut rng);
            let (told, payload) = (expected(&bench.model, &entries), Payload::of(&entries));
            let answers = strictly(&mut bench, |s, m| {
                let (mut source, mut answers) = (payload.clone(), Answered::default());
                s.group(&mut source, &mut answers, &mut Context::new(m, &mut Free))
                    .map(|done| done.map(|()| answers.0))
            });
            assert_eq!(answers, Ok(told.clone()), "step {step}");
            bench.follow(&entries, &told);
            let k = S::pick(&mut rng);
            let mut value = Vec::new();
            let found = strictly(&mut bench, |s, m| {
                value.clear();
                s.retrieve(&k, &mut value, &mut Context::new(m, &mut Free))
            });
            assert_eq!(found.ok().map(|_| &value), bench.model.get(&k), "step {step}");
            let condition =
                if bench.model.contains_key(&k) { Condition::MustExist } else { Condition::MustNotExist };
            strictly(&mut bench, |s, m| {
                s.store(&k, &mut &b"value"[..], condition, &mut Context::new(m, &mut Free))
            })
            .expect("the condition holds");
            bench.model.insert(k, b"value".to_vec());
            // Not for long: the tree keeps what snapshots see, on a flash that has little room.
            if step % 100 == 50 {
                snapshots.extend(bench.store.snapshot());
            }
            if step % 100 == 70 {
                snapshots.drain(..).for_each(|snapshot| bench.store.release(snapshot));
            }
            bench.settle();
            if bench.store.job(&bench.flash.view(OWNER, Class::Foreground)).is_some() {
                background(&mut bench);
            }
            (0..S::idle(step)).for_each(|_| _ = background(&mut bench));
        }
        bench.check();
        assert!(bench.done().iter().all(|n| *n > 3), "{:?}", bench.done());
    }
}
