//! Pages that operations hold or wait for: copies of what was read, which follow what is written.

use saker_segment_store::{CellError, PageAddr};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

#[derive(Debug)]
struct Held {
    holders: u32,
    /// The read that brings it: what another brings is not entered.
    reader: u64,
    /// As on the device, data and out-of-band bytes; `None`: it has not come.
    bytes: Option<Result<Vec<u8>, CellError>>,
}

/// Pages by their address.
#[derive(Debug, Default)]
pub struct HeldPages {
    pages: BTreeMap<PageAddr, Held>,
    readers: u64,
}

impl HeldPages {
    /// One more holds a page. `Some`: it is to be read, under that number.
    pub fn hold(&mut self, at: PageAddr) -> Option<u64> {
        if let Some(held) = self.pages.get_mut(&at) {
            held.holders += 1;
            return None;
        }
        self.readers += 1;
        self.pages.insert(at, Held { holders: 1, reader: self.readers, bytes: None });
        Some(self.readers)
    }

    /// One less does.
    pub fn release(&mut self, at: PageAddr) {
        if let Some(held) = self.pages.get_mut(&at) {
            held.holders -= 1;
            if held.holders == 0 {
                self.pages.remove(&at);
            }
        }
    }

    /// Nobody holds other pages than these.
    pub fn keep_only(&mut self, pages: &[PageAddr]) {
        self.pages.retain(|at, _| pages.contains(at));
    }

    /// A read has ended. What was renewed meanwhile stays: commands have no order among each other.
    pub fn arrive(&mut self, at: PageAddr, reader: u64, bytes: Result<Vec<u8>, CellError>) {
        let held = self.pages.get_mut(&at).filter(|held| held.reader == reader && held.bytes.is_none());
        if let Some(held) = held {
            held.bytes = Some(bytes);
        }
    }

    /// Pages are written or deallocated: who holds one, or waits for it, has what `bytes` gives.
    pub fn renew(&mut self, pages: RangeInclusive<PageAddr>, bytes: impl Fn() -> Vec<u8>) {
        self.pages.range_mut(pages).for_each(|(_, held)| held.bytes = Some(Ok(bytes())));
    }

    /// A page that has come.
    pub fn get(&self, at: PageAddr) -> Option<&Result<Vec<u8>, CellError>> {
        self.pages.get(&at)?.bytes.as_ref()
    }
}
