// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Searches for many keys at once: level by level, so that the cache misses of all of them overlap, and in the order of the keys, so that
//! those which share a node look it up once.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::TreeStore;
use super::descend::{Stop, Trail};
use super::node::Child;
use crate::ordered::block::{Block, Narrow};
use crate::ordered::key::{Entry, Key};
use crate::ordered::structure::Sought;
use saker_engine_api::KvError;
use saker_segment_store::{Reads, SegmentStore};
use saker_sim::{Meter, Unit};

/// Keys that go down together: more misses than that no processor has under way.
const TOGETHER: usize = 256;

/// One of the keys on its way down.
struct Seeker<'a> {
    key: Key,
    /// Which of the keys it is.
    n: usize,
    /// The node of the next level; `None` once it goes no further.
    child: Option<Child>,
    /// The node of this level, and how far the search in it is.
    node: Option<(Block<'a>, Narrow)>,
}

impl TreeStore {
    /// The newest entries of the keys, as everything is now.
    pub(super) fn find_all<M: SegmentStore, W: Meter>(
        &self,
        keys: &[Key],
        m: &M,
        w: &mut W,
    ) -> Sought<Trail> {
        let mut sought = Sought {
            found: vec![Ok(None); keys.len()],
            trails: Vec::new(),
            needed: Reads::new(),
            is_absent: false,
        };
        for run in self.seek(keys, &mut sought.found, w).chunks_mut(TOGETHER) {
            self.descend(run, &mut sought, m, w);
        }
        sought
    }

    /// From the root to the entries.
    fn descend<'a, M: SegmentStore, W: Meter>(
        &'a self,
        seekers: &mut [Seeker<'a>],
        sought: &mut Sought<Trail>,
        m: &'a M,
        w: &mut W,
    ) {
        let (view, mut trail) = (self.view(None), Trail::default());
        for level in (0..view.tree.height).rev() {
            self.enter_nodes(seekers, level, sought, &mut trail, m, w);
            narrow_all(seekers, w);
            for seeker in seekers.iter_mut() {
                let Some((node, narrow)) = &seeker.node else { continue };
                w.work(Unit::Compare, u64::from(node.count().max(1).ilog2() + 1));
                let Some(found) = sought.found.get_mut(seeker.n) else { continue };
                if level == 0 {
                    let e = node.get(narrow.low()).filter(|e| e.key == seeker.key);
                    *found = Ok(e.map(|e| self.as_now(e, &view)));
                    continue;
                }
                match node.get(narrow.low().saturating_sub(1)) {
                    Some(link) => seeker.child = Some(Child::of(&link)),
                    None => (*found, seeker.child) = (Err(KvError::Corrupt), None),
                }
            }
        }
        sought.trails.push(trail);
    }

    /// Looks into the buffers. The others, in the order of their keys, at the root.
    fn seek<'a, W: Meter>(
        &self,
        keys: &[Key],
        found: &mut [Result<Option<Entry>, KvError>],
        w: &mut W,
    ) -> Vec<Seeker<'a>> {
        w.work(Unit::Probe, 2 * keys.len() as u64);
        if w.touches() {
            keys.iter().for_each(|key| self.mem.touch(key.hash(), w));
        }
        let mut seekers = Vec::with_capacity(keys.len());
        for (n, (key, found)) in keys.iter().zip(found).enumerate() {
            let buffered = self.find_buffered(key, key.hash(), u64::MAX);
            match (buffered, self.own.tree.root) {
                (None, child @ Some(_)) => seekers.push(Seeker { key: *key, n, child, node: None }),
                (e, _) => *found = Ok(e),
            }
        }
        seekers.sort_unstable_by_key(|seeker| seeker.key);
        seekers
    }

    /// The node of each.
    fn enter_nodes<'a, M: SegmentStore, W: Meter>(
        &'a self,
        seekers: &mut [Seeker<'a>],
        level: u32,
        sought: &mut Sought<Trail>,
        trail: &mut Trail,
        m: &'a M,
        w: &mut W,
    ) {
        let mut last: Option<(Child, Option<Block<'a>>)> = None;
        for seeker in seekers {
            seeker.node = None;
            let Some(child) = seeker.child else { continue };
            let node = match last.filter(|(known, _)| *known == child) {
                Some((_, node)) => node,
                None => match self.node(child, level, trail, m, w) {
                    Ok(node) => Some(node),
                    Err(Stop::Absent) => None,
                    Err(Stop::Failed(e)) => {
                        seeker.child = None;
                        sought.found.get_mut(seeker.n).into_iter().for_each(|found| *found = Err(e));
                        continue;
                    }
                },
            };
            last = Some((child, node));
            let Some(node) = node else {
                (sought.is_absent, seeker.child) = (true, None);
                continue;
            };
            // Births are not 0: a link is behind all that are not behind its key.
            let version = if level == 0 { u64::MAX } else { 0 };
            seeker.node = Some((node, Narrow::new(&node, version)));
        }
    }
}

/// All searches go on in step: what one looks at next is asked for while the others compare.
fn narrow_all<W: Meter>(seekers: &mut [Seeker<'_>], w: &mut W) {
    let mut is_open = true;
    while is_open {
        is_open = false;
        for Seeker { key, node, .. } in seekers.iter_mut() {
            if let Some((node, narrow)) = node {
                is_open |= narrow.step(node, key);
                node.touch(narrow.middle(), w);
            }
        }
    }
}
