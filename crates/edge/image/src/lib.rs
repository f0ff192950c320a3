// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The image file: flash and power-safe page buffer of one device in a sparse file.
//!
//! | region | offset | bytes |
//! |---|---|---|
//! | header copy 0 | 0 | 4096 |
//! | header copy 1 | 4096 | 4096 |
//! | epoch table | 8192 | 8 per segment |
//! | ring | next multiple of 4096 | `PageBuffer::bytes_for` |
//! | out-of-band bytes | next multiple of 4096 | per segment: pages x stride, to a multiple of 4096 |
//! | data | next multiple of 1 MiB | pages x page bytes |
//!
//! Header, epochs and ring are allocated when the image is made; the two last regions are sparse, and zero
//! bytes mean "never written". `docs/image-format.md` gives every field and the rules that make the file
//! survive a killed process, a crash of the operating system and a planned power cut.
//!
//! # Limits
//! Cells are read through a mapping. A disk that fails under the file, or another program that ignores the
//! lock and truncates it, ends the process with a signal, as for any mapped file. A host file system that
//! is full does not: whatever is written through the mapping (the ring alone) is allocated beforehand.

mod beside;
mod boot;
mod cells;
mod check;
mod config;
mod create;
mod early;
mod epochs;
mod error;
#[cfg(feature = "planted")]
pub mod faults;
#[cfg(not(feature = "planted"))]
mod faults;
mod give_back;
mod header;
mod host;
mod layout;
mod life;
mod lock;
mod map;
mod mend;
mod oob;
mod open;
mod report;
mod scan;
mod scrub;
mod space;
mod states;
mod table;
mod trouble;

pub use boot::BootId;
pub use cells::FileCells;
pub use check::{Progress, check};
pub use config::{
    ImageConfig, MAP_CACHE_MAX, MAP_CACHE_UNIT, NAMESPACES_MAX, NamespaceKind, NamespaceRecord,
    PROFILE_BYTES_MAX,
};
pub use create::{create, create_held};
pub use error::ImageError;
pub use lock::{Access, Held, hold};
pub use mend::{Mended, MendedImage, PageFlip, Patches, open_mended};
pub use open::{OpenImage, open, open_as};
pub use report::{Counts, Finding, Report, Severity};
pub use scrub::{ScrubStep, Scrubbed, scrub};
