// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What things cost, taken from a profile once.

use crate::execute::{Request, Timing};
use crate::methods::Prices;
use crate::transfer::{Aside, Pieces};
use saker_engine::KeyCost;
use saker_flash::Timings;
use saker_flash::nand::{FourParameter, NandModel};
use saker_link::{Cqe, DmaSpace, PAGE_BYTES, Sqe};
use saker_profile::OpTimes;
use saker_profile::{Dispatch, Media, Profile};
use saker_sim::{CpuPrices, Duration};
use std::sync::Arc;

/// Bytes of an entry, of a completion and of a page.
const USUAL_BYTES: [u64; 3] = [Sqe::BYTES as u64, Cqe::BYTES as u64, PAGE_BYTES as u64];

/// The device's costs.
#[derive(Clone, Debug)]
pub struct Costs {
    /// How long whole commands take, where that is known and nothing else: added to all that follows.
    pub operations: Option<Arc<OpTimes>>,
    /// What the keys of a group cost.
    pub group_keys: KeyCost,
    /// CPU work on the device's cores.
    pub prices: CpuPrices,
    /// Cores that execute commands.
    pub io_cores: u32,
    /// How they get them.
    pub dispatch_by: Dispatch,
    /// Cores for background work alone; with none it shares the others.
    pub background_cores: u32,
    /// Fetching an entry, on the dispatcher.
    pub fetch: Duration,
    /// Handing it to an I/O core, on the dispatcher.
    pub dispatch: Duration,
    /// Building a completion, on the core.
    pub complete: Duration,
    /// Whether a command that fills pages of the write buffer holds its core until the flash is through with them.
    pub programs_awaited: bool,
    /// Whether an engine moves data, without a core.
    pub dma_engine: bool,
    /// Taking what commands of methods carry, on the dispatcher.
    pub(crate) methods: Prices,
    page_dma: Duration,
    sgl_setup: Duration,
    /// One way over the link.
    pub link_latency: Duration,
    /// Bytes per second, each way.
    link_bandwidth: u64,
    /// What the lengths that nearly every command has take: a division less for each.
    link_usual: [(u64, Duration); 3],
    read_delay: Duration,
    write_delay: Duration,
    write_delay_per_4kib: Duration,
}

impl Costs {
    /// The costs a profile states.
    pub fn of(profile: &Profile) -> Self {
        let ns = Duration::from_nanos;
        let f = &profile.firmware;
        let bandwidth = profile.link.bandwidth_bytes_per_s.get();
        let slowed = |n: u64| n * u64::from(f.cpu_factor_percent.get()) / 100;
        Self {
            operations: operations(&profile.media).map(Arc::new),
            group_keys: if f.batched_group_keys.get() { KeyCost::Batched } else { KeyCost::PerPair },
            prices: CpuPrices::from_picos(f.cpu.picos().map(slowed)),
            io_cores: f.io_cores.get(),
            dispatch_by: f.dispatch.get(),
            background_cores: f.background_cores.get(),
            fetch: ns(slowed(f.fetch_ns.get())),
            dispatch: ns(slowed(f.dispatch_ns.get())),
            complete: ns(slowed(f.complete_ns.get())),
            programs_awaited: f.programs_awaited.get(),
            dma_engine: profile.transfer.dma_engine.get() > 0,
            methods: Prices::of(&profile.transfer),
            page_dma: ns(profile.transfer.page_dma_ns.get()),
            sgl_setup: ns(profile.transfer.sgl_setup_ns.get()),
            link_latency: ns(profile.link.latency_ns.get()),
            link_bandwidth: bandwidth,
            link_usual: USUAL_BYTES.map(|bytes| (bytes, Duration::of_transfer(bytes, bandwidth))),
            read_delay: ns(f.read_delay_ns.get()),
            write_delay: ns(f.write_delay_ns.get()),
            write_delay_per_4kib: ns(f.write_delay_per_4kib_ns.get()),
        }
    }

    /// The delay of a request that is neither on the link nor on a core.
    pub fn delay_of(&self, request: &Request, space: &DmaSpace) -> Duration {
        let own = self.delay(request.is_write(), request.bytes_in());
        let Some(times) = &self.operations else { return own };
        own + match request.timing(space) {
            Timing::Nothing => Duration::ZERO,
            Timing::Single(op, key, value) => times.single(op, key, value),
            Timing::Group(op, pairs, bytes) => {
                times.group(op, pairs, bytes, self.group_keys == KeyCost::Batched)
            }
        }
    }

    /// Time on the link.
    #[inline]
    pub fn link_time(&self, bytes: u64) -> Duration {
        match self.link_usual.iter().find(|(usual, _)| *usual == bytes) {
            Some((_, time)) => *time,
            None => Duration::of_transfer(bytes, self.link_bandwidth),
        }
    }

    /// Dispatcher time to set up the transfer of `bytes` bytes.
    pub fn setup(&self, pieces: &Pieces, bytes: u32) -> Duration {
        match pieces {
            Pieces::Block(..) | Pieces::Blocks(..) if bytes > 0 => {
                self.sgl_setup + self.units(pieces.units(bytes))
            }
            pieces => self.page_dma * pieces.link_bytes(bytes).1,
        }
    }

    /// Dispatcher time to set up what is fetched beside the data.
    pub fn setup_aside(&self, aside: &Aside) -> Duration {
        let units = aside.exact.max(aside.bytes.div_ceil(PAGE_BYTES as u64));
        self.sgl_setup * aside.exact + self.page_dma * aside.pages + self.units(units)
    }

    /// Dispatcher time for so many units that exact bytes take: an engine moves whole ones, whatever method names the bytes.
    fn units(&self, units: u64) -> Duration {
        if self.dma_engine { self.page_dma * units } else { Duration::ZERO }
    }

    /// Firmware time that occupies no core (NVMeVirt's firmware latencies), for `bytes` bytes however they came.
    pub fn delay(&self, is_write: bool, bytes: u32) -> Duration {
        if is_write {
            self.write_delay + self.write_delay_per_4kib * u64::from(bytes.div_ceil(4096))
        } else {
            self.read_delay
        }
    }
}

/// The times of whole operations, of media that are told by them.
fn operations(media: &Media) -> Option<OpTimes> {
    match media {
        Media::LatencyTable(table) => Some(OpTimes::Table(table.clone())),
        Media::Fixed(fixed) => Some(OpTimes::Fixed(fixed.clone())),
        Media::FourParameter(_) | Media::Nand(_) => None,
    }
}

/// The media timings a profile states.
pub fn timings(profile: &Profile) -> Timings {
    let ns = Duration::from_nanos;
    match &profile.media {
        Media::FourParameter(p) => Timings::FourParameter(FourParameter {
            read_latency: ns(p.read_latency_ns.get()),
            read_bandwidth: p.read_bandwidth_bytes_per_s.get(),
            write_latency: ns(p.write_latency_ns.get()),
            write_bandwidth: p.write_bandwidth_bytes_per_s.get(),
            erase: ns(p.erase_ns.get()),
        }),
        Media::Nand(p) => {
            let page = profile.geometry.page_bytes.get();
            let read = |n| ns(p.sense_ns(n, u64::from(page)));
            Timings::Nand(NandModel {
                reads: [read(0), read(1), read(2)],
                program: ns(p.program_ns.get()),
                program_pages: p.program_pages.get(),
                copies_are_free: !p.copies_charged.get(),
                erase: ns(p.erase_ns.get()),
                channel_bandwidth: p.channel_bandwidth_bytes_per_s.get(),
            })
        }
        Media::LatencyTable(_) | Media::Fixed(_) => Timings::FREE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_moves_whole_units_whatever_names_the_bytes() {
        let profile = |name| Profile::builtin(name).expect("there is one");
        let board = profile("cosmos-plus");
        let (setup, page) = (board.transfer.sgl_setup_ns.get(), board.transfer.page_dma_ns.get());
        let (with_engine, without) = (Costs::of(&board), Costs::of(&profile("saker-mid")));
        let at = |costs: &Costs, pieces: Pieces, bytes| costs.setup(&pieces, bytes).as_nanos();
        for (bytes, units) in [(1, 1), (4096, 1), (4097, 2), (65_536, 16)] {
            assert_eq!(at(&with_engine, Pieces::Block(64, bytes), bytes), setup + page * units, "{bytes} B");
            assert_eq!(at(&without, Pieces::Block(64, bytes), bytes), without.sgl_setup.as_nanos());
        }
        let blocks = || Pieces::Blocks(vec![(64, 100), (8192, 5000), (32_768, 9000)], 48);
        assert_eq!(at(&with_engine, blocks(), 100), setup + page);
        assert_eq!(at(&with_engine, blocks(), 5100), setup + page * 3);
        assert_eq!(at(&with_engine, blocks(), 14_100), setup + page * 6);
        let aside = Aside { exact: 2, bytes: 40, pages: 1, rounds: 1 };
        assert_eq!(with_engine.setup_aside(&aside).as_nanos(), 2 * setup + 3 * page);
        assert_eq!(without.setup_aside(&aside).as_nanos(), 2 * without.sgl_setup.as_nanos());
    }
}
