//! From a profile and a size to flash and a device.

use saker_device::{
    Attachment, Costs, Device, DeviceConfig, EngineKind, NamespaceConfig, PRICED_BYTES, Timed, Untimed,
    timings,
};
use saker_engine::{EngineConfig, LsmConfig, LsmTuning, TreeConfig, TreeTuning};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemMedia, Timings};
use saker_host::host_kv::HOST_PAGE_BYTES;
use saker_host::{CacheOptions, Port};
use saker_link::{DmaSpace, Placement, TlpShape};
use saker_medium::{Geometry, Ring};
use saker_sim::Duration;
use saker_sim::profile::Profile;
use std::sync::Arc;
use thiserror::Error;

/// Why a device cannot be built.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BuildError {
    /// The flash would be too small to work.
    #[error("{asked} bytes are too few for profile {profile}: it needs at least {}", written(*.least))]
    TooSmall {
        /// Bytes asked for.
        asked: u64,
        /// The profile.
        profile: String,
        /// Bytes needed.
        least: u64,
        /// Built-in profiles that need no more than was asked for.
        fitting: Vec<&'static str>,
    },
    /// More superblocks than a device keeps account of.
    #[error("{asked} bytes are too many for profile {profile}: it takes at most {most}")]
    TooLarge {
        /// Bytes asked for.
        asked: u64,
        /// The profile.
        profile: String,
        /// Bytes possible.
        most: u64,
    },
}

impl BuildError {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::TooSmall { fitting, .. } => format!("give a larger size{}", or_profile(fitting)),
            Self::TooLarge { .. } => "give a smaller size".to_owned(),
        }
    }
}

/// The other way out: a profile of smaller devices, or none where even the smallest is larger.
pub fn or_profile(fitting: &[&str]) -> String {
    if !fitting.is_empty() {
        return format!(", or a profile that fits: {}", fitting.join(", "));
    }
    let all = Profile::builtin_names().filter_map(|name| Profile::builtin(name).ok());
    let smallest = all.map(|profile| (least_bytes(&profile), profile.name)).min();
    smallest.map_or(String::new(), |(least, name)| {
        format!("; the smallest device has {}, of profile {name}", written(least))
    })
}

/// Bytes as sizes are written: `192MiB`.
pub fn written(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let exact = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    exact.map_or_else(|| format!("{bytes}B"), |(unit, name)| format!("{}{name}", bytes / unit))
}

/// The smallest device of a profile, in bytes of flash.
pub fn least_bytes(profile: &Profile) -> u64 {
    match cut(profile, 0, 0) {
        Err(BuildError::TooSmall { least, .. }) => least,
        Ok(_) | Err(BuildError::TooLarge { .. }) => 0,
    }
}

/// Superblocks below which a device has no room to collect garbage.
pub const SEGMENTS_MIN: u32 = 24;
/// Most superblocks, as in an image.
pub const SEGMENTS_MAX: u32 = 1 << 24;
/// Smallest superblock that still holds a 2-MiB value with its record twice.
const SEGMENT_BYTES_MIN: u64 = 8 << 20;

/// Bytes of a logical block, where flash pages hold so many.
const BLOCK_BYTES: u32 = 4096;

/// The flash of a profile, cut to `bytes`. Superblocks shrink (fewer pages a block, then fewer LUNs) until there
/// are enough of them.
///
/// # Errors
/// [`BuildError`].
pub fn shape_of(profile: &Profile, bytes: u64) -> Result<Shape, BuildError> {
    shape_for(profile, bytes, bytes)
}

/// As [`shape_of`], with enough superblocks in any `smallest` bytes of it.
///
/// # Errors
/// [`BuildError`].
pub fn shape_for(profile: &Profile, bytes: u64, smallest: u64) -> Result<Shape, BuildError> {
    cut(profile, bytes, smallest).map_err(|mut error| {
        if let BuildError::TooSmall { fitting, .. } = &mut error {
            *fitting = profiles_where(|profile| cut(profile, bytes, smallest).is_ok());
        }
        error
    })
}

/// The built-in profiles of which that is true.
pub fn profiles_where(mut fits: impl FnMut(&Profile) -> bool) -> Vec<&'static str> {
    Profile::builtin_names()
        .filter(|name| Profile::builtin(name).is_ok_and(|profile| fits(&profile)))
        .collect()
}

fn cut(profile: &Profile, bytes: u64, smallest: u64) -> Result<Shape, BuildError> {
    let g = &profile.geometry;
    let page_bytes = g.page_bytes.get();
    let oob_bytes = g
        .oob_bytes
        .get()
        .max(64 + 16 * page_bytes.div_ceil(4096).max(page_bytes / 512 * u32::from(page_bytes < 4096)));
    let page = u64::from(page_bytes);
    let (mut luns, mut pages) = (g.luns(), g.pages_per_block.get());
    let least = (SEGMENT_BYTES_MIN).min(u64::from(luns * pages) * page);
    let segments = |bytes: u64, luns: u32, pages: u32| bytes / (u64::from(luns * pages) * page);
    while segments(smallest, luns, pages) < u64::from(SEGMENTS_MIN)
        && u64::from(luns * pages) * page >= 2 * least
    {
        if pages > 8 { pages /= 2 } else { luns /= 2 }
    }
    let count = segments(bytes, luns, pages);
    if count < u64::from(SEGMENTS_MIN) {
        let least = u64::from(SEGMENTS_MIN) * u64::from(luns * pages) * page;
        let (profile, fitting) = (profile.name.clone(), Vec::new());
        return Err(BuildError::TooSmall { asked: bytes, profile, least, fitting });
    }
    let segments = u32::try_from(count).ok().filter(|count| *count <= SEGMENTS_MAX).ok_or_else(|| {
        let most = u64::from(SEGMENTS_MAX) * u64::from(luns * pages) * page;
        BuildError::TooLarge { asked: bytes, profile: profile.name.clone(), most }
    })?;
    let geometry = Geometry {
        page_bytes,
        oob_bytes: oob_bytes.next_multiple_of(8),
        segment_pages: luns * pages,
        segments,
    };
    Ok(Shape { geometry, channels: g.channels.get().min(luns), luns })
}

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
    /// Faults.
    pub faults: FaultPlan,
    /// Whether pages are programmed; false measures transfers alone ([`Flash::without_nand`]).
    pub nand: bool,
    /// Whether the times of commands are collected.
    pub traces: bool,
    /// The read cache of sessions, or of HostKV.
    pub cache: CacheOptions,
    /// Bytes of HostKV's pages.
    pub host_page_bytes: u32,
    /// Operations are counted by intervals of this length ([`RunResult::timeline`](crate::RunResult::timeline)); 0: not.
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
    fn of(profile: &Profile, shape: Shape, mut config: DeviceConfig) -> Self {
        config.lsm.set_program_price(profile.copied_while_programmed(PRICED_BYTES));
        let faults = FaultPlan::default();
        Self {
            profile: profile.clone(),
            shape,
            config,
            engine: EngineKind::default(),
            faults,
            nand: true,
            traces: false,
            cache: CacheOptions::NONE,
            host_page_bytes: HOST_PAGE_BYTES,
            interval: Duration::ZERO,
        }
    }

    /// The same with another engine, and the out-of-band bytes that it needs.
    #[must_use]
    pub fn with_engine(mut self, engine: EngineKind) -> Self {
        self.config = self.config.with_engine(engine);
        let geometry = &mut self.shape.geometry;
        geometry.oob_bytes = geometry.oob_bytes.max(engine.oob_bytes(geometry.page_bytes));
        Self { engine, ..self }
    }

    /// Settings of a store at the host over this device's blocks: its memory is that of the same store in the device, where it
    /// has all of the flash (SAKER, SYSTOR'25, section 3.2: both sides have the same parameters). Blocks are fewer than the
    /// flash, so what follows from their number would make a memtable smaller, and be flushed sooner.
    pub fn host_engine(&self) -> EngineConfig {
        let (lsm, tree) = (self.host_lsm(), self.host_tree());
        EngineConfig { lsm, tree, ..EngineConfig::new(1, false) }
    }

    fn host_lsm(&self) -> LsmTuning {
        let geometry = &self.shape.geometry;
        let config = LsmConfig::new(1, geometry, geometry.segments, false);
        let mut same = LsmTuning::default();
        for (name, bytes) in [
            ("write_buffer_size", config.write_buffer_size),
            ("max_bytes_for_level_base", config.max_bytes_for_level_base),
        ] {
            same.set(name, bytes).expect("a default is in its range");
        }
        self.config.lsm.over(&same)
    }

    fn host_tree(&self) -> TreeTuning {
        let geometry = &self.shape.geometry;
        let config = TreeConfig::new(1, geometry, geometry.segments, false);
        let asked = self.config.tree;
        TreeTuning {
            node_cache_bytes: asked.node_cache_bytes.or(Some(config.node_cache_bytes)),
            write_buffer_bytes: asked.write_buffer_bytes.or(Some(config.write_buffer_size)),
        }
    }

    /// Slots of the power-safe ring.
    pub fn ring_slots(&self) -> u16 {
        let wanted = u32::from(u16::MAX / 4).min(self.profile.geometry.power_safe_ring_slots.get());
        // Room for two of the largest values.
        let least = 2 * (2 << 20) / self.shape.geometry.page_bytes + 16;
        wanted.max(least.min(self.shape.geometry.segment_pages + 16)) as u16
    }

    fn ring(&self) -> Ring {
        let g = &self.shape.geometry;
        Ring::heap(self.ring_slots(), g.page_bytes, g.oob_bytes)
    }

    fn flash(&self, timings: Option<Timings>) -> Flash {
        let flash = Flash::power_on(MemMedia::new(self.shape), self.ring(), timings, self.faults);
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
        // A slot has a window, and its command may lend another.
        let windows = u32::from(queue_pairs) * (2 * u32::from(depth) + 4) + 64;
        let pages = u32::from(queue_pairs) * (u32::from(depth) + 64) + 256;
        let space = DmaSpace::with_placement(pages, windows, Placement::At(0));
        Attachment::new(space, self.config.queue_pairs_max.max(queue_pairs))
    }

    /// A device in memory that keeps no time.
    pub fn untimed(&self, host: Attachment) -> Device<Untimed> {
        let flash = self.flash(None);
        Device::new(flash, self.config.clone(), host)
    }

    /// A device in memory with the profile's times.
    pub fn timed(&self, host: Attachment) -> Device<Timed> {
        let flash = self.flash(Some(timings(&self.profile)));
        let mut device = Device::timed(flash, self.config.clone(), host, Costs::of(&self.profile));
        if self.traces {
            device.start_traces();
        }
        device
    }
}

/// The host's end of an attachment.
pub fn port(host: &Attachment) -> Port {
    Port {
        space: Arc::clone(&host.space),
        registers: Arc::clone(&host.registers),
        doorbells: Arc::clone(&host.doorbells),
        bar: Arc::clone(&host.bar),
    }
}
