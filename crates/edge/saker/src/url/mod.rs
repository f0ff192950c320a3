// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Device URLs: `mem:?size=1GiB&profile=default`, `file:disk.img?timing=off&threads=1`, `tcp://127.0.0.1:4420/NQN`,
//! `/dev/ng0n1`.
//!
//! | option | for | meaning |
//! |---|---|---|
//! | `size` | mem | bytes of flash (default 4GiB) |
//! | `profile` | both | a built-in profile (default `default`) or a file; an image needs the file of its own for `timing=real` |
//! | `engine` | mem | an [`EngineKind`] by name (default `hash_store`); an image has its own |
//! | `blocks` | mem | bytes of a namespace of logical blocks, namespace 2 (default none) |
//! | `map_cache` | mem | with `blocks`: their map lies on flash, and its cached mapping table has so many bytes (default: all in memory) |
//! | `shards` | mem | devices that share the flash, the keys divided by a hash (default 1); `threads=1` gives each a thread |
//! | `readonly` | file | only reads, beside other readers |
//! | `salvage` | file | with `readonly`: opens a damaged image; `salvage=uncertain` gives out also what may be old |
//! | `nsid` | both | the namespace (default: the first of the kind that is opened) |
//! | `timing` | both | `off` (default) or `real` |
//! | `threads` | both | 0: the device runs on the caller's thread (default); 1: on a thread of its own |
//! | `device_cpus` | both | processors that the device's thread runs on, with `threads=1` or `timing=real` (default: any) |
//! | `background_threads` | both | 1: a thread computes merges of `lsm` beside the device; 0: none does (default: 1 with two cores or more, without faults) |
//! | `depth` | both | commands in flight (default 64) |
//! | `transfer` | both | `small` (default: values of up to 35 bytes in their command), or a [`Method`](saker_host::Method) by name, but for SGLs |
//! | `prefault` | both | pairs to come: memory of their index, with `mem` of all flash, is brought in; an empty index is laid out for them |
//! | `seed` | mem | seed of key order (default 1); where it is given, of the device's identity too, which is a new one each time otherwise |
//! | `write_buffer_size`, `packing`, `cache_bytes`, ... | both | settings of the engine ([`EngineKind::settings`]); one that it does not have is refused |
//! | `cache` | all | bytes of a read cache at the host (default 0) |
//! | `cache_policy` | all | what leaves it: `lru` (default) or `s3fifo` |
//! | `cache_value_max` | all | longest value that it admits (default 4KiB) |
//! | `fault.seed` | both | seed of the faults below |
//! | `fault.program`, `fault.erase`, `fault.read`, `fault.spike` | both | how often, as `1/1000` |
//! | `fault.spike_ns` | both | length of a latency spike |
//! | `fault.cut` | both | power is cut at this program or erase, counted from 1 |
//! | `digest` | tcp | `header`, `data` or `both`: CRC32C on the wire (default none) |
//! | `hostnqn` | tcp | this host's name |
//! | `secret_file`, `ctrl_secret_file` | tcp | files with this host's secret and with the target's, for DH-HMAC-CHAP |
//! | `timeout` | tcp | seconds a command may take before its connection counts as lost (default 30) |
//! | `reconnect` | tcp, /dev | seconds to try to connect again, or to wait until the kernel has (default 30) |
//! | `io` | /dev | `any` (default: `uring` where it can be had), `uring` or `ioctl` |
//!
//! "Both" are `mem` and `file`; a `tcp` or `/dev` device has its own settings, which `saker serve` was given. `depth`
//! and the cache are for all: they are this host's. Another client's writes do not reach a cache. `docs/urls.md` is the page for users.

mod given;
mod linux;
mod names;
mod parts;
mod size;
mod tcp;
mod transfer;
mod vfio;

pub use linux::LinuxPlace;
pub use parts::{Backing, DeviceUrl, Salvage, Timing, UrlError};
pub use size::parse_size;
pub use tcp::TcpPlace;
pub use vfio::VfioPlace;

use crate::trees;
use saker_device::{EngineKind, Settings, Typed};
use saker_flash::FaultPlan;
use saker_host::{CacheOptions, CachePolicy};
use saker_hybrid::Rollback;
use saker_profile::Profile;
use saker_sim::Chance;
use std::collections::BTreeSet;
use std::path::Path;

const NO_TIMING: &str = "write off or real; virtual time is for `saker compare` and `saker reproduce`";

impl DeviceUrl {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// [`UrlError`] names the part that makes no sense.
    ///
    /// ```
    /// use saker::DeviceUrl;
    /// assert!(DeviceUrl::parse("mem:?engine=lsm&write_buffer_size=1MiB").is_ok());
    /// let error = DeviceUrl::parse("mem:?engine=hash_store&write_buffer_size=1MiB").unwrap_err();
    /// assert!(error.to_string().contains("it is a setting of lsm"), "{error}");
    /// ```
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        let bad =
            |what: String, todo: &str| UrlError { url: shown(url), what: shown(&what), todo: todo.into() };
        let (head, options) = Self::split(url);
        let (head, options) = (head.replace("??", "?"), options.unwrap_or_default());
        let place = match head.split_once(':') {
            _ if head.starts_with("/dev/") => Backing::Linux(LinuxPlace::new(&head)),
            Some(("mem", "")) => Backing::Memory {
                bytes: 4 << 30,
                profile: "default".into(),
                seed: 1,
                engine: EngineKind::default(),
                shards: 1,
                blocks: 0,
                map_cache: 0,
            },
            Some(("file", path)) if !path.is_empty() => {
                Backing::File(path.strip_prefix("//").unwrap_or(path).into())
            }
            Some(("vfio-user", path)) if !path.is_empty() => {
                Backing::VfioUser(VfioPlace::new(path.strip_prefix("//").unwrap_or(path)))
            }
            Some(("tcp", rest)) => {
                let place = rest.strip_prefix("//").and_then(TcpPlace::parse);
                Backing::Tcp(place.ok_or_else(|| {
                    bad(format!("`{rest}` after tcp:"), "write tcp://127.0.0.1:4420 or tcp://HOST:PORT/NQN")
                })?)
            }
            Some(("mem", rest)) => {
                return Err(bad(format!("`{rest}` after mem:"), "write mem: or mem:?size=1GiB"));
            }
            _ => {
                return Err(bad(
                    "no such kind of device".into(),
                    "write mem:, file:disk.img, tcp://HOST:PORT/NQN, vfio-user:SOCKET or /dev/ng0n1",
                ));
            }
        };
        let mut parsed = Self::of_place(place);
        let mut names = BTreeSet::new();
        for option in options.split('&').filter(|o| !o.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            if !names.insert(name) {
                return Err(bad(format!("option `{name}` twice"), "give each option once"));
            }
            parsed.set(name, value).map_err(|todo| bad(format!("option `{option}`"), &todo))?;
        }
        if parsed.cache.is_some() && !names.contains("cache") {
            return Err(bad("a cache without a size".into(), "add cache=64MiB"));
        }
        if let Some((what, todo)) = given::without_effect(&parsed, &names) {
            return Err(bad(what.into(), todo));
        }
        parsed.given = names.iter().map(|name| (*name).to_owned()).collect();
        // The tree's own threads wait for its blocks.
        if parsed.timing == Timing::Real || parsed.main.is_some() {
            parsed.threads = 1;
        }
        if let (Some(_), Backing::Memory { engine, .. }) = (parsed.hybrid, &mut parsed.place) {
            *engine = EngineKind::LSM;
        }
        if let Backing::Memory { engine, .. } = parsed.place {
            parsed.settings_for(&[engine]).map_err(|(what, todo)| bad(what, &todo))?;
        }
        if let Some((what, todo)) = parsed.contradiction() {
            return Err(bad(what.into(), todo));
        }
        Ok(parsed)
    }

    /// A place without options.
    pub(crate) fn of_place(place: Backing) -> Self {
        Self {
            place,
            timing: Timing::Off,
            threads: 0,
            device_cpus: Vec::new(),
            background_threads: None,
            depth: 64,
            transfer: transfer::in_one_command(),
            nsid: None,
            prefault: 0,
            cache: None,
            settings: Typed::default(),
            is_seeded: false,
            nqn: None,
            faults: FaultPlan::default(),
            profile: None,
            readonly: false,
            salvage: None,
            hybrid: None,
            main: None,
            given: BTreeSet::new(),
        }
    }

    /// Options that do not go together, and what to write instead.
    fn contradiction(&self) -> Option<(&'static str, &'static str)> {
        let reads_only = "leave the faults out, or open it to write";
        if !self.device_cpus.is_empty() && self.threads == 0 {
            return Some((
                "device_cpus without threads=1",
                "add threads=1: the device runs on the caller's thread",
            ));
        }
        match self.salvage {
            Some(_) if !self.readonly => Some(("salvage without readonly", "write ?readonly&salvage")),
            Some(_) if self.timing == Timing::Real => Some(("salvage with timing=real", "leave timing out")),
            _ if self.readonly && self.faults != FaultPlan::default() => {
                Some(("readonly with faults", reads_only))
            }
            _ => None,
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = || value.parse::<u64>().map_err(|_| "write a whole number");
        let in_memory = "an image has its own; give it to `saker create`";
        match (name, &mut self.place) {
            ("depth", _) => {
                self.depth = number()?
                    .try_into()
                    .ok()
                    .filter(|n| (1..=DEPTH_MAX).contains(n))
                    .ok_or("write 1 to 4095")?;
            }
            ("nsid", _) => {
                let nsid = number()?.try_into().ok().filter(|n| *n > 0);
                self.nsid = Some(nsid.ok_or("write its number, from 1")?);
            }
            ("cache" | "cache_policy" | "cache_value_max", _) => self.set_cache(name, value)?,
            ("hybrid", _) => self.hybrid = Some(rollback(value)?),
            (name, place @ (Backing::Tcp(_) | Backing::Linux(_) | Backing::VfioUser(_)))
                if !names::of(place).any(|known| known == name) =>
            {
                return Err(names::instead_of(name, place));
            }
            (_, Backing::Tcp(place)) => place.set(name, value)?,
            (_, Backing::Linux(place)) => place.set(name, value)?,
            (_, Backing::VfioUser(place)) => place.set(name, value)?,
            ("profile", Backing::Memory { .. } | Backing::File(_)) if value.is_empty() => {
                return Err(format!(
                    "write one of {}",
                    Profile::builtin_names().collect::<Vec<_>>().join(", ")
                ));
            }
            ("size", Backing::Memory { bytes, .. }) => {
                *bytes = parse_size(value).ok_or("write a size such as 512MiB")?
            }
            ("profile", Backing::Memory { profile, .. }) => *profile = value.into(),
            ("seed", Backing::Memory { seed, .. }) => {
                *seed = number()?;
                self.is_seeded = true;
            }
            ("engine", Backing::Memory { engine, .. }) => {
                *engine = EngineKind::named(value)
                    .ok_or_else(|| format!("write one of {}", EngineKind::names()))?;
            }
            ("shards", Backing::Memory { shards, .. }) => {
                let count = number()?.try_into().ok().filter(|n| (1..=SHARDS_MAX).contains(n));
                *shards = count.ok_or("write 1 to 64")?;
            }
            ("blocks", Backing::Memory { blocks, .. }) => {
                let bytes = parse_size(value).filter(|bytes| *bytes > 0);
                *blocks = bytes.ok_or("write the size of its blocks, such as 512MiB")?;
            }
            ("map_cache", Backing::Memory { map_cache, .. }) => {
                let bytes = parse_size(value).filter(|bytes| *bytes > 0);
                *map_cache = bytes.ok_or("write the memory of the cached mapping table, such as 64KiB")?;
            }
            ("blocks" | "map_cache", Backing::File(_)) => {
                return Err("an image has its own; give `saker create` --namespace block:SIZE".into());
            }
            ("shards", Backing::File(_)) => return Err("an image has one shard; shards are for mem:".into()),
            ("profile", Backing::File(_)) => self.profile = Some(value.into()),
            ("size" | "seed" | "engine", Backing::File(_)) => return Err(in_memory.into()),
            ("readonly", Backing::File(_)) => {
                is_alone(value)?;
                self.readonly = true;
            }
            ("salvage", Backing::File(_)) => {
                self.salvage = Some(match value {
                    "" => Salvage::Certain,
                    "uncertain" => Salvage::Uncertain,
                    _ => return Err("write salvage, or salvage=uncertain for what may be old as well".into()),
                });
            }
            ("readonly" | "salvage", Backing::Memory { .. }) => return Err("it is for file:".into()),
            ("main", _) if value == trees::OWN => self.main = None,
            ("main", _) if trees::named(value).is_some() => self.main = Some(value.into()),
            ("main", _) => return Err(format!("write one of {}", trees::names())),
            ("timing", _) => {
                self.timing = match value {
                    "off" => Timing::Off,
                    "real" => Timing::Real,
                    _ => return Err(NO_TIMING.into()),
                }
            }
            ("threads", _) => {
                self.threads = number()?.try_into().ok().filter(|n| *n <= 1).ok_or("write 0 or 1")?
            }
            ("device_cpus", _) => {
                let cpus: Result<_, _> = value.split(',').map(str::parse).collect();
                self.device_cpus = cpus.map_err(|_| "write numbers of processors, such as 1 or 2,3")?;
            }
            ("background_threads", _) => {
                let threads = number()?.try_into().ok().filter(|n| *n <= 1);
                self.background_threads = Some(threads.ok_or("write 0 or 1")?);
            }
            ("transfer", _) => {
                self.transfer = transfer::parse(value).ok_or_else(transfer::choices)?;
            }
            ("prefault", _) => {
                self.prefault = number()?;
                if self.prefault > PREFAULT_MAX {
                    return Err("write at most 1000000000 pairs".into());
                }
            }
            (name, _) if EngineKind::setting_names().any(|known| known == name) => {
                self.settings.push(name, value)
            }
            ("fault.seed", _) => self.faults.seed = number()?,
            ("fault.program", _) => self.faults.program = parse_chance(value).ok_or("write it as 1/1000")?,
            ("fault.erase", _) => self.faults.erase = parse_chance(value).ok_or("write it as 1/1000")?,
            ("fault.read", _) => self.faults.read = parse_chance(value).ok_or("write it as 1/1000")?,
            ("fault.spike", _) => self.faults.spike = parse_chance(value).ok_or("write it as 1/1000")?,
            ("fault.spike_ns", _) => self.faults.spike_ns = number()?,
            ("fault.cut", _) => {
                let nth = Some(number()?).filter(|n| *n > 0);
                self.faults.cut_at = nth.ok_or("write which program or erase, from 1")?;
            }
            _ => return Err(names::instead_of(name, &self.place)),
        }
        Ok(())
    }
}

impl DeviceUrl {
    /// A URL's place as it is written, and its options if it has any. They begin at the first `?` that is not written twice: `??` is a `?`
    /// of the place.
    ///
    /// ```
    /// use saker::DeviceUrl;
    /// assert_eq!(DeviceUrl::split("file:disk.img?depth=8"), ("file:disk.img", Some("depth=8")));
    /// assert_eq!(DeviceUrl::split("file:what??.img"), ("file:what??.img", None));
    /// ```
    #[must_use]
    pub fn split(url: &str) -> (&str, Option<&str>) {
        let mut at = 0;
        while let Some(found) = url.get(at..).and_then(|rest| rest.find('?')) {
            let (place, options) = url.split_at(at + found);
            if !options.starts_with("??") {
                return (place, options.get(1..));
            }
            at += found + 2;
        }
        (url, None)
    }

    /// The URL of an image, whatever characters its path has. `None`: they are not UTF-8.
    ///
    /// ```
    /// use saker::{Backing, DeviceUrl};
    /// let url = DeviceUrl::of_image("what?.img".as_ref()).unwrap_or_default();
    /// assert_eq!(url, "file:what??.img");
    /// assert_eq!(DeviceUrl::parse(&url)?.place, Backing::File("what?.img".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_image(path: &Path) -> Option<String> {
        let path = path.to_str()?;
        // Two slashes in front may be left out of a URL.
        let root = if path.starts_with("//") { "//" } else { "" };
        Some(format!("file:{root}{}", path.replace('?', "??")))
    }

    /// What is asked of namespaces with these engines: of each what it has.
    ///
    /// # Errors
    /// An option that none of them has or that one does not take, and what to write instead.
    pub(crate) fn settings_for(&self, engines: &[EngineKind]) -> Result<Vec<Settings>, (String, String)> {
        let lists: Vec<_> = engines.iter().map(|engine| engine.settings()).collect();
        if let Some(name) = self.settings.unknown(&lists) {
            let names: Vec<_> = engines.iter().map(|engine| engine.name()).collect();
            let what = format!("option `{name}` and engine {}", names.join(", "));
            return Err((what, format!("it is a setting of {}", EngineKind::names_with(name))));
        }
        let typed = |(option, todo)| (format!("option `{option}`"), todo);
        lists.iter().map(|list| self.settings.of(list, parse_size).map_err(typed)).collect()
    }

    fn set_cache(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let cache = self.cache.get_or_insert(CacheOptions::NONE);
        let bytes =
            || parse_size(value).filter(|bytes| *bytes <= CACHE_BYTES_MAX).map(|bytes| bytes as usize);
        match name {
            "cache" => cache.bytes = bytes().ok_or("write a size such as 64MiB, at most 1TiB")?,
            "cache_value_max" => {
                cache.value_bytes_max = bytes().ok_or("write a size such as 4KiB, at most 1TiB")?
            }
            _ => cache.policy = CachePolicy::named(value).ok_or("write lru or s3fifo")?,
        }
        Ok(())
    }
}

/// What may be repeated in an error: a secret in the place of its file may not.
fn shown(text: &str) -> String {
    let mut pieces = text.split("DHHC-1:");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |shown, piece| {
        let rest = piece.find('&').and_then(|at| piece.get(at..)).unwrap_or_default();
        shown + "..." + rest
    })
}

/// Most bytes of a cache: more than any machine's memory is a slip of the pen.
const CACHE_BYTES_MAX: u64 = 1 << 40;

/// Most shards of a device.
const SHARDS_MAX: u16 = 64;

/// Most pairs whose memory can be brought in at opening: 72 GB.
const PREFAULT_MAX: u64 = 1_000_000_000;

fn parse_chance(text: &str) -> Option<Chance> {
    let (times, one_in) = text.split_once('/')?;
    let chance = Chance { times: times.parse().ok()?, one_in: one_in.parse().ok()? };
    (chance.one_in > 0 && chance.times <= chance.one_in).then_some(chance)
}

/// Commands in flight at most.
pub(crate) const DEPTH_MAX: u16 = 4095;

/// When copies go back: as soon as there is room unless the URL says otherwise.
fn rollback(value: &str) -> Result<Rollback, &'static str> {
    let named = Rollback::ALL.into_iter().find(|rollback| rollback.name() == value);
    let usual = value.is_empty().then_some(Rollback::Eager);
    named.or(usual).ok_or("write hybrid, or hybrid=eager, hybrid=lazy or hybrid=adaptive")
}

/// An option that takes no value.
fn is_alone(value: &str) -> Result<(), &'static str> {
    if value.is_empty() { Ok(()) } else { Err("write it without a value") }
}

#[cfg(test)]
mod tests;
