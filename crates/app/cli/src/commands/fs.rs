// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker fs`

use serde_json::json;

use super::fs_copy;
use crate::args::fs::{Action, FsArgs};
use crate::context::{Context, Exit};
use crate::error::{CliError, one_line};
use crate::linked::files::{self, Files, FsError, Kind, Stat, now, of_files};
use crate::size::{grouped, show};
use crate::store::Answer;

/// Uses the files of a block namespace.
///
/// # Errors
/// `Failed` for what is not there or cannot be done, `File`, `Output`, and those of the device.
pub fn run(args: &FsArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    match &args.action {
        Action::Mkfs { force, journal } => mkfs(*force, *journal, cx)?,
        Action::Ls { path } => ls(path, cx)?,
        Action::Cat { path } => _ = with_files(cx, |fs, cx| fs_copy::print(fs, path, cx))?,
        Action::Cp { from, to } => fs_copy::copy(from, to, cx)?,
        Action::Mv { from, to } => change(cx, "mv", |fs| fs.rename(from, to))?,
        Action::Mkdir { path } => change(cx, "mkdir", |fs| fs.make_directory(path, now()))?,
        Action::Rm { path } => change(cx, "rm", |fs| remove(fs, path))?,
        Action::Df => df(cx)?,
        Action::Fsck => return fsck(cx),
    }
    Ok(Exit::Good)
}

/// Opens the files, works on them, and closes them whatever came of that.
pub fn with_files<T>(
    cx: &mut Context<'_, '_>,
    body: impl FnOnce(&mut Files, &mut Context<'_, '_>) -> Answer<T>,
) -> Answer<T> {
    let mut fs = files::open(&cx.device()?)?;
    let result = body(&mut fs, cx);
    let closed = files::close(fs);
    let value = result?;
    closed.map(|()| value)
}

fn change(
    cx: &mut Context<'_, '_>,
    what: &str,
    body: impl FnOnce(&mut Files) -> Result<(), FsError>,
) -> Answer<()> {
    with_files(cx, |fs, _| body(fs).map_err(|e| of_files(&e)))?;
    cx.document_if_json("saker.fs.change.v1", &json!({ "done": what }))
}

fn remove(fs: &mut Files, path: &str) -> Result<(), FsError> {
    match fs.stat(path)?.kind {
        Kind::File => fs.remove(path),
        Kind::Directory => fs.remove_directory(path),
    }
}

fn mkfs(force: bool, journal: Option<u64>, cx: &mut Context<'_, '_>) -> Answer<()> {
    let url = cx.device()?;
    if !force && files::has_files(&url)? {
        return Err(CliError::failed(
            format!("`{url}` has a file system already"),
            "add --force if what is in it may go",
        ));
    }
    let space = files::make(&url, journal)?;
    cx.note(&format!("made a file system on {url}: {} for files", show(space.total)));
    cx.document_if_json("saker.fs.mkfs.v1", &json!({ "device": url, "bytes": space.total }))
}

fn kind(stat: &Stat) -> &'static str {
    match stat.kind {
        Kind::File => "file",
        Kind::Directory => "directory",
    }
}

fn ls(path: &str, cx: &mut Context<'_, '_>) -> Answer<()> {
    let entries = with_files(cx, |fs, _| {
        let stat = fs.stat(path).map_err(|e| of_files(&e))?;
        match stat.kind {
            Kind::Directory => fs.list(path).map_err(|e| of_files(&e)),
            Kind::File => Ok(vec![(path.to_owned(), stat)]),
        }
    })?;
    if cx.global.json {
        let row = |(name, stat): &(String, Stat)| json!({ "name": name, "kind": kind(stat), "bytes": stat.bytes, "links": stat.links, "time_us": stat.time });
        let rows: Vec<_> = entries.iter().map(row).collect();
        return cx.document("saker.fs.ls.v1", &json!({ "path": path, "entries": rows }));
    }
    let lines = entries.iter().map(|(name, stat)| {
        let slash = if stat.kind == Kind::Directory { "/" } else { "" };
        format!("{:>14}  {}{slash}\n", grouped(stat.bytes), one_line(name))
    });
    cx.print(lines.collect::<String>())
}

fn df(cx: &mut Context<'_, '_>) -> Answer<()> {
    let space = with_files(cx, |fs, _| Ok(fs.space()))?;
    if cx.global.json {
        return cx.document("saker.fs.df.v1", &json!({ "bytes": space.total, "free": space.free }));
    }
    cx.print(format!("{} for files, {} free\n", show(space.total), show(space.free)))
}

fn fsck(cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let url = cx.device()?;
    let found = files::check(&url)?;
    let is_sound = found.problems.is_empty();
    if cx.global.json {
        let body = json!({
            "device": url, "files": found.files, "directories": found.directories, "file_bytes": found.bytes,
            "bytes": found.space.0, "free": found.space.1, "generation": found.journal.0, "records": found.journal.1,
            "problems": found.problems,
        });
        cx.document("saker.fs.fsck.v1", &body)?;
    } else {
        found.problems.iter().for_each(|what| drop(writeln!(cx.streams.errors, "{}", one_line(what))));
        let verdict = if is_sound { "sound" } else { "DAMAGED" };
        let (count, bytes, free) = (grouped(found.files), show(found.bytes), show(found.space.1));
        cx.print(one_line(&format!("{url}: {verdict}; {count} files of {bytes}, {free} free")) + "\n")?;
    }
    Ok(if is_sound { Exit::Good } else { Exit::No })
}
