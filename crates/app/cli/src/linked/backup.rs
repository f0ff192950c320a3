// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Backups, growing and scrubbing: what keeps data over the years.

use std::path::{Path, PathBuf};

use saker::{
    Backup, BackupNamespace, BackupOptions, Error as DeviceError, Grown, RestoreOptions, ScrubNews, Scrubbed,
};
use serde_json::{Value, json};

use super::opened::{failed, refused};
use crate::args::backup::BackupArgs;
use crate::args::grow::GrowArgs;
use crate::args::restore::RestoreArgs;
use crate::error::CliError;
use crate::size::{grouped, show};

/// What was done, for people and for programs.
pub struct Told {
    /// One line.
    pub line: String,
    /// The document's body.
    pub document: Value,
}

/// Makes a backup.
///
/// # Errors
/// `Usage` for a URL that makes no sense, `Failed` otherwise.
pub fn back_up(args: &BackupArgs, progress: &mut dyn FnMut(u64)) -> Result<Told, CliError> {
    let options = BackupOptions { since: args.since.clone(), each: args.per_key };
    let made = saker::back_up(&args.url, &args.file, &options, progress).map_err(|e| refused(&e))?;
    let what = if made.base.is_some() { "what has changed" } else { "all" };
    let line = format!("{}: {what} of {}: {}", args.file.display(), args.url, in_words(&made.namespaces));
    Ok(Told { line, document: backup(&args.file, &made) })
}

/// Restores a backup, or only verifies it.
///
/// # Errors
/// As [`back_up`].
pub fn restore(args: &RestoreArgs, progress: &mut dyn FnMut(u64)) -> Result<Told, CliError> {
    let files: Vec<PathBuf> = std::iter::once(&args.file).chain(&args.then).cloned().collect();
    let Some(url) = &args.url else { return verified(&files) };
    let options = RestoreOptions { replace: args.replace, namespace: args.namespace };
    let done = saker::restore(&files, url, &options, progress).map_err(|e| refused(&e))?;
    let line = format!("{url}: restored {}", in_words(&done));
    let namespaces: Vec<_> = done.iter().map(namespace).collect();
    Ok(Told { line, document: json!({ "device": url, "files": files, "namespaces": namespaces }) })
}

fn verified(files: &[PathBuf]) -> Result<Told, CliError> {
    let read = |file: &PathBuf| saker::read_backup(file).map(|made| (file.clone(), made));
    let all = files.iter().map(read).collect::<Result<Vec<_>, _>>().map_err(|e| failed(&e))?;
    let lines = all.iter().map(|(file, made)| {
        let kind = if made.base.is_some() { "changes" } else { "full" };
        format!(
            "{}: sound, {kind}, {}: {}",
            file.display(),
            show(made.file_bytes),
            in_words(&made.namespaces)
        )
    });
    let line = lines.collect::<Vec<_>>().join("\n");
    let documents: Vec<_> = all.iter().map(|(file, made)| backup(file, made)).collect();
    Ok(Told { line, document: json!({ "files": documents }) })
}

fn in_words(namespaces: &[BackupNamespace]) -> String {
    let one = |n: &BackupNamespace| {
        let deleted =
            if n.deleted > 0 { format!(" and {} deletions", grouped(n.deleted)) } else { String::new() };
        match n.kind {
            "kv" => format!(
                "{} pairs{deleted} of namespace {} ({})",
                grouped(n.pairs),
                n.nsid,
                n.consistency.name()
            ),
            _ => format!(
                "{} blocks of namespace {} ({})",
                grouped(n.blocks_written),
                n.nsid,
                n.consistency.name()
            ),
        }
    };
    namespaces.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn backup(file: &Path, made: &Backup) -> Value {
    let namespaces: Vec<_> = made.namespaces.iter().map(namespace).collect();
    let base = made.base.map(|id| hex(&id));
    json!({ "file": file, "id": hex(&made.id), "base": base, "file_bytes": made.file_bytes, "namespaces": namespaces })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn namespace(n: &BackupNamespace) -> Value {
    let mut told = json!({ "nsid": n.nsid, "kind": n.kind, "consistency": n.consistency.name() });
    if n.kind == "kv" {
        told["pairs"] = n.pairs.into();
        told["deleted"] = n.deleted.into();
        told["value_bytes"] = n.value_bytes.into();
    } else {
        told["block_bytes"] = n.block_bytes.into();
        told["blocks"] = n.blocks.into();
        told["blocks_written"] = n.blocks_written.into();
    }
    told
}

/// Makes an image larger.
///
/// # Errors
/// `Usage` for a size or a namespace that makes no sense, `Failed` otherwise.
pub fn grow(args: &GrowArgs, progress: &mut dyn FnMut(u64)) -> Result<Told, CliError> {
    let grown =
        saker::grow_image(&args.image, args.size, args.namespace, progress).map_err(|e| refused(&e))?;
    let Grown { flash_bytes_before: before, flash_bytes: now, nsid, copied } = grown;
    let image = args.image.display();
    let line = format!(
        "{image}: {} of flash, before {}; {} pairs and blocks",
        show(now),
        show(before),
        grouped(copied)
    );
    let document = json!({
        "image": args.image, "flash_bytes_before": before, "flash_bytes": now, "namespace": nsid, "copied": copied,
    });
    Ok(Told { line, document })
}

/// Reads all of a device; `see` is told of it and says whether to go on.
///
/// # Errors
/// As [`back_up`].
pub fn scrub(
    url: &str,
    rate: Option<u64>,
    see: &mut dyn FnMut(ScrubNews<'_>) -> bool,
) -> Result<Scrubbed, CliError> {
    saker::scrub(url, rate, see).map_err(|e: DeviceError| refused(&e))
}
