// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker txn`

use std::fs;
use std::io::Read;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::args::txn::TxnArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::records::format::is_stream;
use crate::records::{Format, Writer};
use crate::store::{Read as Pair, Step, Transacted, TransactionId};
use crate::{key, limits};

/// Most bytes of a script: far more than a transaction takes.
const SCRIPT_BYTES_MAX: u64 = 64 << 20;

/// Runs the script as one transaction and flushes.
///
/// # Errors
/// `File` for the script, `Usage` for a line that makes no sense, `Failed` for what is required and does not hold, and those
/// of the device.
pub fn run(args: &TxnArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let id = match (&args.host_id, args.number) {
        (Some(host), Some(number)) => Some(TransactionId { host: host_id(host)?, number }),
        _ => None,
    };
    let Some(path) = args.script.as_ref() else {
        return tell(id.unwrap_or(TransactionId { host: [0; 16], number: 0 }), cx);
    };
    let steps = steps(&script(path, cx)?)?;
    if steps.is_empty() {
        return Err(CliError::usage("the script has no operations", "see `saker txn --help`"));
    }
    let Transacted { reads, was_done } = cx.with_store(|store, _| {
        let ended = store.transact(&steps, id)?;
        store.flush().map(|()| ended)
    })?;
    if cx.global.json {
        let mut body =
            json!({ "operations": steps.len(), "reads": reads.iter().map(shown).collect::<Vec<_>>() });
        if id.is_some() {
            body["was_done"] = was_done.into();
        }
        cx.document("saker.txn.v1", &body)?;
        return Ok(Exit::Good);
    }
    if was_done {
        cx.note("it was carried out before; now nothing was done");
    }
    for (key, _) in reads.iter().filter(|(_, value)| value.is_none()) {
        cx.note(&format!("no key `{}`", key::show(key)));
    }
    let mut writer = Writer::new(&mut *cx.streams.output, Format::Tsv);
    for (key, value) in &reads {
        if let Some(value) = value {
            writer.write(key, value).map_err(CliError::Output)?;
        }
    }
    Ok(Exit::Good)
}

fn host_id(text: &str) -> Result<[u8; 16], CliError> {
    let bytes = key::parse(text)?;
    bytes.as_slice().try_into().map_err(|_| {
        let what = format!("a host's ID of {} bytes", bytes.len());
        CliError::usage(what, "give 16 bytes, such as `hex:` and 32 digits")
    })
}

/// What became of a transaction.
fn tell(id: TransactionId, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let outcome = cx.with_store(|store, _| store.transaction_outcome(id))?;
    if cx.global.json {
        cx.document("saker.txn_outcome.v1", &json!({ "outcome": outcome }))?;
    } else {
        cx.print(format!("{outcome}\n").as_bytes())?;
    }
    Ok(Exit::Good)
}

fn shown((key, value): &Pair) -> Value {
    let bytes = |name: &str, bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => (name.to_owned(), json!(text)),
        Err(_) => (format!("{name}_base64"), json!(STANDARD.encode(bytes))),
    };
    let value = value.as_ref().map(|value| bytes("value", value));
    Value::Object([bytes("key", key)].into_iter().chain(value).collect())
}

fn script(path: &Path, cx: &mut Context<'_, '_>) -> Result<String, CliError> {
    let mut text = String::new();
    let read = if is_stream(path) {
        let input = &mut cx.streams.input;
        input.take(SCRIPT_BYTES_MAX).read_to_string(&mut text)
    } else {
        let file = fs::File::open(path).map_err(CliError::file("open", path))?;
        file.take(SCRIPT_BYTES_MAX).read_to_string(&mut text)
    };
    read.map_err(CliError::file("read", path))?;
    Ok(text)
}

fn steps(text: &str) -> Result<Vec<Step>, CliError> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with('#')
    });
    lines.map(|(n, line)| step(line.trim_start()).map_err(|error| at(n, error))).collect()
}

/// Where in the script an error is.
fn at(line: usize, error: CliError) -> CliError {
    match error {
        CliError::Usage { what, todo } => CliError::Usage { what: format!("line {line}: {what}"), todo },
        other => other,
    }
}

fn step(line: &str) -> Result<Step, CliError> {
    let (operation, rest) = word(line);
    let (name, rest) = word(rest);
    let value = |text: &str| {
        let value = key::bytes(text)?;
        limits::check_value(&value).map(|()| value)
    };
    match (operation, rest) {
        ("get", "") => Ok(Step::Get(key::parse(name)?)),
        ("delete", "") => Ok(Step::Delete(key::parse(name)?)),
        ("put", text) => Ok(Step::Put(key::parse(name)?, value(text)?)),
        ("require", "absent") => Ok(Step::RequireAbsent(key::parse(name)?)),
        ("require", "present") => Ok(Step::RequirePresent(key::parse(name)?)),
        ("require", text) if word(text).0 == "value" => {
            Ok(Step::RequireValue(key::parse(name)?, value(word(text).1)?))
        }
        _ => {
            let what = format!("`{}` is no operation", key::show(line.as_bytes()));
            Err(CliError::usage(what, "see `saker txn --help` for those there are"))
        }
    }
}

/// The first word, and what is behind one space.
fn word(text: &str) -> (&str, &str) {
    text.split_once([' ', '\t']).unwrap_or((text, ""))
}
