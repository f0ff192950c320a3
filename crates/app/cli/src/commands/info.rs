// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker info`

use serde_json::{Value, json};

use crate::args::info::InfoArgs;
use crate::context::{Context, Exit};
use crate::error::{CliError, one_line};
use crate::linked::opened;
use crate::output::table;
use crate::time_line::time_line;

/// Prints what the device says of itself.
///
/// # Errors
/// Those of the device.
pub fn run(_args: &InfoArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let info = opened::info(&cx.device()?)?;
    tell(&info, cx)
}

/// What a device said of itself.
///
/// # Errors
/// `Output`.
pub fn tell(info: &Value, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    if cx.global.json {
        cx.document("saker.info.v1", &json!({ "info": info }))?;
    } else {
        let mut rows = Vec::new();
        flatten("", info, &mut rows);
        cx.print(table(&rows))?;
    }
    Ok(Exit::Good)
}

/// One row for each leaf: its path and its value.
pub(super) fn flatten(path: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) if setting(fields).is_some() => {
            rows.extend(setting(fields).map(|text| vec![path.to_owned(), text]));
        }
        Value::Object(fields) if period(fields).is_some() => {
            rows.extend(period(fields).map(|text| vec![path.to_owned(), text]));
        }
        Value::Object(fields) => fields.iter().for_each(|(name, inner)| flatten(&join(name), inner, rows)),
        Value::Array(items) if path.ends_with("stalls.periods") => {
            rows.extend(time_line(items).map(|line| vec![path.replace("periods", "time_line"), line]));
            items.iter().enumerate().for_each(|(i, inner)| flatten(&join(&i.to_string()), inner, rows));
        }
        Value::Array(items) if items.iter().any(|i| i.is_object() || i.is_array()) => {
            items.iter().enumerate().for_each(|(i, inner)| flatten(&join(&i.to_string()), inner, rows));
        }
        Value::String(text) => rows.push(vec![path.to_owned(), one_line(text)]),
        leaf => rows.push(vec![path.to_owned(), leaf.to_string()]),
    }
}

/// A period without writes in one cell, if that is what the fields are.
fn period(fields: &serde_json::Map<String, Value>) -> Option<String> {
    let [hold, cause] = ["hold", "cause"].map(|name| fields.get(name).and_then(Value::as_str));
    let [begin, length, writes] = ["begin_s", "length_s", "writes"].map(|name| fields.get(name));
    Some(format!("at {} s for {} s: {} writes {} by {}", begin?, length?, writes?, hold?, cause?))
}

/// A setting's value and kind in one cell, if that is what the fields are.
fn setting(fields: &serde_json::Map<String, Value>) -> Option<String> {
    match (fields.len(), fields.get("value"), fields.get("kind")) {
        (2, Some(Value::String(value)), Some(Value::String(kind))) => Some(format!("{value} ({kind})")),
        _ => None,
    }
}
