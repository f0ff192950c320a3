// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From an address to a controller: discovery, Connect, properties.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use saker_auth::{HostSecrets, Names};
use saker_nvme::Sqe;
use saker_nvme::admin::{GetLogPage, build};
use saker_nvme::fabrics::{self, Connect, ConnectData, DISCOVERY_NQN, DiscoveryEntry, RECORD_BYTES, nqn_of};
use saker_nvme::log::lid;
use saker_nvme::regs::{Cc, Csts};
use saker_nvme_tcp::Digests;
use saker_nvme_tcp::initiator::Data;
use zerocopy::{FromBytes, IntoBytes};

use crate::authenticate::authenticate;
use crate::back_off::BackOff;
use crate::error::RemoteError;
use crate::wire::Wire;

/// Where to, as whom, and how patiently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Host and port.
    pub address: String,
    /// SUBNQN; without it, the only subsystem that discovery names.
    pub subnqn: Option<String>,
    /// HOSTNQN.
    pub hostnqn: String,
    /// HOSTID: the same for all connections of a host.
    pub hostid: [u8; 16],
    /// What this host proves who it is with, and who the target is.
    pub secrets: Option<Arc<HostSecrets>>,
    /// Digests to ask for.
    pub digests: Digests,
    /// How long a connection may take to be made, and a command to be answered.
    pub timeout: Duration,
    /// How long to try to connect again after a loss, and, for 5 s at most, when the target closes a connection that is
    /// being made.
    pub reconnect: Duration,
}

/// Entries of the admin queue.
pub(crate) const ADMIN_ENTRIES: u16 = 32;

/// CC as it enables a controller for all command sets: entries of 64 and 16 bytes.
pub(crate) fn enabled() -> Cc {
    Cc::default().with_css(Cc::CSS_ALL).with_iosqes(6).with_iocqes(4).with_en(true)
}

/// How long a connection that the target closes while it is made is tried again.
const CUT_OFF_PATIENCE: Duration = Duration::from_secs(5);

impl RemoteError {
    /// Whether the other end closed the connection without a reason.
    fn is_cut_off(&self) -> bool {
        use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
        match self {
            Self::Closed => true,
            Self::Socket(error) => {
                matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
            }
            _ => false,
        }
    }
}

impl Options {
    /// The address, resolved.
    pub(crate) fn resolve(&self) -> Result<SocketAddr, RemoteError> {
        let resolved = self.address.to_socket_addrs().ok().and_then(|mut all| all.next());
        resolved.ok_or_else(|| RemoteError::Address(self.address.clone()))
    }

    /// Connects a queue of subsystem `subnqn`; returns CNTLID. A connection that the target closes before is made again:
    /// a target that is flooded with connections closes old ones.
    pub(crate) fn connect_queue(
        &self,
        address: SocketAddr,
        subnqn: &str,
        cntlid: u16,
        size: (u16, u16),
    ) -> Result<(Wire, u16), RemoteError> {
        let mut back_off = BackOff::new(self.timeout.min(self.reconnect).min(CUT_OFF_PATIENCE));
        loop {
            match self.connect_once(address, subnqn, cntlid, size) {
                Err(error) if error.is_cut_off() && back_off.pause() => {}
                connected => return connected,
            }
        }
    }

    fn connect_once(
        &self,
        address: SocketAddr,
        subnqn: &str,
        cntlid: u16,
        (qid, entries): (u16, u16),
    ) -> Result<(Wire, u16), RemoteError> {
        let name = |name: &str| fabrics::nqn_field(name).ok_or_else(|| RemoteError::Name(name.into()));
        let mut data = ConnectData::empty();
        (data.hostid, data.cntlid) = (self.hostid, cntlid.into());
        (data.subnqn, data.hostnqn) = (name(subnqn)?, name(&self.hostnqn)?);
        let mut wire = Wire::open(address, self.digests, self.timeout)?;
        // Nobody could send Keep Alive while the application does something else: no timer.
        let connect = Connect { qid, sqsize: entries - 1, keep_alive_ms: 0, ..Connect::default() };
        let data = Data::Send(data.as_bytes().to_vec());
        let answer = wire.execute(connect.encode(), data, self.timeout)?;
        let dw0 = answer.cqe.result_dw0();
        // What discovery tells is no secret, and nobody is asked who tells it.
        let secrets = self.secrets.as_ref().filter(|_| subnqn != DISCOVERY_NQN);
        let names = Names { host: self.hostnqn.clone(), subsystem: subnqn.to_owned() };
        authenticate(&mut wire, dw0, &names, secrets, self.timeout)?;
        Ok((wire, dw0 as u16))
    }

    /// The only subsystem that discovery names.
    pub(crate) fn discover(&self, address: SocketAddr) -> Result<String, RemoteError> {
        let entries = (0, ADMIN_ENTRIES);
        let (mut wire, _) =
            self.connect_queue(address, DISCOVERY_NQN, ConnectData::ANY_CONTROLLER, entries)?;
        enable(&mut wire, self.timeout)?;
        let head = log(&mut wire, 0, RECORD_BYTES, self.timeout)?;
        let count = head.get(8..16).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
        let mut names = Vec::new();
        for n in 0..count.min(RECORDS_MAX) {
            let record = log(&mut wire, (n + 1) * RECORD_BYTES as u64, RECORD_BYTES, self.timeout)?;
            if let Ok(entry) = DiscoveryEntry::read_from_bytes(&record)
                && let Some(name) = nqn_of(&entry.subnqn)
                && entry.subtype == fabrics::subtype::NVM
                && !names.iter().any(|known| known == name)
            {
                names.push(name.to_owned());
            }
        }
        match names.len() {
            1 => Ok(names.remove(0)),
            0 => Err(RemoteError::Discovery("no subsystem".into())),
            _ => Err(RemoteError::Discovery(names.join(", "))),
        }
    }
}

/// Records of a discovery log that are looked at.
const RECORDS_MAX: u64 = 1024;

fn log(wire: &mut Wire, offset: u64, bytes: usize, timeout: Duration) -> Result<Vec<u8>, RemoteError> {
    let command = GetLogPage {
        nsid: 0,
        lid: lid::DISCOVERY,
        lsp: 0,
        retain_event: false,
        bytes: bytes as u64,
        lsi: 0,
        offset,
        offset_is_index: false,
        uuid_index: 0,
        csi: 0,
    };
    let answer = wire.execute(build::get_log_page(&command), Data::Receive(bytes as u32), timeout)?;
    Ok(answer.data)
}

/// Reads a property.
pub(crate) fn property(
    wire: &mut Wire,
    offset: u32,
    wide: bool,
    timeout: Duration,
) -> Result<u64, RemoteError> {
    let answer = wire.execute(fabrics::property_get(offset, wide), Data::None, timeout)?;
    Ok(answer.cqe.result())
}

/// Writes CC.
pub(crate) fn set_cc(wire: &mut Wire, cc: Cc, timeout: Duration) -> Result<(), RemoteError> {
    let sqe: Sqe = fabrics::property_set(fabrics::property::CC, false, u64::from(cc.0));
    wire.execute(sqe, Data::None, timeout).map(drop)
}

/// Enables the controller and waits until it is ready.
pub(crate) fn enable(wire: &mut Wire, timeout: Duration) -> Result<(), RemoteError> {
    set_cc(wire, enabled(), timeout)?;
    wait_for(wire, timeout, Csts::rdy)
}

/// Waits until CSTS is as `reached` wants it.
pub(crate) fn wait_for(
    wire: &mut Wire,
    timeout: Duration,
    reached: impl Fn(Csts) -> bool,
) -> Result<(), RemoteError> {
    let deadline = std::time::Instant::now() + timeout;
    loop {
        let csts = Csts(property(wire, fabrics::property::CSTS, false, timeout)? as u32);
        if csts.cfs() {
            return Err(RemoteError::Fatal);
        }
        if reached(csts) {
            return Ok(());
        }
        if std::time::Instant::now() > deadline {
            return Err(RemoteError::Timeout);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Between two looks at CSTS.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
