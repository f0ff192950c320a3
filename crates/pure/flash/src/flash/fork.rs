// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A copy of the flash with other times.

use super::Flash;
use crate::nand::{TimingModel, Timings};
use saker_sim::Instant;

impl Flash {
    /// A copy, powered on at the beginning of time; `None`: operations take no time. Cells, page buffer, pool and counters are as here.
    ///
    /// # Panics
    /// When something is outstanding: it would never finish in the copy.
    #[must_use]
    pub fn fork(&self, timings: Option<Timings>) -> Self {
        assert!(self.is_quiet(), "a copy is taken when nothing is outstanding");
        let mut copy = self.clone();
        copy.model = timings.map(|t| TimingModel::new(t, self.shape));
        copy.now = Instant::ZERO;
        copy
    }
}

#[cfg(test)]
mod tests {
    use crate::nand::{Cells, Shape, Timings};
    use crate::{FaultPlan, Flash, MemCells};
    use saker_segment_store::{Geometry, PageBuffer, SegmentStore};
    use saker_sim::Class;

    #[test]
    fn a_copy_goes_its_own_way() {
        let geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 4, segments: 4 };
        let media = MemCells::new(Shape { geometry, channels: 1, luns: 1 });
        let mut flash = Flash::power_on(media, PageBuffer::heap(4, 512, 64), None, FaultPlan::default());
        flash.pool_mut().set_quota(1, 4);
        let segment = flash.view(1, Class::Foreground).allocate().expect("a free segment");
        let mut copy = flash.fork(Some(Timings::FREE));
        assert!(copy.is_timed() && !flash.is_timed());
        copy.view(1, Class::Foreground).erase(segment);
        assert!(!copy.is_quiet() && flash.is_quiet(), "the erase takes its time, in the copy alone");
        while let Some(at) = copy.next_at() {
            copy.step(at);
        }
        assert_eq!((copy.media().epoch(segment), flash.media().epoch(segment)), (1, 0));
    }
}
