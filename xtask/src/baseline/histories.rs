// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories of every engine: in the device, at the host, and alone; and the same cut short by power cuts.

use serde_json::{Map, Value};

use super::program::Program;
use super::record::Record;
use crate::Fault;

/// Sides of a history, and those that can be cut.
const SIDES: [&str; 3] = ["device", "host", "engine"];
const SIDES_CUT: [&str; 2] = ["device", "engine"];

/// Counters that must be above 0 in every history.
const COMMON: [&str; 4] = ["flash.programs", "flash.erases", "log.user_pages", "store.gc_segments"];

/// The same where pages are read from the array: over flash that keeps no time they are at hand.
const OF_DEVICES: &str = "flash.reads";

/// The same, by the engine that ran: flush, compaction, collection and manifests, or what the engine has in their place.
const AT_WORK: &[(&str, &[&str])] = &[
    ("hash_store", &["store.gc_records_copied", "store.checkpoints", "store.checkpoint_bytes"]),
    ("hash_original", HASH_FTL),
    ("hash_plus", HASH_FTL),
    ("hash_doubling", DOUBLING),
    (
        "lsm",
        &[
            "engine.flushes",
            "engine.compactions",
            "engine.table_pages_written",
            "store.gc_records_copied",
            "store.checkpoints",
        ],
    ),
    (
        "tree",
        &[
            "engine.merges",
            "engine.roots",
            "engine.nodes_written",
            "store.gc_records_copied",
            "store.checkpoints",
        ],
    ),
];

const HASH_FTL: &[&str] = &[
    "engine.collected_records",
    "engine.evictions_background",
    "engine.table_pages_written_gc",
    "engine.table_pages_read_user",
];

const DOUBLING: &[&str] = &[
    "engine.collected_records",
    "engine.evictions_background",
    "engine.table_pages_written_gc",
    "engine.doublings",
    "engine.sections_divided",
];

/// What a document says of itself, beside what it measured.
const FRAME: [&str; 2] = ["at", "schema"];

/// Runs the histories with so many seeds, and looks at their counters.
///
/// # Errors
/// When the binary fails, or a counter is 0 or unknown.
pub fn take(program: &Program, seeds: u64, record: &mut Record) -> Result<(), Fault> {
    if !is_offered(program)? {
        record.not_offered.insert("history".to_owned());
        return Ok(());
    }
    let mut idle = Vec::new();
    for engine in program.engines() {
        for side in SIDES {
            eprintln!("history of {engine} at {side}");
            for seed in 1..=seeds {
                let name = format!("history/{engine}/{side}/seed{seed}");
                let document = document(program, engine, side, &["--seed", &seed.to_string()])?;
                idle.extend(not_at_work(&document).into_iter().map(|what| format!("{name}: {what}")));
                for (field, value) in document.iter().filter(|(field, _)| !FRAME.contains(&field.as_str())) {
                    record.add(&format!("{name}/{field}"), value);
                }
                // What a side lacks is part of what it does.
                record.add(&format!("{name}/at"), document.get("at").unwrap_or(&Value::Null));
            }
        }
    }
    if idle.is_empty() { Ok(()) } else { Err(idle.join("\n").into()) }
}

/// Runs the histories that are cut.
///
/// # Errors
/// When the binary fails.
pub fn take_cuts(program: &Program, cuts: u64, record: &mut Record) -> Result<(), Fault> {
    if !is_offered(program)? {
        record.not_offered.insert("cuts".to_owned());
        return Ok(());
    }
    for engine in program.engines() {
        for side in SIDES_CUT {
            eprintln!("cuts of {engine} at {side}");
            let document = document(program, engine, side, &["--cuts", &cuts.to_string()])?;
            let all = document.get("cut").and_then(Value::as_array).ok_or("a document has no cuts")?;
            if all.len() as u64 != 2 * cuts {
                return Err(
                    format!("{engine} at {side} was cut {} times, not {}", all.len(), 2 * cuts).into()
                );
            }
            for (n, cut) in all.iter().enumerate() {
                record.add(&format!("cuts/{engine}/{side}/{n:02}"), cut);
            }
        }
    }
    Ok(())
}

fn is_offered(program: &Program) -> Result<bool, Fault> {
    Ok(program.document(&["bench", "history", "--json", "--quiet"])?.is_some())
}

fn document(program: &Program, engine: &str, side: &str, more: &[&str]) -> Result<Map<String, Value>, Fault> {
    let args = ["bench", "history", "--json", "--quiet", "--engine", engine, "--side", side];
    match program.document(&[&args[..], more].concat())? {
        Some(Value::Object(document)) => Ok(document),
        _ => Err(format!("this binary has histories, but none of {engine} at {side}").into()),
    }
}

/// What did not happen in a history: counters that are 0, or that it does not have.
fn not_at_work(document: &Map<String, Value>) -> Vec<String> {
    let ran = document.get("ran").and_then(Value::as_str).unwrap_or_default();
    let Some((_, own)) = AT_WORK.iter().find(|(engine, _)| *engine == ran) else {
        return vec![format!("no counters are known of engine `{ran}`")];
    };
    let counters = document.get("counters");
    let look = |name: &&str| match counters.and_then(|all| all.get(*name)).and_then(Value::as_u64) {
        None => Some(format!("there is no counter `{name}`")),
        Some(0) => Some(format!("counter `{name}` is 0: that did not happen")),
        Some(_) => None,
    };
    let is_device = document.get("at").and_then(|at| at.get("side")).is_some_and(|side| side != "engine");
    let of_devices = is_device.then_some(&OF_DEVICES);
    COMMON.iter().chain(own.iter()).chain(of_devices).filter_map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(ran: &str, change: impl FnOnce(&mut Map<String, Value>)) -> Map<String, Value> {
        let own = AT_WORK.iter().find(|(engine, _)| *engine == ran).map_or(&[][..], |(_, own)| own);
        let mut counters: Map<String, Value> =
            COMMON.iter().chain(own).map(|name| ((*name).to_owned(), json!(3))).collect();
        counters.insert(OF_DEVICES.to_owned(), json!(3));
        change(&mut counters);
        let all = json!({ "ran": ran, "counters": counters, "at": { "side": "device" } });
        all.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn every_engine_has_its_counters() {
        for (engine, _) in AT_WORK {
            assert_eq!(not_at_work(&document(engine, |_| ())), [""; 0]);
        }
    }

    #[test]
    fn a_counter_at_zero_is_told() {
        let document = document("lsm", |counters| _ = counters.insert("engine.compactions".into(), json!(0)));
        assert_eq!(not_at_work(&document), ["counter `engine.compactions` is 0: that did not happen"]);
    }

    #[test]
    fn an_unknown_counter_is_told() {
        let told = document("tree", |counters| _ = counters.remove("engine.merges"));
        assert_eq!(not_at_work(&told), ["there is no counter `engine.merges`"]);
        let mut alone = document("tree", |counters| _ = counters.remove(OF_DEVICES));
        assert_eq!(not_at_work(&alone), ["there is no counter `flash.reads`"]);
        alone.insert("at".to_owned(), json!({ "side": "engine" }));
        assert_eq!(not_at_work(&alone), [""; 0], "its pages are at hand");
        let none = Map::from_iter([("ran".to_owned(), json!("other"))]);
        assert_eq!(not_at_work(&none), ["no counters are known of engine `other`"]);
    }
}
