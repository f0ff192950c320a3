// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a URL to a connected device, and back: opening and orderly closing, whatever the flash is kept in.

pub(crate) mod attach;
mod blocks;
mod cpus;
pub(crate) mod damaged;
pub(crate) mod dual;
pub(crate) mod identity;
mod linux;
pub(crate) mod records;
mod settings;
mod shards;
pub(crate) mod tcp;
mod vfio;

use crate::divide::{NamespacePlan, divide};
use crate::error::Error;
use crate::image::{self, Access};
use crate::profiles::profile_named;
use crate::url::{Backing, DeviceUrl, Salvage, Timing};
use attach::attach;
pub(crate) use blocks::block_queue;
use damaged::Wishes;
use records::{config_of, records};
use saker_assembly::Build;
use saker_assembly::port;
use saker_device::{
    Attachment, Costs, Device, NamespaceConfig, NamespaceKind, PRICED_BYTES, Packing, Settings, timings,
};
use saker_engine::lsm::settings::{PROGRAM_PRICE, packing};
use saker_flash::{FaultPlan, Flash};
use saker_host::{ConnectOptions, Connection, Port};
use saker_nvme::admin::Identify;
use saker_nvme::csi;
use saker_nvme::identify::cns;
use saker_profile::{Profile, ProfileError};
use saker_runtime::{AnyDevice, AnyDriver, DeviceThread};
use saker_segment_store::PageBuffer;
pub(crate) use settings::refuse_idle;
use settings::{ask, settings_of};
use std::path::Path;

/// The kind of namespace that somebody wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Kv,
    Block,
}

impl Wanted {
    const fn name(self) -> &'static str {
        match self {
            Self::Kv => "key-value",
            Self::Block => "block",
        }
    }

    const fn csi(self) -> u8 {
        match self {
            Self::Kv => csi::KV,
            Self::Block => csi::NVM,
        }
    }
}

/// A device that runs, and a host that is connected to it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub connection: Connection,
    pub driver: AnyDriver,
    pub profile: String,
}

impl Opened {
    /// Starts the device of a URL and connects to it.
    pub fn open(url: &DeviceUrl) -> Result<Self, Error> {
        Self::open_for(url, 1)
    }

    /// The same for several queue pairs. `url.depth` is of all of them together.
    pub fn open_for(url: &DeviceUrl, io_queues: u16) -> Result<Self, Error> {
        let Some(rollback) = url.hybrid else { return Self::open_plain(url, io_queues) };
        let (mut driver, port, profile) = dual::open(url, rollback)?;
        let options = ConnectOptions { io_queues, ..ConnectOptions::default() };
        let connection = Connection::connect(port, &mut driver, options)?;
        Ok(Self { connection, driver, profile })
    }

    /// The device itself, whatever is made of its namespaces.
    fn open_plain(url: &DeviceUrl, io_queues: u16) -> Result<Self, Error> {
        let (mut driver, port, profile) = match &url.place {
            Backing::Tcp(place) => {
                let (driver, port) = tcp::open(place, url.depth)?;
                (driver, port, REMOTE_PROFILE.to_owned())
            }
            Backing::Linux(place) => {
                let (driver, port) = linux::open(place, url.depth)?;
                (driver, port, REMOTE_PROFILE.to_owned())
            }
            Backing::VfioUser(place) => {
                let (driver, port) = vfio::open(place, url.depth)?;
                (driver, port, REMOTE_PROFILE.to_owned())
            }
            Backing::Memory { shards: 2.., .. } => shards::start(url)?,
            Backing::Memory { .. } | Backing::File(_) => start(url)?,
        };
        let options = ConnectOptions { io_queues, ..ConnectOptions::default() };
        let connection = Connection::connect(port, &mut driver, options)?;
        Ok(Self { connection, driver, profile })
    }

    /// The namespace asked for, if it is of the kind wanted; otherwise the first that is.
    pub fn namespace(&mut self, wanted: Wanted, asked: Option<u32>) -> Result<u32, Error> {
        let mut there = Vec::new();
        for nsid in self.connection.identify_active_namespaces(&mut self.driver)? {
            there.push((nsid, self.connection.identify_command_set(&mut self.driver, nsid)?));
        }
        let suited = |&&(nsid, set): &&(u32, Option<u8>)| {
            set == Some(wanted.csi()) && asked.is_none_or(|asked| asked == nsid)
        };
        if let Some(&(nsid, _)) = there.iter().find(suited) {
            return Ok(nsid);
        }
        let kind = |set| if set == Some(csi::KV) { "kv" } else { "block" };
        let names: Vec<_> = there.iter().map(|&(nsid, set)| format!("{nsid} ({})", kind(set))).collect();
        let (wanted, names) = (wanted.name(), names.join(", "));
        Err(match asked {
            None => Error::NoNamespace { wanted, there: names },
            Some(nsid) if there.iter().all(|(other, _)| *other != nsid) => {
                Error::Missing { nsid, there: names }
            }
            Some(nsid) => Error::OtherNamespace { nsid, wanted, there: names },
        })
    }
}

/// The question for a namespace of blocks: their size and number.
pub(crate) const fn identify_blocks(nsid: u32) -> Identify {
    Identify { nsid, cns: cns::NAMESPACE, cntid: 0, specific_id: 0, csi: csi::NVM, uuid_index: 0 }
}

/// What stands for the profile of a device that is at a target, or the kernel's.
const REMOTE_PROFILE: &str = "remote";

fn start(url: &DeviceUrl) -> Result<(AnyDriver, Port, String), Error> {
    cpus::refuse_missing(url)?;
    let (device, host, profile) = made(url, &|queue_pairs| attach(url.depth, queue_pairs))?;
    let mut device = refuse_damaged(device)?;
    let driver = if url.threads == 0 {
        AnyDriver::Inline(device)
    } else {
        // Measured: the hybrid is faster so, one tree alone slower (docs/decisions/image.md).
        if url.hybrid.is_some() {
            device.allow_syncs_beside();
        }
        AnyDriver::Thread(DeviceThread::start_on(device, &url.device_cpus))
    };
    Ok((driver, port(&host), profile))
}

/// Stops the device. An image is marked clean, or as cut if power went.
pub(crate) fn close(driver: AnyDriver) -> Result<(), Error> {
    match driver {
        AnyDriver::Inline(device) => close_device(device),
        AnyDriver::Thread(thread) => close_device(thread.stop()),
        AnyDriver::Dual(dual) => close(dual.into_driver()),
        AnyDriver::Sharded(shards) => shards.into_turns().into_iter().try_for_each(close),
        // The target looks after its image, the kernel after its device, and who has its thread after that.
        AnyDriver::Elsewhere(_)
        | AnyDriver::Remote(_)
        | AnyDriver::Linux(_)
        | AnyDriver::VfioUser(_)
        | AnyDriver::Gone => Ok(()),
    }
}

/// Closes a device that was flushed: an image is marked clean, or as cut if power went.
///
/// # Errors
/// [`enum@Error`]: the image stays marked as in use, and recovers at the next opening.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// let url = saker::DeviceUrl::parse(&format!("file:{}", path.display()))?;
/// let (device, _shared_with_host, _profile) = saker::build_device(&url)?;
/// let thread = saker::DeviceThread::start(device); // or advance it yourself
/// saker::close_device(thread.stop())?;
/// assert!(saker::image::check(&path, &mut |_| {})?.findings.is_empty(), "it is marked clean");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn close_device(device: AnyDevice) -> Result<(), Error> {
    match device {
        AnyDevice::Untimed(d) => close_cells(*d),
        AnyDevice::Timed(d) => close_cells(*d),
    }
}

/// A device all of whose namespaces can be served. Of another one the image is left as it was found.
///
/// # Errors
/// [`Error::Damaged`], with the first namespace that cannot.
///
/// ```
/// let url = saker::DeviceUrl::parse("mem:?size=4MiB&profile=tiny")?;
/// let (device, _shared_with_host, _profile) = saker::build_device(&url)?;
/// assert!(saker::refuse_damaged(device).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn refuse_damaged(device: AnyDevice) -> Result<AnyDevice, Error> {
    let Some((nsid, what)) = device.damage().into_iter().next() else { return Ok(device) };
    leave_device(device);
    Err(Error::Damaged { nsid, what })
}

/// Stops a device that nobody was served by, since what it was opened for is refused: its image is left as it was found.
fn leave(driver: AnyDriver) {
    match driver {
        AnyDriver::Inline(device) => leave_device(device),
        AnyDriver::Thread(thread) => leave_device(thread.stop()),
        _ => {}
    }
}

fn leave_device(device: AnyDevice) {
    match device {
        AnyDevice::Untimed(device) => leave_cells(*device),
        AnyDevice::Timed(device) => leave_cells(*device),
    }
}

fn leave_cells<T>(device: Device<T>) {
    let mut flash = device.into_flash();
    if flash.is_powered()
        && let Some(media) = flash.media_mut().get_mut::<image::FileCells>()
    {
        media.leave();
    }
}

/// Nothing is left of cells in memory.
fn close_cells<T>(device: Device<T>) -> Result<(), Error> {
    let records = records(&device.config());
    let mut flash = device.into_flash();
    let cut = !flash.is_powered();
    let Some(media) = flash.media_mut().get_mut::<image::FileCells>() else { return Ok(()) };
    if !media.is_writable() {
        return Ok(());
    }
    if cut {
        return Ok(media.set_cut()?);
    }
    media.set_namespaces(records)?;
    Ok(media.finish()?)
}

/// Makes the device of a URL, with what it shares with its host and the name of its profile.
///
/// # Errors
/// [`enum@Error`].
///
/// ```
/// use saker::{AnyDevice, DeviceUrl};
/// let url = DeviceUrl::parse("mem:?size=4MiB&profile=tiny")?;
/// saker::use_huge_pages(); // as `Kv::open` does
/// let (mut device, _shared_with_host, profile) = saker::build_device(&url)?;
/// assert!(matches!(device, AnyDevice::Untimed(_)) && profile == "tiny");
/// assert_eq!(device.stats().device.commands, 0);
/// let there = DeviceUrl::parse("tcp://127.0.0.1:4420")?;
/// assert!(matches!(saker::build_device(&there), Err(saker::Error::NotLocal)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn build_device(url: &DeviceUrl) -> Result<(AnyDevice, Attachment, String), Error> {
    refuse_hybrid(url)?;
    cpus::refuse_idle(url)?;
    made(url, &|queue_pairs| attach(url.depth, queue_pairs))
}

/// The same on what the caller shares with its host, made for so many I/O queue pairs: for a host that is another process.
///
/// # Errors
/// [`enum@Error`].
///
/// ```
/// use saker_device::Attachment;
/// use saker_link::DmaSpace;
/// let url = saker::DeviceUrl::parse("mem:?size=4MiB&profile=tiny")?;
/// let space = DmaSpace::new(16, 0);
/// let at = |queue_pairs| Attachment::new(std::sync::Arc::clone(&space), queue_pairs);
/// let (_device, shared_with_host, _profile) = saker::build_device_at(&url, &at)?;
/// assert!(std::sync::Arc::ptr_eq(&shared_with_host.space, &space));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn build_device_at(
    url: &DeviceUrl,
    at: &dyn Fn(u16) -> Attachment,
) -> Result<(AnyDevice, Attachment, String), Error> {
    refuse_hybrid(url)?;
    cpus::refuse_idle(url)?;
    made(url, at)
}

/// A store over both namespaces is made by who opens the device, and not by who lends it.
///
/// # Errors
/// [`Error::Setting`].
///
/// ```
/// let url = saker::DeviceUrl::parse("mem:?hybrid")?;
/// let error = saker::refuse_hybrid(&url).unwrap_err();
/// assert!(error.to_string().starts_with("option `hybrid` is for who opens the store"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn refuse_hybrid(url: &DeviceUrl) -> Result<(), Error> {
    if url.hybrid.is_none() {
        return Ok(());
    }
    let what = "option `hybrid` is for who opens the store, not for who serves its namespaces".to_owned();
    Err(Error::Setting { what, todo: "leave it out here, and open tcp://HOST:PORT?hybrid".into() })
}

/// The device itself; of a store over both namespaces, the device below it.
fn made(url: &DeviceUrl, at: &dyn Fn(u16) -> Attachment) -> Result<(AnyDevice, Attachment, String), Error> {
    saker_runtime::huge_pages::install();
    let (mut device, host, profile) = built(url, at)?;
    if url.prefault > 0 {
        device.bring_in(url.prefault);
    }
    if has_background_thread(url) {
        device = device.with_background_thread();
    }
    Ok((device, host, profile))
}

/// Whether a thread computes beside the device. With faults that are to happen again, nothing does that takes as long as it takes.
fn has_background_thread(url: &DeviceUrl) -> bool {
    let has_cores = || std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    let is_wanted = url.background_threads.map(|threads| threads > 0);
    is_wanted.unwrap_or_else(|| url.faults == FaultPlan::default() && has_cores())
}

fn built(url: &DeviceUrl, at: &dyn Fn(u16) -> Attachment) -> Result<(AnyDevice, Attachment, String), Error> {
    match &url.place {
        Backing::Memory { bytes, profile, seed, engine, blocks, map_cache, .. } => {
            let profile = profile_named(profile)?;
            let build = match url.hybrid {
                Some(_) => dual_in_memory(&profile, *bytes, *seed)?,
                None => in_memory(&profile, *bytes, *seed, (*blocks, *map_cache))?,
            };
            let build = build.with_engine(*engine);
            let settings = match url.hybrid {
                // What the URL asks for is the main tree's.
                Some(_) => vec![dual::settings_of_pairs(dual::asked_min_blob_size(url)?)],
                None => settings_of(url, &[*engine])?,
            };
            let has_blocks = url.hybrid.is_some() || *blocks > 0;
            settings.iter().try_for_each(|asked| dual::refuse_alone(asked, has_blocks))?;
            settings.iter().try_for_each(|asked| refuse_idle(*engine, asked, asked))?;
            let mut build = build.asked(&settings)?;
            build.faults = url.faults;
            build.config.identity = identity::in_memory(url, *seed)?;
            dual::read_ahead(&mut build.config.namespaces);
            refuse_workers(&build.config.namespaces, url)?;
            let host = at(build.config.queue_pairs_max);
            let device = match url.timing {
                Timing::Off => AnyDevice::Untimed(Box::new(build.untimed(host.clone()))),
                Timing::Real => AnyDevice::Timed(Box::new(build.timed(host.clone()))),
            };
            Ok((device, host, profile.name))
        }
        Backing::File(path) => open_file(path, url, at),
        Backing::Tcp(_) | Backing::Linux(_) | Backing::VfioUser(_) => Err(Error::NotLocal),
    }
}

/// Nobody can say when in a device's time a thread of an engine's own is through.
pub(crate) fn refuse_workers(namespaces: &[NamespaceConfig], url: &DeviceUrl) -> Result<(), Error> {
    let with_threads = namespaces.iter().find(|ns| url.timing == Timing::Real && ns.has_workers());
    let Some(NamespaceKind::Kv { engine, .. }) = with_threads.map(|ns| &ns.kind) else { return Ok(()) };
    let what = format!("engine `{}` has threads of its own, and timing=real is asked for", engine.name());
    Err(Error::Setting { what, todo: "leave timing out, or choose another engine".into() })
}

/// Bytes of a block, where pages have as many.
const BLOCK_BYTES: u32 = 4096;

/// A namespace of pairs, and one of so many bytes of blocks behind it, if any, with so much memory for the table of a map on flash.
fn in_memory(
    profile: &Profile,
    bytes: u64,
    seed: u64,
    (blocks, map_cache_bytes): (u64, u64),
) -> Result<Build, Error> {
    if blocks == 0 {
        return Ok(Build::kv(profile, bytes, seed)?);
    }
    let block_bytes = BLOCK_BYTES.min(Build::kv(profile, bytes, seed)?.shape.geometry.page_bytes);
    let bytes_of_blocks = Some(blocks);
    let blocks = match map_cache_bytes {
        0 => NamespacePlan::Block { bytes: bytes_of_blocks, block_bytes },
        _ => NamespacePlan::BlockOnFlash { bytes: bytes_of_blocks, block_bytes, map_cache_bytes },
    };
    let plans = [NamespacePlan::Kv { flash_bytes: None }, blocks];
    let (shape, namespaces) = divide(profile, bytes, seed, &plans)?;
    Ok(Build::with(profile, shape, namespaces, seed))
}

/// The namespaces of a store over both.
fn dual_in_memory(profile: &Profile, bytes: u64, seed: u64) -> Result<Build, Error> {
    let (shape, namespaces) = divide(profile, bytes, seed, &dual::plans(bytes, Some(profile)))?;
    Ok(Build::with(profile, shape, namespaces, seed))
}

fn open_file(
    path: &Path,
    url: &DeviceUrl,
    at: &dyn Fn(u16) -> Attachment,
) -> Result<(AnyDevice, Attachment, String), Error> {
    if let Some(salvage) = url.salvage {
        let with_uncertain = salvage == Salvage::Uncertain;
        let wishes = Wishes { depth: url.depth, url: Some(url), with_uncertain };
        let opened = damaged::open(path, wishes)?;
        return Ok((AnyDevice::Untimed(opened.device), opened.host, opened.config.profile));
    }
    let faults = url.faults;
    let opened = image::open(path, if url.readonly { Access::Read } else { Access::Write })?;
    let mut config = config_of(path, &opened.config)?;
    config.read_only = url.readonly;
    let profile = opened.config.profile.clone();
    let parsed = || profile_of_image(&profile, url.profile.as_deref());
    ask(&mut config, url)?;
    dual::read_ahead(&mut config.namespaces);
    refuse_workers(&config.namespaces, url)?;
    // Without timing an image opens without its profile; a byte's copy then counts as much as its program.
    if config.namespaces.iter().any(|ns| packing(&ns.settings) == Some(Packing::AutoTime))
        && let Ok(known) = parsed()
    {
        let price = known.copied_while_programmed(PRICED_BYTES);
        let priced = Settings::told(&[(PROGRAM_PRICE, u64::from(price))]);
        config.namespaces.iter_mut().for_each(|ns| ns.settings = ns.settings.over(&priced));
    }
    let g = opened.config.geometry;
    let ring = PageBuffer::new(opened.ring, opened.config.ring_slots, g.page_bytes, g.oob_bytes);
    let host = at(config.queue_pairs_max);
    let device = match url.timing {
        Timing::Off => {
            let flash = Flash::power_on(Box::new(opened.media), ring, None, faults);
            AnyDevice::Untimed(Box::new(Device::new(flash, config, host.clone())))
        }
        Timing::Real => {
            let parsed = parsed()?;
            let flash = Flash::power_on(Box::new(opened.media), ring, Some(timings(&parsed)), faults);
            AnyDevice::Timed(Box::new(Device::timed(flash, config, host.clone(), Costs::of(&parsed))))
        }
    };
    Ok((device, host, profile))
}

/// The profile of an image: the built-in one it names, or its own from the file that the URL names.
fn profile_of_image(name: &str, file: Option<&str>) -> Result<Profile, ProfileError> {
    let Some(file) = file else {
        return Profile::builtin(name).map_err(|_| ProfileError::File {
            path: name.to_owned(),
            reason: "it is not built in; name its file with &profile=FILE".into(),
        });
    };
    let profile = profile_named(file)?;
    if profile.name == name {
        return Ok(profile);
    }
    let reason = format!("it is called `{}`, and the image was made with `{name}`", profile.name);
    Err(ProfileError::File { path: file.to_owned(), reason })
}
