// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HostKV over block namespace 1 of a device.

use saker_assembly::{Build, port};
use saker_device::{Attachment, NamespaceKind};
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::{BlockSegments, HostKv, KvBlockQueue, extent_bytes};
use saker_host::{ConnectOptions, Connection, Driver, HostError, ProtocolError};

use crate::result::Job;

/// Block commands HostKV keeps in flight at least.
const BLOCK_DEPTH_MIN: usize = 128;
const BLOCK_DEPTH_MAX: usize = 2048;
/// Block commands HostKV keeps in flight for a job: no fewer than the operations its threads may wait for.
pub fn block_depth(job: &Job) -> u16 {
    let operations = job.threads.max(1).saturating_mul(usize::from(job.depth.max(1)));
    operations.clamp(BLOCK_DEPTH_MIN, BLOCK_DEPTH_MAX) as u16
}

/// A new HostKV over block namespace 1 of a device that is attached to `host`.
///
/// # Errors
/// [`HostError`] if it cannot be connected to, or has no such namespace.
pub fn connect(
    build: &Build,
    host: &Attachment,
    depth: u16,
    driver: &mut impl Driver,
) -> Result<HostKv, HostError> {
    let mut connection = Connection::connect(port(host), driver, ConnectOptions::default())?;
    let mut medium = medium_of(&mut connection, build, depth, driver)?;
    medium.take_empty();
    Ok(HostKv::over_tuned(build.engine, &build.host_engine(), medium).with_cache(build.cache))
}

/// Block namespace 1 as a medium, whatever is in it.
///
/// # Errors
/// [`HostError`] if there is no such namespace.
pub(crate) fn medium_of(
    connection: &mut Connection,
    build: &Build,
    depth: u16,
    driver: &mut impl Driver,
) -> Result<BlockSegments, HostError> {
    let options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
    let queue = connection.create_kv_queue(driver, 1, options)?;
    let NamespaceKind::Block { block_bytes, blocks, .. } = build.config.namespaces[0].kind else {
        return Err(ProtocolError::Queues.into());
    };
    let extent_bytes = extent_bytes(blocks * u64::from(block_bytes));
    let blocks = KvBlockQueue::new(queue, block_bytes, blocks).with_vwc(connection.controller().vwc);
    let medium = BlockSegments::with_pages(blocks, extent_bytes, build.host_page_bytes);
    Ok(medium.with_block_cache(build.block_cache_bytes))
}
