// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an experiment finds, as data. It is written to JSON as it stands, and read back to be compared or drawn.

mod numbers;
mod origin;

pub use numbers::{number, stalls};
pub use origin::{AfterFit, FitRole, InVariant, Origin};
pub use saker_engine::write_gate::Stalls;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Schema of a document of experiments.
pub const SCHEMA: &str = "saker.reproduce.v1";

/// An experiment that has been run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// What it was asked for by.
    pub id: String,
    /// The seed it ran with.
    pub seed: u64,
    /// How much smaller than published it ran.
    pub scale: u32,
    /// The profile, and what was changed in it.
    pub profile: String,
    /// The measured points.
    pub series: Vec<Point>,
    /// The claims.
    pub checks: Vec<Check>,
}

/// One measured point: its place among the parameters, and its numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Where: method, value size, workload. No two points of a series are at the same place.
    pub at: Map<String, Value>,
    /// What was measured there; every name ends in its unit.
    #[serde(flatten)]
    pub values: Map<String, Value>,
}

impl Point {
    /// A point at a place, without numbers.
    pub fn at<const N: usize>(place: [(&str, Value); N]) -> Self {
        let at = place.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { at, values: Map::new() }
    }

    /// Adds a number. What is no finite number becomes null.
    pub fn add(&mut self, name: &str, value: f64) {
        self.values.insert(name.to_owned(), number(value));
    }

    /// Adds when writes were stopped or delayed, if they were.
    pub fn add_stalls(&mut self, found: &Stalls) {
        self.values.extend(stalls(found).map(|told| ("stalls".to_owned(), told)));
    }

    /// The number of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.get(name).and_then(Value::as_f64)
    }

    /// Whether it is at that place, as far as the place is given.
    pub fn is_at(&self, place: &[(&str, &Value)]) -> bool {
        place.iter().all(|(name, value)| self.at.get(*name) == Some(value))
    }
}

/// One claim, and whether it holds here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// `AC-...`
    pub id: String,
    /// The claim.
    pub claim: String,
    /// Where it is made.
    pub source: String,
    /// How far from it still counts.
    pub tolerance: String,
    /// What is claimed.
    pub expected: Value,
    /// What was measured.
    pub measured: Value,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What the agreement is worth.
    pub evidence: Evidence,
    /// Who makes the claim.
    #[serde(default, skip_serializing_if = "Origin::is_published")]
    pub origin: Origin,
    /// What it comes to after a fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_fit: Option<AfterFit>,
    /// What it comes to in the variants that are not judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<InVariant>,
    /// What else is to be known; the measured cause of a miss.
    pub note: String,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not.
    Fail,
    /// It contradicts the arithmetic of its own publication.
    CannotFollow,
}

impl Verdict {
    /// The word in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::CannotFollow => "cannot_follow",
        }
    }

    /// Pass or fail.
    pub const fn of(holds: bool) -> Self {
        if holds { Self::Pass } else { Self::Fail }
    }
}

/// What an agreement is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The mechanism was run and shows it.
    Reproduced,
    /// A parameter was chosen so that it does.
    Fitted,
    /// It follows from sizes and counts.
    Arithmetic,
    /// What is compared is the same quantity on both sides, or does not depend on what is varied: it could not be otherwise here.
    Identity,
}

impl Evidence {
    /// The word in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Fitted => "fitted",
            Self::Arithmetic => "arithmetic",
            Self::Identity => "identity",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn experiment() -> Experiment {
        let mut point = Point::at([("method", json!("prp")), ("value_bytes", json!(32))]);
        point.add("link_bytes_per_operation", 4184.0);
        point.add("latency_us_mean", 12.25);
        let check = Check {
            id: "AC-x-1".into(),
            claim: "half".into(),
            source: "Paper, Fig. 1".into(),
            tolerance: "R15".into(),
            expected: json!([0.5]),
            measured: json!([0.45]),
            verdict: Verdict::CannotFollow,
            evidence: Evidence::Arithmetic,
            origin: Origin::Published,
            after_fit: None,
            variants: Vec::new(),
            note: "why".into(),
        };
        let (id, profile) = ("x".into(), "tiny".into());
        Experiment { id, seed: 7, scale: 10, profile, series: vec![point], checks: vec![check] }
    }

    /// The document's shape, by hand.
    const GOLDEN: &str = concat!(
        r#"{"id":"x","seed":7,"scale":10,"profile":"tiny","series":[{"at":{"method":"prp","value_bytes":32},"#,
        r#""latency_us_mean":12.25,"link_bytes_per_operation":4184}],"checks":[{"id":"AC-x-1","claim":"half","#,
        r#""source":"Paper, Fig. 1","tolerance":"R15","expected":[0.5],"measured":[0.45],"verdict":"cannot_follow","#,
        r#""evidence":"arithmetic","note":"why"}]}"#
    );

    #[test]
    fn the_document_is_as_published_and_reads_back() {
        assert_eq!(serde_json::to_string(&experiment()).unwrap(), GOLDEN);
        assert_eq!(serde_json::from_str::<Experiment>(GOLDEN).unwrap(), experiment());
    }

    #[test]
    fn numbers_are_short_and_never_invalid_json() {
        assert_eq!(number(2.0), json!(2));
        assert_eq!(number(1.0 / 3.0), json!(0.333333));
        assert_eq!(number(f64::NAN), Value::Null);
        assert_eq!(number(f64::INFINITY), Value::Null);
    }

    #[test]
    fn points_are_found_by_place() {
        let found = &experiment().series[0];
        assert!(found.is_at(&[("method", &json!("prp"))]));
        assert!(!found.is_at(&[("method", &json!("sgl"))]));
        assert!(!found.is_at(&[("depth", &json!(1))]));
    }
}
