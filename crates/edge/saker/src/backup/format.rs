// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bytes of a backup: `docs/backup.md` has every field. A header, then frames, each with checksums of its head and of its
//! payload; the head's covers the backup's identifier and the frame's number, so that a frame counts in its own place only.
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

use saker_segment_store::header::crc32c;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Names a backup among all.
pub(super) type BackupId = [u8; 16];

const MAGIC: [u8; 8] = *b"SAKERBAK";
const VERSION: u32 = 1;
pub(super) const HEADER_BYTES: usize = 64;
pub(super) const HEAD_BYTES: usize = 24;
/// No payload is longer: a pair has 2 MiB and 261 bytes at most.
pub(super) const PAYLOAD_BYTES_MAX: u32 = 4 << 20;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Header {
    magic: [u8; 8],
    version: U32,
    header_bytes: U32,
    pub id: BackupId,
    /// The backup from which this one goes on; zeros: it is a full one.
    pub base: BackupId,
    incompatible: U32,
    reserved: [u8; 8],
    crc: U32,
}

const _: () = assert!(size_of::<Header>() == HEADER_BYTES);

/// Why a header is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeaderFault {
    Foreign,
    Newer(String),
    Damaged,
}

impl Header {
    pub fn new(id: BackupId, base: BackupId) -> Self {
        let mut header = Self {
            magic: MAGIC,
            version: VERSION.into(),
            header_bytes: (HEADER_BYTES as u32).into(),
            id,
            base,
            incompatible: 0.into(),
            reserved: [0; 8],
            crc: 0.into(),
        };
        header.crc = header.checksum().into();
        header
    }

    fn checksum(&self) -> u32 {
        let (covered, _) = self.as_bytes().split_at(HEADER_BYTES - 4);
        crc32c(covered)
    }

    pub fn decode(bytes: [u8; HEADER_BYTES]) -> Result<Self, HeaderFault> {
        let Ok(header) = Self::read_from_bytes(&bytes) else { return Err(HeaderFault::Damaged) };
        let whole = header.crc.get() == header.checksum();
        match (header.magic == MAGIC, whole) {
            (false, false) => Err(HeaderFault::Foreign),
            (true, true) if header.version.get() != VERSION => Err(HeaderFault::Newer(format!(
                "format version {}, this program knows {VERSION}",
                header.version
            ))),
            (true, true) if header.incompatible.get() != 0 => {
                Err(HeaderFault::Newer(format!("unknown features {:#x}", header.incompatible)))
            }
            (true, true) if header.header_bytes.get() as usize == HEADER_BYTES => Ok(header),
            _ => Err(HeaderFault::Damaged),
        }
    }
}

/// What a frame has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// A namespace begins: [`Begin`].
    Begin = 1,
    /// Pairs: [`pairs`].
    Pairs = 2,
    /// Whole blocks: the number of the first (8 bytes), then their bytes.
    Blocks = 3,
    /// The namespace ends: [`End`].
    End = 4,
    /// The backup ends: how many namespaces it has (8 bytes).
    Last = 5,
}

impl FrameKind {
    const ALL: [Self; 5] = [Self::Begin, Self::Pairs, Self::Blocks, Self::End, Self::Last];
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct WireHead {
    kind: u8,
    reserved: [u8; 3],
    payload_bytes: U32,
    number: U64,
    payload_crc: U32,
    crc: U32,
}

const _: () = assert!(size_of::<WireHead>() == HEAD_BYTES);

/// What comes before a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub kind: FrameKind,
    pub payload_bytes: u32,
    payload_crc: u32,
}

impl FrameHead {
    pub fn of(kind: FrameKind, payload: &[u8]) -> Self {
        Self { kind, payload_bytes: payload.len() as u32, payload_crc: crc32c(payload) }
    }

    pub fn encode(&self, id: &BackupId, number: u64) -> [u8; HEAD_BYTES] {
        let mut wire = WireHead {
            kind: self.kind as u8,
            reserved: [0; 3],
            payload_bytes: self.payload_bytes.into(),
            number: number.into(),
            payload_crc: self.payload_crc.into(),
            crc: 0.into(),
        };
        wire.crc = wire.checksum(id).into();
        zerocopy::transmute!(wire)
    }

    /// The head of frame `number` of a backup, or what is wrong with it.
    pub fn decode(bytes: [u8; HEAD_BYTES], id: &BackupId, number: u64) -> Result<Self, &'static str> {
        let wire: WireHead = zerocopy::transmute!(bytes);
        if wire.crc.get() != wire.checksum(id) {
            return Err("the head of a frame does not match its checksum");
        }
        if wire.number.get() != number {
            return Err("a frame is not in its place");
        }
        let kind = FrameKind::ALL.into_iter().find(|kind| *kind as u8 == wire.kind);
        let kind = kind.ok_or("a frame of a kind that does not exist")?;
        if wire.payload_bytes.get() > PAYLOAD_BYTES_MAX {
            return Err("a frame is longer than any");
        }
        Ok(Self { kind, payload_bytes: wire.payload_bytes.get(), payload_crc: wire.payload_crc.get() })
    }

    pub fn is_of(&self, payload: &[u8]) -> bool {
        crc32c(payload) == self.payload_crc
    }
}

impl WireHead {
    fn checksum(&self, id: &BackupId) -> u32 {
        let (covered, _) = self.as_bytes().split_at(HEAD_BYTES - 4);
        let mut both = [0; 16 + HEAD_BYTES - 4];
        both.iter_mut().zip(id.iter().chain(covered)).for_each(|(to, from)| *to = *from);
        crc32c(&both)
    }
}

/// A namespace as it begins.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Begin {
    pub nsid: U32,
    /// 1: pairs, 2: blocks.
    pub kind: U32,
    /// Of blocks: their bytes.
    pub block_bytes: U32,
    /// 1: as of one moment, by the device; 2: nobody else could write; 3: each pair or block by itself.
    pub consistency: U32,
    /// Of blocks: their number.
    pub blocks: U64,
}

/// A namespace as it ends.
#[derive(
    FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug, Default, PartialEq, Eq,
)]
#[repr(C)]
pub(super) struct End {
    pub pairs: U64,
    /// Of an incremental one: pairs that are no more.
    pub deleted: U64,
    pub value_bytes: U64,
    pub blocks: U64,
}

/// A pair, or with `None` that there is none any more.
pub(super) type Entry<'a> = (&'a [u8], Option<&'a [u8]>);

const ENTRY_BYTES: usize = 6;

/// Appends a pair to a frame's payload: bytes of the key (1), 0 or 1 for one that was deleted (1), bytes of the value (4), key, value.
pub(super) fn put_entry(payload: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    debug_assert!((1..=255).contains(&key.len()), "keys have 1 to 255 bytes");
    let bytes = value.map_or(0, <[u8]>::len) as u32;
    payload.extend_from_slice(&[key.len() as u8, u8::from(value.is_none())]);
    payload.extend_from_slice(&bytes.to_le_bytes());
    payload.extend_from_slice(key);
    payload.extend_from_slice(value.unwrap_or_default());
}

/// The first pair of a payload and what is behind it; `None`: it is none.
pub(super) fn take_entry(payload: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let (head, rest) = payload.split_first_chunk::<ENTRY_BYTES>()?;
    let [key_bytes, is_deleted, a, b, c, d] = *head;
    let value_bytes = u32::from_le_bytes([a, b, c, d]) as usize;
    let (key, rest) = rest.split_at_checked(usize::from(key_bytes))?;
    let (value, rest) = rest.split_at_checked(value_bytes)?;
    match (key_bytes, is_deleted, value_bytes) {
        (1.., 0, _) => Some(((key, Some(value)), rest)),
        (1.., 1, 0) => Some(((key, None), rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: BackupId = *b"0123456789abcdef";

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn golden_bytes() {
        let header = Header::new(ID, [0; 16]);
        assert_eq!(
            hex(header.as_bytes()),
            "53414b455242414b010000004000000030313233343536373839616263646566\
             00000000000000000000000000000000000000000000000000000000e862705f"
        );
        let mut payload = Vec::new();
        put_entry(&mut payload, b"key", Some(b"value"));
        put_entry(&mut payload, b"gone", None);
        assert_eq!(hex(&payload), "0300050000006b657976616c7565040100000000676f6e65");
        let head = FrameHead::of(FrameKind::Pairs, &payload);
        assert_eq!(hex(&head.encode(&ID, 7)), "02000000180000000700000000000000ec1559bc1411babe");
    }

    #[test]
    fn a_head_counts_in_its_own_place_of_its_own_backup_and_every_flip_is_seen() {
        let good = FrameHead::of(FrameKind::Blocks, b"payload").encode(&ID, 3);
        assert_eq!(FrameHead::decode(good, &ID, 3), Ok(FrameHead::of(FrameKind::Blocks, b"payload")));
        assert!(FrameHead::decode(good, &ID, 4).is_err() && FrameHead::decode(good, &[0; 16], 3).is_err());
        for bit in 0..HEAD_BYTES * 8 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(FrameHead::decode(bad, &ID, 3).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn every_flip_of_a_header_is_an_error() {
        let good: [u8; HEADER_BYTES] = zerocopy::transmute!(Header::new(ID, ID));
        assert_eq!(Header::decode(good).expect("sound").base, ID);
        for bit in 0..HEADER_BYTES * 8 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(bad).is_err(), "bit {bit}");
        }
        assert_eq!(Header::decode([0; HEADER_BYTES]).unwrap_err(), HeaderFault::Foreign);
    }

    #[test]
    fn a_later_version_says_so() {
        let mut later = Header::new(ID, ID);
        later.version = 2.into();
        later.crc = later.checksum().into();
        assert!(matches!(Header::decode(zerocopy::transmute!(later)), Err(HeaderFault::Newer(_))));
    }

    #[test]
    fn entries_that_are_cut_or_contradict_themselves_are_none() {
        let mut payload = Vec::new();
        put_entry(&mut payload, b"key", Some(b"value"));
        for bytes in 0..payload.len() {
            assert_eq!(take_entry(&payload[..bytes]), None, "{bytes}");
        }
        assert_eq!(take_entry(&payload), Some(((&b"key"[..], Some(&b"value"[..])), &b""[..])));
        payload[1] = 1;
        assert_eq!(take_entry(&payload), None, "deleted, with a value");
        payload[1] = 2;
        assert_eq!(take_entry(&payload), None);
    }
}
