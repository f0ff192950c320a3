// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker block`

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use serde_json::json;

use super::target::Target;
use crate::args::block::{Action, BlockArgs};
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::blocks::{self, Blocks};
use crate::records::format::is_stream;

/// Bytes held at a time, about.
const PIECE_BYTES: u64 = 1 << 20;

/// Reads, writes or trims blocks.
///
/// # Errors
/// `Usage` for a range outside the namespace or no whole blocks, `File`, `Output`, and those of the device.
pub fn run(args: &BlockArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    match &args.action {
        Action::Read { first, count, output } => {
            read(*first, *count, output.as_deref().filter(|path| !is_stream(path)), cx)
        }
        Action::Write { first, file, pad } => write(*first, file, *pad, cx),
        Action::Trim { first, count } => trim(*first, *count, cx),
    }?;
    Ok(Exit::Good)
}

fn with_blocks<T>(
    cx: &mut Context<'_, '_>,
    body: impl FnOnce(&mut Blocks, &mut Context<'_, '_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let mut store = blocks::open(&cx.device()?)?;
    let result = body(&mut store, cx);
    let closed = store.close();
    let value = result?;
    closed.map(|()| value)
}

fn read(first: u64, count: u64, path: Option<&Path>, cx: &mut Context<'_, '_>) -> Result<(), CliError> {
    let Some(path) = path else {
        if cx.global.json {
            return Err(CliError::usage(
                "bytes and --json cannot both go to standard output",
                "add --output FILE",
            ));
        }
        return with_blocks(cx, |store, cx| copy(store, first, count, cx.streams.output, CliError::Output));
    };
    let mut target = Target::create(path)?;
    let bytes = with_blocks(cx, |store, _| {
        copy(store, first, count, target.file(), |e| CliError::file("write", path)(e))?;
        Ok(count * u64::from(store.block_bytes()))
    })?;
    target.commit()?;
    cx.document_if_json(
        "saker.block.read.v1",
        &json!({ "first": first, "blocks": count, "bytes": bytes, "output": path }),
    )
}

/// Copies blocks to `output`, a piece at a time.
fn copy(
    store: &mut Blocks,
    first: u64,
    count: u64,
    output: &mut dyn Write,
    failed: impl Fn(std::io::Error) -> CliError,
) -> Result<(), CliError> {
    check_range(store, first, count)?;
    let step = pieces(store);
    let mut piece = Vec::new();
    for at in (0..count).step_by(step as usize) {
        piece.resize((step.min(count - at) * u64::from(store.block_bytes())) as usize, 0);
        store.read(first + at, &mut piece)?;
        output.write_all(&piece).map_err(&failed)?;
    }
    output.flush().map_err(&failed)
}

/// Blocks of a piece.
fn pieces(store: &Blocks) -> u64 {
    (PIECE_BYTES / u64::from(store.block_bytes())).max(1)
}

fn check_range(store: &Blocks, first: u64, count: u64) -> Result<(), CliError> {
    match first.checked_add(count).filter(|end| *end <= store.blocks()) {
        Some(_) => Ok(()),
        None => Err(CliError::usage(
            format!("{count} blocks from block {first} on end behind the namespace"),
            format!("it has {} blocks, from 0", store.blocks()),
        )),
    }
}

fn write(first: u64, file: &Path, pad: bool, cx: &mut Context<'_, '_>) -> Result<(), CliError> {
    let mut source =
        if is_stream(file) { None } else { Some(File::open(file).map_err(CliError::file("open", file))?) };
    let (blocks, bytes) = with_blocks(cx, |store, cx| {
        let input: &mut dyn Read = match &mut source {
            Some(source) => source,
            None => cx.streams.input,
        };
        check_file(store, first, file, pad)?;
        let blocks = fill(store, first, file, pad, input)?;
        store.flush()?;
        Ok((blocks, blocks * u64::from(store.block_bytes())))
    })?;
    cx.document_if_json("saker.block.write.v1", &json!({ "first": first, "blocks": blocks, "bytes": bytes }))
}

/// What a file's length says already, before anything is written. A stream's is not known.
fn check_file(store: &Blocks, first: u64, file: &Path, pad: bool) -> Result<(), CliError> {
    let Some(bytes) = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len()) else {
        return Ok(());
    };
    let block = u64::from(store.block_bytes());
    if !pad && !bytes.is_multiple_of(block) {
        return Err(no_whole_blocks(file, bytes, block as usize, 0));
    }
    check_range(store, first, bytes.div_ceil(block))
}

/// Writes all of `input`, a piece at a time, as far as the namespace goes: how long a stream is shows at its end. Blocks written.
fn fill(
    store: &mut Blocks,
    first: u64,
    name: &Path,
    pad: bool,
    input: &mut dyn Read,
) -> Result<u64, CliError> {
    check_range(store, first, 0)?;
    let (block, step) = (store.block_bytes() as usize, pieces(store));
    let (mut piece, mut at) = (Vec::new(), first);
    while at < store.blocks() {
        piece.clear();
        let wanted = step.min(store.blocks() - at) * block as u64;
        let read =
            (&mut *input).take(wanted).read_to_end(&mut piece).map_err(CliError::file("read", name))?;
        if pad {
            piece.resize(read.next_multiple_of(block), 0);
        } else if !read.is_multiple_of(block) {
            return Err(no_whole_blocks(name, (at - first) * block as u64 + read as u64, block, at - first));
        }
        store.write(at, &piece)?;
        at += (piece.len() / block) as u64;
        if (read as u64) < wanted {
            return Ok(at - first);
        }
    }
    match (&mut *input).take(1).read_to_end(&mut piece).map_err(CliError::file("read", name))? {
        0 => Ok(at - first),
        _ => Err(CliError::failed(
            format!("`{}` is longer than the namespace from block {first} on", name.display()),
            format!("{} blocks of it are written, up to the last one, and the rest does not fit", at - first),
        )),
    }
}

fn no_whole_blocks(name: &Path, bytes: u64, block: usize, written: u64) -> CliError {
    let what = format!("`{}` has {bytes} bytes, no whole blocks", name.display());
    let todo = format!("add --pad, or pad it to a multiple of {block} bytes");
    match written {
        0 => CliError::usage(what, todo),
        // It has begun: that is no refusal of the command line any more.
        n => CliError::failed(what, format!("{todo} ({n} blocks before the end are written)")),
    }
}

fn trim(first: u64, count: u64, cx: &mut Context<'_, '_>) -> Result<(), CliError> {
    with_blocks(cx, |store, _| {
        check_range(store, first, count)?;
        store.trim(first, count)?;
        store.flush()
    })?;
    cx.document_if_json("saker.block.trim.v1", &json!({ "first": first, "blocks": count }))
}
