// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From measured numbers to verdicts. Claims are data of the plan; nothing here knows an experiment.

use crate::plan::{Claim, Plan};
use crate::report::{Check, Verdict, number};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub use crate::tolerance::{Tolerance, UnknownTolerance, drawn_exactly};

/// Collects the verdict on each claim of a plan.
#[derive(Debug)]
pub struct Book<'a> {
    plan: &'a Plan,
    checks: Vec<Option<Check>>,
}

/// One part of an order: what should hold, the numbers it is about, and whether it does.
#[derive(Clone, Debug)]
pub struct Part {
    name: String,
    measured: f64,
    holds: bool,
}

impl Part {
    /// `measured` is what `name` says.
    pub fn new(name: impl Into<String>, measured: f64, holds: bool) -> Self {
        Self { name: name.into(), measured, holds: holds && measured.is_finite() }
    }

    fn value(&self) -> Value {
        json!({ "what": self.name, "value": number(self.measured), "holds": self.holds })
    }

    /// `measured` lies in `least..=most`.
    pub fn within(name: impl Into<String>, measured: f64, least: f64, most: f64) -> Self {
        Self::new(name, measured, (least..=most).contains(&measured))
    }
}

impl<'a> Book<'a> {
    /// No verdicts yet.
    pub fn new(plan: &'a Plan) -> Self {
        Self { plan, checks: vec![None; plan.claims.len()] }
    }

    /// Each number is as far from the plan's as the plan's tolerance allows.
    pub fn numbers(&mut self, id: &str, measured: &[f64], note: impl Into<String>) {
        let claim = self.claim(id);
        let expected = numbers_of(&claim.expected);
        assert_eq!(expected.len(), measured.len(), "{id}: one measured number for each expected");
        let holds = expected.iter().zip(measured).all(|(e, m)| claim.tolerance.holds(*e, *m));
        self.enter(id, list(measured), holds, note.into());
    }

    /// Counts over the run's own draws, each with an independent count, in `per` operations: equal, and near the
    /// published mean.
    pub fn drawn(&mut self, id: &str, counts: &[(u64, u64)], per: u64, note: impl Into<String>) {
        let published = numbers_of(&self.claim(id).expected);
        assert_eq!(published.len(), counts.len(), "{id}: one count for each published mean");
        let good = |(p, (counted, oracle)): (&f64, &(u64, u64))| drawn_exactly(*p, *counted, *oracle, per);
        let holds = published.iter().zip(counts).all(good);
        let means: Vec<f64> = counts.iter().map(|(n, _)| *n as f64 / per.max(1) as f64).collect();
        self.enter(id, list(&means), holds, note.into());
    }

    /// Every part holds.
    pub fn order(&mut self, id: &str, parts: &[Part], note: impl Into<String>) {
        assert!(!parts.is_empty(), "{id}: an order without parts always holds");
        let names: BTreeSet<&str> = parts.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names.len(), parts.len(), "{id}: parts have names of their own");
        let measured = parts.iter().map(Part::value).collect();
        let missed: Vec<&str> = parts.iter().filter(|p| !p.holds).map(|p| p.name.as_str()).collect();
        let mut note = note.into();
        if !missed.is_empty() {
            note = format!("missed: {}. {note}", missed.join("; "));
        }
        self.enter(id, measured, missed.is_empty(), note.trim_end().to_owned());
    }

    /// The checks in the order of the plan.
    ///
    /// # Panics
    /// If a claim was not judged: an experiment judges all of its claims.
    pub fn finish(self) -> Vec<Check> {
        let judged = |(check, claim): (Option<Check>, &Claim)| {
            check.unwrap_or_else(|| panic!("{} was not judged", claim.id))
        };
        self.checks.into_iter().zip(&self.plan.claims).map(judged).collect()
    }

    fn claim(&self, id: &str) -> &'a Claim {
        self.plan.claims.iter().find(|c| c.id == id).unwrap_or_else(|| panic!("no claim {id} in the plan"))
    }

    fn enter(&mut self, id: &str, measured: Value, holds: bool, note: String) {
        let claim = self.claim(id);
        let place = self.plan.claims.iter().position(|c| c.id == id).expect("found above");
        let verdict = if claim.cannot_follow.is_some() { Verdict::CannotFollow } else { Verdict::of(holds) };
        let why = claim.cannot_follow.clone().unwrap_or_default();
        let check = Check {
            id: claim.id.clone(),
            claim: claim.claim.clone(),
            source: claim.source.clone().unwrap_or_else(|| self.plan.source.clone()),
            tolerance: claim.tolerance.into(),
            expected: claim.expected.clone(),
            measured,
            verdict,
            evidence: claim.evidence,
            origin: claim.origin,
            after_fit: None,
            variants: Vec::new(),
            note: [why, note].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" "),
        };
        assert!(self.checks[place].replace(check).is_none(), "{id} was judged twice");
    }
}

fn list(measured: &[f64]) -> Value {
    match measured {
        [one] => number(*one),
        many => many.iter().map(|m| number(*m)).collect(),
    }
}

fn numbers_of(expected: &Value) -> Vec<f64> {
    match expected {
        Value::Array(items) => items.iter().filter_map(Value::as_f64).collect(),
        one => one.as_f64().into_iter().collect(),
    }
}

#[cfg(test)]
mod tests;
