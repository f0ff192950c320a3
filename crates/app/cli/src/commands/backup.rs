// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker backup`

use crate::args::backup::BackupArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::backup;

/// Makes a backup.
///
/// # Errors
/// `Usage` or `Failed`; then there is no file.
pub fn run(args: &BackupArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    super::target::keep_images(&args.file)?;
    super::counted(cx, "saker.backup.v1", |progress| backup::back_up(args, progress))
}
