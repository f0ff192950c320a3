// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checking a record that is looked up by its address, and delivering its value.
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

use crate::group::seal::{Role, WORD_BYTES, pair_here};
use crate::record::{HEADER_BYTES, Header, Kind, record_bytes, record_crc};
use crate::record_addr::RecordAddr;
use crate::view::Records;
use saker_engine_api::{KvError, Sink};
use saker_log::{Bytes, LogAddr};
use saker_segment_store::SegmentStore;

impl Records<'_> {
    /// Checks a resident record against its checksum, its key and its place. Returns where in it the value begins, and
    /// the value's length.
    ///
    /// # Errors
    /// [`KvError::Corrupt`] for a record that does not match, [`KvError::KeySize`] for a key that no address can be of.
    pub fn check<M: SegmentStore>(
        &self,
        key: &[u8],
        addr: RecordAddr,
        owner: u16,
        m: &M,
    ) -> Result<(u32, u32), KvError> {
        if addr.is_member() {
            return self.check_member(key, addr, m);
        }
        let range = Bytes::new(LogAddr(addr.position()), addr.bytes());
        if let Some(record) = range.whole(self.log, m) {
            return check_whole(record, key, addr, owner).ok_or(KvError::Corrupt);
        }
        let mut head = [0; HEADER_BYTES as usize + 16];
        let known = HEADER_BYTES as usize + key.len();
        let head = head.get_mut(..known).ok_or(KvError::KeySize)?;
        range.copy_to(self.log, m, 0, head);
        let (first, found) = head.split_first_chunk().ok_or(KvError::Corrupt)?;
        let header =
            Header::decode(first).filter(|h| h.kind == Kind::Pair && h.record_bytes() == addr.record_bytes());
        let header = header.ok_or(KvError::Corrupt)?;
        let same = usize::from(header.key_bytes) == key.len() && found == key;
        let used = header.value_at() + header.value_bytes;
        if !same || header.owner != owner || self.range_crc(range, used, m) != header.crc {
            return Err(KvError::Corrupt);
        }
        Ok((header.value_at(), header.value_bytes))
    }

    fn check_member<M: SegmentStore>(
        &self,
        key: &[u8],
        addr: RecordAddr,
        m: &M,
    ) -> Result<(u32, u32), KvError> {
        let log_addr = LogAddr(addr.position());
        if let Some(member) = Bytes::new(log_addr, addr.bytes()).whole(self.log, m) {
            let (start, value) = pair_here(member, key).ok_or(KvError::Corrupt)?;
            return Ok((start, value.len() as u32));
        }
        let seal = self.seal_at(log_addr, addr.bytes(), m).filter(|s| s.bytes() == addr.bytes());
        let seal = seal.filter(|s| s.role == Role::Pair && usize::from(s.key_bytes) == key.len());
        let seal = seal.ok_or(KvError::Corrupt)?;
        let mut found = [0; 16];
        let found = found.get_mut(..key.len()).ok_or(KvError::KeySize)?;
        Bytes::new(log_addr, addr.bytes()).copy_to(self.log, m, WORD_BYTES, found);
        let intact = *found == *key && self.is_intact(log_addr, &seal, m);
        if intact { Ok((seal.value_at(), seal.value_bytes)) } else { Err(KvError::Corrupt) }
    }

    /// Gives `wanted` bytes of a resident record from `start` on to the sink.
    ///
    /// # Errors
    /// [`KvError::Corrupt`] if the record ends before, [`KvError::Transfer`] if the sink refuses them.
    pub fn deliver<M: SegmentStore, K: Sink>(
        &self,
        addr: RecordAddr,
        start: u32,
        wanted: u32,
        sink: &mut K,
        m: &M,
    ) -> Result<(), KvError> {
        let range = Bytes::new(LogAddr(addr.position()), addr.bytes());
        let mut done = 0;
        while done < wanted {
            let chunk = range.chunk(self.log, m, start + done);
            let chunk = chunk.get(..(wanted - done) as usize).unwrap_or(chunk);
            if chunk.is_empty() {
                return Err(KvError::Corrupt);
            }
            sink.write(done, chunk).map_err(|_| KvError::Transfer)?;
            done += chunk.len() as u32;
        }
        Ok(())
    }
}

/// [`check_here`], not within the caller's loop: a scan of many pairs took 1.8 times as long so (`docs/figures.md`).
#[inline(never)]
pub fn check_whole(record: &[u8], key: &[u8], addr: RecordAddr, owner: u16) -> Option<(u32, u32)> {
    check_here(record, key, addr, owner).map(|(start, value)| (start, value.len() as u32))
}

/// The same as [`Records::check`] for a record that lies in one page: where its value begins, and the value. `None` if it does not match.
#[inline(always)]
pub fn check_here<'r>(record: &'r [u8], key: &[u8], addr: RecordAddr, owner: u16) -> Option<(u32, &'r [u8])> {
    let Some((crc, value_bytes)) = Header::plain_pair(record.first_chunk()?, key.len(), owner) else {
        return check_other(record, key, addr, owner);
    };
    let start = HEADER_BYTES as usize + key.len();
    let used = start + value_bytes as usize;
    let right = record_bytes(key.len() as u32, value_bytes) == addr.record_bytes()
        && are_alike(record.get(HEADER_BYTES as usize..start)?, key);
    (right && record_crc(record.get(4..used)?) == crc).then_some((start as u32, record.get(start..used)?))
}

/// Whether two keys are equal: as their first and last words, which takes fewer instructions than a call that compares bytes.
#[inline(always)]
fn are_alike(found: &[u8], key: &[u8]) -> bool {
    let ends = |key: &[u8]| Some((*key.first_chunk::<8>()?, *key.last_chunk::<8>()?));
    match (ends(found), ends(key)) {
        (Some(found_ends), Some(ends)) if key.len() <= 16 => found.len() == key.len() && found_ends == ends,
        _ => found == key,
    }
}

/// The same for any record.
#[cold]
fn check_other<'r>(record: &'r [u8], key: &[u8], addr: RecordAddr, owner: u16) -> Option<(u32, &'r [u8])> {
    let header = Header::decode(record.first_chunk()?)?;
    let start = header.value_at() as usize;
    let used = start + header.value_bytes as usize;
    let right = header.kind == Kind::Pair
        && header.owner == owner
        && header.record_bytes() == addr.record_bytes()
        && usize::from(header.key_bytes) == key.len()
        && record.get(HEADER_BYTES as usize..)?.get(..key.len())? == key;
    (right && record_crc(record.get(4..used)?) == header.crc)
        .then_some((start as u32, record.get(start..used)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{record_bytes, seal};

    const OWNER: u16 = 3;

    /// A record with so many zeros between key and value, as it lies in a page.
    fn record(key: &[u8], pad_bytes: u8, value: &[u8]) -> (Vec<u8>, RecordAddr) {
        let header = Header {
            crc: 0,
            value_bytes: value.len() as u32,
            version: 7,
            kind: Kind::Pair,
            key_bytes: key.len() as u8,
            owner: OWNER,
            lead_bytes: 0,
            pad_bytes,
            stays: false,
        };
        let mut bytes = [&header.encode()[..], key, &vec![0; pad_bytes.into()], value].concat();
        seal(header, &mut bytes);
        let whole = record_bytes((key.len() + usize::from(pad_bytes)) as u32, value.len() as u32);
        bytes.resize(whole as usize, 0);
        (bytes, RecordAddr::new(4096, whole, key.len() as u8))
    }

    #[test]
    fn a_key_that_differs_in_one_byte_is_another_one() {
        for len in 1..=16 {
            let key: Vec<u8> = (0..len).collect();
            let (bytes, addr) = record(&key, 0, b"value");
            assert!(check_here(&bytes, &key, addr, OWNER).is_some(), "{len} bytes");
            for n in 0..key.len() {
                let mut other = key.clone();
                other[n] ^= 0x80;
                assert_eq!(check_here(&bytes, &other, addr, OWNER), None, "byte {n} of {len}");
            }
        }
    }

    #[test]
    fn a_record_is_delivered_for_its_key_owner_and_place_alone() {
        for pad_bytes in [0, 3] {
            let value = [9; 29];
            let (bytes, addr) = record(b"a key", pad_bytes, &value);
            let start = HEADER_BYTES + 5 + u32::from(pad_bytes);
            assert_eq!(check_here(&bytes, b"a key", addr, OWNER), Some((start, &value[..])));
            assert_eq!(check_whole(&bytes, b"a key", addr, OWNER), Some((start, 29)));
            for key in [&b"b key"[..], b"a ke", b"a key "] {
                assert_eq!(check_here(&bytes, key, addr, OWNER), None, "{key:?}");
            }
            assert_eq!(check_here(&bytes, b"a key", addr, OWNER + 1), None, "another owner");
            let longer = RecordAddr::new(4096, addr.record_bytes() + 8, 5);
            assert_eq!(check_here(&bytes, b"a key", longer, OWNER), None, "a longer place");
            for end in 0..start as usize + value.len() {
                assert_eq!(check_here(&bytes[..end], b"a key", addr, OWNER), None, "cut after {end} bytes");
            }
            for bit in 0..(start as usize + value.len()) * 8 {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(
                    check_here(&bytes, b"a key", addr, OWNER),
                    None,
                    "padded by {pad_bytes}, bit {bit}"
                );
            }
        }
    }
}
