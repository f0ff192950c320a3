// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queues on namespaces of blocks.

use super::identify_blocks;
use crate::error::Error;
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::KvBlockQueue;
use saker_host::{Connection, HostError, ProtocolError};
use saker_nvme::identify::NvmNamespace;
use saker_runtime::AnyDriver;

/// A queue on a namespace of blocks.
///
/// # Errors
/// The device's.
pub(crate) fn block_queue(
    connection: &mut Connection,
    driver: &mut AnyDriver,
    nsid: u32,
    options: KvQueueOptions,
) -> Result<KvBlockQueue, Error> {
    let found: Box<NvmNamespace> = connection.identify(driver, &identify_blocks(nsid))?;
    let block_bytes = found.block_bytes().ok_or(HostError::from(ProtocolError::Format))?;
    let queue = connection.create_kv_queue(driver, nsid, options)?;
    Ok(KvBlockQueue::new(queue, block_bytes, found.nsze.get()).with_vwc(connection.controller().vwc))
}
