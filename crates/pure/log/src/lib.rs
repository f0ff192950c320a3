// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An append-only log over a [`saker_segment_store::SegmentStore`]: the machinery that the hash store and the
//! page-mapped block FTL share.
//!
//! The log knows segments, append points (streams), the slots that pages fill in, how much of a segment
//! its owner still needs, and which segment is the cheapest to collect. It does not know what a record
//! is: the owner does, and moves what is live.
#![forbid(unsafe_code)]

pub mod append;
pub mod check;
pub mod checkpoint;
pub mod hold;
pub mod log;
mod parts;
pub mod read;
pub mod recover;
pub mod reserve;
pub mod search;
pub mod segment;
pub mod stats;

pub use append::{LogAddr, Writer};
pub use check::{LiveBytes, ensure};
pub use checkpoint::{CheckpointWriter, Cut};
pub use log::Log;
pub use read::{Bytes, Look, checked_of, lines, page_of, part_of};
pub use recover::{Damage, LogFlip, LogImage, Recovered, ScannedPage, survey};
pub use reserve::Reserve;
pub use search::{CheckpointSearch, Searched, Whole};
pub use segment::{Segment, SegmentState};
pub use stats::LogStats;
