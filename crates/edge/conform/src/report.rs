//! What was found.

use serde::Serialize;

use crate::clauses::Clause;

/// What became of a clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "detail", rename_all = "lowercase")]
pub enum Verdict {
    /// As the specification says.
    Pass,
    /// Not as the specification says: what was seen.
    Fail(String),
    /// The specification leaves a choice: what the device chose.
    Open(String),
    /// Could not be examined: why.
    Skipped(String),
}

impl Verdict {
    /// One word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "FAIL",
            Self::Open(_) => "open",
            Self::Skipped(_) => "skipped",
        }
    }

    /// What was seen; nothing for a pass.
    #[must_use]
    pub fn detail(&self) -> &str {
        match self {
            Self::Pass => "",
            Self::Fail(text) | Self::Open(text) | Self::Skipped(text) => text,
        }
    }
}

/// A clause and its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Short name, stable.
    pub id: &'static str,
    /// Where the specification says it.
    pub source: &'static str,
    /// What it says.
    pub says: &'static str,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Finding {
    pub(crate) fn new(clause: &Clause, verdict: Verdict) -> Self {
        Self { id: clause.id, source: clause.source, says: clause.says, verdict }
    }
}

/// All findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// In the order of the clauses.
    pub findings: Vec<Finding>,
}

impl Report {
    /// How many findings have this word: see [`Verdict::word`].
    #[must_use]
    pub fn count(&self, word: &str) -> usize {
        self.findings.iter().filter(|finding| finding.verdict.word() == word).count()
    }

    /// Whether no clause failed.
    #[must_use]
    pub fn is_conforming(&self) -> bool {
        self.count("FAIL") == 0
    }
}
