// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Borrowed trait objects as the types that engines are generic over.

use crate::answer::Version;
use crate::groups::Answers;
use crate::kv::{KvError, Sink, Source, SourceError};
use crate::scan::Pairs;
use saker_segment_store::{
    CellError, Checked, Geometry, Order, Page, PageAddr, PageBuffer, PowerHistory, SegmentId, SegmentStore,
    SegmentView, SlotId, Tag,
};
use saker_sim::{Meter, Unit};
use std::ops::Range;

/// A medium that may be changed.
pub struct Lent<'a>(pub &'a mut dyn SegmentStore);

/// A medium that is only looked at.
pub struct Looked<'a>(pub &'a dyn SegmentStore);

/// Functions of a medium that only look.
macro_rules! looks {
    () => {
        fn geometry(&self) -> Geometry {
            self.0.geometry()
        }
        fn page_buffer(&self) -> &PageBuffer {
            self.0.page_buffer()
        }
        fn page(&self, at: PageAddr) -> Page<'_> {
            self.0.page(at)
        }
        fn part(&self, at: PageAddr, bytes: Range<u32>) -> Page<'_> {
            self.0.part(at, bytes)
        }
        fn ahead(&self, at: PageAddr, offset: u32) -> Option<&[u8]> {
            self.0.ahead(at, offset)
        }
        fn checked(&self, at: PageAddr) -> Option<&Checked> {
            self.0.checked(at)
        }
        fn epoch(&self, segment: SegmentId) -> u32 {
            self.0.epoch(segment)
        }
        fn free_segments(&self) -> u32 {
            self.0.free_segments()
        }
        fn quota_segments(&self) -> u32 {
            self.0.quota_segments()
        }
        fn last_tag(&self) -> Tag {
            self.0.last_tag()
        }
        fn survey(&self) -> Vec<SegmentView> {
            self.0.survey()
        }
        fn history(&self) -> PowerHistory {
            self.0.history()
        }
        fn refusal(&self) -> Option<CellError> {
            self.0.refusal()
        }
    };
}

impl SegmentStore for Lent<'_> {
    looks!();

    fn page_buffer_mut(&mut self) -> &mut PageBuffer {
        self.0.page_buffer_mut()
    }

    fn allocate(&mut self) -> Option<SegmentId> {
        self.0.allocate()
    }

    fn program(&mut self, at: PageAddr, slot: SlotId, order: Order) -> Tag {
        self.0.program(at, slot, order)
    }

    fn erase(&mut self, segment: SegmentId) -> Tag {
        self.0.erase(segment)
    }

    fn sync(&mut self) -> Tag {
        self.0.sync()
    }
}

/// Engines are given it by `&`, so nobody can call what changes it.
impl SegmentStore for Looked<'_> {
    looks!();

    fn page_buffer_mut(&mut self) -> &mut PageBuffer {
        unreachable!("it is only looked at")
    }

    fn allocate(&mut self) -> Option<SegmentId> {
        unreachable!("it is only looked at")
    }

    fn program(&mut self, _: PageAddr, _: SlotId, _: Order) -> Tag {
        unreachable!("it is only looked at")
    }

    fn erase(&mut self, _: SegmentId) -> Tag {
        unreachable!("it is only looked at")
    }

    fn sync(&mut self) -> Tag {
        unreachable!("it is only looked at")
    }
}

/// A meter; nothing is touched through it.
pub struct Metered<'a>(pub &'a mut dyn Meter);

impl Meter for Metered<'_> {
    fn work(&mut self, unit: Unit, n: u64) {
        self.0.work(unit, n);
    }
}

/// A value on its way in.
pub struct From<'a>(pub &'a mut dyn Source);

impl Source for From<'_> {
    fn bytes(&self) -> u32 {
        self.0.bytes()
    }

    fn bytes_by_core(&self) -> u32 {
        self.0.bytes_by_core()
    }

    fn bytes_held(&self) -> u32 {
        self.0.bytes_held()
    }

    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), SourceError> {
        self.0.read(offset, out)
    }
}

/// A value on its way out.
pub struct Into<'a>(pub &'a mut dyn Sink);

impl Sink for Into<'_> {
    fn room(&self) -> u32 {
        self.0.room()
    }

    fn is_copied_by_core(&self) -> bool {
        self.0.is_copied_by_core()
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SourceError> {
        self.0.write(offset, bytes)
    }
}

/// Who takes the pairs of a scan.
pub struct Taken<'a>(pub &'a mut dyn Pairs);

impl Pairs for Taken<'_> {
    fn wants(&mut self, key: &[u8], value_bytes_max: u32) -> bool {
        self.0.wants(key, value_bytes_max)
    }

    fn pair(&mut self, key: &[u8], value_bytes: u32) {
        self.0.pair(key, value_bytes);
    }

    fn value(&mut self, bytes: &[u8]) {
        self.0.value(bytes);
    }
}

/// Who takes the answers of a group.
pub struct Told<'a>(pub &'a mut dyn Answers);

impl Answers for Told<'_> {
    fn begin(&mut self, members: u32, version: Version) {
        self.0.begin(members, version);
    }

    fn done(&mut self, result: Result<(), KvError>) {
        self.0.done(result);
    }

    fn all_done(&mut self, members: u32) {
        self.0.all_done(members);
    }

    fn found(&mut self, value_bytes: u32) -> bool {
        self.0.found(value_bytes)
    }

    fn value(&mut self, bytes: &[u8]) {
        self.0.value(bytes);
    }
}
