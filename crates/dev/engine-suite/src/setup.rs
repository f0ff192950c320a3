// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a bench is made of.

use crate::Subject;
use saker_engine::{EngineConfig, EngineKind};
use saker_flash::nand::Shape;
use saker_flash::{NandModel, Timings};
use saker_segment_store::Geometry;
use saker_sim::Duration;

/// The namespace of every bench.
pub const OWNER: u16 = 1;
/// Flash on which programs overtake each other and are torn by cuts.
pub const TIMED: Timings = Timings::Nand(NandModel {
    reads: [Duration::from_nanos(50_000); 3],
    program: Duration::from_nanos(600_000),
    program_pages: 1,
    copies_are_free: false,
    erase: Duration::from_nanos(3_000_000),
    channel_bandwidth: 400_000_000,
});

/// What a bench is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The engine.
    pub kind: EngineKind,
    /// Bytes of a page, pages of a segment, segments.
    pub size: Size,
    /// Slots of the power-safe page buffer.
    pub slots: u16,
    /// What the engine is told.
    pub config: EngineConfig,
    /// How long flash takes; `None`: no time, and every page is here.
    pub timings: Option<Timings>,
    /// The engine is behind a trait object.
    pub is_outside: bool,
    /// What was written is remembered in `Bench::expected`.
    pub remembers: bool,
    /// Every call is seen to change nothing when it is blocked or needs pages. That takes as long as all of the engine's memory.
    pub digests: bool,
    /// Workers of its background work.
    pub workers: u32,
}

/// A shape of flash: bytes of a page, pages of a segment, segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u32, pub u32, pub u32);

impl Size {
    /// Bytes of a segment.
    pub fn segment_bytes(self) -> u64 {
        u64::from(self.0) * u64::from(self.1)
    }
}

impl Setup {
    /// Flash so small that collections and checkpoints are always near, without time.
    pub fn small(subject: Subject, ring_lasts: bool) -> Self {
        let size = Size(512, 16, subject.segments);
        Self { slots: 24, remembers: true, digests: true, ..Self::of(subject, size, ring_lasts) }
    }

    /// Flash of that size, without time, and what is asked of the subject.
    pub fn of(subject: Subject, size: Size, ring_lasts: bool) -> Self {
        let mut setup = Self::sized(subject.kind, size, ring_lasts);
        setup.config.settings = subject.asked();
        setup.workers = subject.workers;
        setup
    }

    /// Flash of that size, without time.
    pub fn sized(kind: EngineKind, size: Size, ring_lasts: bool) -> Self {
        let config = EngineConfig::new(OWNER, ring_lasts);
        let (timings, is_outside, remembers, digests) = (None, false, false, false);
        Self { kind, size, slots: 96, config, timings, is_outside, remembers, digests, workers: 1 }
    }

    /// The shape of its flash.
    pub fn shape(&self) -> Shape {
        let Size(page_bytes, segment_pages, segments) = self.size;
        let oob_bytes = self.kind.oob_bytes(page_bytes, &self.config.settings);
        Shape { geometry: Geometry { page_bytes, oob_bytes, segment_pages, segments }, channels: 2, luns: 4 }
    }
}
