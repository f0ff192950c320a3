// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker restore`

use crate::args::restore::RestoreArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::backup;

/// Restores a backup, or verifies it.
///
/// # Errors
/// `Usage` or `Failed`.
pub fn run(args: &RestoreArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let schema = if args.check { "saker.restore-check.v1" } else { "saker.restore.v1" };
    super::counted(cx, schema, |progress| backup::restore(args, progress))
}
