// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Steps of the recovery of a map on flash ([`super::super::dftl`]).
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

use super::{Event, Phase, Recovery};
use saker_log::recover::{Damage, Progress};
use saker_segment_store::{SegmentStore, Step, ready};

impl Recovery {
    pub(super) fn forget_chunks(&mut self) {
        self.map.map.fill(0);
        self.replay.forget();
    }

    pub(super) fn find_translations<M: SegmentStore>(&mut self, m: &M) -> Step<Result<Progress, Damage>> {
        self.phase = Phase::Translations;
        let all_found = match ready!(self.map.find_translations(&mut self.replay, m)) {
            Ok(all_found) => all_found,
            Err(damage) => return Step::Done(Err(damage)),
        };
        if all_found {
            self.phase = Phase::Apply;
        }
        Step::Done(Ok(Progress::More))
    }

    pub(super) fn replay_page<M: SegmentStore>(&mut self, m: &M) -> Step<Result<Progress, Damage>> {
        self.phase = Phase::Replay;
        let replayed = ready!(self.map.replay_page(&mut self.replay, m));
        Step::Done(replayed.map(|is_last| if is_last { Progress::Finished } else { Progress::More }))
    }

    /// What the log says, in order, is to be brought into translation pages.
    pub(super) fn note_events(&mut self) -> Progress {
        for (_, event) in std::mem::take(&mut self.events) {
            let ranges = match event {
                Event::Write { lba, position } => vec![(lba..lba.saturating_add(1), position as u32 + 1)],
                Event::Trim(ranges) => {
                    ranges.into_iter().map(|(first, n)| (first..first.saturating_add(n), 0)).collect()
                }
            };
            for (blocks, word) in ranges {
                self.map.note_event(&mut self.replay, blocks, word);
            }
        }
        self.phase = Phase::Replay;
        Progress::More
    }
}
