// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker put`

use serde_json::json;

use crate::args::put::PutArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::{input, key};

/// Stores the value and flushes.
///
/// # Errors
/// `Usage` for a bad key or value, and those of the device.
pub fn run(args: &PutArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let key = key::parse(&args.key)?;
    let value = input::value(&args.value, cx)?;
    cx.with_store(|store, _| {
        store.put(&key, &value)?;
        store.flush()
    })?;
    cx.document_if_json("saker.put.v1", &json!({ "key_bytes": key.len(), "value_bytes": value.len() }))?;
    Ok(Exit::Good)
}
