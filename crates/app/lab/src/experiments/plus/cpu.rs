// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device-CPU factor: by how much one core's times are to be stretched so that it takes as long as another.

use super::device::Device;
use super::size::{Published, Size};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use saker_sim::{Meter, Seed, Unit};
use saker_workload::{Distribution, Kind, Plan, Suite, SuiteOptions};
use serde::Deserialize;
use serde_json::json;

/// Counts work; what a unit costs is asked later.
#[derive(Clone, Copy, Debug, Default)]
struct Tally([u64; Unit::COUNT]);

impl Meter for Tally {
    fn work(&mut self, unit: Unit, n: u64) {
        self.0[unit as usize] += n;
    }
}

impl Tally {
    fn seconds(&self, picos: &[u64; Unit::COUNT]) -> f64 {
        self.0.iter().zip(picos).map(|(n, ps)| *n as f64 * *ps as f64).sum::<f64>() / 1e12
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    disk_bytes: u64,
    superblock_pages: u32,
    page_bytes: u32,
    pairs: u64,
    device_core: String,
}

fn tally(filled: &Device<Tally>, size: Size, suite: Suite, seed: u64) -> Result<Tally, LabError> {
    let mut device = filled.clone();
    let options = SuiteOptions { operations: size.operations, value_bytes: 1000, key_bytes: None, seed };
    let plan = Plan { keys: size.pairs, ..suite.plan(&options)? };
    let plan = Plan { distribution: Distribution::Uniform, seed: Seed(seed).child("cpu").0, ..plan };
    device.meter = Tally::default();
    for operation in plan.operations()? {
        match operation.kind {
            Kind::Get => device.retrieve(operation.key)?,
            _ => device.store(operation.key)?,
        }
    }
    Ok(device.meter)
}

/// Runs plus-cpu.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let Parameters { disk_bytes, superblock_pages, page_bytes, pairs, .. } = plan;
    let operations = cx.plan.operations;
    let published = Published { disk_bytes, superblock_pages, page_bytes, pairs, operations };
    let size = Size::of(&published, cx.scale);
    let (here, there) =
        (cx.profile()?.firmware.cpu.picos(), cx.profile_named(&plan.device_core)?.firmware.cpu.picos());
    let runs = [(Suite::YcsbA, "A"), (Suite::YcsbB, "B"), (Suite::YcsbC, "C")];
    let mut filled = Device::new(size, Tally::default());
    (0..size.pairs).try_for_each(|key| filled.store(key))?;
    let mut times = Vec::new();
    for (suite, name) in runs {
        let work = tally(&filled, size, suite, cx.seed)?;
        // As many operations as published.
        let whole = cx.plan.operations as f64 / size.operations as f64;
        times.push((name, work.seconds(&here) * whole, work.seconds(&there) * whole));
    }
    let sum = |of: fn(&(&str, f64, f64)) -> f64| times.iter().map(of).sum::<f64>();
    let factor = sum(|t| t.2) / sum(|t| t.1);
    let mut book = cx.book();
    let parts: Vec<_> = times.iter().map(|t| residual(t, factor)).collect();
    let note = format!(
        "firmware.cpu_factor_percent = {:.0} makes a core of {} as slow as one of {}.",
        factor * 100.0,
        cx.plan.profiles[0],
        plan.device_core
    );
    book.order("AC-plus-cpu-1", &parts, note);
    let series = times.iter().map(|(name, here, there)| {
        let mut point = Point::at([("workload", json!(name))]);
        point.add("seconds_as_stated", *here);
        point.add("seconds_device_core", *there);
        point.add("seconds_with_factor", here * factor);
        point.add("cpu_factor_percent", factor * 100.0);
        point
    });
    Ok(Outcome { checks: book.finish(), series: series.collect() })
}

/// The run time that one factor for all leaves over.
fn residual((name, here, there): &(&str, f64, f64), factor: f64) -> Part {
    let left = (here * factor - there).abs();
    let percent = left / there * 100.0;
    Part::new(format!("YCSB {name}: percent left ({left:.2} s)"), percent, left <= 1.0 || percent <= 2.0)
}
