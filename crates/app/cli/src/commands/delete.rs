//! `saker delete`

use clap::Args;
use serde_json::json;

use super::no_such_key;
use crate::args::KEY_HELP;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::key;

const EXAMPLES: &str = "\
The key is gone from the device, flushed, when the command ends. Without such a key the exit code is 1.

Examples:
  saker delete --device file:disk.img user:1
  saker delete --device file:disk.img hex:00ff";

/// Arguments of `saker delete`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct DeleteArgs {
    /// The key
    key: String,
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}

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
