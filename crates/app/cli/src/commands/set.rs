// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker set`

use serde_json::json;

use crate::args::set::SetArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::opened;

/// Changes settings of a device that others have open.
///
/// # Errors
/// `Usage` for what is no change of a setting, and those of the device.
pub fn run(args: &SetArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let pair = |text: &String| {
        let pair = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
        let todo = "write it as NAME=VALUE, such as cache_bytes=64MiB";
        pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .ok_or_else(|| CliError::usage(format!("`{text}` changes no setting"), todo))
    };
    let asked: Vec<_> = args.settings.iter().map(pair).collect::<Result<_, _>>()?;
    let changed = opened::set(&cx.device()?, &asked)?;
    for (name, value) in &changed {
        cx.note(&format!("{name} is {value}"));
    }
    let changed: serde_json::Map<_, _> =
        changed.into_iter().map(|(name, value)| (name, value.into())).collect();
    cx.document_if_json("saker.set.v1", &json!({ "settings": changed }))?;
    Ok(Exit::Good)
}
