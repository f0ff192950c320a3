// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a check found.

use super::ImageConfig;
use saker_segment_store::PowerHistory;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The next open or write puts it right, or recovery expects it after that kind of end.
    Repairable,
    /// Content may be lost.
    Damage,
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad.
    pub severity: Severity,
    /// One line: region, place, fault.
    pub what: String,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages whose header and data are sound.
    pub pages_sound: u64,
    /// Pages known to be unreadable: failed programs, cut erases.
    pub pages_torn: u64,
    /// Pages that were programmed in this erase cycle and are not sound.
    pub pages_bad: u64,
    /// Segments with at least one page that is not erased.
    pub segments_written: u32,
    /// Erases over all segments.
    pub erases: u64,
    /// Slots of the ring in use.
    pub ring_slots_used: u16,
    /// Bytes of flash in use: programmed pages, out-of-band part included.
    pub bytes_in_use: u64,
}

/// The result of [`super::check`].
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The configuration, unless both header copies are bad.
    pub config: Option<ImageConfig>,
    /// How the last run ended, unless both header copies are bad.
    pub history: Option<PowerHistory>,
    /// What was found, at most [`Report::FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// Findings that did not fit.
    pub findings_omitted: u64,
    /// What was looked at.
    pub counts: Counts,
}

impl Report {
    /// Findings that are kept; more than a person reads.
    pub const FINDINGS_MAX: usize = 10_000;

    /// Whether nothing needs attention: no damage (repairable findings are fine), nothing omitted.
    pub fn is_sound(&self) -> bool {
        self.findings_omitted == 0 && self.findings.iter().all(|f| f.severity == Severity::Repairable)
    }

    pub(super) fn add(&mut self, severity: Severity, what: impl Into<String>) {
        if self.findings.len() < Self::FINDINGS_MAX {
            self.findings.push(Finding { severity, what: what.into() });
        } else {
            self.findings_omitted += 1;
        }
    }
}
