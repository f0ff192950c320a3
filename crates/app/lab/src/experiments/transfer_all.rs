// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every method at every size: bytes, commands, times, host time. No paper has this table.

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::experiments::bandslim::{Common, Grid, link_bytes};
use crate::judge::Part;
use crate::report::Point;
use saker_host::{Method, Pacing};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    value_bytes: Vec<u32>,
    piggyback_bytes_max: u32,
    inline_bytes_max: u32,
    mmio_bytes_max: u32,
    sgl_threshold_bytes: u32,
}

impl Parameters {
    /// The largest value that device memory takes, where the plan says so.
    fn bytes_max(&self, method: Method) -> u32 {
        match method {
            Method::Piggyback => self.piggyback_bytes_max,
            Method::Inline => self.inline_bytes_max,
            Method::Mmio => self.mmio_bytes_max,
            _ => u32::MAX,
        }
    }
}

const BYTES: &str = "link_bytes_per_operation";
const TIME: &str = "transfer_us_mean";

/// Runs transfer-all.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let serial = grid(cx, &plan, Pacing::Passthrough, false)?;
    let mut book = cx.book();
    let (wrong, compared) = miscounted(&serial);
    let counts = [
        Part::new("cells unlike the published sizes", wrong, wrong == 0.0),
        Part::new("cells compared", compared, compared > 0.0),
    ];
    book.order(
        "AC-transfer-all-1",
        &counts,
        "Of one command at a time; every method that a paper gives sizes for.",
    );
    book.order("AC-transfer-all-2", &crossover(&serial, &plan), crossover_cause(&serial, &plan));
    let pipelined = grid(cx, &plan, Pacing::Pipelined, false)?;
    let stored = grid(cx, &plan, Pacing::Pipelined, true)?;
    let all = [("passthrough", "off", serial), ("pipelined", "off", pipelined), ("pipelined", "on", stored)];
    let series = all.into_iter().flat_map(|(pacing, nand, grid)| placed(grid, pacing, nand)).collect();
    Ok(Outcome { checks: book.finish(), series })
}

fn grid(cx: &Context<'_>, plan: &Parameters, pacing: Pacing, nand: bool) -> Result<Grid, LabError> {
    let profile = cx.profile()?;
    let common = Common { profile: &profile, operations: cx.operations(100), pacing, nand };
    let mut grid = Grid::default();
    for method in Method::ALL {
        let carried = |size: &u32| method.takes(*size) && *size <= plan.bytes_max(method);
        let sizes: Vec<u32> = plan.value_bytes.iter().copied().filter(carried).collect();
        grid.add_method(cx, &common, method, &sizes)?;
    }
    Ok(grid)
}

fn placed(grid: Grid, pacing: &str, nand: &str) -> Vec<Point> {
    let mut points = grid.into_series();
    for point in &mut points {
        point.at.insert("pacing".into(), json!(pacing));
        point.at.insert("nand".into(), json!(nand));
    }
    points
}

/// Cells whose bytes are not those of the published sizes, and cells that have published sizes.
fn miscounted(grid: &Grid) -> (f64, f64) {
    let (mut wrong, mut compared) = (0, 0);
    for method in Method::ALL {
        for (_, size, _) in grid.runs().filter(|(name, ..)| *name == method.name()) {
            let Some(published) = link_bytes(method, u64::from(size)) else { continue };
            compared += 1;
            wrong += u32::from(grid.get(method, size, BYTES) != published as f64);
        }
    }
    (f64::from(wrong), f64::from(compared))
}

fn crossover(grid: &Grid, plan: &Parameters) -> Vec<Part> {
    let over = |size: &u32| grid.ratio(Method::Sgl, Method::Prp, *size, TIME);
    let below = plan.value_bytes.iter().filter(|size| **size < plan.sgl_threshold_bytes);
    let least = below.map(over).fold(f64::MAX, f64::min);
    let above = plan.value_bytes.iter().filter(|size| **size >= plan.sgl_threshold_bytes);
    let most = above.map(over).fold(f64::MIN, f64::max);
    vec![
        Part::new("SGL over PRP below 32 KB, least", least, least > 1.0),
        Part::new("SGL over PRP from 32 KB, most", most, most <= 1.0),
    ]
}

fn crossover_cause(grid: &Grid, plan: &Parameters) -> String {
    let at = |method, size| grid.get(method, size, TIME);
    let over = |size: &&u32| grid.ratio(Method::Sgl, Method::Prp, **size, TIME) <= 1.0;
    let faster: Vec<String> = plan.value_bytes.iter().filter(over).map(ToString::to_string).collect();
    let sizes = if faster.is_empty() { "no size".to_owned() } else { faster.join(", ") };
    format!(
        "SGL is not slower at {sizes} (B). Measured at 4 KB: PRP {:.2} us, SGL {:.2} us; at 64 KB: PRP {:.2} us, SGL \
         {:.2} us. Set-up of an SGL and DMA of a page cost what the profile says.",
        at(Method::Prp, 4096),
        at(Method::Sgl, 4096),
        at(Method::Prp, 65_536),
        at(Method::Sgl, 65_536),
    )
}
