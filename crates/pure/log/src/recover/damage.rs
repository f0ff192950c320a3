// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is wrong with a log that no torn program explains.

use saker_segment_store::{Flip, Geometry, PageAddr, SlotError};
use thiserror::Error;

/// Damage found where a torn program cannot explain it. The store is not opened.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Damage {
    /// A page's header or data does not match its checksum.
    #[error("page {page} (segment {segment}, index {index}) is damaged: {what}")]
    Page {
        /// Linear page number.
        page: u64,
        /// Its segment.
        segment: u32,
        /// Its index in the segment.
        index: u32,
        /// What is wrong.
        what: String,
    },
    /// A record in a page is not as it was written.
    #[error(
        "page {page} (segment {segment}, index {index}) is damaged: a record in it does not match its checksum"
    )]
    Record {
        /// Linear page number.
        page: u64,
        /// Its segment.
        segment: u32,
        /// Its index in the segment.
        index: u32,
        /// The one changed byte that explains it, if one does.
        flip: Option<LogFlip>,
    },
    /// The power-safe page buffer is damaged.
    #[error(transparent)]
    PageBuffer(#[from] SlotError),
    /// A checkpoint the log depends on cannot be read.
    #[error("the checkpoint of namespace {owner} cannot be read: {what}")]
    Checkpoint {
        /// The namespace.
        owner: u16,
        /// What is wrong.
        what: String,
    },
}

/// A changed byte of a log's page: first come the data, then the out-of-band bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogFlip {
    /// The page.
    pub page: PageAddr,
    /// The byte of it.
    pub flip: Flip,
}

impl LogFlip {
    /// The byte at a position of the log.
    pub fn at_position(geometry: &Geometry, position: u64, mask: u8) -> Self {
        let page_bytes = u64::from(geometry.page_bytes);
        Self { page: PageAddr(position / page_bytes), flip: Flip { at: position % page_bytes, mask } }
    }
}

impl Damage {
    /// Damage of a record that begins in a page.
    pub fn record(geometry: &Geometry, at: PageAddr, flip: Option<LogFlip>) -> Self {
        let (segment, index) = (geometry.segment_of(at).0, geometry.index_of(at));
        Self::Record { page: at.0, segment, index, flip }
    }

    /// Damage of one page.
    pub fn page(geometry: &Geometry, at: PageAddr, what: impl Into<String>) -> Self {
        let (segment, index) = (geometry.segment_of(at).0, geometry.index_of(at));
        Self::Page { page: at.0, segment, index, what: what.into() }
    }
}
