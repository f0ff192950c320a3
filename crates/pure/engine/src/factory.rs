// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How an engine is made: what its folder gives the registry.

use crate::EngineConfig;
use saker_engine_api::settings::Idle;
use saker_engine_api::{Capabilities, Engine, Recover, Setting, Settings};
use saker_segment_store::header::HEADER_BYTES;
use saker_segment_store::{Geometry, SegmentStore};

/// How an engine's pages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Records, one behind the other; the header alone is out of band. Blocks of a host can be such pages.
    Records,
    /// Grains, each with a word out of band. Blocks of a host have nothing out of band.
    Grains,
}

/// An engine as it is told apart and made.
pub trait Factory {
    /// What it makes.
    type Engine: Engine;
    /// The same on its way back.
    type Recovery: Recover<Engine = Self::Engine>;
    /// The engine's name on command lines, in URLs and in reports: lower case, with `_` between words.
    const NAME: &'static str;
    /// What it is, in one line without a full stop.
    const SUMMARY: &'static str;
    /// Its number in images, never one that was used; `None`: it is not for images.
    const CODE: Option<u8>;
    /// What it can do beyond single pairs, whatever it is asked for: what [`Engine::capabilities`] answers.
    const CAPABILITIES: Capabilities = Capabilities::NONE;
    /// What can be asked of it.
    const SETTINGS: &'static [Setting] = &[];
    /// How its pages are written.
    const PAGES: Pages = Pages::Records;
    /// Whether it looks for what a store replaces, and so knows how many pairs it has. Else what it counts is at least so many,
    /// until merges have come upon the replaced ones.
    const COUNTS_PAIRS: bool = true;

    /// Out-of-band bytes that pages of that many bytes must have.
    fn oob_bytes(page_bytes: u32, settings: &Settings) -> u32 {
        let _ = (page_bytes, settings);
        HEADER_BYTES as u32
    }

    /// Whether pages of that many bytes can be written with those settings.
    ///
    /// # Errors
    /// Why not, in words.
    fn fits(page_bytes: u32, settings: &Settings) -> Result<(), String> {
        let _ = (page_bytes, settings);
        Ok(())
    }

    /// Those of the settings that do nothing beside the others.
    fn idle(settings: &Settings) -> Vec<Idle> {
        let _ = settings;
        Vec::new()
    }

    /// What of its settings follows from the size of a namespace: flash of that shape, and so many segments of it.
    fn sized(geometry: &Geometry, quota_segments: u32) -> Settings {
        let _ = (geometry, quota_segments);
        Settings::NONE
    }

    /// An empty store on an empty medium.
    fn create(config: &EngineConfig, m: &dyn SegmentStore) -> Self::Engine;

    /// A store on its way back, on a medium that may have something of it.
    fn recover(config: &EngineConfig, m: &dyn SegmentStore) -> Self::Recovery;
}
