// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What page-unit transfer costs (section 2.4, Fig. 3), and the same figure of the talk.

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::experiments::bandslim::{Grid, otherwise, sizes};
use crate::judge::Part;
use saker_host::Method;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    small_bytes: Vec<u32>,
    banded_bytes: Vec<u32>,
    band_bytes: u32,
    first_checksum_byte_ps: u64,
}

/// Spread of times inside a band, and least step between bands (TAF and time within 5 %).
const FLAT: f64 = 0.05;
const BYTES: &str = "link_bytes_per_operation";
const TIME: &str = "transfer_us_mean";

/// Runs bandslim-fig3.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let grid = measure(cx, &plan)?;
    let mut book = cx.book();
    book.numbers("AC-bandslim-fig3-1", &of_all(&grid, &plan.banded_bytes, BYTES), "");
    book.numbers("AC-bandslim-fig3-2", &of_all(&grid, &plan.small_bytes, "taf"), "");
    book.order("AC-bandslim-fig3-3", &bands(&grid, &plan), cause(cx, &grid, &plan)?);
    Ok(Outcome { checks: book.finish(), series: grid.into_series() })
}

/// Runs talk-traffic-amp: the same measurement, the slides' claims.
pub fn run_talk(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let grid = measure(cx, &plan)?;
    let taf = of_all(&grid, &plan.small_bytes, "taf");
    let inverse: Vec<f64> = taf.iter().map(|taf| 1.0 / taf).collect();
    let mut book = cx.book();
    book.numbers("AC-talk-traffic-amp-1", &of_all(&grid, &plan.banded_bytes, BYTES), "");
    book.numbers("AC-talk-traffic-amp-2", &taf, "");
    book.numbers("AC-talk-traffic-amp-3", &inverse[..1], "");
    Ok(Outcome { checks: book.finish(), series: grid.into_series() })
}

fn measure(cx: &Context<'_>, plan: &Parameters) -> Result<Grid, LabError> {
    let mut all = plan.small_bytes.clone();
    all.extend(plan.banded_bytes.iter().filter(|size| !plan.small_bytes.contains(size)));
    sizes(cx, &[Method::Prp], &all)
}

fn of_all(grid: &Grid, sizes: &[u32], name: &str) -> Vec<f64> {
    sizes.iter().map(|size| grid.get(Method::Prp, *size, name)).collect()
}

/// What would grow inside a band: a checksum in software, as the profile's first version had it.
fn cause(cx: &Context<'_>, grid: &Grid, plan: &Parameters) -> Result<String, LabError> {
    let (first, last) = (plan.banded_bytes[0], plan.band_bytes);
    let price = plan.first_checksum_byte_ps.to_string();
    let with = otherwise(cx, &[("firmware.cpu.checksum_byte_ps", &price)], &[Method::Prp], &[first, last])?;
    let grows = |grid: &Grid| grid.get(Method::Prp, last, TIME) / grid.get(Method::Prp, first, TIME) - 1.0;
    Ok(format!(
        "Measured from {first} to {last} B: {:+.1} %. Counts as fitted: in the first run the profile had firmware \
         checksum values at {price} ps a byte, and the claim failed; no published firmware of the board does so, and \
         the price is zero now. With it: {:+.1} %.",
        grows(grid) * 100.0,
        grows(&with) * 100.0,
    ))
}

/// Flat inside each band, a step up between them.
fn bands(grid: &Grid, plan: &Parameters) -> Vec<Part> {
    let band = |size: &u32| size.div_ceil(plan.band_bytes);
    let times = |n: u32| -> Vec<f64> {
        let inside: Vec<u32> = plan.banded_bytes.iter().copied().filter(|size| band(size) == n).collect();
        of_all(grid, &inside, TIME)
    };
    let last = plan.banded_bytes.iter().map(band).max().unwrap_or(0);
    let spread = |n| {
        let times = times(n);
        let (least, most) =
            (times.iter().copied().fold(f64::MAX, f64::min), times.iter().copied().fold(0.0, f64::max));
        Part::within(format!("band {n}: spread"), most / least - 1.0, 0.0, FLAT)
    };
    let step = |n: u32| {
        let up =
            times(n + 1).first().copied().unwrap_or(f64::NAN) / times(n).last().copied().unwrap_or(f64::NAN);
        Part::new(format!("band {} over {n}", n + 1), up, up > 1.0)
    };
    (1..=last).map(spread).chain((1..last).map(step)).collect()
}
