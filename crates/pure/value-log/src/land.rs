// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writing a record of one pair into its room in the log. The value is read once, and summed while it is still near.

use crate::record::{self, HEADER_BYTES, Header};
use saker_engine_api::kv::copy_short;
use saker_engine_api::{Source, SourceError};
use saker_log::{Log, Writer};
use saker_segment_store::SegmentStore;
use saker_segment_store::crc::Crc32c;

/// Writes header, key and value into the writer's room, from a byte of it on.
///
/// # Errors
/// [`SourceError`] if the value could not be fetched. The room is to be abandoned then.
pub fn land<M: SegmentStore, S: Source>(
    log: &Log,
    (writer, from): (&Writer, u32),
    header: Header,
    key: &[u8],
    value: &mut S,
    m: &mut M,
) -> Result<(), SourceError> {
    let bytes = header.record_bytes() as usize;
    match log.chunk_mut(m, writer, from).get_mut(..bytes) {
        Some(record) => land_whole(record, header, key, value),
        None => land_pages(log, (writer, from), header, key, value, m),
    }
}

/// Writes a record that lies in one piece, as long as its header says.
///
/// # Errors
/// As [`land`].
#[inline]
pub fn land_whole<S: Source>(
    record: &mut [u8],
    header: Header,
    key: &[u8],
    value: &mut S,
) -> Result<(), SourceError> {
    let (key_end, start) = (HEADER_BYTES as usize + key.len(), header.value_at() as usize);
    let used = start + header.value_bytes as usize;
    // The padding first, and more than it: fixed sizes need no call.
    let end = record.len();
    record[end - 8..].copy_from_slice(&[0; 8]);
    copy_short(&mut record[HEADER_BYTES as usize..key_end], key);
    if start > key_end {
        record[key_end..start].fill(0);
    }
    value.read(0, &mut record[start..used])?;
    record::seal(header, &mut record[..used]);
    Ok(())
}

/// Writes a record across pages.
fn land_pages<M: SegmentStore, S: Source>(
    log: &Log,
    (writer, from): (&Writer, u32),
    mut header: Header,
    key: &[u8],
    value: &mut S,
    m: &mut M,
) -> Result<(), SourceError> {
    let start = from + header.value_at();
    let pad = &[0; 8][..usize::from(header.pad_bytes)];
    let mut digest = Crc32c::new();
    digest.update(&header.encode()[4..]);
    digest.update(key);
    digest.update(pad);
    log.put(m, writer, from + HEADER_BYTES, key);
    log.put(m, writer, start - pad.len() as u32, pad);
    let mut done = 0;
    while done < header.value_bytes {
        let chunk = log.chunk_mut(m, writer, start + done);
        let n = chunk.len().min((header.value_bytes - done) as usize);
        value.read(done, &mut chunk[..n])?;
        digest.update(&chunk[..n]);
        done += n as u32;
    }
    let used = start + header.value_bytes;
    log.put(m, writer, used, &[0; 8][..(from + header.record_bytes() - used) as usize]);
    header.crc = digest.finish();
    log.put(m, writer, from, &header.encode());
    Ok(())
}
