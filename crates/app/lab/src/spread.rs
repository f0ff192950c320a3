// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The same experiments with several seeds: how far the measured numbers of each claim are apart, and which verdicts change.

use crate::report::{Check, Experiment, Verdict};
use serde::Serialize;
use serde_json::Value;

/// A number of a claim over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Number {
    /// The part of an order, or the place of the number among others.
    pub what: String,
    /// The least.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// How far they are apart, in per cent of the mean; `None`: the mean is 0.
    pub percent: Option<f64>,
}

/// A claim over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// `AC-...`
    pub id: String,
    /// Its verdict with each seed, in the order of the documents.
    pub verdicts: Vec<Verdict>,
    /// Its numbers, those that all documents have.
    pub numbers: Vec<Number>,
}

impl Claim {
    /// Whether all seeds give one verdict.
    pub fn is_firm(&self) -> bool {
        self.verdicts.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// The number that is spread most.
    pub fn widest(&self) -> Option<&Number> {
        let wide = |number: &&Number| number.percent.unwrap_or(0.0);
        self.numbers.iter().max_by(|a, b| wide(a).total_cmp(&wide(b)))
    }
}

/// The claims that all documents have, in the order of the first.
pub fn spread(runs: &[Vec<Experiment>]) -> Vec<Claim> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let of = |check: &Check| -> Option<Vec<Check>> {
        let checks = |run: &Vec<Experiment>| {
            run.iter().flat_map(|e| &e.checks).find(|other| other.id == check.id).cloned()
        };
        std::iter::once(Some(check.clone())).chain(others.iter().map(checks)).collect()
    };
    first.iter().flat_map(|e| &e.checks).filter_map(|check| of(check).map(|all| claim(&all))).collect()
}

fn claim(checks: &[Check]) -> Claim {
    let tables: Vec<Vec<(String, f64)>> = checks.iter().map(|check| numbers(&check.measured)).collect();
    let over_all = |(what, _): &(String, f64)| -> Option<Number> {
        let value = |table: &Vec<(String, f64)>| table.iter().find(|(name, _)| name == what).map(|(_, n)| *n);
        let all: Vec<f64> = tables.iter().map(value).collect::<Option<_>>()?;
        let (least, most) = all.iter().fold((f64::MAX, f64::MIN), |(a, b), n| (a.min(*n), b.max(*n)));
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let percent = (mean != 0.0).then(|| (most - least) / mean.abs() * 100.0);
        Some(Number { what: what.clone(), least, most, percent })
    };
    Claim {
        id: checks[0].id.clone(),
        verdicts: checks.iter().map(|check| check.verdict).collect(),
        numbers: tables[0].iter().filter_map(over_all).collect(),
    }
}

/// The numbers of a measurement, with names.
fn numbers(measured: &Value) -> Vec<(String, f64)> {
    let Value::Array(items) = measured else {
        return measured.as_f64().map(|n| ("measured".to_owned(), n)).into_iter().collect();
    };
    let named = |(place, item): (usize, &Value)| match item["what"].as_str() {
        Some(what) => Some((what.to_owned(), item["value"].as_f64()?)),
        None => Some((format!("number {}", place + 1), item.as_f64()?)),
    };
    items.iter().enumerate().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Settings;
    use crate::run::run_all;
    use serde_json::json;

    fn run(id: &str, verdict: Verdict, measured: Value) -> Vec<Experiment> {
        let mut found = crate::run::run("bandslim-dlt", &Settings::default()).unwrap();
        found.checks.truncate(1);
        found.checks[0].id = id.to_owned();
        (found.checks[0].verdict, found.checks[0].measured) = (verdict, measured);
        vec![found]
    }

    #[test]
    fn numbers_are_as_far_apart_as_the_least_and_the_largest() {
        let part = |value: f64| json!([{ "what": "ratio", "value": value, "holds": true }, { "what": "zero", "value": 0, "holds": true }]);
        let runs = [1.0, 1.5, 3.5].map(|value| run("AC-x-1", Verdict::of(value < 2.0), part(value)));
        let found = spread(&runs).remove(0);
        assert_eq!(found.verdicts, [Verdict::Pass, Verdict::Pass, Verdict::Fail]);
        assert!(!found.is_firm());
        let ratio = Number { what: "ratio".into(), least: 1.0, most: 3.5, percent: Some(125.0) };
        assert_eq!(found.widest(), Some(&ratio));
        assert_eq!(found.numbers[1].percent, None);
    }

    #[test]
    fn what_only_some_documents_have_is_left_out() {
        let same = |id: &str| run(id, Verdict::Pass, json!([2, 3]));
        assert!(spread(&[same("AC-x-1"), same("AC-x-2")]).is_empty());
        let one = &spread(&[same("AC-x-1"), same("AC-x-1")])[0];
        assert!(one.is_firm());
        assert_eq!(one.numbers.iter().map(|n| n.percent).collect::<Vec<_>>(), [Some(0.0), Some(0.0)]);
        assert!(spread(&[]).is_empty());
    }

    fn print(claim: &Claim) {
        let verdicts: Vec<&str> = claim.verdicts.iter().map(|verdict| verdict.name()).collect();
        println!("{}: {}", claim.id, verdicts.join(", "));
        for Number { what, least, most, percent } in &claim.numbers {
            let percent = percent.map_or_else(String::new, |percent| format!(", {percent:.2} % apart"));
            println!("    {what}: {least} to {most}{percent}");
        }
    }

    /// YCSB on the hash FTLs at its own scale and on a device of eight times the flash: it takes minutes and 2 GB.
    #[test]
    #[ignore = "the soak has a step for it: scale 1/32"]
    fn a_larger_scale() {
        let of = |scale| {
            let settings = Settings { scale, ..Settings::default() };
            vec![crate::run::run("plus-ycsb", &settings).unwrap()]
        };
        let claims = spread(&[of(None), of(Some(32))]);
        claims.iter().for_each(print);
        assert!(!claims.is_empty() && claims.iter().all(Claim::is_firm), "scale decides a verdict");
    }

    /// All experiments, for the soak's step: it takes three times as long as `saker reproduce all`.
    #[test]
    #[ignore = "the soak has a step for it: three seeds"]
    fn three_seeds() {
        let ids: Vec<String> = crate::run::plans().map(|plan| plan.id).collect();
        let of = |seed| {
            let settings = [Settings { seed: Some(seed), ..Settings::default() }];
            run_all(&ids, &settings, 2, &mut |_| (), &mut |_| ()).unwrap()
        };
        let claims = spread(&[1, 2, 3].map(of));
        claims.iter().for_each(print);
        let loose: Vec<&str> = claims.iter().filter(|c| !c.is_firm()).map(|c| c.id.as_str()).collect();
        println!(
            "{} claims, {} of them with a verdict that changes with the seed: {}",
            claims.len(),
            loose.len(),
            loose.join(", ")
        );
        let all = crate::run::plans().flat_map(|plan| plan.claims);
        assert_eq!(claims.len(), all.count(), "each claim is judged with each seed");
    }
}
