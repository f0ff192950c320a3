//! Retrieve: a record is found, checked, and its value delivered.
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

use super::HashStore;
use saker_engine_api::{KvError, Sink};
use saker_log::{Bytes, Look, Spot};
use saker_medium::{Medium, Step, ready};
use saker_sim::{Meter, Unit};
use saker_value_log::Loc;
use saker_value_log::group::seal::{Role, WORD_BYTES};
use saker_value_log::record::{HEADER_BYTES, Header, Kind};

impl HashStore {
    /// Retrieves a pair: delivers up to `sink.room()` bytes from the start of the value and returns its length.
    /// Nothing is delivered that does not match the record's checksum.
    #[inline]
    pub(super) fn deliver_value<M: Medium, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        m: &M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>> {
        let Some(place) = self.index.place(key) else { return Step::Done(Err(KvError::KeySize)) };
        self.enter_pending();
        w.work(Unit::Probe, 2);
        let Some(loc) = self.index.get(place) else { return Step::Done(Err(KvError::NotFound)) };
        if !self.prefetch.is_empty()
            && let Some(delivered) = self.deliver_prefetched(place, loc, sink, w)
        {
            return Step::Done(delivered);
        }
        let range = Bytes::new(Spot(loc.position()), loc.bytes());
        let whole = match range.look(&self.log, m) {
            Look::Whole(record) => Some(record),
            Look::Absent(page) => {
                range.ahead(&self.log, m).for_each(|byte| w.touch(byte));
                return Step::Need(vec![page]);
            }
            Look::Elsewhere => match ready!(range.resident(&self.log, m)) {
                Ok(()) => None,
                Err(e) => return Step::Done(Err(e.into())),
            },
        };
        w.work(Unit::Decode, 1);
        w.work(Unit::Compare, 1);
        w.work(Unit::ChecksumByte, u64::from(loc.bytes()));
        let copied = if sink.is_copied_by_core() { loc.bytes().min(sink.room()) } else { 0 };
        w.work(Unit::CopyByte, u64::from(copied));
        if !self.prefetch.is_empty() {
            self.note_access(place);
        }
        Step::Done(match whole {
            Some(record) if !loc.is_member() => self.deliver_whole(key, loc, record, sink),
            _ => self.deliver(key, loc, range, sink, m),
        })
    }

    /// Delivers from a record that lies in one piece.
    #[inline]
    fn deliver_whole<K: Sink>(
        &self,
        key: &[u8],
        loc: Loc,
        record: &[u8],
        sink: &mut K,
    ) -> Result<u32, KvError> {
        let value = self.value_in(key, loc, record).ok_or(KvError::Corrupt)?;
        let wanted = value.len().min(sink.room() as usize);
        if wanted > 0 {
            sink.write(0, value.get(..wanted).unwrap_or(value)).map_err(|_| KvError::Transfer)?;
        }
        Ok(value.len() as u32)
    }

    /// The value in a record that matches its checksum, its key and its place.
    #[inline]
    fn value_in<'r>(&self, key: &[u8], loc: Loc, record: &'r [u8]) -> Option<&'r [u8]> {
        let header = self.pair_header(loc, record.first_chunk()?)?;
        let start = header.value_at() as usize;
        let used = start + header.value_bytes as usize;
        let found = record.get(HEADER_BYTES as usize..)?.get(..key.len())?;
        let same = usize::from(header.key_bytes) == key.len() && found == key;
        let intact = same && saker_value_log::record::record_crc(record.get(4..used)?) == header.crc;
        if intact { record.get(start..used) } else { None }
    }

    /// The header of a pair of this store, as long as its place says.
    #[inline]
    fn pair_header(&self, loc: Loc, bytes: &[u8; HEADER_BYTES as usize]) -> Option<Header> {
        let header = Header::decode(bytes)?;
        let fits = header.kind == Kind::Pair && header.record_bytes() == loc.record_bytes();
        (fits && header.owner == self.config.owner).then_some(header)
    }

    pub(super) fn deliver<M: Medium, K: Sink>(
        &self,
        key: &[u8],
        loc: Loc,
        range: Bytes,
        sink: &mut K,
        m: &M,
    ) -> Result<u32, KvError> {
        let (start, value_bytes) = self.verify(key, loc, range, m)?;
        self.copy_value(range, start, value_bytes.min(sink.room()), sink, m)?;
        Ok(value_bytes)
    }

    /// Gives `wanted` bytes of a resident value, which begins at `start`, to the sink.
    pub(super) fn copy_value<M: Medium, K: Sink>(
        &self,
        range: Bytes,
        start: u32,
        wanted: u32,
        sink: &mut K,
        m: &M,
    ) -> Result<(), KvError> {
        let mut done = 0;
        while done < wanted {
            let chunk = range.chunk(&self.log, m, start + done);
            let chunk = chunk.get(..(wanted - done) as usize).unwrap_or(chunk);
            if chunk.is_empty() {
                return Err(KvError::Corrupt);
            }
            sink.write(done, chunk).map_err(|_| KvError::Transfer)?;
            done += chunk.len() as u32;
        }
        Ok(())
    }

    /// Checks a resident record against its checksum, its key and its place. Returns where in it the value begins, and
    /// the value's length.
    #[inline]
    pub(super) fn verify<M: Medium>(
        &self,
        key: &[u8],
        loc: Loc,
        range: Bytes,
        m: &M,
    ) -> Result<(u32, u32), KvError> {
        if loc.is_member() {
            return self.verify_member(key, loc, m);
        }
        let mut head = [0; HEADER_BYTES as usize + 16];
        let known = HEADER_BYTES as usize + key.len();
        let head = head.get_mut(..known).ok_or(KvError::KeySize)?;
        range.copy_to(&self.log, m, 0, head);
        let (first, found) = head.split_first_chunk().ok_or(KvError::Corrupt)?;
        let header = self.pair_header(loc, first).ok_or(KvError::Corrupt)?;
        let same = usize::from(header.key_bytes) == key.len() && found == key;
        let used = header.value_at() + header.value_bytes;
        if !same || self.records().range_crc(range, used, m) != header.crc {
            return Err(KvError::Corrupt);
        }
        Ok((header.value_at(), header.value_bytes))
    }

    /// The same for a member of a group.
    fn verify_member<M: Medium>(&self, key: &[u8], loc: Loc, m: &M) -> Result<(u32, u32), KvError> {
        let spot = Spot(loc.position());
        let seal = self.records().seal_at(spot, loc.bytes(), m).filter(|s| s.bytes() == loc.bytes());
        let seal = seal.filter(|s| s.role == Role::Pair && usize::from(s.key_bytes) == key.len());
        let seal = seal.ok_or(KvError::Corrupt)?;
        let mut found = [0; 16];
        let found = found.get_mut(..key.len()).ok_or(KvError::KeySize)?;
        Bytes::new(spot, loc.bytes()).copy_to(&self.log, m, WORD_BYTES, found);
        if *found != *key || !self.records().is_intact(spot, &seal, m) {
            return Err(KvError::Corrupt);
        }
        Ok((seal.value_at(), seal.value_bytes))
    }
}
