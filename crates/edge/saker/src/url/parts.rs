// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parts of a device URL, and why it makes no sense.

use super::{LinuxPlace, TcpPlace, VfioPlace};
use saker_device::{EngineKind, Typed};
use saker_flash::FaultPlan;
use saker_host::{CacheOptions, TransferOptions};
use saker_hybrid::Rollback;
use std::collections::BTreeSet;
use std::path::PathBuf;
use thiserror::Error;

/// Why a URL makes no sense. One line, with what to write instead.
///
/// ```
/// let error: saker::url::UrlError = saker::DeviceUrl::parse("mem:?size=large").unwrap_err();
/// let text = "device URL `mem:?size=large`: option `size=large`; write a size such as 512MiB";
/// assert_eq!(error.to_string(), text);
/// ```
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("device URL `{url}`: {what}; {todo}")]
pub struct UrlError {
    pub(super) url: String,
    pub(super) what: String,
    pub(super) todo: String,
}

/// Where the device's flash is.
///
/// ```
/// use saker::{DeviceUrl, url::Backing};
/// let place = DeviceUrl::parse("file:disk.img")?.place;
/// assert_eq!(place, Backing::File("disk.img".into()));
/// let is_here = matches!(place, Backing::Memory { .. } | Backing::File(_));
/// assert!(is_here);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backing {
    /// In memory: gone with the process.
    Memory {
        /// Bytes of flash.
        bytes: u64,
        /// Profile.
        profile: String,
        /// Seed.
        seed: u64,
        /// What keeps the pairs.
        engine: EngineKind,
        /// Shards that share its flash.
        shards: u16,
        /// Bytes of a namespace of logical blocks behind that of pairs; 0: there is none.
        blocks: u64,
        /// Memory of its cached mapping table, if its map lies on flash; 0: the map is in memory.
        map_cache: u64,
    },
    /// In an image file.
    File(PathBuf),
    /// At an NVMe/TCP target.
    Tcp(TcpPlace),
    /// Behind the Linux kernel's driver.
    Linux(LinuxPlace),
    /// A PCIe function behind a vfio-user socket.
    VfioUser(VfioPlace),
}

/// Whether operations take time.
///
/// ```
/// use saker::{DeviceUrl, url::Timing};
/// assert_eq!(DeviceUrl::parse("mem:")?.timing, Timing::Off);
/// let timed = DeviceUrl::parse("mem:?timing=real")?;
/// assert_eq!((timed.timing, timed.threads), (Timing::Real, 1), "it has a thread of its own");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// As fast as this machine goes.
    Off,
    /// The profile's times, against the operating system's clock.
    Real,
}

/// What is given out of a damaged image.
///
/// ```
/// use saker::{DeviceUrl, Salvage};
/// let url = DeviceUrl::parse("file:disk.img?readonly&salvage=uncertain")?;
/// assert_eq!(url.salvage, Some(Salvage::Uncertain));
/// assert!(DeviceUrl::parse("file:disk.img?salvage").is_err(), "a damaged image is not written to");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Salvage {
    /// What is known to be the newest.
    Certain,
    /// Also what may be older than something that was lost.
    Uncertain,
}

/// A device URL, taken apart.
///
/// ```
/// use saker::DeviceUrl;
/// let url = DeviceUrl::parse("file:disk.img?nsid=2&depth=8")?;
/// assert_eq!((url.nsid, url.depth, url.readonly), (Some(2), 8, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceUrl {
    /// Where.
    pub place: Backing,
    /// Time.
    pub timing: Timing,
    /// Device threads: 0 or 1.
    pub threads: u32,
    /// The processors that the device's thread runs on; none: the system chooses.
    pub device_cpus: Vec<usize>,
    /// Threads that compute merges beside the device: 0 or 1. `None`: 1 where the machine has two cores or more, and 0 with faults, so that the same
    /// happens again.
    pub background_threads: Option<u32>,
    /// Commands in flight.
    pub depth: u16,
    /// How values get to the device.
    pub transfer: TransferOptions,
    /// The namespace; `None`: the first that suits.
    pub nsid: Option<u32>,
    /// Pairs to come, for whose index memory is brought in at opening and leaves are laid out, with memory for flash that is kept there;
    /// 0: memory comes as it is used.
    pub prefault: u64,
    /// The read cache for pairs; `None`: not said.
    pub cache: Option<CacheOptions>,
    /// Settings of the engine.
    pub settings: Typed,
    /// Whether `seed=` is given: the device is the same one each time. Otherwise each opening is a device of its own.
    pub is_seeded: bool,
    /// The name that a device in memory is served under, which then belongs to its identity.
    pub nqn: Option<String>,
    /// Faults.
    pub faults: FaultPlan,
    /// The file of the profile that an image was made with, if it is none that is built in.
    pub profile: Option<String>,
    /// An image is only read: other readers can have it open as well, writes are refused, and nothing of it changes.
    pub readonly: bool,
    /// A damaged image is opened as far as that goes.
    pub salvage: Option<Salvage>,
    /// A store over a namespace of blocks and one of pairs, and when copies go back from the one to the other; `None`: one namespace.
    pub hybrid: Option<Rollback>,
    /// The tree at the host of such a store, if it is one that the program brings along ([`crate::main_tree`]).
    pub main: Option<String>,
    /// The names of the options that the URL has.
    pub given: BTreeSet<String>,
}
