// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writing a backup, frame by frame: no more than one frame is in memory.

use super::BackupError;
use super::format::{BackupId, Begin, End, FrameHead, FrameKind, Header, put_entry};
use crate::error::Error;
use crate::part::Part;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use zerocopy::IntoBytes;

/// Bytes of pairs or blocks from which on a frame is written.
const FRAME_BYTES: usize = 256 << 10;

/// A backup that is being written. It has its name when it is complete.
#[derive(Debug)]
pub(super) struct BackupWriter {
    file: File,
    path: PathBuf,
    part: Part,
    id: BackupId,
    frames: u64,
    namespaces: u64,
    bytes: u64,
    payload: Vec<u8>,
    /// Of a payload of blocks: the one that comes next.
    next_block: u64,
    counted: End,
}

/// As an image's: it has all pairs.
const OWNER_ALONE: u32 = 0o600;

impl BackupWriter {
    pub fn create(path: &Path, id: BackupId, base: BackupId) -> Result<Self, Error> {
        let mut part = Part::of(path);
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).mode(OWNER_ALONE).open(part.place());
        let file = file.map_err(BackupError::io(part.place(), "create"))?;
        // A left-over of a killed process is written anew; a backup that is under way is left alone.
        file.try_lock().map_err(|error| BackupError::io(part.place(), "lock")(error.into()))?;
        part.made();
        file.set_len(0).map_err(BackupError::io(part.place(), "create"))?;
        let mut writer = Self {
            file,
            path: path.to_path_buf(),
            part,
            id,
            frames: 0,
            namespaces: 0,
            bytes: 0,
            payload: Vec::new(),
            next_block: 0,
            counted: End::default(),
        };
        writer.write(Header::new(id, base).as_bytes())?;
        Ok(writer)
    }

    pub fn begin(&mut self, begin: &Begin) -> Result<(), Error> {
        self.counted = End::default();
        self.namespaces += 1;
        self.frame(FrameKind::Begin, begin.as_bytes())
    }

    /// A pair; `None`: there is none any more.
    pub fn pair(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Error> {
        put_entry(&mut self.payload, key, value);
        match value {
            Some(value) => {
                self.counted.pairs += 1;
                self.counted.value_bytes += value.len() as u64;
            }
            None => self.counted.deleted += 1,
        }
        if self.payload.len() < FRAME_BYTES { Ok(()) } else { self.send(FrameKind::Pairs) }
    }

    /// A block. Those that follow each other share a frame.
    pub fn block(&mut self, number: u64, bytes: &[u8]) -> Result<(), Error> {
        if !self.payload.is_empty() && (number != self.next_block || self.payload.len() >= FRAME_BYTES) {
            self.send(FrameKind::Blocks)?;
        }
        if self.payload.is_empty() {
            self.payload.extend_from_slice(&number.to_le_bytes());
        }
        self.payload.extend_from_slice(bytes);
        self.next_block = number + 1;
        self.counted.blocks += 1;
        Ok(())
    }

    /// Ends a namespace of pairs or blocks. What it has.
    pub fn end(&mut self, kind: FrameKind) -> Result<End, Error> {
        if !self.payload.is_empty() {
            self.send(kind)?;
        }
        let end = self.counted;
        self.frame(FrameKind::End, end.as_bytes()).map(|()| end)
    }

    /// Ends the backup and gives it its name. Its bytes.
    pub fn finish(mut self) -> Result<u64, Error> {
        let namespaces = self.namespaces;
        self.frame(FrameKind::Last, &namespaces.to_le_bytes())?;
        self.part.name()?;
        Ok(self.bytes)
    }

    fn send(&mut self, kind: FrameKind) -> Result<(), Error> {
        let payload = std::mem::take(&mut self.payload);
        let sent = self.frame(kind, &payload);
        self.payload = payload;
        self.payload.clear();
        sent
    }

    fn frame(&mut self, kind: FrameKind, payload: &[u8]) -> Result<(), Error> {
        let head = FrameHead::of(kind, payload).encode(&self.id, self.frames);
        self.frames += 1;
        self.write(&head)?;
        self.write(payload)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes += bytes.len() as u64;
        Ok(self.file.write_all(bytes).map_err(BackupError::io(&self.path, "write"))?)
    }
}
