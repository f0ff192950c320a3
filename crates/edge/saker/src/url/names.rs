// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of URL options by kind of device, and what is said to one that is none.

use super::Backing;
use saker_device::EngineKind;

/// This host's own, whatever the device.
const ALL: [&str; 6] = ["depth", "nsid", "cache", "cache_policy", "cache_value_max", "hybrid"];
/// Of devices in this process.
const LOCAL: [&str; 15] = [
    "profile",
    "timing",
    "threads",
    "device_cpus",
    "background_threads",
    "main",
    "transfer",
    "prefault",
    "fault.seed",
    "fault.program",
    "fault.erase",
    "fault.read",
    "fault.spike",
    "fault.spike_ns",
    "fault.cut",
];
const MEMORY: [&str; 6] = ["size", "seed", "engine", "shards", "blocks", "map_cache"];
const FILE: [&str; 2] = ["readonly", "salvage"];
const TCP: [&str; 6] = ["digest", "hostnqn", "secret_file", "ctrl_secret_file", "timeout", "reconnect"];
const LINUX: [&str; 2] = ["io", "reconnect"];
const VFIO: [&str; 1] = ["reconnect"];

/// How alike a name must be to be meant, as strsim's Jaro-Winkler similarity: one or two letters off.
const ALIKE_MIN: f64 = 0.84;

/// The options of a kind of device.
pub(super) fn of(place: &Backing) -> impl Iterator<Item = &'static str> {
    let is_local = matches!(place, Backing::Memory { .. } | Backing::File(_));
    let local = LOCAL.into_iter().chain(EngineKind::setting_names()).filter(move |_| is_local);
    let own: &[&str] = match place {
        Backing::Memory { .. } => &MEMORY,
        Backing::File(_) => &FILE,
        Backing::Tcp(_) => &TCP,
        Backing::Linux(_) => &LINUX,
        Backing::VfioUser(_) => &VFIO,
    };
    ALL.into_iter().chain(local).chain(own.iter().copied())
}

/// What to write instead of an option that the device does not have: that of another kind is told whose it is, else the most
/// alike is meant.
pub(super) fn instead_of(name: &str, place: &Backing) -> String {
    if let Some(whose) = whose(name, place) {
        return whose;
    }
    let alike = |known: &&'static str| strsim::jaro_winkler(&name.to_ascii_lowercase(), known);
    let nearest = of(place).max_by(|a, b| alike(a).total_cmp(&alike(b)));
    match nearest.filter(|known| alike(known) >= ALIKE_MIN) {
        Some(known) => format!("write {known}"),
        None => format!("write one of {}", of(place).collect::<Vec<_>>().join(", ")),
    }
}

fn whose(name: &str, place: &Backing) -> Option<String> {
    let (is_tcp, is_linux) = (TCP.contains(&name), LINUX.contains(&name));
    let is_local = [&LOCAL[..], &MEMORY, &FILE].concat().contains(&name)
        || EngineKind::setting_names().any(|known| known == name);
    match place {
        Backing::Tcp(_) | Backing::Linux(_) | Backing::VfioUser(_) if name == "main" => {
            Some("main is for mem: and file: devices".to_owned())
        }
        Backing::Tcp(_) if is_local => Some(format!("{name} is the target's: give it to `saker serve`")),
        Backing::Linux(_) if is_local => Some(format!("the device has its own {name}")),
        Backing::VfioUser(_) if is_local => Some(format!("{name} is the server's: give it to `saker serve`")),
        _ if is_tcp && is_linux => Some(format!("{name} is for tcp: and /dev devices")),
        _ if is_tcp => Some(format!("{name} is for tcp: devices")),
        _ if is_linux => Some(format!("{name} is for /dev devices")),
        _ => None,
    }
}
