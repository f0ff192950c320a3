// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hybrid: HostKV over a block namespace, and a tree in the device behind a key-value namespace of the same flash.

use super::batch::Takes;
use super::host_kv::HostStore;
use super::host_medium::medium_of;
use saker_assembly::{Build, SEGMENTS_MIN, port, shape_for};
use saker_device::{Attachment, EngineKind, NamespaceConfig, NamespaceKind};
use saker_engine::lsm::settings::asking_for;
use saker_engine::{Packing, Settings};
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::HostKv;
use saker_host::{ConnectOptions, Connection, Driver, HostError};
use saker_hybrid::{DeviceLsm, Hybrid, OpenError, Options};

/// The hybrid in virtual time.
pub type HybridStore = HostStore<Hybrid>;

/// Namespaces of blocks and of pairs.
const BLOCKS: u32 = 1;
const PAIRS: u32 = 2;

/// A device with both interfaces, and how they are used.
#[derive(Clone, Debug)]
pub struct Dual {
    /// Superblocks of the flash, in thousandths, that are the key-value namespace's; the rest is the block namespace's.
    pub device_permille: u32,
    /// What is asked of the device's tree. Without an answer there it has its usual settings.
    pub device_settings: Settings,
    /// How the store uses both.
    pub options: Options,
}

impl Default for Dual {
    /// A quarter of the flash is the device's tree's. Its values go to the value log and begin at whole blocks there (IterKVSSD).
    fn default() -> Self {
        Self { device_permille: 250, device_settings: iter_kvssd(), options: Options::default() }
    }
}

/// Settings of an LSM store that has all values in its value log, packed by whole blocks.
pub fn iter_kvssd() -> Settings {
    asking_for(Packing::Block)
}

impl Dual {
    /// The device for a store with that build: its flash, and two namespaces on it.
    pub fn device(&self, build: &Build) -> Build {
        let build = &self.cut_finer(build);
        let geometry = build.shape.geometry;
        let pairs = (u64::from(geometry.segments) * u64::from(self.device_permille) / 1000) as u32;
        let blocks = geometry.segments - pairs;
        let block_bytes = block_bytes(build);
        let (capacitor, seed) = (build.config.capacitor, build.config.identity);
        let mut config = build.config.clone();
        config.namespaces = vec![
            NamespaceConfig::block(BLOCKS, &geometry, blocks, capacitor, block_bytes),
            NamespaceConfig::kv(PAIRS, &geometry, pairs, seed).with_engine(EngineKind::LSM),
        ];
        let mut device = Build { config, settings: Settings::NONE, ..build.clone() };
        // Whatever the main tree is asked for, the device's is asked for its own.
        device.engine = EngineKind::LSM;
        device.ask(&self.device_settings);
        device
    }
}

impl Dual {
    /// The build with its flash cut into as many superblocks as both namespaces need: a tree of few large ones has no room.
    fn cut_finer(&self, build: &Build) -> Build {
        let (mut finer, geometry) = (build.clone(), build.shape.geometry);
        let bytes = u64::from(geometry.segments) * geometry.segment_bytes();
        let least = self.device_permille.min(1000 - self.device_permille.min(1000));
        let of_least = bytes * u64::from(least) / 1000;
        if of_least / geometry.segment_bytes().max(1) < u64::from(SEGMENTS_MIN)
            && let Ok(shape) = shape_for(&build.profile, bytes, of_least)
        {
            finer.shape = shape;
            let oob_bytes = &mut finer.shape.geometry.oob_bytes;
            *oob_bytes = geometry.oob_bytes.max(*oob_bytes);
        }
        finer
    }
}

/// Bytes of a block of a build's own block namespace, or what such a one would have.
fn block_bytes(build: &Build) -> u32 {
    let own = build.config.namespaces.iter().find_map(|namespace| match namespace.kind {
        NamespaceKind::Block { block_bytes, .. } => Some(block_bytes),
        NamespaceKind::Kv { .. } => None,
    });
    own.unwrap_or(build.shape.geometry.page_bytes.min(4096))
}

/// Both ends of the store on a device that is attached to `host`: queues, and what recovers is nobody's yet.
struct Ends {
    medium: saker_host::host_kv::BlockSegments,
    device: DeviceLsm,
}

fn ends(device: &Build, host: &Attachment, depth: u16, driver: &mut impl Driver) -> Result<Ends, HostError> {
    let options = ConnectOptions { io_queues: 2, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(host), driver, options)?;
    let medium = medium_of(&mut connection, device, depth, driver)?;
    let options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
    let queue = connection.create_kv_queue(driver, PAIRS, options)?;
    let group_bytes = Takes::of_namespace(&device.config, 1).batch_bytes as u32;
    let capacity_bytes = connection.identify_kv_namespace(driver, PAIRS)?.nsze.get();
    Ok(Ends { medium, device: DeviceLsm::new(queue, connection, group_bytes, capacity_bytes) })
}

/// A new hybrid on a new device ([`Dual::device`]) that is attached to `host`.
///
/// # Errors
/// [`HostError`] if it cannot be connected to.
pub fn connect_hybrid(
    build: &Build,
    device: &Build,
    host: &Attachment,
    (depth, dual): (u16, &Dual),
    driver: &mut impl Driver,
) -> Result<Hybrid, HostError> {
    let Ends { mut medium, device } = ends(device, host, depth, driver)?;
    medium.take_empty();
    let main = HostKv::over_tuned(build.engine, &build.host_engine(), medium).with_cache(build.cache);
    Ok(Hybrid::new(main, device, dual.options))
}

/// Why a hybrid does not open.
#[derive(Debug, thiserror::Error)]
pub enum ReopenError {
    /// The device cannot be used.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The main tree is damaged.
    #[error("the tree at the host is damaged: {0}")]
    Main(String),
    /// The two do not go together.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// The hybrid on a device that has one already: both trees are recovered and compared.
///
/// # Errors
/// [`ReopenError`].
pub fn reopen_hybrid(
    build: &Build,
    device: &Build,
    host: &Attachment,
    (depth, dual): (u16, &Dual),
    driver: &mut impl Driver,
) -> Result<Hybrid, ReopenError> {
    let Ends { medium, device } = ends(device, host, depth, driver)?;
    let main = HostKv::open_tuned(build.engine, &build.host_engine(), medium, || driver.drive());
    let main = main.map_err(|damage| ReopenError::Main(format!("{damage:?}")))?;
    Ok(Hybrid::open(main, device, dual.options, || driver.drive())?)
}

#[cfg(test)]
mod tests;
