// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker delete`

use serde_json::json;

use super::no_such_key;
use crate::args::delete::DeleteArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::key;

/// Removes the key and flushes.
///
/// # Errors
/// `Usage` for a bad key, `Failed` without such a key, and those of the device.
pub fn run(args: &DeleteArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let key = key::parse(&args.key)?;
    let was_there = cx.with_store(|store, _| {
        let was_there = store.delete(&key)?;
        store.flush().map(|()| was_there)
    })?;
    if !was_there {
        return Err(no_such_key(&key));
    }
    cx.document_if_json("saker.delete.v1", &json!({ "deleted": true }))?;
    Ok(Exit::Good)
}
