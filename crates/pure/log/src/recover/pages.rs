// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One page of a log as it is found: sound, torn, or damaged.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::{Damage, HEADERLESS};
use crate::{Log, page_of};
use saker_segment_store::header::page_crc;
use saker_segment_store::{
    HeaderError, Page, PageAddr, PageHeader, SegmentStore, SlotError, SlotId, Step, Stream,
};

/// A page whose header and data are sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScannedPage {
    /// Where.
    pub addr: PageAddr,
    /// Its sequence number.
    pub sequence: u64,
    /// Its stream.
    pub stream: Stream,
    /// Where the first record starts.
    pub first_record: u32,
    /// Bytes that count.
    pub used_bytes: u32,
}

/// Reads one page for a scan: sound pages give their header, erased and torn ones `None`.
pub fn scan_page<M: SegmentStore>(
    log: &Log,
    m: &M,
    at: PageAddr,
) -> Step<Result<Option<ScannedPage>, Damage>> {
    let bad = |what: String| Err(Damage::page(&log.geometry, at, what));
    if !log.geometry.contains(at) {
        return Step::Done(bad("there is no such page".into()));
    }
    if let Some(slot) = log.slot_of(at) {
        return Step::Done(slot_page(m, slot, at).map_err(Damage::PageBuffer));
    }
    let page_bytes = log.geometry.page_bytes;
    match page_of(log, m, at) {
        Page::Absent => Step::Need(vec![at]),
        Page::Erased | Page::Torn => Step::Done(Ok(None)),
        Page::Failed => Step::Done(bad("it cannot be read".into())),
        Page::Resident { data, oob } => Step::Done(match PageHeader::decode(oob, at) {
            Ok(None) => bad(HEADERLESS.into()),
            Err(e @ (HeaderError::Damaged | HeaderError::Misdirected | HeaderError::Version(_))) => {
                bad(e.to_string())
            }
            Ok(Some(h)) if h.data_crc != page_crc(data, PageHeader::owner_oob(oob)) => {
                bad("its data does not match its checksum".into())
            }
            Ok(Some(h)) if h.used_bytes > page_bytes || !is_start(h.first_record, page_bytes) => {
                bad("its header points to what cannot be".into())
            }
            Ok(Some(h)) => Ok(Some(ScannedPage {
                addr: at,
                sequence: h.sequence,
                stream: h.stream,
                first_record: h.first_record,
                used_bytes: h.used_bytes,
            })),
        }),
    }
}

/// What is known of a page that should carry on a record which began in an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Not here: to be brought.
    Absent,
    /// Lost or torn: it carries nothing.
    Lost,
    /// It cannot be read, or its header cannot.
    Unreadable,
    /// Here.
    Here {
        /// Its sequence number.
        sequence: u64,
        /// Where the first record starts.
        first_record: u32,
        /// Bytes that count.
        used_bytes: u32,
    },
}

/// Looks at a page that should carry on a record.
pub fn carried<M: SegmentStore>(log: &Log, m: &M, at: PageAddr) -> Carried {
    let here = |(sequence, first_record, used_bytes)| Carried::Here { sequence, first_record, used_bytes };
    match page_of(log, m, at) {
        Page::Absent => Carried::Absent,
        Page::Erased | Page::Torn => Carried::Lost,
        Page::Failed => Carried::Unreadable,
        Page::Resident { oob, .. } => match log.slot_of(at) {
            Some(slot) => {
                let view = m.page_buffer().view(slot).ok().flatten();
                view.map_or(Carried::Unreadable, |v| here((v.sequence, v.first_record, v.published)))
            }
            None => {
                let header = PageHeader::decode(oob, at).ok().flatten();
                header.map_or(Carried::Unreadable, |h| here((h.sequence, h.first_record, h.used_bytes)))
            }
        },
    }
}

/// Whether a record can start there, or none does.
fn is_start(first_record: u32, page_bytes: u32) -> bool {
    first_record <= page_bytes && first_record.is_multiple_of(8)
}

fn slot_page<M: SegmentStore>(m: &M, slot: SlotId, at: PageAddr) -> Result<Option<ScannedPage>, SlotError> {
    Ok(m.page_buffer().view(slot)?.map(|v| ScannedPage {
        addr: at,
        sequence: v.sequence,
        stream: v.stream,
        first_record: v.first_record,
        used_bytes: v.published,
    }))
}
