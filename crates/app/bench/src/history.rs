// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories as documents: digests in hexadecimal digits and every counter by name. For `cargo xtask baseline`.

use super::BenchReport;
use saker_history::{CutTale, MediaOps, Setup, Tale, cut_points, tell, tell_cut};
use saker_lab::error::LabError;
use saker_lab::report::Point;
use saker_sim::{Digest, Unit};
use serde_json::{Map, Value, json};

/// The whole history.
///
/// # Errors
/// [`LabError::History`].
pub fn whole(setup: &Setup) -> Result<BenchReport, LabError> {
    let tale = tell(setup)?;
    let mut point = place(setup, &[("missing", json!(tale.missing))]);
    point.values = fields(&tale);
    Ok(report(point))
}

/// The short history, cut at so many places with a capacitor, and at as many without.
///
/// # Errors
/// [`LabError::History`].
pub fn of_cuts(setup: &Setup, count: u64) -> Result<BenchReport, LabError> {
    let (mut cuts, mut digest) = (Vec::new(), Digest::default());
    for capacitor in [true, false] {
        let setup = Setup { capacitor, short: true, ..*setup };
        for at in cut_points(&setup, count)? {
            let cut = tell_cut(&setup, at)?;
            let told = cut_fields(&cut, capacitor);
            digest.bytes(told.to_string().as_bytes());
            cuts.push(told);
        }
    }
    let mut point = place(setup, &[("cuts", json!(count))]);
    point.values.insert("digest".to_owned(), hex(digest.value()));
    point.values.insert("cut".to_owned(), Value::Array(cuts));
    Ok(report(point))
}

fn report(point: Point) -> BenchReport {
    BenchReport { point, traces: Vec::new(), lines: Vec::new() }
}

fn place(setup: &Setup, more: &[(&str, Value)]) -> Point {
    let mut point = Point::at([
        ("workload", json!("history")),
        ("timing", json!("virtual")),
        ("engine", json!(setup.engine.name())),
        ("side", json!(setup.side.name())),
    ]);
    point.at.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    point
}

fn fields(tale: &Tale) -> Map<String, Value> {
    let MediaOps { programs, reads, erases } = tale.media;
    let all = json!({
        "digest": hex(tale.digest()),
        "ran": tale.engine,
        "operations": tale.operations,
        "outcomes": hex(tale.outcomes),
        "state": hex(tale.state),
        "media": { "programs": programs, "reads": reads, "erases": erases },
        "units": tale.units.map(|units| units_by_name(&units)),
        "counters": tale.counters,
        "end_ns": tale.end_ns,
    });
    match all {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn cut_fields(cut: &CutTale, capacitor: bool) -> Value {
    let MediaOps { programs, reads, erases } = cut.media;
    json!({
        "capacitor": capacitor,
        "at": cut.at,
        "operations": cut.operations,
        "outcomes": hex(cut.outcomes),
        "media": { "programs": programs, "reads": reads, "erases": erases },
        "recovered": hex(cut.recovered.digest()),
        "recovered_state": hex(cut.recovered.state),
        "recovered_pairs": hex(cut.recovered.outcomes),
        "recovered_units": cut.recovered.units.map(|units| units_by_name(&units)),
    })
}

fn units_by_name(units: &[u64; Unit::COUNT]) -> Map<String, Value> {
    let named = Unit::ALL.into_iter().zip(units);
    named.map(|(unit, count)| (format!("{unit:?}"), json!(count))).collect()
}

fn hex(digest: u64) -> Value {
    json!(format!("{digest:016x}"))
}
