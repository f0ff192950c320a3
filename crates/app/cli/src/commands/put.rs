//! `saker put`

use clap::Args;
use serde_json::json;

use crate::args::KEY_HELP;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::{input, key};

const EXAMPLES: &str = "\
Values are written like keys and have at most 2 MiB. The value is on the device, flushed, when the command ends.

Examples:
  saker put --device file:disk.img user:1 Ada
  saker put --device file:disk.img hex:00ff base64:AP8=
  saker put --device file:disk.img logo @logo.png
  date | saker put --device file:disk.img now -
  saker put --device file:disk.img mail str:@ada";

/// Arguments of `saker put`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct PutArgs {
    /// The key
    key: String,
    /// The value; - is standard input, @FILE a file
    #[arg(allow_negative_numbers = true)]
    value: String,
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}

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
