// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker get`

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::no_such_key;
use super::target::Target;
use crate::args::get::GetArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::key;
use crate::records::format::is_stream;

/// Writes the value.
///
/// # Errors
/// `Usage` for a bad key, `Failed` without such a key, `File` for the output, and those of the device.
pub fn run(args: &GetArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let key = key::parse(&args.key)?;
    let value = cx.with_store(|store, _| store.get(&key))?.ok_or_else(|| no_such_key(&key))?;
    match args.output.as_ref().filter(|path| !is_stream(path)) {
        Some(path) => {
            Target::write(path, &value)?;
            cx.document_if_json("saker.get.v1", &json!({ "value_bytes": value.len(), "output": path }))?;
        }
        None if cx.global.json => document(&value, cx)?,
        None => cx.print(&value)?,
    }
    Ok(Exit::Good)
}

fn document(value: &[u8], cx: &mut Context<'_, '_>) -> Result<(), CliError> {
    let length = value.len();
    let body = match std::str::from_utf8(value) {
        Ok(text) => json!({ "value_bytes": length, "value": text }),
        Err(_) => json!({ "value_bytes": length, "value_base64": STANDARD.encode(value) }),
    };
    cx.document("saker.get.v1", &body)
}
