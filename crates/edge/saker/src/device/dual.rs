// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over both namespaces of a device, which hosts see as a device of its own: option `hybrid`.

use super::settings::settings_of;
use super::{Opened, Wanted, block_queue};
use crate::divide::NamespacePlan;
use crate::error::Error;
use crate::trees::{self, Lent};
use crate::url::{Backing, DeviceUrl};
use saker_device::{EngineKind, NamespaceConfig, NamespaceKind, Settings};
use saker_engine::lsm::settings::{MAIN_MIN_BLOB_SIZE, MIN_BLOB_SIZE};
use saker_engine::settings::Setting;
use saker_engine::{EngineConfig, Packing};
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::{BlockQueue, BlockSegments, HOST_PAGE_BYTES, HostKv, KvBlockQueue, extent_bytes};
use saker_host::{Connection, HostError, KvQueue, Patience, Port};
use saker_hybrid::{AnyTree, DeviceLsm, Hybrid, Made, Options, Rollback, Served};
use saker_profile::Profile;
use saker_runtime::{AnyDriver, Dual};
use std::sync::Arc;

/// Percent of the flash that are the device's tree's; the rest is the main tree's. The device's tree then takes about as many copies as the main
/// tree takes pairs: a full one is no way out.
const PAIRS_PERCENT: u64 = 40;
/// Queues of the device below, and that of the host: commands of each are in flight in the same memory.
const QUEUES: u16 = 4;
/// Commands in flight at most.
const DEPTH_MAX: u16 = crate::url::DEPTH_MAX / QUEUES;
/// Bytes of copies that go back in a turn, where each is a call of the main tree that waits: eight of 4 KiB.
const COPIES_BYTES: u32 = 36 << 10;
/// What RocksDB's compactions read at once (its `include/rocksdb/options.h`, `compaction_readahead_size`).
const READAHEAD_BYTES: u64 = 2 << 20;
/// What compactions of the main tree read at once: the fastest of 64 KiB to 2 MiB (docs/decisions/hybrid.md).
const MAIN_READAHEAD_BYTES: u64 = 128 << 10;

/// The namespaces of a device of so many bytes: of pairs, then of blocks. `profile`: `None` if there is none of that name.
pub(crate) fn plans(bytes: u64, profile: Option<&Profile>) -> Vec<NamespacePlan> {
    let page_bytes = profile.map_or(super::BLOCK_BYTES, |profile| profile.geometry.page_bytes.get());
    vec![
        NamespacePlan::Kv { flash_bytes: Some(bytes * PAIRS_PERCENT / 100) },
        NamespacePlan::Block { bytes: None, block_bytes: super::BLOCK_BYTES.min(page_bytes) },
    ]
}

/// What the device's tree is asked for: its values begin at whole blocks (IterKVSSD). Beside it is kept what the main tree's
/// `min_blob_size` is, by its number among the setting's words.
pub(crate) fn settings_of_pairs(main_min_blob_size: u64) -> Settings {
    let kept = Settings::told(&[(MAIN_MIN_BLOB_SIZE, main_min_blob_size)]);
    let packed = saker_engine::lsm::settings::asking_for(Packing::Block);
    if main_min_blob_size == 0 { packed } else { kept.over(&packed) }
}

/// A device's tree beside blocks reads ahead as the main tree does, unless it is told otherwise. Commands to the blocks keep the flash busy, and
/// each read of a compaction waits behind theirs.
pub(crate) fn read_ahead(namespaces: &mut [NamespaceConfig]) {
    if !namespaces.iter().any(|ns| matches!(ns.kind, NamespaceKind::Block { .. })) {
        return;
    }
    let usual = Settings::told(&[("compaction_readahead_size", READAHEAD_BYTES)]);
    let is_tree = |ns: &&mut NamespaceConfig| matches!(ns.kind, NamespaceKind::Kv { engine, .. } if engine == EngineKind::LSM);
    namespaces.iter_mut().filter(is_tree).for_each(|ns| ns.settings = ns.settings.over(&usual));
}

/// What is kept for the main tree beside its way out does nothing where there are no blocks for a main tree.
///
/// # Errors
/// [`Error::Setting`].
pub(crate) fn refuse_alone(settings: &Settings, has_blocks: bool) -> Result<(), Error> {
    if has_blocks || settings.get(MAIN_MIN_BLOB_SIZE).unwrap_or(0) == 0 {
        return Ok(());
    }
    let what =
        format!("setting `{MAIN_MIN_BLOB_SIZE}` does nothing here: there are no blocks for a main tree");
    Err(Error::Setting { what, todo: "write min_blob_size, or make it with hybrid".into() })
}

/// What is kept of that for the main tree: its `min_blob_size`.
///
/// # Errors
/// [`Error::Setting`] for any other setting.
pub(crate) fn kept_of_main(asked: &Settings) -> Result<u64, Error> {
    match asked.iter().find(|(name, _)| *name != MIN_BLOB_SIZE) {
        None => Ok(asked.get(MIN_BLOB_SIZE).unwrap_or(0)),
        Some((name, _)) => {
            let what = format!(
                "setting `{name}`: of its main tree a store over both namespaces keeps min_blob_size alone"
            );
            Err(Error::Setting { what, todo: "leave it out".into() })
        }
    }
}

/// The main tree's `min_blob_size` that a URL asks for.
pub(super) fn asked_min_blob_size(url: &DeviceUrl) -> Result<u64, Error> {
    Ok(asked_of_main(url)?.get(MIN_BLOB_SIZE).unwrap_or(0))
}

/// What a URL asks of the main tree. Of what an image keeps for an engine, `min_blob_size` alone is kept for the main tree, so the rest is
/// refused.
fn asked_of_main(url: &DeviceUrl) -> Result<Settings, Error> {
    let engine = EngineKind::LSM;
    let asked = settings_of(url, &[engine])?.swap_remove(0);
    // What its values are kept in is the own main tree's matter.
    let is_kept = |name| name == MIN_BLOB_SIZE && url.main.is_none();
    let is_refused = |s: &&Setting| s.place().is_some() && !is_kept(s.name) && asked.get(s.name).is_some();
    match engine.settings().iter().find(is_refused) {
        None => Ok(asked),
        Some(setting) => {
            let what = format!("option `{}`: a store over both namespaces has its own", setting.name);
            Err(Error::Setting { what, todo: "leave it out".into() })
        }
    }
}

/// How the main tree is opened: as asked, with the `min_blob_size` that was kept when the namespaces were made.
fn config(asked: Settings, kept: u64) -> Result<EngineConfig, Error> {
    if let Some(asked) = asked.get(MIN_BLOB_SIZE).filter(|asked| *asked != kept) {
        let word =
            |n| EngineKind::LSM.settings().iter().find(|s| s.name == MIN_BLOB_SIZE).map(|s| s.written(n));
        let [asked, kept] = [asked, kept].map(|n| word(n).unwrap_or_default());
        let what = format!("option `min_blob_size={asked}`: the store was made with {kept}");
        return Err(Error::Setting { what, todo: "leave it out, or make another one".into() });
    }
    let own = Settings::told(&[("compaction_readahead_size", MAIN_READAHEAD_BYTES), (MIN_BLOB_SIZE, kept)]);
    Ok(EngineConfig { settings: asked.over(&own), ..EngineConfig::new(1, false) })
}

/// The main tree's `min_blob_size`, as the device keeps it beside its own tree. One that tells of no settings keeps none.
fn kept_min_blob_size(opened: &mut Opened, pairs: u32) -> Result<u64, Error> {
    let told = crate::settings::settings_of(&mut opened.connection, &mut opened.driver, pairs)?;
    let Some(named) = told.iter().find(|setting| setting.name == MAIN_MIN_BLOB_SIZE) else { return Ok(0) };
    let of_main = EngineKind::LSM.settings().iter().find(|setting| setting.name == MAIN_MIN_BLOB_SIZE);
    let number = of_main.and_then(|setting| setting.parse(&named.value, |_| None).ok());
    number.ok_or_else(|| {
        let what = format!("setting `{MAIN_MIN_BLOB_SIZE}={}` of namespace {pairs}", named.value);
        Error::Setting { what, todo: "open it with a newer release".into() }
    })
}

/// The namespaces, and how the main tree is opened. Nothing is written.
fn made(opened: &mut Opened, asked: &Settings, is_own: bool) -> Result<Made, Error> {
    let blocks = opened.namespace(Wanted::Block, None)?;
    let pairs = opened.namespace(Wanted::Kv, None)?;
    let kept = kept_min_blob_size(opened, pairs)?;
    let config = if is_own { config(asked.clone(), kept)? } else { EngineConfig::new(1, false) };
    Ok(Made { blocks, pairs, kind: EngineKind::LSM, config })
}

/// Opens the store of a URL. Its device is the one of the URL without the option.
pub(super) fn open(url: &DeviceUrl, rollback: Rollback) -> Result<(AnyDriver, Port, String), Error> {
    let asked = asked_of_main(url)?;
    let mut below = url.clone();
    if matches!(below.place, Backing::File(_)) {
        below.settings = saker_device::Typed::default();
    }
    if url.depth > DEPTH_MAX {
        let what = format!("option `depth`: a store over both namespaces takes 1 to {DEPTH_MAX}");
        return Err(Error::Setting { what, todo: format!("write depth={DEPTH_MAX} or less") });
    }
    below.depth = url.depth * QUEUES;
    let mut opened = Opened::open_plain(&below, 2)?;
    let made = match made(&mut opened, &asked, url.main.is_none()) {
        Ok(made) => made,
        Err(refused) => {
            super::leave(opened.driver);
            return Err(refused);
        }
    };
    let (blocks, pairs) = (made.blocks, made.pairs);
    let is_new = matches!(url.place, Backing::Memory { .. });
    let Opened { mut connection, mut driver, profile } = opened;
    let depth = KvQueueOptions { entries: u32::from(url.depth) + 1, slots: url.depth };
    let mut block_queue = block_queue(&mut connection, &mut driver, blocks, depth)?;
    if url.main.is_none() && !is_new && has_files(&mut block_queue, &mut driver) {
        super::leave(driver);
        let what =
            "its blocks have files, so it is another one; write main=rocksdb, with the program saker-rocksdb";
        return Err(Error::MainTree(what.to_owned()));
    }
    let queue = connection.create_kv_queue(&mut driver, pairs, depth)?;
    let space = Arc::clone(&connection.port().space);
    let below = (&mut connection, &mut driver);
    let main: AnyTree = match url.main.as_deref() {
        None => Box::new(main_tree(medium(block_queue), &made, is_new, below)?),
        Some(name) => outside(name, block_queue, (asked, is_new, &profile), &made, below)?,
    };
    let batch_bytes = batch_bytes(&mut connection, &mut driver, &queue)?;
    let capacity_bytes = connection.identify_kv_namespace(&mut driver, pairs)?.nsze.get();
    let device = DeviceLsm::new(queue, connection, batch_bytes, capacity_bytes);
    let usual = Options { rollback, ..Options::default() };
    let options = if url.main.is_some() { Options { buffer_bytes: COPIES_BYTES, ..usual } } else { usual };
    let store = Hybrid::open(main, device, options, || saker_host::Driver::drive(&mut driver))?;
    // Formats count on from there.
    let [a, b, c, d, e, f] = super::tcp::salt();
    let life = u64::from_be_bytes([0, a, b, c, d, e, f, 1]);
    let served = Served::new(store, driver, made, space, life);
    let port = served.port();
    Ok((AnyDriver::Dual(Box::new(Dual::new(served))), port, profile))
}

/// Bytes of the longest batch that the device's tree carries out as a whole; 0: none.
fn batch_bytes(
    connection: &mut Connection,
    driver: &mut AnyDriver,
    queue: &KvQueue,
) -> Result<u32, HostError> {
    let can = connection.transfer_methods(driver, queue.pair().sq_entries())?;
    let has_both = can.methods.groups() && can.methods.transactions();
    Ok(if has_both { can.group_bytes_max } else { 0 })
}

/// How files on blocks begin (`saker_kvfs`, `layout.rs`), which the own main tree would take for what a cut has left.
const FILES: &[u8] = b"SAKERFS1";

/// Whether there are files on the blocks. If they cannot be read the tree says so itself.
fn has_files(queue: &mut KvBlockQueue, driver: &mut AnyDriver) -> bool {
    let Some(ticket) = queue.read(0, 1) else { return false };
    queue.ring();
    for _ in 0..Patience::default().polls_max {
        if let Some(done) = queue.poll().filter(|done| done.ticket == ticket) {
            let found = done.data.unwrap_or_default();
            return done.status.is_success() && found.starts_with(FILES);
        }
        saker_host::Driver::drive(driver);
    }
    false
}

fn medium(queue: KvBlockQueue) -> BlockSegments {
    let extent_bytes = extent_bytes(queue.blocks().saturating_mul(queue.block_bytes().into()));
    BlockSegments::with_pages(queue, extent_bytes, HOST_PAGE_BYTES)
}

/// A main tree that the program brings along, on a queue of its own; a Format that was cut is carried out.
fn outside(
    name: &str,
    queue: KvBlockQueue,
    (settings, is_new, profile): (Settings, bool, &str),
    made: &Made,
    (connection, driver): (&mut Connection, &mut AnyDriver),
) -> Result<AnyTree, Error> {
    let refused = |what| Error::MainTree(what);
    let open = trees::named(name).ok_or_else(|| refused(format!("there is no `{name}`")))?;
    let (transfer_bytes_max, profile) = (connection.transfer_bytes_max(), profile.to_owned());
    let mut main = open(Lent { queue, transfer_bytes_max, profile, is_new, settings }).map_err(refused)?;
    saker_hybrid::served::finish_format(&mut main, made, connection, driver)?;
    Ok(main)
}

/// The main tree: new, or recovered; a Format that was cut is carried out.
fn main_tree(
    mut medium: BlockSegments,
    made: &Made,
    is_new: bool,
    (connection, driver): (&mut Connection, &mut AnyDriver),
) -> Result<HostKv, Error> {
    if is_new {
        medium.take_empty();
        return Ok(HostKv::over_tuned(made.kind, &made.config, medium));
    }
    let opened = HostKv::open_tuned(made.kind, &made.config, medium, || saker_host::Driver::drive(driver));
    let mut main = opened.map_err(|damage| Error::Damaged {
        nsid: made.blocks,
        what: format!("{damage:?}, of the tree at the host"),
    })?;
    saker_hybrid::served::finish_format(&mut main, made, connection, driver)?;
    Ok(main)
}
