// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a profile and a shape to flash and a device.

use crate::shape::{BuildError, shape_of};
use saker_device::{
    Attachment, Costs, Device, DeviceConfig, EngineKind, NamespaceConfig, PRICED_BYTES, Timed, Untimed,
    timings,
};
use saker_engine::lsm::settings::PROGRAM_PRICE;
use saker_engine::{EngineConfig, Settings};
use saker_flash::nand::{AnyCells, CompactCells, Shape};
use saker_flash::{FaultPlan, Flash, MemCells, PowerCut, Timings};
use saker_host::host_kv::HOST_PAGE_BYTES;
use saker_host::memory::{self, Room};
use saker_host::{CacheOptions, Port};
use saker_link::{DmaSpace, Placement, TlpShape};
use saker_log::reserve::kept_slots;
use saker_profile::Profile;
use saker_segment_store::{PageBuffer, PageBufferMemory, PowerHistory};
use saker_sim::Duration;
use std::sync::Arc;

/// Bytes of a logical block, where flash pages hold so many.
const BLOCK_BYTES: u32 = 4096;

/// What a device is built from.
#[derive(Clone, Debug)]
pub struct Build {
    /// The profile.
    pub profile: Profile,
    /// Shape of the flash.
    pub shape: Shape,
    /// Namespaces and the rest.
    pub config: DeviceConfig,
    /// What keeps the pairs: in the device, or at the host over a block namespace.
    pub engine: EngineKind,
    /// What is asked of that engine, wherever it is.
    pub settings: Settings,
    /// Faults.
    pub faults: FaultPlan,
    /// Whether pages are programmed; false measures transfers alone ([`Flash::without_nand`]).
    pub nand: bool,
    /// Whether runs of equal bytes are counted in the cells' memory ([`CompactCells`]): less memory for values that are filler. Power
    /// is not cut over them.
    pub compact: bool,
    /// Whether the times of commands are collected.
    pub traces: bool,
    /// The read cache of sessions, or of HostKV.
    pub cache: CacheOptions,
    /// Bytes of HostKV's pages: what it writes at once. It reads no more of one than the blocks that it looks at.
    pub host_page_bytes: u32,
    /// Bytes of HostKV's cache for blocks that were read; 0: none.
    pub block_cache_bytes: u64,
    /// Operations are counted by intervals of this length; 0: not.
    pub interval: Duration,
}

impl Build {
    /// A device of that profile and size with one KV namespace.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn kv(profile: &Profile, bytes: u64, seed: u64) -> Result<Self, BuildError> {
        let shape = shape_of(profile, bytes)?;
        let config = DeviceConfig::kv(&shape.geometry, profile.power.capacitor.get(), seed);
        Ok(Self::of(profile, shape, config))
    }

    /// A device of that profile and size with one block namespace.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn block(profile: &Profile, bytes: u64, seed: u64) -> Result<Self, BuildError> {
        let shape = shape_of(profile, bytes)?;
        let block_bytes = shape.geometry.page_bytes.min(BLOCK_BYTES);
        let config = DeviceConfig::block(&shape.geometry, profile.power.capacitor.get(), seed, block_bytes);
        Ok(Self::of(profile, shape, config))
    }

    /// A device of that shape with these namespaces.
    pub fn with(profile: &Profile, shape: Shape, namespaces: Vec<NamespaceConfig>, seed: u64) -> Self {
        Self::of(profile, shape, DeviceConfig::with(namespaces, profile.power.capacitor.get(), seed))
    }

    /// Without faults or traces, the NAND on.
    fn of(profile: &Profile, shape: Shape, config: DeviceConfig) -> Self {
        let price = profile.copied_while_programmed(PRICED_BYTES);
        let faults = FaultPlan::default();
        Self {
            profile: profile.clone(),
            shape,
            config,
            engine: EngineKind::default(),
            settings: Settings::told(&[(PROGRAM_PRICE, u64::from(price))]),
            faults,
            nand: true,
            compact: false,
            traces: false,
            cache: CacheOptions::NONE,
            host_page_bytes: HOST_PAGE_BYTES,
            block_cache_bytes: 0,
            interval: Duration::ZERO,
        }
    }

    /// The same with another engine, and the out-of-band bytes that it needs.
    #[must_use]
    pub fn with_engine(mut self, engine: EngineKind) -> Self {
        self.config = self.config.with_engine(engine);
        self.engine = engine;
        self.widen();
        self
    }

    /// Asks the engine for a setting.
    ///
    /// # Errors
    /// What to write instead.
    pub fn set(&mut self, name: &str, number: u64) -> Result<(), String> {
        self.settings.set(self.engine.settings(), name, number)?;
        self.widen();
        Ok(())
    }

    /// Asks for settings of the engine whose values the program chose; others do not matter. What a user chose goes to
    /// [`asked`](Self::asked).
    pub fn ask(&mut self, settings: &Settings) {
        self.settings = settings.over(&self.settings);
        self.widen();
    }

    /// The same with what a user asks of the engine.
    ///
    /// # Errors
    /// [`BuildError::Setting`] if its flash cannot be written so.
    pub fn asked<'a>(mut self, all: impl IntoIterator<Item = &'a Settings>) -> Result<Self, BuildError> {
        all.into_iter().for_each(|settings| self.ask(settings));
        let refused = |what| BuildError::Setting {
            engine: self.engine.name(),
            profile: self.profile.name.clone(),
            what,
        };
        self.engine.fits(self.shape.geometry.page_bytes, &self.settings).map_err(refused)?;
        Ok(self)
    }

    /// Gives pages the out-of-band bytes that the engine needs.
    fn widen(&mut self) {
        let geometry = &mut self.shape.geometry;
        let needed = self.engine.oob_bytes(geometry.page_bytes, &self.settings);
        geometry.oob_bytes = geometry.oob_bytes.max(needed);
    }

    /// The device, with what is asked of its engine.
    pub fn device_config(&self) -> DeviceConfig {
        let mut config = self.config.clone();
        config.ask(&self.settings);
        config
    }

    /// What a store at the host over this device's blocks is told: its memory is that of the same store in the device, where it
    /// has all of the flash (SAKER, SYSTOR'25, section 3.2: both sides have the same parameters). Blocks are fewer than the
    /// flash, so what follows from their number would make a memtable smaller, and be flushed sooner.
    pub fn host_engine(&self) -> EngineConfig {
        let geometry = &self.shape.geometry;
        let same = (self.engine.registration().sized)(geometry, geometry.segments);
        let settings = self.settings.within(self.engine.settings()).over(&same);
        EngineConfig { settings, ..EngineConfig::new(1, false) }
    }

    /// Slots of the power-safe page buffer.
    pub fn ring_slots(&self) -> u16 {
        let wanted = u32::from(u16::MAX / 4).min(self.profile.geometry.power_safe_ring_slots.get());
        // Room for two of the largest values.
        let two = 2 * (2 << 20) / self.shape.geometry.page_bytes;
        wanted.max(two.min(self.shape.geometry.segment_pages) + BESIDE_VALUES) as u16
    }

    fn ring(&self) -> PageBuffer {
        let g = &self.shape.geometry;
        PageBuffer::heap(self.ring_slots(), g.page_bytes, g.oob_bytes)
    }

    fn flash(&self, timings: Option<Timings>) -> Flash {
        let media: AnyCells = if self.compact {
            CompactCells::new(self.shape).into()
        } else {
            MemCells::new(self.shape).into()
        };
        let flash = Flash::power_on(media, self.ring(), timings, self.faults);
        if self.nand { flash } else { flash.without_nand() }
    }

    /// Flash in memory that keeps no time, for a store without a device.
    pub fn flash_untimed(&self) -> Flash {
        self.flash(None)
    }

    /// Flash in memory with the profile's times, for a device with other costs than the profile's.
    pub fn flash_timed(&self) -> Flash {
        self.flash(Some(timings(&self.profile)))
    }

    /// This device's flash as it is when power comes back after a cut at this moment. Without a capacitor the page buffer is lost.
    pub fn after_cut(&self, flash: &Flash, seed: u64, timings: Option<Timings>) -> Flash {
        let ring_kept = self.config.capacitor;
        let (mut media, ring) = flash.cut(PowerCut { seed, ring_kept });
        media.set_history(PowerHistory::Cut { ring_kept });
        // Only bytes survive: what the page buffer knows it must find in its memory.
        let geometry = &self.shape.geometry;
        let memory = PageBufferMemory::from_bytes(ring.memory());
        let ring = PageBuffer::new(memory, self.ring_slots(), geometry.page_bytes, geometry.oob_bytes);
        Flash::power_on(media, ring, timings, FaultPlan::default())
    }

    /// Sizes of packets for the rule `tlp`.
    pub fn tlp_shape(&self) -> TlpShape {
        let link = &self.profile.link;
        TlpShape {
            overhead_bytes: link.tlp_overhead_bytes.get(),
            payload_bytes_max: link.tlp_payload_bytes_max.get(),
            read_request_bytes_max: link.tlp_read_request_bytes_max.get(),
        }
    }

    /// Host memory and BAR for `queue_pairs` queue pairs of `depth` slots. Placement is fixed, so that runs repeat.
    pub fn attach(&self, queue_pairs: u16, depth: u16) -> Attachment {
        let entries = (u32::from(depth) + 1).max(QUEUE_ENTRIES_MIN);
        let Room { pages, windows } = memory::needed(&memory::Shape { queue_pairs, entries, slots: depth });
        let space = DmaSpace::with_placement(pages + LENT.pages, windows + LENT.windows, Placement::At(0));
        Attachment::new(space, self.config.queue_pairs_max.max(queue_pairs))
    }

    /// A device in memory that keeps no time.
    pub fn untimed(&self, host: Attachment) -> Device<Untimed> {
        let flash = self.flash(None);
        Device::new(flash, self.device_config(), host)
    }

    /// A device in memory with the profile's times.
    pub fn timed(&self, host: Attachment) -> Device<Timed> {
        let flash = self.flash(Some(timings(&self.profile)));
        let mut device = Device::timed(flash, self.device_config(), host, Costs::of(&self.profile));
        if self.traces {
            device.start_traces();
        }
        device
    }
}

/// Slots of the page buffer beside those for values.
const BESIDE_VALUES: u32 = 16;
const _: () = {
    // What a value has to leave of two namespaces: open pages, a step of whatever goes before it, and its own ends.
    assert!(kept_slots(2) as u32 <= BESIDE_VALUES, "two namespaces store values that long");
};

/// Entries of a host's queues, however few commands are in flight: values can travel in the queue itself.
pub const QUEUE_ENTRIES_MIN: u32 = 512;

/// What programs take of the host's memory beside the queue pairs: a log page, payloads of their own, buffers that they lend
/// for the time of a call. Nothing waits for it; who takes more is refused.
const LENT: Room = Room { pages: 256, windows: 64 };

/// The host's end of an attachment.
pub fn port(host: &Attachment) -> Port {
    Port {
        space: Arc::clone(&host.space),
        registers: Arc::clone(&host.registers),
        doorbells: Arc::clone(&host.doorbells),
        bar: Arc::clone(&host.bar),
    }
}
