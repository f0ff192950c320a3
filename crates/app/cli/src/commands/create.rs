// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker create`

use crate::args::create::CreateArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::images;
use crate::report::{CreateReport, CreatedNamespace, Holds};
use crate::size;

/// Makes an image file.
///
/// # Errors
/// `Usage` for a size or a name that makes no sense, `File` or `Failed` otherwise.
pub fn run(args: &CreateArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    tell(args, &images::create(args)?, cx)
}

/// What was made.
///
/// # Errors
/// `Output`.
pub fn tell(args: &CreateArgs, report: &CreateReport, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    if cx.global.json {
        crate::output::document(cx.streams.output, "saker.create.v1", Some(args.key_seed()), report)?;
        return Ok(Exit::Good);
    }
    let (image, flash) = (report.image.display(), size::show(report.flash_bytes));
    cx.note(&format!("created {image}: {flash}, profile {}, engine {}", report.profile, report.engine));
    match report.namespaces.as_slice() {
        [only] => only.holds.iter().for_each(|holds| cx.note(&held(holds))),
        several => several.iter().for_each(|namespace| cx.note(&line(namespace))),
    }
    Ok(Exit::Good)
}

/// What a namespace of pairs holds, in words.
fn held(holds: &Holds) -> String {
    let mut fits: Vec<_> = holds.fits.iter().collect();
    fits.sort_by_key(|(_, pairs)| std::cmp::Reverse(**pairs));
    let fits: Vec<_> =
        fits.iter().map(|(name, pairs)| format!("{pairs} {}", name.replace('_', " "))).collect();
    format!("it holds {} of records: {}", size::show(holds.capacity_bytes), fits.join(", or "))
}

fn line(n: &CreatedNamespace) -> String {
    let blocks = n.blocks.as_ref().map_or(String::new(), |b| {
        let map = match b.map_cache_bytes {
            0 => String::new(),
            bytes => format!(", their map on flash with a cached mapping table of {bytes} bytes"),
        };
        format!(", {} blocks of {} bytes{map}", b.blocks, b.block_bytes)
    });
    let holds = n.holds.as_ref().map_or(String::new(), |holds| format!("; {}", held(holds)));
    format!("namespace {}: {}, {} of flash{blocks}{holds}", n.nsid, n.kind, size::show(n.flash_bytes))
}
