// SPDX-License-Identifier: Apache-2.0 OR MIT
//! List: pairs in the order of the index, from any possible key on.

use super::HashStore;
use saker_engine_api::{Context, KvError, List, Scans};
use saker_segment_store::{SegmentStore, Step};
use saker_sim::{Meter, Unit};

impl List for HashStore {
    fn list<M: SegmentStore, W: Meter>(
        &mut self,
        from: &[u8],
        mut visit: impl FnMut(&[u8]) -> bool,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        let start = match (from, self.index.place(from)) {
            ([], _) => None,
            (_, Some(place)) => Some(place),
            (_, None) => return Step::Done(Err(KvError::KeySize)),
        };
        self.enter_pending();
        cx.meter.work(Unit::Probe, 2);
        self.index.visit(start, |place, _| {
            cx.meter.work(Unit::ListEntry, 1);
            let (key, len) = self.index.key(place);
            visit(&key[..len])
        });
        Step::Done(Ok(()))
    }
}

/// The order of its keys is no one's but its own, and nothing that is replaced is kept.
impl Scans for HashStore {}
