// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writing a record: into its slots, with the word of its first grain out of band.

use super::HashFtl;
use super::record::{HEAD_BYTES, Head, Mark, record_crc};
use saker_engine_api::Source;
use saker_log::{Bytes, Writer};
use saker_segment_store::SegmentStore;
use saker_segment_store::crc::Crc32c;

impl HashFtl {
    /// Grains of a record with that head.
    pub(super) fn grains_of(&self, head: &Head) -> u32 {
        self.config.grains(head.bytes())
    }

    /// Lands head, key and value in the writer's room, from byte `base` on. If the value cannot be fetched nothing is left of it.
    pub(super) fn land<M: SegmentStore, S: Source>(
        &mut self,
        writer: &Writer,
        (base, slot): (u32, u64),
        mut head: Head,
        key: &[u8],
        value: &mut S,
        m: &mut M,
    ) -> Result<(), crate::SourceError> {
        let start = base + HEAD_BYTES + key.len() as u32;
        self.log.put(m, writer, base + HEAD_BYTES, key);
        let mut done = 0;
        while done < head.value_bytes {
            let chunk = self.log.chunk_mut(m, writer, start + done);
            let n = chunk.len().min((head.value_bytes - done) as usize);
            value.read(done, &mut chunk[..n])?;
            done += n as u32;
        }
        self.pad(writer, base, &head, m);
        self.log.put(m, writer, base, &head.encode());
        head.crc = self.landed_crc(writer, base, head.bytes(), m);
        self.log.put(m, writer, base, &head.crc.to_le_bytes());
        self.mark(writer, (base, slot), &head, m);
        Ok(())
    }

    /// The rest of the last grain is zero.
    fn pad<M: SegmentStore>(&self, writer: &Writer, base: u32, head: &Head, m: &mut M) {
        let (mut at, end) = (base + head.bytes(), base + self.grains_of(head) * self.config.grain_bytes);
        while at < end {
            let chunk = self.log.chunk_mut(m, writer, at);
            let n = chunk.len().min((end - at) as usize);
            chunk[..n].fill(0);
            at += n as u32;
        }
    }

    pub(super) fn mark<M: SegmentStore>(
        &self,
        writer: &Writer,
        (base, slot): (u32, u64),
        head: &Head,
        m: &mut M,
    ) {
        let mark = Mark { slot: slot as u32, grains: self.grains_of(head) as u16, kind: head.kind };
        let in_page = (writer.log_addr().0 + u64::from(base)) % u64::from(self.log.geometry().page_bytes);
        let at = (in_page / u64::from(self.config.grain_bytes)) as usize * 8;
        self.log.put_oob_at(m, writer, base, at, &mark.encode());
    }

    fn landed_crc<M: SegmentStore>(&self, writer: &Writer, base: u32, bytes: u32, m: &mut M) -> u32 {
        let first = self.log.chunk_mut(m, writer, base);
        if first.len() >= bytes as usize {
            return record_crc(&first[4..bytes as usize]);
        }
        let mut digest = Crc32c::new();
        let mut at = 4;
        while at < bytes {
            let chunk = self.log.chunk_mut(m, writer, base + at);
            let n = chunk.len().min((bytes - at) as usize);
            digest.update(&chunk[..n]);
            at += n as u32;
        }
        digest.finish()
    }

    /// Checksum of bytes 4..`bytes` of a resident record.
    pub(super) fn range_crc<M: SegmentStore>(&self, range: Bytes, bytes: u32, m: &M) -> u32 {
        let chunk = range.chunk(&self.log, m, 4);
        if chunk.len() >= bytes as usize - 4 {
            return record_crc(&chunk[..bytes as usize - 4]);
        }
        let mut digest = Crc32c::new();
        let mut at = 4;
        while at < bytes {
            let chunk = range.chunk(&self.log, m, at);
            if chunk.is_empty() {
                break;
            }
            let n = chunk.len().min((bytes - at) as usize);
            digest.update(&chunk[..n]);
            at += n as u32;
        }
        digest.finish()
    }
}
