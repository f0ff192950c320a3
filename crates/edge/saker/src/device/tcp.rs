// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connects to a device at an NVMe/TCP target.

use super::attach::dma_space;
use crate::url::TcpPlace;
use saker_host::Port;
use saker_initiator::{Digests, HostSecrets, Options, Remote, RemoteError, SecretFileError, read_secrets};
use saker_link::BarBuffer;
use saker_runtime::AnyDriver;
use std::sync::Arc;
use std::time::Duration;

/// Connects to the target of a URL.
pub(crate) fn open(place: &TcpPlace, depth: u16) -> Result<(AnyDriver, Port), RemoteError> {
    let secrets = secrets(place)?.map(Arc::new);
    let options = Options {
        secrets,
        address: place.address.clone(),
        subnqn: place.nqn.clone(),
        hostnqn: place.hostnqn.clone(),
        hostid: host_id(),
        digests: Digests { header: place.header_digest, data: place.data_digest },
        timeout: Duration::from_secs(place.timeout_s),
        reconnect: Duration::from_secs(place.reconnect_s),
    };
    let remote = Remote::open(options, dma_space(depth))?;
    let port = Port {
        space: Arc::clone(remote.space()),
        registers: Arc::clone(remote.registers()),
        doorbells: Arc::clone(remote.doorbells()),
        // Nothing reads it: a target has no vendor commands.
        bar: BarBuffer::new(1),
    };
    Ok((AnyDriver::Remote(Box::new(remote)), port))
}

/// The first secret of each file: of a file with several it is the one to use.
fn secrets(place: &TcpPlace) -> Result<Option<HostSecrets>, SecretFileError> {
    let first = |path: &String| read_secrets(path.as_ref()).map(|mut secrets| secrets.swap_remove(0));
    let Some(path) = &place.secret_file else { return Ok(None) };
    let controller = place.ctrl_secret_file.as_ref().map(first).transpose()?;
    Ok(Some(HostSecrets { host: first(path)?, controller }))
}

/// Tells the hosts of a target apart: this process, and when it opened the device.
fn host_id() -> [u8; 16] {
    let since = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    let text = format!("{}.{since}", std::process::id());
    xxhash_rust::xxh3::xxh3_128(text.as_bytes()).to_le_bytes()
}

/// Six bytes that hosts of a device hardly share.
pub(crate) fn salt() -> [u8; 6] {
    let id = host_id();
    [id[0], id[1], id[2], id[3], id[4], id[5]]
}
