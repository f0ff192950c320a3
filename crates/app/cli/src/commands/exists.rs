// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker exists`

use serde_json::json;

use crate::args::exists::ExistsArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::key;

/// Tells whether there is the key.
///
/// # Errors
/// `Usage` for a bad key, and those of the device.
pub fn run(args: &ExistsArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let key = key::parse(&args.key)?;
    let exists = cx.with_store(|store, _| store.exists(&key))?;
    if cx.global.json {
        cx.document("saker.exists.v1", &json!({ "exists": exists }))?;
    } else {
        cx.print(if exists { "yes\n" } else { "no\n" })?;
    }
    Ok(if exists { Exit::Good } else { Exit::No })
}
