// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker profile`

mod fit;

use std::path::Path;

use saker_profile::{Profile, ProfileError, Row};
use serde_json::{Value, json};

use crate::args::profile::{Action, ProfileArgs};
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::experiments;
use crate::output::table;
use crate::report::{Calibrated, CalibratedSize};

/// Ends of names and the units they stand for; the longest first. Qualifiers after the unit are cut before.
const UNITS: [(&str, &str); 11] = [
    ("_bytes_per_s", "B/s"),
    ("_percent", "%"),
    ("_bytes", "B"),
    ("_cycles", "cycles"),
    ("_cores", "cores"),
    ("_slots", "slots"),
    ("_entries", "entries"),
    ("_pairs", "pairs"),
    ("_us", "us"),
    ("_ns", "ns"),
    ("_ps", "ps"),
];

/// Shows profiles.
///
/// # Errors
/// `Usage` for an unknown name, `File` and `Failed` for a profile's file.
pub fn run(args: &ProfileArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    match &args.action {
        Action::List => list(cx),
        Action::Show { name, toml } => show(name, *toml, cx),
        Action::Calibrate { name, passthrough } => calibrate(name, *passthrough, cx),
        Action::Fit(args) => fit::run(args, &parsed(&args.name)?, cx),
    }
}

fn list(cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let profiles = Profile::builtin_names().map(Profile::builtin);
    let profiles = profiles.collect::<Result<Vec<_>, _>>().map_err(|e| broken(&e))?;
    if cx.global.json {
        let items = profiles.iter().map(|p| json!({ "name": p.name, "description": p.description }));
        cx.document("saker.profile.list.v1", &json!({ "profiles": items.collect::<Vec<_>>() }))?;
    } else {
        let rows = profiles.into_iter().map(|p| vec![p.name, p.description]);
        cx.print(table(&rows.collect::<Vec<_>>()))?;
    }
    Ok(Exit::Good)
}

fn show(name: &str, toml: bool, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let text = text(name)?;
    let profile = Profile::parse(&text).map_err(|e| broken(&e))?;
    if toml {
        cx.print(text)?;
    } else if cx.global.json {
        let values: Vec<_> = profile.rows().iter().map(item).collect();
        let (name, description) = (&profile.name, &profile.description);
        let body = json!({ "name": name, "description": description, "values": values });
        cx.document("saker.profile.v1", &body)?;
    } else {
        cx.print(format!("{}: {}\n\n{}", profile.name, profile.description, rows(&profile)))?;
    }
    Ok(Exit::Good)
}

/// The built-in profile of that name, or that of a file.
fn parsed(name: &str) -> Result<Profile, CliError> {
    Profile::parse(&text(name)?).map_err(|e| broken(&e))
}

fn calibrate(name: &str, passthrough: bool, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let profile = parsed(name)?;
    tell_calibration(&profile.name, &experiments::calibrate(&profile, passthrough)?, cx)
}

/// What a calibration of the profile of that name measured.
///
/// # Errors
/// `Output`.
pub fn tell_calibration(name: &str, found: &Calibrated, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    if cx.global.json {
        cx.document("saker.profile.calibration.v1", &json!({ "name": name, "calibration": found }))?;
    } else {
        cx.print(calibration(name, found))?;
    }
    Ok(Exit::Good)
}

/// Thresholds, and microseconds by size and method.
fn calibration(name: &str, found: &Calibrated) -> String {
    let head = format!(
        "{name}: threshold1 {} B, threshold2 {} B (0: never quicker than pages)\n\n",
        found.threshold1, found.threshold2
    );
    let titles = found.sizes.first().map(|size| size.ns.keys().map(|name| format!("{name} us")));
    let first = ["bytes".into(), "quickest".into()].into_iter().chain(titles.into_iter().flatten()).collect();
    let us = |ns: &Option<u64>| ns.map_or("-".into(), |ns| format!("{}.{:03}", ns / 1000, ns % 1000));
    let row = |size: &CalibratedSize| {
        [size.bytes.to_string(), size.quickest.into()].into_iter().chain(size.ns.values().map(us)).collect()
    };
    let rows: Vec<Vec<String>> = std::iter::once(first).chain(found.sizes.iter().map(row)).collect();
    head + &table(&rows)
}

/// The TOML of a built-in profile or of a file.
fn text(name: &str) -> Result<String, CliError> {
    let path = Path::new(name);
    if name.contains('/') || name.ends_with(".toml") {
        return std::fs::read_to_string(path).map_err(CliError::file("read", path));
    }
    let unknown = |_| {
        let known = Profile::builtin_names().collect::<Vec<_>>().join(", ");
        CliError::usage(
            format!("there is no profile `{name}`"),
            format!("choose one of {known}, or give a file"),
        )
    };
    Profile::builtin_text(name).map(str::to_owned).map_err(unknown)
}

fn broken(error: &ProfileError) -> CliError {
    CliError::failed(error.to_string(), "mend the profile")
}

fn item(row: &Row) -> Value {
    let value: Value = serde_json::from_str(&plain(&row.value)).unwrap_or_else(|_| json!(row.value));
    json!({ "path": row.path, "value": value, "unit": unit(&row.path), "source": row.source, "note": row.note })
}

/// A TOML number as JSON writes it: without underscores.
fn plain(value: &str) -> String {
    value.replace('_', "")
}

fn rows(profile: &Profile) -> String {
    let head = ["name", "value", "unit", "source", "note"].map(str::to_owned).to_vec();
    let rows = profile.rows().into_iter().map(|row| {
        let unit = unit(&row.path).to_owned();
        vec![row.path, row.value, unit, row.source, row.note]
    });
    table(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}

/// The unit that a number's name ends in, before `_max` and `_min`; nothing for a plain count.
fn unit(path: &str) -> &'static str {
    let path = path.trim_end_matches("_max").trim_end_matches("_min");
    UNITS.iter().find(|(end, _)| path.ends_with(end)).map_or("", |&(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_at_the_end_of_names() {
        assert_eq!(unit("media.read_latency_ns"), "ns");
        assert_eq!(unit("link.bandwidth_bytes_per_s"), "B/s");
        assert_eq!(unit("link.tlp_payload_bytes_max"), "B");
        assert_eq!(unit("firmware.io_cores"), "cores");
        assert_eq!(unit("geometry.channels"), "");
    }

    #[test]
    fn every_value_of_a_built_in_profile_is_json() {
        for name in Profile::builtin_names() {
            for row in Profile::builtin(name).unwrap().rows() {
                let value = item(&row)["value"].clone();
                // The one value that is a name.
                assert_eq!(value.is_string(), row.path == "firmware.dispatch", "{name} {} {value}", row.path);
            }
        }
    }
}
