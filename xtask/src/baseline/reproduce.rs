// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All experiments: their documents have no wall-clock times, only what a seed determines.

use serde_json::Value;

use super::program::Program;
use super::record::Record;
use crate::Fault;

/// Runs `reproduce all`: a digest of all of it, and one for each experiment.
///
/// # Errors
/// When the binary fails, or its document has another form.
pub fn take(program: &Program, record: &mut Record) -> Result<(), Fault> {
    eprintln!("reproduce all: this takes minutes");
    let Some(document) = program.document(&["reproduce", "all", "--json", "--quiet"])? else {
        record.not_offered.insert("reproduce".to_owned());
        return Ok(());
    };
    add(&document, record)
}

fn add(document: &Value, record: &mut Record) -> Result<(), Fault> {
    record.add("reproduce/all", document);
    let experiments = document.get("experiments").and_then(Value::as_array).filter(|all| !all.is_empty());
    for experiment in experiments.ok_or("the document of `reproduce all` has no experiments")? {
        let id = experiment.get("id").and_then(Value::as_str).ok_or("an experiment has no id")?;
        record.add(&format!("reproduce/{id}"), experiment);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_experiment_has_a_digest() {
        let mut record = Record::default();
        add(&json!({ "experiments": [{ "id": "one" }, { "id": "two" }] }), &mut record).unwrap();
        let names: Vec<_> = record.entries.keys().collect();
        assert_eq!(names, ["reproduce/all", "reproduce/one", "reproduce/two"]);
        assert!(add(&json!({ "experiments": [] }), &mut Record::default()).is_err());
    }
}
