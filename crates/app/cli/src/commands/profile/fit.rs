// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker profile fit`

use std::path::Path;

use saker_host::Pacing;
use saker_lab::fit::{Fit, FitError, Fitted, Free, Role, figure, figures, fit, read};
use saker_profile::Profile;
use serde_json::json;

use crate::args::profile::FitArgs;
use crate::commands::target::Target;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::output::table;

/// Fits, tells, and saves if asked to.
///
/// # Errors
/// `Usage` for a fit that is refused, `File`, `Output`.
pub fn run(args: &FitArgs, profile: &Profile, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let (found, from) = found(args, profile)?;
    if let Some(path) = &args.save {
        save(path, &found.profile)?;
    }
    if cx.global.json {
        let body = json!({ "name": profile.name, "points": from, "fit": found.to_json() });
        cx.document("saker.profile.fit.v1", &body)?;
    } else {
        cx.print(text(profile, &from, &found))?;
    }
    Ok(Exit::Good)
}

fn found(args: &FitArgs, profile: &Profile) -> Result<(Fit, String), CliError> {
    if let Some(name) = &args.figure {
        let known = || figures().collect::<Vec<_>>().join(", ");
        let unknown =
            || CliError::usage(format!("there is no figure `{name}`"), format!("choose one of {}", known()));
        let figure = figure(name).ok_or_else(unknown)?;
        return Ok((figure.fit(profile).map_err(refused)?, figure.source));
    }
    let path = args.points.as_deref().unwrap_or_else(|| Path::new(""));
    let text = std::fs::read_to_string(path).map_err(CliError::file("read", path))?;
    let in_file = |e: FitError| CliError::usage(format!("{}: {e}", path.display()), "mend the file");
    let points = read(&text).map_err(in_file)?;
    let free: Vec<Free> =
        args.free.iter().map(|text| Free::parse(text)).collect::<Result<_, _>>().map_err(refused)?;
    let pacing = if args.passthrough { Pacing::Passthrough } else { Pacing::Pipelined };
    let from = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Ok((fit(profile, &free, &points, &from, pacing).map_err(refused)?, from))
}

/// A fit that says nothing is not made.
fn refused(error: FitError) -> CliError {
    CliError::usage(error.to_string(), "see `saker profile fit --help`")
}

/// A file that is there is somebody's.
fn save(path: &Path, profile: &Profile) -> Result<(), CliError> {
    if path.exists() {
        return Err(CliError::usage(format!("{} is there already", path.display()), "name a new file"));
    }
    Target::write(path, profile.to_toml().as_bytes())
}

fn text(profile: &Profile, from: &str, found: &Fit) -> String {
    let mut text = format!("{}, fitted to {from}\n\n", profile.name);
    let head = ["number", "before", "fitted", "95 %", "bounds"].map(str::to_owned).to_vec();
    let numbers = found.numbers.iter().map(|n| {
        let interval =
            n.interval.map_or("at its bound".to_owned(), |(least, most)| format!("{least:.0} to {most:.0}"));
        let bounds = format!("{}..{}", n.bounds.0, n.bounds.1);
        vec![n.path.clone(), n.before.clone(), n.value.to_string(), interval, bounds]
    });
    text += &table(&[head].into_iter().chain(numbers).collect::<Vec<_>>());
    for (role, title) in [(Role::Fit, "fitted"), (Role::Held, "predicted")] {
        let Some((after, before)) = found.errors(role) else { continue };
        let head = [title, "measured", "before", "after", "off by"].map(str::to_owned).to_vec();
        let rows = found.points.iter().filter(|point| point.measured.role == role).map(row);
        let all = [head].into_iter().chain(rows).collect::<Vec<_>>();
        let sum = format!(
            "off by {:.1} % (root of the mean square), before the fit {:.1} %",
            after * 100.0,
            before * 100.0
        );
        text += &format!("\n{}{sum}\n", table(&all));
    }
    text
}

fn row(point: &Fitted) -> Vec<String> {
    let unit = if point.measured.over.is_some() { "" } else { " us" };
    let value = |value: f64| format!("{value:.3}{unit}");
    let off = format!("{:+.1} %", point.error() * 100.0);
    vec![point.measured.place(), value(point.measured.value), value(point.before), value(point.after), off]
}
