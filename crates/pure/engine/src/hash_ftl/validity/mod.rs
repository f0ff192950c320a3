// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which grains hold what is needed.

pub mod bitmap;
pub mod invalid;
pub mod parse;

use super::HashFtlConfig;
use super::config::Validity as Kind;
use bitmap::GrainBitmap;
use invalid::InvalidMappings;
use saker_segment_store::{Geometry, PageAddr, SegmentId};

/// What is known of validity, in either way.
#[derive(Clone, Debug)]
pub enum Validity {
    /// Original.
    Bitmap(GrainBitmap),
    /// Plus.
    Invalid(InvalidMappings),
}

impl Validity {
    /// Nothing is valid.
    pub fn new(config: &HashFtlConfig, geometry: &Geometry) -> Self {
        let grain_bytes = config.grain_bytes;
        match config.validity {
            Kind::GrainBitmap => Self::Bitmap(GrainBitmap::new(geometry, grain_bytes)),
            Kind::InvalidPages => {
                Self::Invalid(InvalidMappings::new(geometry, grain_bytes, config.page_mappings))
            }
        }
    }

    /// A record of `grains` grains is needed.
    #[inline]
    pub fn validate(&mut self, grain: u64, grains: u32) {
        if let Self::Bitmap(bits) = self {
            bits.set(grain, grains);
        }
    }

    /// It is not needed any more.
    #[inline]
    pub fn invalidate(&mut self, slot: u64, grain: u64, grains: u32) {
        match self {
            Self::Bitmap(bits) => bits.clear(grain, grains),
            Self::Invalid(invalid) => invalid.add(slot, grain, grains),
        }
    }

    /// Recovery found a record that is not needed and never was since power came on.
    pub fn found_dead(&mut self, slot: u64, grain: u64, grains: u32) {
        if let Self::Invalid(invalid) = self {
            invalid.add(slot, grain, grains);
        }
    }

    /// Whether a collection need not read a page: no grain of it is needed.
    pub fn is_dead(&self, page: PageAddr) -> bool {
        match self {
            Self::Bitmap(bits) => bits.is_dead(page),
            Self::Invalid(invalid) => invalid.is_dead(page),
        }
    }

    /// Whether the record at a grain of the segment that is being collected is needed.
    pub fn is_valid(&self, grain: u64) -> bool {
        match self {
            Self::Bitmap(bits) => bits.get(grain),
            Self::Invalid(invalid) => invalid.is_valid(grain),
        }
    }

    /// A segment holds nothing any more. Gives the pages that spoke of it.
    pub fn forget(&mut self, segment: SegmentId) -> Vec<PageAddr> {
        match self {
            Self::Bitmap(_) => Vec::new(),
            Self::Invalid(invalid) => invalid.forget(segment),
        }
    }

    /// The invalid mappings, if validity is known by them.
    pub fn invalid(&self) -> Option<&InvalidMappings> {
        match self {
            Self::Bitmap(_) => None,
            Self::Invalid(invalid) => Some(invalid),
        }
    }

    /// The invalid mappings, if validity is known by them.
    pub fn invalid_mut(&mut self) -> Option<&mut InvalidMappings> {
        match self {
            Self::Bitmap(_) => None,
            Self::Invalid(invalid) => Some(invalid),
        }
    }
}
