// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device at an NVMe/TCP target: the parts of its URL.

/// A subsystem on the network.
///
/// ```
/// use saker::{DeviceUrl, TcpPlace, url::Backing};
/// let Backing::Tcp(place) = DeviceUrl::parse("tcp://10.0.0.7:4420?digest=data&timeout=5")?.place else { panic!() };
/// let TcpPlace { address, nqn, data_digest, timeout_s, .. } = place;
/// assert_eq!((&address[..], nqn, data_digest, timeout_s), ("10.0.0.7:4420", None, true, 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpPlace {
    /// Host and port.
    pub address: String,
    /// SUBNQN; without it, the only one that discovery names.
    pub nqn: Option<String>,
    /// HOSTNQN.
    pub hostnqn: String,
    /// A file with this host's secret, for targets that want to know who it is.
    pub secret_file: Option<String>,
    /// A file with the target's secret, if the target is to prove who it is.
    pub ctrl_secret_file: Option<String>,
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
            secret_file: None,
            ctrl_secret_file: None,
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
            "secret_file" | "ctrl_secret_file" if value.is_empty() => return Err("write the path of a file"),
            // A slip that would show a secret to whoever sees the command line.
            "secret_file" | "ctrl_secret_file" if value.starts_with("DHHC-1:") => {
                return Err("write the path of a file that has the secret");
            }
            "secret_file" => self.secret_file = Some(value.into()),
            "ctrl_secret_file" => self.ctrl_secret_file = Some(value.into()),
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
