// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker compare`

mod story;
mod tables;

use crate::args::compare::CompareArgs;
use crate::commands::compare_html;
use crate::commands::target::can_be_made;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::comparison;
use crate::output;
use crate::records::set;
use crate::report::Comparison;

/// Runs the comparison and shows the systems side by side.
///
/// # Errors
/// `Usage` for an input whose format is unknown, `File` and `Failed` for one that cannot be read, and those of the
/// comparison.
pub fn run(args: &CompareArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let records = match (&args.input, args.input_format()?) {
        (Some(path), Some(format)) => Some(set::read(path, format, args.raw, cx.streams.input)?),
        _ => None,
    };
    args.html.iter().try_for_each(|path| can_be_made(path))?;
    let report = comparison::compare(args, records, &mut |line| cx.note(line))?;
    tell(args, &report, cx)
}

/// What was measured; the answer is no when operations failed.
///
/// # Errors
/// `File` for the page, `Output`.
pub fn tell(args: &CompareArgs, report: &Comparison, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    if let Some(path) = &args.html {
        compare_html::write(path, report)?;
    }
    if cx.global.json {
        output::document(cx.streams.output, "saker.compare.v1", Some(report.seed), report)?;
    } else {
        let text = if args.verbose { tables::text(report) } else { story::text(report) };
        cx.print(text)?;
    }
    Ok(if report.has_errors() { Exit::No } else { Exit::Good })
}
