// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker secret`

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use saker::secrets::{HashId, Secret, random_bytes};
use serde_json::json;

use crate::args::secret::{Action, SecretArgs};
use crate::context::{Context, Exit};
use crate::error::CliError;

/// Permission of the owner to read and write.
const OWNER_ALONE: u32 = 0o600;

/// Makes a secret.
///
/// # Errors
/// `File` if the file is there already or cannot be made.
pub fn run(args: &SecretArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let Action::Generate { hash, output } = &args.action;
    let hash = HashId::ALL.into_iter().find(|id| id.name() == hash);
    let text = Secret::generate(hash, &random_bytes()).reveal();
    match output {
        Some(path) => {
            write(path, &text)?;
            cx.note(&format!("{} has a new secret", path.display()));
            cx.document_if_json("saker.secret.v1", &json!({ "file": path }))?;
        }
        None if cx.global.json => cx.document("saker.secret.v1", &json!({ "secret": *text }))?,
        None => cx.print(format!("{}\n", *text))?,
    }
    Ok(Exit::Good)
}

/// An existing file is not replaced: it may be the only copy of a secret in use.
fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(OWNER_ALONE).open(path);
    let mut file = file.map_err(CliError::file("create", path))?;
    writeln!(file, "{text}").and_then(|()| file.sync_all()).map_err(CliError::file("write", path))
}
