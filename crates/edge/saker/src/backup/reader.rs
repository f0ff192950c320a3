// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading a backup, frame by frame. Nothing of a frame is given out that is not sound.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of backups"
    )
)]

use super::format::{
    BackupId, Begin, End, FrameHead, FrameKind, HEAD_BYTES, HEADER_BYTES, Header, HeaderFault, take_entry,
};
use super::{BackupError, BackupNamespace, Consistency};
use crate::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use zerocopy::FromBytes;

/// Bytes that are read from the file at once.
const BUFFER_BYTES: usize = 256 << 10;

/// A piece of a backup.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item<'a> {
    /// A namespace begins.
    Begin(&'a BackupNamespace),
    /// A pair; `None`: there is none any more.
    Pair(&'a [u8], Option<&'a [u8]>),
    /// Whole blocks from that one on.
    Blocks(u64, &'a [u8]),
}

/// A backup that is read.
#[derive(Debug)]
pub(super) struct BackupReader {
    file: BufReader<File>,
    path: PathBuf,
    pub header: Header,
    /// Where the frame begins that is looked at.
    at: u64,
    next: u64,
    frames: u64,
    payload: Vec<u8>,
}

impl BackupReader {
    pub fn open(path: &Path) -> Result<Self, BackupError> {
        let file = File::open(path).map_err(BackupError::io(path, "open"))?;
        let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut bytes = [0; HEADER_BYTES];
        let path = path.to_path_buf();
        match file.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(BackupError::NotBackup { path });
            }
            Err(source) => return Err(BackupError::Io { path, doing: "read", source }),
        }
        match Header::decode(bytes) {
            Ok(header) => {
                let next = HEADER_BYTES as u64;
                Ok(Self { file, path, header, at: next, next, frames: 0, payload: Vec::new() })
            }
            Err(HeaderFault::Foreign) => Err(BackupError::NotBackup { path }),
            Err(HeaderFault::Newer(what)) => Err(BackupError::Unsupported { path, what }),
            Err(HeaderFault::Damaged) => Err(BackupError::Damaged {
                path,
                at: 0,
                what: "the header does not match its checksum".into(),
            }),
        }
    }

    /// Shows everything there is. What each namespace has.
    pub fn read(
        mut self,
        see: &mut dyn FnMut(Item<'_>) -> Result<(), Error>,
    ) -> Result<Vec<BackupNamespace>, Error> {
        let mut all = Vec::new();
        loop {
            match self.frame()? {
                FrameKind::Begin => all.push(self.namespace(see)?),
                FrameKind::Last => return self.last(&all).map(|()| all),
                _ => return Err(self.damaged("a frame belongs to no namespace").into()),
            }
        }
    }

    /// Identifier of the backup and of the one it goes on from.
    pub fn ids(&self) -> (BackupId, BackupId) {
        (self.header.id, self.header.base)
    }

    fn namespace(
        &mut self,
        see: &mut dyn FnMut(Item<'_>) -> Result<(), Error>,
    ) -> Result<BackupNamespace, Error> {
        let mut namespace = self.begun()?;
        see(Item::Begin(&namespace))?;
        loop {
            match (self.frame()?, namespace.kind) {
                (FrameKind::Pairs, "kv") => self.pairs(&mut namespace, see)?,
                (FrameKind::Blocks, "block") => self.blocks(&mut namespace, see)?,
                (FrameKind::End, _) => return self.ended(&namespace).map(|()| namespace),
                _ => return Err(self.damaged("a frame does not belong to its namespace").into()),
            }
        }
    }

    fn begun(&self) -> Result<BackupNamespace, BackupError> {
        let begin = Begin::read_from_bytes(&self.payload)
            .map_err(|_| self.damaged("a namespace has another length"))?;
        let kind = match (begin.kind.get(), begin.block_bytes.get()) {
            (1, _) => "kv",
            (2, 1..) => "block",
            _ => return Err(self.damaged("a namespace of a kind that does not exist")),
        };
        let consistency = Consistency::of_code(begin.consistency.get());
        let consistency = consistency.ok_or_else(|| self.damaged("a consistency that does not exist"))?;
        Ok(BackupNamespace {
            nsid: begin.nsid.get(),
            kind,
            consistency,
            block_bytes: begin.block_bytes.get(),
            blocks: begin.blocks.get(),
            ..BackupNamespace::default()
        })
    }

    fn pairs(
        &mut self,
        namespace: &mut BackupNamespace,
        see: &mut dyn FnMut(Item<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut rest = self.payload.as_slice();
        while !rest.is_empty() {
            let Some(((key, value), behind)) = take_entry(rest) else {
                return Err(self.damaged("a pair contradicts itself").into());
            };
            see(Item::Pair(key, value))?;
            namespace.count(value);
            rest = behind;
        }
        Ok(())
    }

    fn blocks(
        &mut self,
        namespace: &mut BackupNamespace,
        see: &mut dyn FnMut(Item<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some((first, bytes)) = self.payload.split_first_chunk::<8>() else {
            return Err(self.damaged("blocks without a number").into());
        };
        let (first, block_bytes) = (u64::from_le_bytes(*first), namespace.block_bytes as usize);
        let count = (bytes.len() / block_bytes.max(1)) as u64;
        let fits = first.checked_add(count).is_some_and(|end| end <= namespace.blocks);
        if !fits || !bytes.len().is_multiple_of(block_bytes) {
            return Err(self.damaged("blocks that the namespace does not have").into());
        }
        namespace.blocks_written += count;
        see(Item::Blocks(first, bytes))
    }

    fn ended(&self, namespace: &BackupNamespace) -> Result<(), Error> {
        let end = End::read_from_bytes(&self.payload);
        if end.is_ok_and(|end| end == namespace.end()) {
            Ok(())
        } else {
            Err(self.damaged("pairs or blocks are missing").into())
        }
    }

    fn last(&mut self, all: &[BackupNamespace]) -> Result<(), Error> {
        if self.payload != (all.len() as u64).to_le_bytes() {
            return Err(self.damaged("namespaces are missing").into());
        }
        self.at = self.next;
        match self.file.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.damaged("there is something behind its end").into()),
            Err(error) => Err(BackupError::io(&self.path, "read")(error).into()),
        }
    }

    /// The next frame's kind. Its payload is sound.
    fn frame(&mut self) -> Result<FrameKind, BackupError> {
        let mut head = [0; HEAD_BYTES];
        self.at = self.next;
        self.fill(&mut head)?;
        let head =
            FrameHead::decode(head, &self.header.id, self.frames).map_err(|what| self.damaged(what))?;
        let mut payload = std::mem::take(&mut self.payload);
        payload.resize(head.payload_bytes as usize, 0);
        self.fill(&mut payload)?;
        self.payload = payload;
        if !head.is_of(&self.payload) {
            return Err(self.damaged("a frame does not match its checksum"));
        }
        self.frames += 1;
        self.next += (HEAD_BYTES + self.payload.len()) as u64;
        Ok(head.kind)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), BackupError> {
        self.file.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("the file ends there"),
            _ => BackupError::io(&self.path, "read")(error),
        })
    }

    fn damaged(&self, what: &str) -> BackupError {
        BackupError::Damaged { path: self.path.clone(), at: self.at, what: what.into() }
    }
}
