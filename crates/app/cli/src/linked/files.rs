// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files on a block namespace as the commands see them.

pub use saker_files::{FileId, Files, FsError, Kind, Report, Space, Stat, now};

use saker_files::Error;

use super::opened::{failed, refused};
use crate::error::CliError;
use crate::store::Answer;

/// An error as the user is told of it: what depends on the command line is its fault.
pub fn told(error: Error) -> CliError {
    match error {
        Error::Device(error) => refused(&error),
        Error::Files(error) => of_files(&error),
        error @ Error::Random(_) => divided(&error.to_string(), CliError::failed),
    }
}

/// The same of an operation on files.
pub fn of_files(error: &FsError) -> CliError {
    let text = error.to_string();
    match error {
        FsError::NotFound(_) | FsError::NotADirectory(_) | FsError::NotEmpty(_) => {
            CliError::failed(text, "`saker fs ls` says what is there")
        }
        FsError::Exists(_) | FsError::IsADirectory(_) | FsError::Circle(_) => {
            CliError::failed(text, "take another name")
        }
        FsError::Geometry(_) => CliError::failed(text, "see `saker fs mkfs --help`"),
        FsError::Damaged(_) => {
            CliError::failed(text, "restore it from a backup, or make a new one with `saker fs mkfs --force`")
        }
        FsError::Disk(_) => CliError::failed(text, "see the device with `saker info`"),
        FsError::Locked(_) | FsError::Closed | FsError::Busy => CliError::failed(text, "try again"),
        FsError::Name(_) | FsError::NoSpace(_) | FsError::Stopped(_) | FsError::NoFileSystem => {
            divided(&text, CliError::failed)
        }
    }
}

/// What a text says before its semicolon or colon, and what to do behind it.
fn divided(text: &str, make: impl Fn(String, String) -> CliError) -> CliError {
    match text.rsplit_once("; ").or_else(|| text.split_once(": ")) {
        Some((what, todo)) => make(what.to_owned(), todo.to_owned()),
        None => make(text.to_owned(), "try again".to_owned()),
    }
}

/// Makes a file system.
///
/// # Errors
/// Those of the device; `Failed` if it is too small.
pub fn make(url: &str, area_bytes: Option<u64>) -> Answer<Space> {
    saker_files::make(url, area_bytes).map_err(told)
}

/// Whether a namespace has a file system, sound or not.
///
/// # Errors
/// Those of the device.
pub fn has_files(url: &str) -> Answer<bool> {
    match saker_files::open(url) {
        Ok(files) => saker_files::close(files).map(|()| true).map_err(told),
        Err(Error::Files(FsError::NoFileSystem)) => Ok(false),
        Err(Error::Files(FsError::Damaged(_) | FsError::Geometry(_))) => Ok(true),
        Err(error) => Err(told(error)),
    }
}

/// Opens the files of a namespace.
///
/// # Errors
/// Those of the device; `Failed` without a file system that can be used.
pub fn open(url: &str) -> Answer<Files> {
    saker_files::open(url).map_err(told)
}

/// Makes everything durable and closes the device.
///
/// # Errors
/// Those of the device.
pub fn close(files: Files) -> Answer<()> {
    saker_files::close(files).map_err(|error| match error {
        Error::Device(error) => failed(&error),
        error => told(error),
    })
}

/// Reads everything and says what is damaged.
///
/// # Errors
/// Those of the device; `Failed` without a file system that can be opened.
pub fn check(url: &str) -> Answer<Report> {
    saker_files::check(url).map_err(told)
}
