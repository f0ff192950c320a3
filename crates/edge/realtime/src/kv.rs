//! The door for applications: `Kv::open(url)`.

use crate::any::{AnyDevice, AnyTurn, DeviceThread};
use crate::image::{self, Access, ImageConfig, ImageError, NamespaceKind as RecordKind, NamespaceRecord};
use crate::url::{DeviceUrl, Place, Timing, UrlError};
use saker_device::{
    Attachment, Costs, Device, DeviceConfig, NamespaceConfig, NamespaceKind, Snapshot, timings,
};
use saker_flash::{FaultPlan, Flash};
use saker_host::{
    ClientOptions, ConnectOptions, Connection, GroupBuilder, GroupStats, HostError, KvClient, KvStoreClient,
    Patience, Port, StoreKeys, WriteBatch, Xxh3Digest, group::Form,
};
use saker_link::DmaSpace;
use saker_medium::Ring;
use saker_sim::profile::{Profile, ProfileError};
use saker_world::{Build, BuildError};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// Why a device cannot be opened or used.
#[derive(Debug, Error)]
pub enum Error {
    /// The URL makes no sense.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// There is no such profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The size makes no sense.
    #[error("{0}; give a larger size")]
    Build(#[from] BuildError),
    /// The image cannot be opened.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The image is damaged.
    #[error("namespace {nsid} is damaged: {what}; run `saker check` on the image")]
    Damaged {
        /// Which namespace.
        nsid: u32,
        /// What is wrong.
        what: String,
    },
    /// The device refused, or did not answer.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The device has no KV namespace.
    #[error("the device has no key-value namespace; open one that has")]
    NoKv,
}

/// A key-value SSD, opened. One thread at a time uses it.
#[derive(Debug)]
pub struct Kv {
    store: KvStoreClient<AnyTurn>,
    connection: Connection,
    profile: String,
}

impl Kv {
    /// Opens the device of a URL (see [`crate::url`]).
    ///
    /// # Errors
    /// [`enum@Error`], each a line that says what to do.
    pub fn open(url: &str) -> Result<Self, Error> {
        crate::huge_pages::install();
        let url = DeviceUrl::parse(url)?;
        let (device, host, profile) = build(&url)?;
        if let Some((nsid, what)) = device.damage().into_iter().next() {
            return Err(Error::Damaged { nsid, what });
        }
        let port = Port {
            space: Arc::clone(&host.space),
            registers: Arc::clone(&host.registers),
            doorbells: Arc::clone(&host.doorbells),
            bar: Arc::clone(&host.bar),
        };
        let mut turn = if url.threads == 0 {
            AnyTurn::Inline(device)
        } else {
            AnyTurn::Thread(DeviceThread::start(device))
        };
        let mut connection = Connection::connect(port, &mut turn, ConnectOptions::default())?;
        let nsid = connection.kv_namespaces(&mut turn)?.first().copied().ok_or(Error::NoKv)?;
        let patience = Patience::default();
        let options = ClientOptions { depth: url.depth, patience, ..ClientOptions::default() };
        let client = KvClient::open(&mut connection, turn, nsid, options)?;
        Ok(Self { store: KvStoreClient::new(client), connection, profile })
    }

    /// Stores a pair. Keys have 1 to 255 bytes.
    ///
    /// # Errors
    /// [`HostError`].
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        self.store.put(key, value)
    }

    /// Stores a pair without waiting; [`Kv::drain`] waits for all of them and tells the first failure.
    ///
    /// # Errors
    /// [`HostError`].
    #[inline]
    pub fn put_queued(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        self.store.put_queued(key, value)
    }

    /// Waits for every queued put.
    ///
    /// # Errors
    /// [`HostError`]: the first failure, with its key.
    pub fn drain(&mut self) -> Result<(), HostError> {
        self.store.drain()
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        self.store.get(key)
    }

    /// Reads a value into `buffer`; returns its full length, which may be more than the buffer's.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get_into(&mut self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        self.store.get_into(key, buffer)
    }

    /// Deletes a pair; whether it was there.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, HostError> {
        self.store.delete(key)
    }

    /// Whether there is such a pair.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn exists(&mut self, key: &[u8]) -> Result<bool, HostError> {
        self.store.exists(key)
    }

    /// Writes a batch, in groups where the device has them: see [`WriteBatch`]. Deletes of keys that are not there succeed.
    ///
    /// # Errors
    /// [`HostError`]: the first write that failed, with its key; the others were carried out.
    pub fn write(&mut self, batch: &WriteBatch) -> Result<(), HostError> {
        self.store.write(batch)
    }

    /// The values of many keys, in their order.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn multi_get(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, HostError> {
        self.store.multi_get(keys)
    }

    /// Whether the keys exist, in their order.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn multi_exist(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>, HostError> {
        self.store.multi_exist(keys)
    }

    /// Begins a group of keys of up to 16 bytes: operations, then `commit`.
    pub fn begin(&mut self, form: Form) -> GroupBuilder<'_, AnyTurn> {
        self.store.native().begin(form)
    }

    /// Groups so far, and what was done one by one instead.
    pub fn group_stats(&mut self) -> GroupStats {
        self.store.native().group_stats()
    }

    /// The keys from `from` on, in the device's order.
    pub fn list(&mut self, from: Option<&[u8]>) -> StoreKeys<'_, AnyTurn, Xxh3Digest> {
        self.store.list(from)
    }

    /// Returns when everything completed so far survives a power cut.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn flush(&mut self) -> Result<(), HostError> {
        self.store.flush()
    }

    /// The client below, for counters.
    pub fn client(&mut self) -> &mut KvClient<AnyTurn> {
        self.store.native()
    }

    /// Everything countable; nothing while the device runs on a thread of its own.
    pub fn snapshot(&mut self) -> Option<Snapshot> {
        match self.store.native().turn_mut() {
            AnyTurn::Inline(device) => Some(device.snapshot()),
            AnyTurn::Thread(_) => None,
        }
    }

    /// Name of the device's profile.
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// Serial number, model and firmware revision, as Identify Controller tells them.
    pub fn identity(&self) -> (String, String, String) {
        let c = self.connection.controller();
        let text = |b: &[u8]| String::from_utf8_lossy(b).trim_end().to_owned();
        (text(&c.sn), text(&c.mn), text(&c.fr))
    }

    /// Closes the device in order: everything is flushed, an image is marked clean.
    ///
    /// # Errors
    /// [`enum@Error`]: the image stays marked as in use, and recovers at the next opening.
    pub fn close(mut self) -> Result<(), Error> {
        self.store.drain()?;
        let powered = self.store.flush();
        let (_, turn) = self.store.into_client().into_parts();
        let device = match turn {
            AnyTurn::Inline(device) => device,
            AnyTurn::Thread(thread) => thread.stop(),
        };
        match device {
            AnyDevice::File(d) => close_image(*d)?,
            AnyDevice::FileTimed(d) => close_image(*d)?,
            AnyDevice::Memory(_) | AnyDevice::MemoryTimed(_) => {}
        }
        powered?;
        Ok(())
    }
}

fn close_image<T>(device: Device<image::FileMedia, T>) -> Result<(), Error> {
    let records = device.config().namespaces.iter().map(record).collect();
    let mut flash = device.into_flash();
    let cut = !flash.is_powered();
    let media = flash.media_mut();
    if cut {
        return Ok(media.set_cut()?);
    }
    media.set_namespaces(records)?;
    Ok(media.finish()?)
}

fn build(url: &DeviceUrl) -> Result<(AnyDevice, Attachment, String), Error> {
    match &url.place {
        Place::Memory { bytes, profile, seed } => {
            let profile = Profile::builtin(profile)?;
            let mut build = Build::kv(&profile, *bytes, *seed)?;
            build.faults = url.faults;
            let host = attach(url.depth, build.config.queue_pairs_max);
            let device = match url.timing {
                Timing::Off => AnyDevice::Memory(Box::new(build.untimed(host.clone()))),
                Timing::Real => AnyDevice::MemoryTimed(Box::new(build.timed(host.clone()))),
            };
            Ok((device, host, profile.name))
        }
        Place::File(path) => open_file(path, url.timing, url.faults, url.depth),
    }
}

fn open_file(
    path: &Path,
    timing: Timing,
    faults: FaultPlan,
    depth: u16,
) -> Result<(AnyDevice, Attachment, String), Error> {
    let opened = image::open(path, Access::Write)?;
    let config = device_config(&opened.config);
    let g = opened.config.geometry;
    let ring = Ring::new(opened.ring, opened.config.ring_slots, g.page_bytes, g.oob_bytes);
    let host = attach(depth, config.queue_pairs_max);
    let profile = opened.config.profile.clone();
    let device = match timing {
        Timing::Off => {
            let flash = Flash::power_on(opened.media, ring, None, faults);
            AnyDevice::File(Box::new(Device::new(flash, config, host.clone())))
        }
        Timing::Real => {
            let parsed = Profile::builtin(&profile)?;
            let flash = Flash::power_on(opened.media, ring, Some(timings(&parsed)), faults);
            AnyDevice::FileTimed(Box::new(Device::timed(flash, config, host.clone(), Costs::of(&parsed))))
        }
    };
    Ok((device, host, profile))
}

fn attach(depth: u16, queue_pairs: u16) -> Attachment {
    let (windows, pages) = (u32::from(depth) * 2 + 64, u32::from(depth) * 4 + 512);
    Attachment::new(DmaSpace::new(pages, windows), queue_pairs)
}

/// What an image's header says, as a device's configuration.
pub fn device_config(image: &ImageConfig) -> DeviceConfig {
    let namespace = |r: &NamespaceRecord| NamespaceConfig {
        nsid: r.nsid,
        quota_segments: r.quota_segments,
        kind: match r.kind {
            RecordKind::Kv => NamespaceKind::Kv {
                value_bytes_max: r.value_bytes_max,
                seed: r.seed,
                error_on_delete: r.flags & NamespaceRecord::EDNEK != 0,
            },
            RecordKind::Block => NamespaceKind::Block { block_bytes: r.block_bytes, blocks: r.blocks },
        },
    };
    DeviceConfig::with(image.namespaces.iter().map(namespace).collect(), image.capacitor, image.seed)
}

fn record(ns: &NamespaceConfig) -> NamespaceRecord {
    let blank = NamespaceRecord {
        nsid: ns.nsid,
        kind: RecordKind::Kv,
        quota_segments: ns.quota_segments,
        block_bytes: 0,
        blocks: 0,
        flags: 0,
        value_bytes_max: 0,
        seed: 0,
    };
    match ns.kind {
        NamespaceKind::Kv { value_bytes_max, seed, error_on_delete } => {
            let flags = if error_on_delete { NamespaceRecord::EDNEK } else { 0 };
            NamespaceRecord { value_bytes_max, seed, flags, ..blank }
        }
        NamespaceKind::Block { block_bytes, blocks } => {
            NamespaceRecord { kind: RecordKind::Block, block_bytes, blocks, ..blank }
        }
    }
}

/// Makes an image with one KV namespace over all of its flash. Returns the bytes it holds.
///
/// # Errors
/// [`enum@Error`]: no such profile, too small, or the file cannot be made.
pub fn create_image(path: &Path, bytes: u64, profile: &str, seed: u64) -> Result<u64, Error> {
    let profile = Profile::builtin(profile)?;
    let build = Build::kv(&profile, bytes, seed)?;
    let shape = build.shape;
    let mut uuid = [0; 16];
    saker_sim::Seed(seed).child("image").rng().fill(&mut uuid);
    let config = ImageConfig {
        geometry: shape.geometry,
        channels: shape.channels,
        luns: shape.luns,
        ring_slots: build.ring_slots(),
        capacitor: build.config.capacitor,
        seed,
        shards: 1,
        profile: profile.name.clone(),
        namespaces: build.config.namespaces.iter().map(record).collect(),
        uuid,
    };
    image::create(path, &config)?;
    Ok(shape.geometry.segment_bytes() * u64::from(shape.geometry.segments))
}

/// Verifies an image: every page, then what recovery makes of it, without changing the file.
///
/// # Errors
/// [`enum@Error`] when it cannot be read at all.
pub fn check_image(
    path: &Path,
    mut progress: impl FnMut(image::Progress),
) -> Result<(image::Report, u64), Error> {
    let report = image::check(path, &mut progress)?;
    if !report.is_sound() {
        return Ok((report, 0));
    }
    let opened = image::open(path, Access::Read)?;
    let config = device_config(&opened.config);
    let g = opened.config.geometry;
    let ring = Ring::new(opened.ring, opened.config.ring_slots, g.page_bytes, g.oob_bytes);
    let flash = Flash::power_on(opened.media, ring, None, FaultPlan::default());
    let mut device: Device<image::FileMedia, _> = Device::new(flash, config, attach(1, 1));
    if let Some((nsid, what)) = device.damage().into_iter().next() {
        return Err(Error::Damaged { nsid, what });
    }
    let pairs = device.snapshot().namespaces.iter().map(|n| n.store.pairs).sum();
    Ok((report, pairs))
}
