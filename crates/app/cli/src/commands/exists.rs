//! `saker exists`

use clap::Args;
use serde_json::json;

use crate::args::KEY_HELP;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::key;

const EXAMPLES: &str = "\
Prints yes or no; the exit code is 0 for yes and 1 for no.

Examples:
  saker exists --device file:disk.img user:1
  saker exists --device file:disk.img user:1 >/dev/null && echo there";

/// Arguments of `saker exists`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct ExistsArgs {
    /// The key
    key: String,
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}

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
