// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The border to RocksDB's side: the functions of `shim/saker_rocksdb.h`, which says what each does.
//!
//! Every function trusts its caller, `shim/file_system.cc`: pointers are those that were given out here and not given back, or point to
//! what the header says, for as long as the call takes.

use crate::outcome::{Code, Failure, Outcome};
use crate::volume::{self, Mode, OpenFile, Volume};
use crate::watch::{self, Condition, Watch};
use saker_files::{Kind, Stat};
use std::ffi::c_void;
use std::sync::Arc;

/// Bytes of the caller's.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Text {
    bytes: *const u8,
    length: usize,
}

/// What is known of a file or directory.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PathStat {
    inode: u64,
    bytes: u64,
    seconds: u64,
    links: u32,
    is_directory: u32,
}

/// What is called with each name of a directory.
pub type Entry = unsafe extern "C" fn(*mut c_void, Text, *const PathStat);

impl From<Stat> for PathStat {
    fn from(stat: Stat) -> Self {
        let is_directory = u32::from(stat.kind == Kind::Directory);
        let (inode, seconds) = (stat.inode.0, stat.time / 1_000_000);
        Self { inode, bytes: stat.bytes, seconds, links: stat.links, is_directory }
    }
}

impl Text {
    pub(crate) fn of(text: &str) -> Self {
        Self { bytes: text.as_ptr(), length: text.len() }
    }

    /// # Safety
    /// It points to as many bytes as it says, which nobody changes for as long as `'a`.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: as the caller says.
        unsafe { std::slice::from_raw_parts(self.bytes, self.length) }
    }

    /// # Safety
    /// As of [`Self::bytes`].
    unsafe fn path<'a>(self) -> Result<&'a str, Failure> {
        // SAFETY: as the caller says.
        let bytes = unsafe { self.bytes() };
        let not_utf8 =
            |_| Failure { code: Code::Invalid, text: "a path is not UTF-8; use another one".to_owned() };
        std::str::from_utf8(bytes).map_err(not_utf8)
    }
}

/// Runs a call on a path and tells how it ended.
macro_rules! on_path {
    ($told:expr, $path:expr, $act:expr) => {{
        // SAFETY: the caller's text and outcome are valid for this call.
        let (path, told) = unsafe { ($path.path(), &mut *$told) };
        told.tell(path.and_then($act))
    }};
}

/// Runs a call on an open file and tells how it ended.
macro_rules! on_file {
    ($told:expr, $file:expr, $act:expr) => {{
        // SAFETY: the caller has the file open, and its outcome is valid for this call.
        let (file, told) = unsafe { (&*$file, &mut *$told) };
        told.tell($act(file))
    }};
}

fn boxed(file: Option<OpenFile>) -> *mut OpenFile {
    file.map_or(std::ptr::null_mut(), |file| Box::into_raw(Box::new(file)))
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_volume_open(url: Text, told: *mut Outcome) -> *const Volume {
    on_path!(told, url, Volume::open).map_or(std::ptr::null(), Arc::into_raw)
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_volume_close(volume: *const Volume) {
    // SAFETY: it is from `saker_volume_open`, and the caller gives it back now.
    unsafe { Arc::from_raw(volume) }.release();
}

/// The program ends.
#[unsafe(no_mangle)]
pub extern "C" fn saker_volumes_leave() {
    volume::leave();
}

/// The count of a volume's users is as it was; who gets this may make it more.
///
/// # Safety
/// [`self`].
unsafe fn borrowed<'a>(volume: *const Volume) -> &'a Volume {
    // SAFETY: the caller has it open.
    unsafe { &*volume }
}

/// # Safety
/// [`self`].
unsafe fn shared(volume: *const Volume) -> Arc<Volume> {
    // SAFETY: it is from `Arc::into_raw`, and the caller's own count stays.
    unsafe {
        Arc::increment_strong_count(volume);
        Arc::from_raw(volume)
    }
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_volume_space(volume: *const Volume, free_bytes: *mut u64) {
    // SAFETY: the caller has the volume, and a place for the number.
    unsafe { *free_bytes = borrowed(volume).free_bytes() }
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_volume_sync_names(volume: *const Volume, told: *mut Outcome) {
    on_file!(told, volume, Volume::sync_names);
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_open(
    volume: *const Volume,
    path: Text,
    mode: i32,
    told: *mut Outcome,
) -> *mut OpenFile {
    // SAFETY: the caller has the volume.
    let volume = unsafe { shared(volume) };
    let mode =
        [Mode::Existing, Mode::New, Mode::Either].get(mode as usize).copied().unwrap_or(Mode::Existing);
    let file = on_path!(told, path, |path| volume.open_file(path, mode));
    volume.release();
    boxed(file)
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_lock(
    volume: *const Volume,
    path: Text,
    told: *mut Outcome,
) -> *mut OpenFile {
    // SAFETY: the caller has the volume.
    let volume = unsafe { shared(volume) };
    let file = on_path!(told, path, |path| volume.lock_file(path));
    volume.release();
    boxed(file)
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_unlock(file: *mut OpenFile, told: *mut Outcome) {
    // SAFETY: it is from `boxed`, and the caller gives it back now.
    let (file, told) = unsafe { (Box::from_raw(file), &mut *told) };
    told.tell(file.unlock());
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_close(file: *mut OpenFile, told: *mut Outcome) {
    // SAFETY: it is from `boxed`, and the caller gives it back now.
    let (file, told) = unsafe { (Box::from_raw(file), &mut *told) };
    told.tell(file.close());
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_bytes(file: *const OpenFile) -> u64 {
    // SAFETY: the caller has it open.
    unsafe { &*file }.bytes()
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_inode(file: *const OpenFile) -> u64 {
    // SAFETY: the caller has it open.
    unsafe { &*file }.inode
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_read(
    file: *const OpenFile,
    offset: u64,
    out: *mut u8,
    bytes: usize,
    told: *mut Outcome,
) -> usize {
    if bytes == 0 {
        return on_file!(told, file, |_: &OpenFile| Ok(0)).unwrap_or(0);
    }
    // SAFETY: the caller lends so many bytes, of which it reads none meanwhile.
    let out = unsafe { std::slice::from_raw_parts_mut(out, bytes) };
    on_file!(told, file, |file: &OpenFile| file.read(offset, out)).unwrap_or(0)
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_append(file: *const OpenFile, data: Text, told: *mut Outcome) {
    // SAFETY: the caller's bytes are valid for this call.
    let data = unsafe { data.bytes() };
    on_file!(told, file, |file: &OpenFile| file.append(data));
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_truncate(file: *const OpenFile, bytes: u64, told: *mut Outcome) {
    on_file!(told, file, |file: &OpenFile| file.truncate(bytes));
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_send(file: *const OpenFile, told: *mut Outcome) {
    on_file!(told, file, OpenFile::send);
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_flush(file: *const OpenFile, told: *mut Outcome) {
    on_file!(told, file, OpenFile::flush);
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_file_sync(file: *const OpenFile, told: *mut Outcome) {
    on_file!(told, file, OpenFile::sync);
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_path_stat(
    volume: *const Volume,
    path: Text,
    out: *mut PathStat,
    told: *mut Outcome,
) {
    // SAFETY: the caller has the volume.
    let volume = unsafe { borrowed(volume) };
    if let Some(stat) = on_path!(told, path, |path| volume.stat(path)) {
        // SAFETY: the caller has a place for it.
        unsafe { *out = stat.into() };
    }
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_path_list(
    volume: *const Volume,
    path: Text,
    each: Entry,
    context: *mut c_void,
    told: *mut Outcome,
) {
    // SAFETY: the caller has the volume.
    let volume = unsafe { borrowed(volume) };
    for (name, stat) in on_path!(told, path, |path| volume.list(path)).unwrap_or_default() {
        // SAFETY: the caller's function takes a name and what is known of it, and the caller's context.
        unsafe { each(context, Text::of(&name), &stat.into()) };
    }
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_path_remove(volume: *const Volume, path: Text, told: *mut Outcome) {
    // SAFETY: the caller has the volume.
    let volume = unsafe { borrowed(volume) };
    on_path!(told, path, |path| volume.remove(path));
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_path_make_directory(
    volume: *const Volume,
    path: Text,
    is_error: i32,
    told: *mut Outcome,
) {
    // SAFETY: the caller has the volume.
    let volume = unsafe { borrowed(volume) };
    on_path!(told, path, |path| volume.make_directory(path, is_error != 0));
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_path_remove_directory(volume: *const Volume, path: Text, told: *mut Outcome) {
    // SAFETY: the caller has the volume.
    let volume = unsafe { borrowed(volume) };
    on_path!(told, path, |path| volume.remove_directory(path));
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_path_rename(volume: *const Volume, from: Text, to: Text, told: *mut Outcome) {
    // SAFETY: the caller has the volume, and both texts are valid for this call.
    let (volume, to) = unsafe { (borrowed(volume), to.path()) };
    on_path!(told, from, |from| volume.rename(from, to?));
}

/// # Safety
/// [`self`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_path_link(volume: *const Volume, from: Text, to: Text, told: *mut Outcome) {
    // SAFETY: the caller has the volume, and both texts are valid for this call.
    let (volume, to) = unsafe { (borrowed(volume), to.path()) };
    on_path!(told, from, |from| volume.link(from, to?));
}

#[unsafe(no_mangle)]
extern "C" fn saker_watch_of(number: u64) -> *const Watch {
    watch::of(number).map_or(std::ptr::null(), Arc::into_raw)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn saker_watch_leave(watch: *const Watch) {
    if !watch.is_null() {
        // SAFETY: it was given out, and is given back once.
        drop(unsafe { Arc::from_raw(watch) });
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn saker_watch_condition(watch: *const Watch, condition: i32) {
    let condition = match condition {
        1 => Condition::Delayed,
        2 => Condition::Stopped,
        _ => Condition::GoesOn,
    };
    // SAFETY: it was given out and not given back, or is null.
    if let Some(watch) = unsafe { watch.as_ref() } {
        watch.is_now(condition);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn saker_watch_flushed(watch: *const Watch) {
    // SAFETY: it was given out and not given back, or is null.
    if let Some(watch) = unsafe { watch.as_ref() } {
        watch.flushed();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn saker_watch_compacted(watch: *const Watch) {
    // SAFETY: it was given out and not given back, or is null.
    if let Some(watch) = unsafe { watch.as_ref() } {
        watch.compacted();
    }
}
