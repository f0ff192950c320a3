// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Times of stores that go one after the other: the transfer as the device takes it without NAND, and waiting while every entry of
//! the page buffer is full or being programmed.

use crate::error::LabError;
use crate::report::Point;
use crate::rig::{Cell, add_metrics, stores};
use saker_flash::packing::{Arrival, BufferShape};
use saker_host::Method;
use saker_profile::{Media, Profile};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Stores that are measured for each kind of transfer: equal ones take equal times.
const MEASURED: u64 = 20;
const UNIT_BYTES: u32 = 4096;

/// What things take.
#[derive(Clone, Debug)]
pub struct Times {
    /// Of a piggybacked value by its commands, of others by their memory pages; in nanoseconds.
    piggybacked: BTreeMap<u64, f64>,
    dma: BTreeMap<u64, f64>,
    /// Nanoseconds of a core to copy a byte, of a value that came by DMA: the time of a transfer has no copies but those of commands.
    copy_ns: f64,
    /// Whether a store that fills a page of the buffer waits until it is programmed.
    waits: bool,
    /// Nanoseconds to program a page, its transfer to the die included.
    pub program_ns: f64,
    /// Dies that work at once.
    pub dies: u32,
}

fn class(value: Arrival) -> u64 {
    match value {
        Arrival::Piggybacked(bytes) => super::super::piggyback_commands(u64::from(bytes)),
        Arrival::Dma(bytes) => u64::from(bytes.div_ceil(UNIT_BYTES)),
    }
}

impl Times {
    /// Measures the transfers of some values on a profile.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn measure(profile: &Profile, seed: u64, values: &[Arrival]) -> Result<Self, LabError> {
        let Media::Nand(nand) = &profile.media else { unreachable!("the plan names a profile of NAND") };
        let channel = nand.channel_bandwidth_bytes_per_s.value as f64;
        let page_bytes = f64::from(profile.geometry.page_bytes.value);
        let mut times = Self {
            piggybacked: BTreeMap::new(),
            dma: BTreeMap::new(),
            copy_ns: profile.firmware.cpu.copy_byte_ps.value as f64 / 1000.0,
            waits: false,
            program_ns: nand.program_ns.value as f64 + page_bytes * 1e9 / channel,
            dies: profile.geometry.channels.value * profile.geometry.ways_per_channel.value,
        };
        for value in values {
            let known = match value {
                Arrival::Piggybacked(_) => &mut times.piggybacked,
                Arrival::Dma(_) => &mut times.dma,
            };
            if let std::collections::btree_map::Entry::Vacant(free) = known.entry(class(*value)) {
                free.insert(transfer_ns(profile, seed, *value)?);
            }
        }
        Ok(times)
    }

    /// Nanoseconds of a transfer.
    pub fn transfer_ns(&self, value: Arrival) -> f64 {
        let known = match value {
            Arrival::Piggybacked(_) => &self.piggybacked,
            Arrival::Dma(_) => &self.dma,
        };
        *known.get(&class(value)).expect("every kind of the workload was measured")
    }

    /// Nanoseconds of a transfer and of a core's copies.
    fn store_ns(&self, value: Arrival, copied: u32) -> f64 {
        let copy = if matches!(value, Arrival::Dma(_)) { f64::from(copied) * self.copy_ns } else { 0.0 };
        self.transfer_ns(value) + copy
    }

    /// The same with stores that wait for the pages that they fill.
    pub fn waiting(&self) -> Self {
        Self { waits: true, ..self.clone() }
    }
}

fn transfer_ns(profile: &Profile, seed: u64, value: Arrival) -> Result<f64, LabError> {
    let (method, bytes) = match value {
        Arrival::Piggybacked(bytes) => (Method::Piggyback, bytes),
        Arrival::Dma(bytes) => (Method::Prp, bytes),
    };
    let run = stores(profile, seed, MEASURED, &Cell::transfer(method, bytes))?;
    let mut point = Point::at([]);
    add_metrics(&mut point, &run);
    Ok(point.get("transfer_us_mean").unwrap_or(f64::NAN) * 1000.0)
}

/// One host thread, one store at a time.
#[derive(Debug)]
pub struct Clock<'a> {
    times: &'a Times,
    now: u64,
    /// When each die is free.
    dies: BinaryHeap<Reverse<u64>>,
    /// When each page that is being programmed leaves the buffer.
    programs: BinaryHeap<Reverse<u64>>,
    entries: usize,
    /// Pages that were handed to the dies.
    sent: u64,
}

impl<'a> Clock<'a> {
    /// Nothing was stored.
    pub fn new(shape: BufferShape, times: &'a Times) -> Self {
        let dies = (0..times.dies).map(|_| Reverse(0)).collect();
        Self { times, now: 0, dies, programs: BinaryHeap::new(), entries: shape.pages as usize, sent: 0 }
    }

    /// A store of which a core copied so much; pages below `settled` are full.
    pub fn store(&mut self, value: Arrival, copied: u32, settled: u64) {
        self.now += self.times.store_ns(value, copied) as u64;
        while self.sent < settled {
            self.program();
        }
    }

    /// Nothing more is stored: what is left of so many pages is programmed, so that each was waited for once at any number of stores.
    pub fn end(&mut self, pages: u64) {
        while self.sent < pages {
            self.program();
        }
    }

    fn program(&mut self) {
        while self.programs.len() + 1 >= self.entries {
            let Some(Reverse(done)) = self.programs.pop() else { break };
            self.now = self.now.max(done);
        }
        let Some(Reverse(free)) = self.dies.pop() else { return };
        let done = free.max(self.now) + self.times.program_ns as u64;
        self.dies.push(Reverse(done));
        self.programs.push(Reverse(done));
        if self.times.waits {
            self.now = done;
        }
        self.sent += 1;
    }

    /// Nanoseconds so far.
    pub fn now_ns(&self) -> f64 {
        self.now as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A DMA of one unit's bytes takes what one of a byte does, and each unit the engine's time of a page, but for a thousandth: times are
    /// means of a histogram with three digits.
    #[test]
    fn a_value_by_dma_takes_whole_units() {
        let profile = Profile::builtin("cosmos-plus").unwrap();
        let mut slow = profile.clone();
        slow.transfer.page_dma_ns.value += 1000;
        let ns = |profile: &Profile, bytes| transfer_ns(profile, 1, Arrival::Dma(bytes)).unwrap();
        for (units, [less, more]) in [(1.0, [1, 4096]), (2.0, [4097, 8192]), (3.0, [8193, 12_288])] {
            let all = ns(&profile, more);
            let near = |found: f64, wanted: f64| (found - wanted).abs() < all / 1000.0;
            assert!(near(ns(&profile, less), all), "{less} and {more} B");
            assert!(near(ns(&slow, less), all + 1000.0 * units), "{less} B take {units} units");
        }
    }

    /// Eight stores of a memory page fill two NAND pages.
    #[test]
    fn a_store_waits_for_the_page_that_it_fills() {
        let dma = BTreeMap::from([(1, 10.0)]);
        let times = Times {
            piggybacked: BTreeMap::new(),
            dma,
            copy_ns: 1.0,
            waits: false,
            program_ns: 1000.0,
            dies: 32,
        };
        let shape = BufferShape { page_bytes: 16_384, unit_bytes: 4096, pages: 512 };
        let run = |times: &Times, copied| {
            let mut clock = Clock::new(shape, times);
            (1..=8).for_each(|n| clock.store(Arrival::Dma(4096), copied, n / 4));
            clock.end(3);
            clock.now_ns()
        };
        assert_eq!((run(&times, 0), run(&times, 100)), (80.0, 880.0));
        // The third page holds nothing of them, and is programmed at the end.
        assert_eq!((run(&times.waiting(), 0), run(&times.waiting(), 100)), (3080.0, 3880.0));
    }
}
