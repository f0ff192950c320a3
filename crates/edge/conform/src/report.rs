// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What was found.

use serde::Serialize;

use crate::clauses::Clause;
use crate::verdict::Verdict;

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
