// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Key-value devices as the commands see them.

use std::io::ErrorKind;

use saker::image::ImageError;
use saker::url::Backing;
use saker::{
    DeviceUrl, Error as DeviceError, KeyRange, Kv, NamedSetting, ScanOptions, WriteCondition, WriteControl,
};
use saker_host::{HostError, KvError};
use serde_json::{Value, json};

use super::transactions;
use crate::counted;
use crate::error::CliError;
use crate::store::{Answer, GoesOn, Range, Step, Store, Transacted, TransactionId, Visit};

/// A device of `Kv::open` as the commands see it.
struct Opened {
    kv: Kv,
    url: String,
}

/// Opens the key-value namespace of a URL.
///
/// # Errors
/// `Usage` for a URL that makes no sense, `Failed` for a device that cannot be opened.
pub fn open(url: &str) -> Result<Box<dyn Store>, CliError> {
    let kv = Kv::open(url).map_err(|e| failed_at(url, &e))?;
    Ok(Box::new(Opened { kv, url: url.to_owned() }))
}

/// What a device says of itself, whatever namespaces it has.
///
/// # Errors
/// As [`open`].
pub fn info(url: &str) -> Result<Value, CliError> {
    match Kv::open(url) {
        Ok(kv) => {
            let mut opened = Box::new(Opened { kv, url: url.to_owned() });
            let info = opened.info();
            let closed = opened.close();
            info.and_then(|info| closed.map(|()| info))
        }
        Err(DeviceError::NoNamespace { .. } | DeviceError::OtherNamespace { .. }) => super::blocks::info(url),
        Err(error) => Err(refused(&error)),
    }
}

/// Changes live settings of a device that others have open too; the names, and their values as they are then.
///
/// # Errors
/// `Usage` for a device of this process and for what the engine does not take, else as [`open`].
pub fn set(url: &str, asked: &[(String, String)]) -> Result<Vec<(String, String)>, CliError> {
    let place = DeviceUrl::parse(url).map_err(|error| refused(&error.into()))?.place;
    if matches!(place, Backing::Memory { .. } | Backing::File(_)) {
        let what = format!("{url} would be open for this command only, and forget what is set");
        return Err(CliError::usage(what, "put the setting in the URL where the device is opened or served"));
    }
    let mut kv = Kv::open(url).map_err(|e| failed_at(url, &e))?;
    let set = asked.iter().try_for_each(|(name, value)| kv.set_setting(name, value).map_err(|e| refused(&e)));
    let now = kv.settings().map_err(host);
    let closed = kv.close().map_err(|e| failed_at(url, &e));
    set?;
    let value = |(name, _): &(String, String)| {
        let now = now.as_ref().ok()?.iter().find(|setting| setting.name == *name)?;
        Some((name.clone(), now.value.clone()))
    };
    let values = asked.iter().filter_map(value).collect();
    now?;
    closed.map(|()| values)
}

/// Why a device could not be opened: a URL that makes no sense is the command line's fault.
pub(super) fn refused(error: &DeviceError) -> CliError {
    match error {
        DeviceError::Url(_)
        | DeviceError::Setting { .. }
        | DeviceError::Profile(_)
        | DeviceError::Build(_)
        | DeviceError::Plan(_) => match one_piece(error) {
            (what, Some(todo)) => CliError::usage(what, todo),
            (what, None) => CliError::usage(what, "see `saker profile list`"),
        },
        other => failed(other),
    }
}

/// What happened, and what to do if the device's words say it.
fn one_piece(error: &DeviceError) -> (String, Option<String>) {
    let text = error.to_string();
    match text.rsplit_once("; ") {
        Some((what, todo)) => (what.to_owned(), Some(todo.to_owned())),
        None => (text, None),
    }
}

pub(super) fn failed(error: &DeviceError) -> CliError {
    let (what, todo) = one_piece(error);
    CliError::failed(what, todo.unwrap_or_else(|| advice(error).to_owned()))
}

/// What to do about an error that does not say it.
fn advice(error: &DeviceError) -> &'static str {
    match error {
        DeviceError::Image(error) => image_advice(error),
        DeviceError::Host(error) => host_advice(error),
        DeviceError::NoNamespace { .. } | DeviceError::OtherNamespace { .. } => {
            "name one with ?nsid=N in the device's URL"
        }
        _ => REPORT,
    }
}

const REPORT: &str = "run `saker check` on the image; if it is sound, report this";

fn image_advice(error: &ImageError) -> &'static str {
    match error {
        ImageError::Io { doing: "create", source, .. } if source.kind() == ErrorKind::NotFound => {
            "make its directory first"
        }
        ImageError::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            "check the path, or make an image with `saker create`"
        }
        ImageError::Io { source, .. }
            if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
        {
            "an image is opened for writing, even to read pairs, unless its URL ends in ?readonly; `saker check` only reads"
        }
        ImageError::Io { .. } => "check the path and the file system",
        ImageError::NotImage { .. } => "name an image, or make one with `saker create`",
        ImageError::Config(_) => "give another size",
        _ => "run `saker check` on the image",
    }
}

fn host_advice(error: &HostError) -> &'static str {
    match error {
        HostError::Kv(KvError::Full) => "delete keys, or make a larger device",
        HostError::Kv(KvError::ManyIterators) => "end a scan of this host's, then try again",
        HostError::Kv(KvError::Damaged) => "run `saker check` on the image",
        HostError::Kv(KvError::NotFound) => "see the keys with `saker list`",
        HostError::Kv(KvError::WriteProtected) => {
            "to write, leave readonly out of the device's URL, or read_only out of the host's rules at the target"
        }
        HostError::Kv(KvError::Denied) => {
            "allow it at the target: --allow-admin format (or settings), or admin = [\"format\"] in the host's rules"
        }
        HostError::KeyLength(_) => "give a key of 1 to 255 bytes",
        HostError::NativeKeyLength(_) => "give a key of 1 to 16 bytes",
        HostError::ValueLength { .. } => "split the value over several keys",
        HostError::NoOrder => {
            "leave --reverse out, or use an engine that keeps one (lsm, tree), without hybrid"
        }
        HostError::Kv(KvError::Unreachable) => "see whether the target is still running there",
        HostError::Timeout { .. } => "run `saker check` on the image, then try again",
        HostError::Queued { error, .. } | HostError::Batch { error, .. } => host_advice(error),
        HostError::NoTransactions(_) => {
            "use a device that has them: every engine here does, and lsm and tree have ranges in them"
        }
        HostError::TransactionLength { .. } => "put fewer pairs into it",
        _ => REPORT,
    }
}

fn host(error: HostError) -> CliError {
    failed(&DeviceError::Host(error))
}

/// As [`refused`], unless the URL asks for the failure.
fn failed_at(url: &str, error: &DeviceError) -> CliError {
    let asked = DeviceUrl::parse(url).is_ok_and(|url| url.faults.cut_at > 0);
    if asked && matches!(error, DeviceError::Host(error) if is_internal(error)) {
        return CliError::failed("power was cut, as fault.cut asked", "open the image without it to recover");
    }
    refused(error)
}

/// Whether the device answered Internal Error (NVMe Base 2.1, Figure 102: SCT 0h, SC 06h).
fn is_internal(error: &HostError) -> bool {
    match error {
        HostError::Status(status) => (status.sct(), status.sc()) == (0, 6),
        HostError::Queued { error, .. } => is_internal(error),
        _ => false,
    }
}

/// Whether a write was refused because the device's host had no room.
fn waits_for_host(error: &HostError) -> bool {
    match error {
        HostError::Kv(KvError::NotReady) => true,
        HostError::Queued { error, .. } | HostError::Batch { error, .. } => waits_for_host(error),
        _ => false,
    }
}

impl Opened {
    fn done<T>(&mut self, result: Result<T, HostError>) -> Answer<T> {
        result.map_err(|error| match self.image().filter(|_| waits_for_host(&error)) {
            Some(image) => CliError::failed(
                format!(
                    "the host file system has no room for {image} (full, quota, or a limit such as ulimit -f)"
                ),
                "make room there, then try again: the device itself is not full",
            ),
            None => failed_at(&self.url, &DeviceError::Host(error)),
        })
    }

    /// The image of a device in this process.
    fn image(&self) -> Option<String> {
        match DeviceUrl::parse(&self.url).ok()?.place {
            Backing::File(path) => Some(path.display().to_string()),
            _ => None,
        }
    }

    /// The device's own answer would not name the limit.
    fn ensure_fits(&mut self, value: &[u8]) -> Answer<()> {
        let (bytes, bytes_max) = (value.len(), self.kv.client().value_bytes_max() as usize);
        let fits = bytes <= bytes_max;
        if fits { Ok(()) } else { Err(host(HostError::ValueLength { bytes, bytes_max })) }
    }
}

impl Opened {
    /// What the device says of itself.
    fn info(&mut self) -> Answer<Value> {
        let (serial, model, firmware) = self.kv.identity();
        let link = self.kv.client().stats();
        let head = json!({
            "device": self.url, "profile": self.kv.profile(), "serial": serial, "model": model, "firmware": firmware,
            "commands": link.commands, "value_bytes_max": self.kv.client().value_bytes_max(),
            "groups": groups(&mut self.kv),
            "long_keys": if self.kv.has_long_keys_by_pointer() { "by pointer" } else { "in envelopes of the host's" },
        });
        let stats = self.kv.stats();
        let is_here = stats.is_some();
        let mut info = described(head, stats);
        if let Some(told) = self.kv.counters().map_err(host)? {
            info["life"] = counted::of_life(&told);
            if !is_here {
                info["counters"] = counted::all(&told);
            }
        }
        if let Some(told) = self.kv.write_control().map_err(host)? {
            info["writes"] = writes(&told);
        }
        info["settings"] = settings(&self.kv.settings().map_err(host)?);
        Ok(info)
    }
}

impl Store for Opened {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Answer<()> {
        self.ensure_fits(value)?;
        let put = self.kv.put(key, value);
        self.done(put)
    }

    fn get(&mut self, key: &[u8]) -> Answer<Option<Vec<u8>>> {
        let value = self.kv.get(key);
        if let Err(HostError::Kv(KvError::Damaged)) = value
            && let Some(page) = self.kv.page_of(key)
        {
            let what = format!("the value cannot be read: {page} is damaged");
            return Err(CliError::failed(
                what,
                "`saker check` on the image says what is lost and what to do",
            ));
        }
        self.done(value)
    }

    fn get_many(&mut self, keys: &[&[u8]]) -> Answer<Vec<Option<Vec<u8>>>> {
        let values = self.kv.multi_get(keys);
        self.done(values)
    }

    fn delete(&mut self, key: &[u8]) -> Answer<bool> {
        let deleted = self.kv.delete(key);
        self.done(deleted)
    }

    fn exists(&mut self, key: &[u8]) -> Answer<bool> {
        self.kv.exists(key).map_err(host)
    }

    fn list(&mut self, from: Option<&[u8]>, visit: &mut dyn FnMut(&[u8]) -> bool) -> Answer<()> {
        for key in self.kv.list(from) {
            if !visit(&key.map_err(host)?) {
                break;
            }
        }
        Ok(())
    }

    fn scan(&mut self, range: &Range<'_>, goes_on: GoesOn<'_>, visit: Visit<'_>) -> Answer<bool> {
        let mut failed = None;
        let keys = KeyRange { from: range.from, to: range.to, prefix: range.prefix };
        let pairs_max = u32::try_from(range.limit).unwrap_or(0);
        let options = ScanOptions { range: keys, keys_only: false, backwards: range.reverse, pairs_max };
        let scanned = self.kv.scan_while(&options, goes_on, &mut |key, value| match visit(key, value) {
            Ok(goes_on) => goes_on,
            Err(error) => {
                failed = Some(error);
                false
            }
        });
        failed.map_or_else(|| scanned.map(|_| true).map_err(host), Err)
    }

    fn transact(&mut self, steps: &[Step], id: Option<TransactionId>) -> Answer<Transacted> {
        let done = match id {
            Some(id) => transactions::once(&mut self.kv, steps, id),
            None => transactions::whenever(&mut self.kv, steps),
        };
        self.done(done)
    }

    fn transaction_outcome(&mut self, id: TransactionId) -> Answer<&'static str> {
        let told = self.kv.transaction_outcome(transactions::wire(id));
        self.done(told).map(transactions::in_words)
    }

    fn flush(&mut self) -> Answer<()> {
        let flushed = self.kv.flush();
        self.done(flushed)
    }

    fn put_async(&mut self, key: &[u8], value: &[u8]) -> Answer<()> {
        self.ensure_fits(value)?;
        let queued = self.kv.put_queued(key, value);
        self.done(queued)
    }

    fn drain(&mut self) -> Answer<()> {
        let drained = self.kv.drain();
        self.done(drained)
    }

    fn close(self: Box<Self>) -> Answer<()> {
        let Self { kv, url } = *self;
        kv.close().map_err(|e| failed_at(&url, &e))
    }
}

/// Settings by name, each with its value and when it can be chosen.
fn settings(all: &[NamedSetting]) -> Value {
    let told = |s: &NamedSetting| (s.name.clone(), json!({ "value": s.value, "kind": s.kind }));
    Value::Object(all.iter().map(told).collect())
}

/// How batches and many reads at once go to the device.
fn groups(kv: &mut Kv) -> Value {
    let available = *kv.client().queue_mut().available();
    let methods = available.methods;
    let how = match (methods.groups(), methods.groups_both_ways()) {
        (false, _) => "none: single commands, as many in flight as the depth allows",
        (true, false) => "one way: results are fetched by a second command",
        (true, true) => "both ways",
    };
    let stats = kv.group_stats();
    json!({
        "commands": how, "payload_bytes_max": available.group_bytes_max, "prefetch": methods.prefetch_groups(),
        "sent": stats.groups, "operations": stats.grouped, "sent_singly": stats.singles,
    })
}

/// What is known of a device, with its counters if it can be asked for them.
pub(super) fn described(head: Value, snapshot: Option<saker::Stats>) -> Value {
    match snapshot {
        Some(snapshot) => with_counters(head, &snapshot),
        None => head,
    }
}

fn with_counters(mut head: Value, s: &saker::Stats) -> Value {
    head["flash"] = json!({
        "pages_programmed": s.flash.pages_programmed, "segments_erased": s.flash.segments_erased,
        "failures": s.flash.failures, "bytes_in_use": s.flash_bytes_in_use, "retired_segments": s.retired_segments,
    });
    head["namespaces"] = s.namespaces.iter().map(namespace).collect();
    head
}

/// How many pairs a namespace holds if all have values of that many bytes.
fn fits(fits: &[saker::Fits]) -> Value {
    let all = fits.iter().map(|f| (format!("pairs_of_{}_bytes", f.value_bytes), f.pairs.into()));
    Value::Object(all.collect())
}

fn namespace(n: &saker::NamespaceSnapshot) -> Value {
    let counters: serde_json::Map<_, _> =
        n.counters.iter().map(|(name, n)| ((*name).into(), (*n).into())).collect();
    if n.kind == "block" {
        return json!({
            "nsid": n.nsid, "kind": n.kind, "blocks": n.capacity_bytes / u64::from(n.block_bytes.max(1)), "block_bytes": n.block_bytes,
            "live_bytes": n.live_bytes, "capacity_bytes": n.capacity_bytes,
            "blocks_written": n.blocks_written, "gc_flash_blocks_copied": n.gc_blocks_copied,
            "modelled_dram_bytes": {
                "map": n.memory.index_bytes, "directory": n.memory.directory_bytes,
                "live_sectors": n.memory.segment_bytes, "total": n.memory.total(),
            },
            "map_counters": counters,
        });
    }
    let pages_by_stream: serde_json::Map<_, _> =
        n.log.pages_by_stream().map(|(stream, n)| (stream.into(), n.into())).collect();
    json!({
            "nsid": n.nsid, "kind": n.kind, "engine": n.engine, "engine_counters": counters, "pairs": n.store.pairs, "pair_bytes": n.store.pair_bytes,
            "live_bytes": n.live_bytes, "capacity_bytes": n.capacity_bytes,
            "free_bytes": n.capacity_bytes.saturating_sub(n.live_bytes), "fits": fits(&n.fits),
            "modelled_dram_bytes": {
                "index": n.memory.index_bytes, "directory": n.memory.directory_bytes,
                "segments": n.memory.segment_bytes, "total": n.memory.total(),
            },
            "gc_flash_records_copied": n.store.gc_records_copied, "gc_flash_bytes_copied": n.store.gc_bytes_copied,
            "log_pages_programmed": n.log.pages_programmed.iter().sum::<u64>(),
            "log_pages_programmed_by_stream": pages_by_stream,
            "user_bytes_written": n.store.user_bytes_written,
            "gc_flash_segments": n.store.gc_segments, "checkpoints": n.store.checkpoints,
            "checkpoint_bytes": n.store.checkpoint_bytes,
    })
}

/// Whether writes go on, and when they did not.
fn writes(told: &WriteControl) -> Value {
    let mut writes = match told.condition {
        WriteCondition::Normal => json!({ "condition": "normal" }),
        WriteCondition::Delayed { cause, rate, .. } => {
            json!({ "condition": "delayed", "cause": cause.name(), "bytes_per_s": rate })
        }
        WriteCondition::Stopped { cause } => json!({ "condition": "stopped", "cause": cause.name() }),
    };
    if let Some(stalls) = saker_lab::report::stalls(&told.stalls) {
        writes["stalls"] = stalls;
    }
    writes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_target_is_no_reason_to_check_an_image() {
        let message = host(HostError::Kv(KvError::Unreachable)).to_string();
        assert_eq!(message, "the device cannot be reached; see whether the target is still running there");
    }
}
