// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what a block namespace remembers agrees with itself.

use super::PageMap;
use saker_log::{LiveBytes, SegmentState, ensure};
use saker_segment_store::{SegmentStore, Stream};
use std::collections::BTreeSet;

impl PageMap {
    pub(super) fn check_all(&self, m: &dyn SegmentStore) -> Result<(), String> {
        self.log.check(m)?;
        match &self.dftl {
            None => self.check_map()?,
            Some(d) => self.check_translations(d)?,
        }
        if let Some(gc) = &self.gc {
            let s = self.log.segment(gc.segment());
            let held = matches!(s.state, SegmentState::Open | SegmentState::Closed);
            let sound = held && (s.stream().holds_records() || s.stream() == Stream::Map);
            ensure(sound, || format!("a collection is in {:?}, which is {:?}", gc.segment(), s.state))?;
        }
        for id in &self.checkpoint.segments {
            let s = self.log.segment(*id);
            let sound = s.state == SegmentState::Closed && s.stream() == Stream::Checkpoint;
            ensure(sound, || format!("the checkpoint is in segment {}, which is {:?}", id.0, s.state))?;
        }
        let older = self.checkpoint.version <= self.version;
        ensure(older, || {
            format!("the checkpoint is of version {}, behind all writes", self.checkpoint.version)
        })
    }

    /// Each block has a sector of its own, in a segment of sectors, and they are all that lives.
    fn check_map(&self) -> Result<(), String> {
        let (bytes, mut seen) = (u64::from(self.config.block_bytes), BTreeSet::new());
        let mut live = LiveBytes::new(&self.log);
        for (lba, position) in self.map.iter().enumerate() {
            let Some(position) = position.checked_sub(1).map(u64::from) else { continue };
            ensure(seen.insert(position), || format!("block {lba} has the sector of another"))?;
            live.add(position * bytes, bytes, bytes).map_err(|e| format!("block {lba}: {e}"))?;
            let stream = self.log.segment(self.segment_of(position)).stream();
            ensure(stream.holds_records(), || format!("block {lba} is in the stream {stream:?}"))?;
        }
        let (mapped, counted) = (seen.len() as u64, self.mapped);
        ensure(mapped == counted, || format!("{mapped} blocks are mapped, and it counts {counted}"))?;
        live.compare()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::Shape;
    use crate::page_map::PageMapConfig;
    use crate::{FaultPlan, Flash, MemCells};
    use saker_segment_store::{Geometry, PageBuffer, Step};
    use saker_sim::{Class, Free, Seed};

    const OWNER: u16 = 1;

    /// A namespace of which blocks were overwritten until segments were collected.
    fn worn() -> (PageMap, Flash) {
        let geometry = Geometry { page_bytes: 1024, oob_bytes: 192, segment_pages: 8, segments: 24 };
        let media = MemCells::new(Shape { geometry, channels: 1, luns: 2 });
        let page_buffer = PageBuffer::heap(24, geometry.page_bytes, geometry.oob_bytes);
        let mut flash = Flash::power_on(media, page_buffer, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, geometry.segments);
        let config = PageMapConfig::new(OWNER, &geometry, geometry.segments, true, 512);
        let mut map = PageMap::new(config, &flash.view(OWNER, Class::Foreground));
        let mut rng = Seed(3).rng();
        for n in 0..2000 {
            let at = rng.below(config.blocks);
            let mut is_done = false;
            while !is_done {
                let view = &mut flash.view(OWNER, Class::Foreground);
                let fill = |_, out: &mut [u8]| {
                    out.fill(n as u8);
                    Ok(())
                };
                is_done = map.write(at, 1, fill, view, &mut Free) == Step::Done(Ok(()));
                let finished = flash.finished();
                let _ = map.background(finished, &mut flash.view(OWNER, Class::Background), &mut Free);
                while let Some((_, done)) = flash.take_completion() {
                    map.completed(&done, &mut flash.view(OWNER, Class::Background));
                }
            }
            if n % 16 == 0 {
                assert_eq!(map.check(&flash.view(OWNER, Class::Foreground)), Ok(()), "after {n} writes");
            }
        }
        (map, flash)
    }

    type Fault = (&'static str, fn(&mut PageMap));

    #[test]
    fn every_planted_fault_is_found() {
        let (map, mut flash) = worn();
        let faults: [Fault; 6] = [
            ("a block that is gone", |s| *used(s) = 0),
            ("a block that is elsewhere", |s| *used(s) += 1 << 20),
            ("two blocks in one sector", |s| {
                let word = *used(s);
                *s.map.iter_mut().find(|w| **w != 0 && **w != word).expect("another") = word;
            }),
            ("a block more", |s| s.mapped += 1),
            ("the checkpoint's version", |s| s.checkpoint.version = s.version + 1),
            ("the checkpoint's segments", |s| {
                let position = u64::from(*used(s)) - 1;
                s.checkpoint.segments.push(s.segment_of(position));
            }),
        ];
        for (what, fault) in faults {
            let mut bad = map.clone();
            fault(&mut bad);
            assert!(bad.check(&flash.view(OWNER, Class::Foreground)).is_err(), "{what}");
        }
    }

    fn used(s: &mut PageMap) -> &mut u32 {
        s.map.iter_mut().find(|word| **word != 0).expect("a block")
    }
}
