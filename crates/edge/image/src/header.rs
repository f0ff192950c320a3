// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The header block: what is in it, and how its two copies are read and written.
//!
//! Both copies are written at every change, one after the other with a sync between. So one is whole at any
//! instant, the greater generation is the newer, and after the change either alone tells the same: a copy
//! that goes bad later cannot bring an older state back.
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

mod copies;
mod life;
mod namespaces;

use super::config::{NAMESPACES_MAX, NamespaceRecord, PROFILE_BYTES_MAX};
use super::layout::{BLOCK_BYTES, Layout};
use super::{BootId, ImageConfig};
use life::WireLife;
use namespaces::{WireNamespace, decode_erasing, decode_namespaces, put_erasing, put_namespaces};
use saker_segment_store::header::crc32c;
use saker_segment_store::{Geometry, PowerHistory, Stream};
use std::collections::BTreeSet;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

pub(super) use copies::{Copies, choose, is_there_or_begun, read_copies, write_copies, write_copy};

const MAGIC: [u8; 8] = *b"SAKERIMG";
const VERSION: u32 = 1;
/// Incompatible features this program knows.
const INCOMPATIBLE_KNOWN: u64 = ERASING | CHECKED_WORDS | LATER_SETTINGS | MAPS_ON_FLASH;
/// Incompatible feature: the erasure of namespaces has begun and has not ended. Who does not know it would show what is left.
const ERASING: u64 = 1;
/// Incompatible feature: words of a hash FTL's grains have a check. Who does not know it would take them for no records.
const CHECKED_WORDS: u64 = 2;
/// Incompatible feature: records of namespaces have settings besides packing. Who does not know it would open another store.
const LATER_SETTINGS: u64 = 4;
/// Incompatible feature: a namespace of blocks has its map on flash. Who does not know it would look for the map in a checkpoint.
const MAPS_ON_FLASH: u64 = 8;
/// CRC-32C.
const CHECKSUM_CRC32C: u16 = 1;
const FLAG_CAPACITOR: u32 = 1;
/// Opened after a power cut and not closed since: torn pages may still be about.
const FLAG_UNSETTLED: u32 = 2;
const BLOCK: usize = BLOCK_BYTES as usize;
/// Nobody opens an image as often, and who counts on from here does not come to the end of numbers.
const GENERATION_MAX: u64 = 1 << 56;

/// The bytes of a block.
pub(super) type Block = [u8; BLOCK];

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct Wire {
    magic: [u8; 8],
    version: U32,
    header_bytes: U32,
    incompatible: U64,
    compatible: U64,
    generation: U64,
    state: U32,
    flags: U32,
    boot: U64,
    uuid: [u8; 16],
    page_bytes: U32,
    oob_bytes: U32,
    segment_pages: U32,
    segments: U32,
    channels: U32,
    luns: U32,
    ring_slots: U16,
    shards: U16,
    checksum: U16,
    streams: U16,
    seed: U64,
    profile: [u8; PROFILE_BYTES_MAX],
    long_key_bytes_max: U32,
    namespaces: U32,
    namespace_split: U64,
    epochs_at: U64,
    ring_at: U64,
    oob_at: U64,
    data_at: U64,
    file_bytes: U64,
    reserved: [u8; 24],
    records: [WireNamespace; NAMESPACES_MAX],
    /// Namespaces whose erasure has begun, 0: none.
    erasing: [U16; NAMESPACES_MAX],
    life: WireLife,
    reserved2: [u8; 2668],
    crc: U32,
}

const _: () = assert!(size_of::<Wire>() == BLOCK);

/// How the last run ended, as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// New, or closed in order.
    Clean = 1,
    /// Open, or its process died.
    Dirty = 2,
    /// A planned power cut.
    Cut = 3,
}

/// The part of a header that changes while the image is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub state: State,
    pub unsettled: bool,
    pub boot: BootId,
}

impl Life {
    /// What recovery may expect. With the same boot the page cache was never lost, so the process died alone.
    pub fn history(&self, now: BootId, capacitor: bool) -> PowerHistory {
        match self.state {
            State::Clean => PowerHistory::Clean,
            State::Cut => PowerHistory::Cut { ring_kept: capacitor },
            State::Dirty if self.boot.is_same(now) && !self.unsettled => PowerHistory::Killed,
            State::Dirty => PowerHistory::Cut { ring_kept: true },
        }
    }
}

impl Life {
    /// Whether the operating system crashed and nobody has opened the image since.
    pub fn system_crashed(&self, now: BootId) -> bool {
        self.state == State::Dirty && !self.boot.is_same(now)
    }
}

/// Why a block is not a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// No magic bytes.
    Foreign,
    /// Of a later version.
    Unsupported(String),
    /// Contradicts itself.
    Bad(String),
}

/// A header as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The bytes, kept so that a rewrite preserves what later compatible versions put there.
    block: Box<Block>,
    pub generation: u64,
    pub life: Life,
    pub config: ImageConfig,
    pub layout: Layout,
    /// Namespaces whose erasure has begun.
    erasing: BTreeSet<u16>,
}

impl Header {
    /// The first header of an image: generation 1, clean.
    pub fn new(config: &ImageConfig, layout: &Layout) -> Self {
        let life = Life { state: State::Clean, unsettled: false, boot: BootId::UNKNOWN };
        let wire = encode(config, layout);
        let mut block = Box::new([0; BLOCK]);
        block.copy_from_slice(wire.as_bytes());
        let (config, erasing) = (config.clone(), BTreeSet::new());
        let mut header = Self { block, generation: 0, life, config, layout: *layout, erasing };
        header.advance(life);
        header
    }

    /// Reads a block.
    pub fn decode(block: &Block) -> Result<Self, Fault> {
        let wire = Wire::read_from_bytes(block).map_err(|_| Fault::Foreign)?;
        check_frame(&wire)?;
        if wire.generation.get() > GENERATION_MAX {
            return Err(Fault::Bad(format!("generation {} cannot be", wire.generation)));
        }
        let life = decode_life(&wire)?;
        let config = decode_config(&wire)?;
        let erasing = decode_erasing(&wire, &config)?;
        let layout = Layout::of(&config).map_err(|e| Fault::Bad(e.to_string()))?;
        if regions(&wire)
            != [super::layout::EPOCHS_AT, layout.ring_at, layout.oob_at, layout.data_at, layout.file_bytes]
        {
            return Err(Fault::Bad("its regions do not follow from its shape".into()));
        }
        Ok(Self { block: Box::new(*block), generation: wire.generation.get(), life, config, layout, erasing })
    }

    /// The next generation, with another life.
    pub fn advance(&mut self, life: Life) {
        self.life = life;
        self.generation += 1;
        let (generation, capacitor) = (self.generation, self.config.capacitor);
        let writes_words = life.state == State::Dirty && self.config.has_hash_ftl();
        self.patch(|wire| {
            if writes_words {
                wire.incompatible = (wire.incompatible.get() | CHECKED_WORDS).into();
            }
            wire.generation = generation.into();
            wire.state = (life.state as u32).into();
            wire.flags = (flag(capacitor, FLAG_CAPACITOR) | flag(life.unsettled, FLAG_UNSETTLED)).into();
            wire.boot = life.boot.0.into();
        });
    }

    /// Other namespaces; takes effect with the next [`Header::advance`].
    pub fn set_namespaces(&mut self, records: Vec<NamespaceRecord>) {
        self.patch(|wire| put_namespaces(wire, &records));
        self.config.namespaces = records;
    }

    /// Namespaces whose erasure has begun and has not ended.
    pub fn erasing(&self) -> &BTreeSet<u16> {
        &self.erasing
    }

    /// Other namespaces are being erased; takes effect with the next [`Header::advance`].
    pub fn set_erasing(&mut self, namespaces: BTreeSet<u16>) {
        self.patch(|wire| put_erasing(wire, &namespaces));
        self.erasing = namespaces;
    }

    fn wire(&self) -> &Wire {
        zerocopy::transmute_ref!(&*self.block)
    }

    fn patch(&mut self, change: impl FnOnce(&mut Wire)) {
        let wire: &mut Wire = zerocopy::transmute_mut!(&mut *self.block);
        change(wire);
        wire.crc = wire.checksum().into();
    }

    /// The bytes of the block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Whether both describe the same device.
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.config == other.config && self.life == other.life && self.erasing == other.erasing
    }
}

fn flag(is_set: bool, bit: u32) -> u32 {
    if is_set { bit } else { 0 }
}

fn encode(config: &ImageConfig, layout: &Layout) -> Wire {
    let g = &config.geometry;
    let mut wire = Wire::new_zeroed_block();
    wire.magic = MAGIC;
    wire.version = VERSION.into();
    wire.header_bytes = (BLOCK as u32).into();
    wire.uuid = config.uuid;
    wire.page_bytes = g.page_bytes.into();
    wire.oob_bytes = g.oob_bytes.into();
    wire.segment_pages = g.segment_pages.into();
    wire.segments = g.segments.into();
    wire.channels = config.channels.into();
    wire.luns = config.luns.into();
    wire.ring_slots = config.ring_slots.into();
    wire.shards = config.shards.into();
    wire.checksum = CHECKSUM_CRC32C.into();
    wire.streams = (Stream::COUNT as u16).into();
    wire.seed = config.seed.into();
    wire.profile.iter_mut().zip(config.profile.bytes()).for_each(|(to, byte)| *to = byte);
    wire.epochs_at = super::layout::EPOCHS_AT.into();
    wire.ring_at = layout.ring_at.into();
    wire.oob_at = layout.oob_at.into();
    wire.data_at = layout.data_at.into();
    wire.file_bytes = layout.file_bytes.into();
    put_namespaces(&mut wire, &config.namespaces);
    wire
}

impl Wire {
    fn new_zeroed_block() -> Self {
        Self::new_zeroed()
    }

    /// The checksum of everything before it.
    fn checksum(&self) -> u32 {
        let (covered, _) = self.as_bytes().split_at(BLOCK - 4);
        crc32c(covered)
    }
}

/// Streams that images can have: those made before there were sorted tables have one less.
const STREAMS: std::ops::RangeInclusive<u16> = 3..=Stream::COUNT as u16;

/// Magic, checksum, version and features, in that order: each is meaningful only if the ones before it hold.
fn check_frame(wire: &Wire) -> Result<(), Fault> {
    let whole = wire.crc.get() == wire.checksum();
    let unknown = wire.incompatible.get() & !INCOMPATIBLE_KNOWN;
    if wire.magic != MAGIC && !whole {
        Err(Fault::Foreign)
    } else if !whole || wire.magic != MAGIC {
        Err(Fault::Bad("it does not match its checksum".into()))
    } else if wire.version.get() != VERSION {
        Err(Fault::Unsupported(format!("format version {}, this program knows {VERSION}", wire.version)))
    } else if unknown != 0 {
        Err(Fault::Unsupported(format!("unknown incompatible features {unknown:#x}")))
    } else if wire.checksum.get() != CHECKSUM_CRC32C || !STREAMS.contains(&wire.streams.get()) {
        Err(Fault::Bad(format!("checksum kind {} with {} streams", wire.checksum, wire.streams)))
    } else {
        Ok(())
    }
}

fn decode_life(wire: &Wire) -> Result<Life, Fault> {
    let state = match wire.state.get() {
        1 => State::Clean,
        2 => State::Dirty,
        3 => State::Cut,
        other => return Err(Fault::Bad(format!("state {other} does not exist"))),
    };
    Ok(Life { state, unsettled: wire.flags.get() & FLAG_UNSETTLED != 0, boot: BootId(wire.boot.get()) })
}

fn decode_config(wire: &Wire) -> Result<ImageConfig, Fault> {
    let geometry = Geometry {
        page_bytes: wire.page_bytes.get(),
        oob_bytes: wire.oob_bytes.get(),
        segment_pages: wire.segment_pages.get(),
        segments: wire.segments.get(),
    };
    Ok(ImageConfig {
        geometry,
        channels: wire.channels.get(),
        luns: wire.luns.get(),
        ring_slots: wire.ring_slots.get(),
        capacitor: wire.flags.get() & FLAG_CAPACITOR != 0,
        seed: wire.seed.get(),
        shards: wire.shards.get(),
        profile: decode_profile(&wire.profile)?,
        namespaces: decode_namespaces(wire)?,
        uuid: wire.uuid,
    })
}

fn decode_profile(bytes: &[u8]) -> Result<String, Fault> {
    let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |n| n + 1);
    let text = bytes.get(..end).unwrap_or_default().to_vec();
    String::from_utf8(text).map_err(|_| Fault::Bad("the profile name is not UTF-8".into()))
}

fn regions(wire: &Wire) -> [u64; 5] {
    [wire.epochs_at, wire.ring_at, wire.oob_at, wire.data_at, wire.file_bytes].map(U64::get)
}

#[cfg(test)]
mod tests;
