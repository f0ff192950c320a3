// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes between files on a device and files of the system.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use saker::part_name;
use serde_json::json;

use super::fs::with_files;
use super::target::Target;
use crate::context::Context;
use crate::error::CliError;
use crate::linked::files::{FileId, Files, FsError, now, of_files};
use crate::records::format::is_stream;
use crate::store::Answer;

/// Bytes held at a time.
const PIECE_BYTES: usize = 1 << 20;
/// What stands before a path that is on the device.
const DEVICE: &str = "dev:";

fn on_device(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix(DEVICE)
}

/// Copies a file to the device or from it.
///
/// # Errors
/// `Usage` unless one of both is on the device; `File`, `Output`, and those of the device.
pub fn copy(from: &Path, to: &Path, cx: &mut Context<'_, '_>) -> Answer<()> {
    let bytes = match (on_device(from), on_device(to)) {
        (None, Some(path)) => with_files(cx, |fs, cx| store(fs, from, path, cx))?,
        (Some(path), None) if is_stream(to) => with_files(cx, |fs, cx| print(fs, path, cx))?,
        (Some(path), None) => with_files(cx, |fs, _| save(fs, path, to))?,
        _ => {
            return Err(CliError::usage(
                "one of both paths is to be on the device",
                "write dev: before it, as in `saker fs cp notes.txt dev:notes.txt`",
            ));
        }
    };
    if is_stream(to) && on_device(to).is_none() {
        return Ok(());
    }
    cx.document_if_json("saker.fs.cp.v1", &json!({ "from": from, "to": to, "bytes": bytes }))
}

/// Writes a file's bytes to standard output. How many.
///
/// # Errors
/// `Usage` with `--json`; `Output`, and those of the device.
pub fn print(fs: &mut Files, path: &str, cx: &mut Context<'_, '_>) -> Answer<u64> {
    if cx.global.json {
        return Err(CliError::usage(
            "bytes and --json cannot both go to standard output",
            "copy it to a file with `saker fs cp`",
        ));
    }
    let out = &mut *cx.streams.output;
    let bytes = read_all(fs, path, &mut |part| out.write_all(part).map_err(CliError::Output))?;
    out.flush().map_err(CliError::Output)?;
    Ok(bytes)
}

fn save(fs: &mut Files, path: &str, to: &Path) -> Answer<u64> {
    let mut target = Target::create(to)?;
    let file = target.file();
    let bytes = read_all(fs, path, &mut |part| file.write_all(part).map_err(CliError::file("write", to)))?;
    target.commit()?;
    Ok(bytes)
}

fn read_all(fs: &mut Files, path: &str, take: &mut dyn FnMut(&[u8]) -> Answer<()>) -> Answer<u64> {
    let file = fs.open(path).map_err(|e| of_files(&e))?;
    let (mut part, mut at) = (vec![0; PIECE_BYTES], 0);
    loop {
        let read = fs.read_at(file, at, &mut part).map_err(|e| of_files(&e))?;
        if read == 0 {
            fs.close(file).map_err(|e| of_files(&e))?;
            return Ok(at);
        }
        take(&part[..read])?;
        at += read as u64;
    }
}

/// The copy gets its name when it is whole and durable.
fn store(fs: &mut Files, from: &Path, path: &str, cx: &mut Context<'_, '_>) -> Answer<u64> {
    let mut source =
        if is_stream(from) { None } else { Some(File::open(from).map_err(CliError::file("open", from))?) };
    let input: &mut dyn Read = match &mut source {
        Some(source) => source,
        None => cx.streams.input,
    };
    // What no file can be called is told before its bytes are copied.
    if let Err(error @ FsError::Name(_)) = fs.stat(path) {
        return Err(of_files(&error));
    }
    let part = part_name(Path::new(path)).to_string_lossy().into_owned();
    let file = fs.create(&part, now()).map_err(|e| of_files(&e))?;
    let filled = fill(fs, file, from, input).and_then(|bytes| {
        fs.sync_file(file).map_err(|e| of_files(&e))?;
        fs.close(file).map_err(|e| of_files(&e))?;
        fs.rename(&part, path).map_err(|e| of_files(&e))?;
        Ok(bytes)
    });
    if filled.is_err() {
        // What went wrong is told already.
        let _ = fs.close(file);
        let _ = fs.remove(&part);
    }
    filled
}

fn fill(fs: &mut Files, file: FileId, from: &Path, input: &mut dyn Read) -> Answer<u64> {
    let (mut part, mut bytes) = (vec![0; PIECE_BYTES], 0);
    loop {
        let read = input.read(&mut part).map_err(CliError::file("read", from))?;
        if read == 0 {
            return Ok(bytes);
        }
        fs.append(file, &part[..read], now()).map_err(|e| of_files(&e))?;
        bytes += read as u64;
    }
}
