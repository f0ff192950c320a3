// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Profiles: what a device, its link and its host cost, as data with a source beside each number.
//!
//! A profile is a TOML text. Every number is an inline table of `value`, `source` and `note`, and carries its
//! unit in its name: `_ns`, `_ps`, `_bytes`, `_bytes_per_s`, `_percent`. No other place of the program holds a
//! length of time.
#![forbid(unsafe_code)]

mod builtin;
mod cost;
mod error;
mod geometry;
mod latency;
mod limits;
mod link;
mod media;
mod overrides;
mod price;
mod sourced;
mod transfer;
mod write;

use serde::{Deserialize, Serialize};

pub use cost::{Cpu, Dispatch, Firmware, Host};
pub use error::ProfileError;
use error::ensure;
pub use geometry::Geometry;
pub use latency::{OpTimes, TimedOp};
pub use limits::{Limits, Power};
pub use link::Link;
pub use media::{Fixed, FourParameter, LatencyTable, Media, Nand};
pub use overrides::Row;
pub use sourced::{Source, Sourced};
pub use transfer::Transfer;

/// Everything the models need to know about one device, its link and its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The name it is asked for by, in lower case and hyphens.
    pub name: String,
    /// One line for `saker profile list`.
    pub description: String,
    /// How the flash is laid out.
    pub geometry: Geometry,
    /// How long the flash takes.
    pub media: Media,
    /// The way between host and device.
    pub link: Link,
    /// What the ways to move a value take.
    pub transfer: Transfer,
    /// What the device's cores take per command.
    pub firmware: Firmware,
    /// What the host's cores take per command.
    pub host: Host,
    /// What a power cut leaves.
    pub power: Power,
    /// What the controller reports as its limits.
    pub limits: Limits,
}

impl Profile {
    /// Reads and checks a profile.
    ///
    /// # Errors
    /// One line that names the key or the line: bad syntax, an unknown or missing key, a number without a
    /// source, or a number outside its range.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = toml::from_str(text)
            .map_err(|e| overrides::misshapen(text).unwrap_or_else(|| ProfileError::from_toml(text, &e)))?;
        profile.check()?;
        Ok(profile)
    }

    /// The built-in profile of that name.
    ///
    /// # Errors
    /// `UnknownName`, which lists the names there are.
    pub fn builtin(name: &str) -> Result<Self, ProfileError> {
        Self::parse(builtin::text(name)?)
    }

    /// The built-in names, in the order in which they are listed.
    pub fn builtin_names() -> impl ExactSizeIterator<Item = &'static str> {
        builtin::names()
    }

    /// The TOML text of a built-in profile as it is shipped, comments included.
    ///
    /// # Errors
    /// `UnknownName`, which lists the names there are.
    pub fn builtin_text(name: &str) -> Result<&'static str, ProfileError> {
        builtin::text(name)
    }

    /// This profile as TOML text, which [`Profile::parse`] reads back to an equal value.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        write::section(&self.as_table(), "", &mut text);
        text
    }

    /// Checks ranges, and that a claimed source is named. [`Profile::parse`] and [`Profile::set`] end with it.
    ///
    /// # Errors
    /// `Invalid` with the first key that is out of range.
    pub fn check(&self) -> Result<(), ProfileError> {
        overrides::check_rows(self)?;
        self.geometry.check()?;
        self.media.check()?;
        self.transfer.check()?;
        self.firmware.check()?;
        self.host.check()?;
        let in_registers = matches!(&self.media, Media::Nand(nand) if nand.program_pages.value > 1);
        let rule =
            "must be 1 without power.capacitor: pages that wait in a register for the others would be lost";
        ensure(!in_registers || self.power.capacitor.value, "media.program_pages", rule)?;
        self.limits.check()
    }
}

#[cfg(test)]
mod tests;
