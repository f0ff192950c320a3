//! `saker create`

use std::path::PathBuf;

use clap::Args;

use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::size;

/// Arguments of `saker create`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Sizes are whole numbers with B, KiB, MiB, GiB, TiB (1024) or kB, MB, GB, TB (1000). The file is sparse: it takes room \
as it is written.

Examples:
  saker create disk.img --size 1GiB
  saker create disk.img --size 100GB --profile saker-mid --engine hash")]
pub struct CreateArgs {
    /// The image file to make
    pub image: PathBuf,
    /// Bytes of user data it can hold
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub size: u64,
    /// The timing profile (see `saker profile list`)
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub profile: String,
    /// The engine: hash, tree or lsm
    #[arg(long, value_name = "NAME", default_value = "hash")]
    pub engine: String,
    /// Replace a file of that name
    #[arg(long)]
    pub force: bool,
}

/// Makes an image file.
///
/// # Errors
/// Those of the backend.
pub fn run(args: &CreateArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let report = cx.backend.create(args)?;
    if cx.global.json {
        cx.document("saker.create.v1", &report)?;
    } else {
        let (image, capacity) = (report.image.display(), size::show(report.capacity_bytes));
        cx.note(&format!(
            "created {image}: {capacity}, profile {}, engine {}",
            report.profile, report.engine
        ));
    }
    Ok(Exit::Good)
}
