//! A device at an NVMe/TCP target: the parts of its URL, and how it is opened.

use crate::any::AnyTurn;
use crate::open::dma_space;
use saker_host::Port;
use saker_initiator::{Digests, Options, Remote, RemoteError};
use saker_link::BarBuffer;
use std::sync::Arc;
use std::time::Duration;

/// A subsystem on the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpPlace {
    /// Host and port.
    pub address: String,
    /// SUBNQN; without it, the only one that discovery names.
    pub nqn: Option<String>,
    /// HOSTNQN.
    pub hostnqn: String,
    /// Header digests.
    pub header_digest: bool,
    /// Data digests.
    pub data_digest: bool,
    /// Seconds a command may take.
    pub timeout_s: u64,
    /// Seconds to try to connect again.
    pub reconnect_s: u64,
}

/// The name of a host that gives none.
const HOSTNQN: &str = "nqn.2026-11.dev.saker:host";
/// Seconds, for commands and for connecting again.
const PATIENCE_S: u64 = 30;

impl TcpPlace {
    /// `HOST:PORT`, `HOST:PORT/NQN`.
    pub(crate) fn parse(rest: &str) -> Option<Self> {
        let (address, nqn) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = address.rsplit_once(':')?;
        let is_sound = !host.is_empty() && port.parse::<u16>().is_ok();
        is_sound.then(|| Self {
            address: address.into(),
            nqn: (!nqn.is_empty()).then(|| nqn.into()),
            hostnqn: HOSTNQN.into(),
            header_digest: false,
            data_digest: false,
            timeout_s: PATIENCE_S,
            reconnect_s: PATIENCE_S,
        })
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let number = || seconds(value);
        match name {
            "digest" => {
                (self.header_digest, self.data_digest) = match value {
                    "none" => (false, false),
                    "header" => (true, false),
                    "data" => (false, true),
                    "both" => (true, true),
                    _ => return Err("write none, header, data or both"),
                }
            }
            "hostnqn" if value.is_empty() => return Err("write this host's name"),
            "hostnqn" => self.hostnqn = value.into(),
            "timeout" => self.timeout_s = number()?.max(1),
            "reconnect" => self.reconnect_s = number()?,
            _ => return Err("give it to `saker serve`"),
        }
        Ok(())
    }
}

/// Most seconds to wait for anything: a year. Clocks do not count without end.
const SECONDS_MAX: u64 = 31_536_000;

/// A number of seconds.
///
/// # Errors
/// What to write instead.
pub(crate) fn seconds(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok().filter(|n| *n <= SECONDS_MAX);
    number.ok_or("write a whole number of seconds, at most 31536000")
}

/// Connects to the target of a URL.
pub(crate) fn open(place: &TcpPlace, depth: u16) -> Result<(AnyTurn, Port), RemoteError> {
    let options = Options {
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
    Ok((AnyTurn::Remote(Box::new(remote)), port))
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
