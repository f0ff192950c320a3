// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker grow`

use crate::args::grow::GrowArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::backup;

/// Makes an image larger.
///
/// # Errors
/// `Usage` or `Failed`; then the image is as it was.
pub fn run(args: &GrowArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    super::counted(cx, "saker.grow.v1", |progress| backup::grow(args, progress))
}
