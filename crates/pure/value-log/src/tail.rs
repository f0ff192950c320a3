// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tail of a log at recovery: the records behind the cut of a checkpoint, segment by segment.
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

use crate::record::Kind;
use crate::view::Records;
use crate::walk::{Next, Walked, Walker};
use saker_log::Cut;
use saker_log::recover::{Damage, LogImage, Recovered};
use saker_segment_store::{Geometry, PageAddr, SegmentStore, Step, ready};

/// A scan of the tail on its way.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    /// Segments to come, the next one last.
    left: Vec<Recovered>,
    walker: Option<Walker>,
    cut: Option<Cut>,
}

/// What a step of the scan came upon.
#[derive(Debug)]
pub enum Found {
    /// A record that the checkpoint does not know of.
    Record(Walked),
    /// Nothing that counts.
    Nothing,
    /// There is nothing more.
    End,
}

impl Tail {
    /// Of a log whose last whole checkpoint has the cut; without one all of it is the tail.
    pub fn new(image: &LogImage, cut: Option<Cut>) -> Self {
        let mut left = image.tail(cut.as_ref());
        left.retain(|r| r.stream.holds_records());
        left.reverse();
        Self { left, walker: None, cut }
    }

    /// The next record or piece without one. With `Need` it goes on from there.
    pub fn next<M: SegmentStore>(&mut self, records: &Records<'_>, m: &M) -> Step<Result<Found, Damage>> {
        if self.walker.is_none() {
            self.walker = self.left.pop().map(|r| Walker::new(r.id, r.pages));
        }
        let Some(walker) = &mut self.walker else { return Step::Done(Ok(Found::End)) };
        let next = match ready!(records.walk(walker, m)) {
            Ok(next) => next,
            Err(damage) => return Step::Done(Err(damage)),
        };
        Step::Done(match next {
            Next::Record(r) if self.is_behind_cut(&r, &m.geometry()) => Ok(Found::Record(r)),
            Next::Record(_) | Next::Unfinished => Ok(Found::Nothing),
            Next::End => {
                self.walker = None;
                Ok(Found::Nothing)
            }
            Next::Broken(log_addr) => {
                let page = PageAddr(log_addr.0 / u64::from(m.geometry().page_bytes));
                Err(Damage::record(&m.geometry(), page, records.explain(log_addr, m)))
            }
        })
    }

    /// Whether the checkpoint does not know of a record. The walker leaves pages that are older as a whole.
    fn is_behind_cut(&mut self, r: &Walked, geometry: &Geometry) -> bool {
        let Some(cut) = &self.cut else { return true };
        let Some(from) = cut.scan_from(r.page.sequence) else {
            if let Some(walker) = &mut self.walker {
                walker.leave_page(geometry.index_of(r.page.addr));
            }
            return false;
        };
        // A copy of a tombstone from before the cut: the checkpoint knows of it, and of what came after it.
        let is_old_tombstone = r.header.kind == Kind::Tombstone && r.header.version < cut.version;
        (r.log_addr.0 % u64::from(geometry.page_bytes)) as u32 >= from && !is_old_tombstone
    }
}
