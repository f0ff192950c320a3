// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters of a device, for `saker info`.

use saker::{Counter, CounterKind, CounterOf};
use saker_host::counters::{command_name, status_of};
use serde_json::{Map, Value};

/// All of them by name: of the device, of each namespace, and commands by status.
pub fn all(counters: &[Counter]) -> Value {
    let mut told = Map::new();
    for counter in counters {
        match counter.of {
            CounterOf::Command { class, opcode, detail } if counter.name == "commands" => {
                let command = command_name(class, opcode).unwrap_or("other");
                let status = status_of(detail).to_string();
                enter(&mut told, &["commands", class.name(), command, status.as_str()], counter.value);
            }
            CounterOf::Command { .. } => {}
            CounterOf::Device if counter.nsid == 0 => {
                enter(&mut told, &[counter.name.as_ref()], counter.value)
            }
            CounterOf::Device => {
                let namespace = format!("namespace_{}", counter.nsid);
                enter(&mut told, &[namespace.as_str(), counter.name.as_ref()], counter.value);
            }
        }
    }
    Value::Object(told)
}

/// Those of its life.
pub fn of_life(counters: &[Counter]) -> Value {
    let of_life = counters.iter().filter(|counter| counter.kind == CounterKind::Lasting);
    let name = |counter: &Counter| counter.name.strip_prefix("life_").unwrap_or(&counter.name).to_owned();
    Value::Object(of_life.map(|counter| (name(counter), counter.value.into())).collect())
}

fn enter(told: &mut Map<String, Value>, path: &[&str], value: u64) {
    match path {
        [name] => drop(told.insert((*name).to_owned(), value.into())),
        [name, rest @ ..] => {
            let inner = told.entry((*name).to_owned()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                enter(inner, rest, value);
            }
        }
        [] => {}
    }
}
