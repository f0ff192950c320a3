// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How far DiskKV falls behind HostKV without batching (SAKER, SYSTOR'25, Fig. 1).

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::rig;

use super::saker_tree::{dispatcher_percent, io_percent};
use saker_assembly::Build;
use saker_profile::Profile;
use saker_sim::Seed;
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    key_bytes: usize,
    value_bytes: Vec<usize>,
    threads: Vec<usize>,
    depths: Vec<u16>,
    judged_threads: usize,
    judged_depth: u16,
}

/// Ratio that a step may rise by before it counts as growing: the rounding of event times.
const STEP: f64 = 1.001;
/// The value sizes whose rates are explained.
const CAUSE_BYTES: [usize; 2] = [16, 256];

pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let mut series = Vec::new();
    for name in &cx.plan.profiles {
        let profile = cx.profile_named(name)?;
        for value_bytes in &plan.value_bytes {
            cx.note(format!("{name}, values of {value_bytes} B"));
            points(cx, &plan, &profile, *value_bytes, &mut series)?;
        }
    }
    let causes = [cause(cx, &plan, &series, CAUSE_BYTES[0])?, cause(cx, &plan, &series, CAUSE_BYTES[1])?];
    let checks = judge(cx, &plan, &series, &causes);
    Ok(Outcome { series, checks })
}

fn points(
    cx: &Context<'_>,
    plan: &Parameters,
    profile: &Profile,
    value_bytes: usize,
    series: &mut Vec<Point>,
) -> Result<(), LabError> {
    let operations = cx.operations(1000) as usize;
    let bytes = ((operations * (value_bytes + 64)) as u64 * 4).max(1 << 30);
    let (block, kv) = (Build::block(profile, bytes, cx.seed)?, Build::kv(profile, bytes, cx.seed)?);
    for threads in &plan.threads {
        for depth in &plan.depths {
            let job = job(cx, plan, value_bytes, operations, *threads, *depth);
            let place = [
                ("profile", json!(profile.name)),
                ("threads", json!(threads)),
                ("depth", json!(depth)),
                ("value_bytes", json!(value_bytes)),
            ];
            let host = rig::complete(
                run_virtual(StoreKind::Host, &block, std::slice::from_ref(&job))?.remove(0),
                "HostKV",
            )?;
            let disk = rig::complete(run_virtual(StoreKind::Disk, &kv, &[job])?.remove(0), "DiskKV")?;
            series.push(point(Point::at(place), &host, &disk));
        }
    }
    Ok(())
}

fn point(mut point: Point, host: &RunResult, disk: &RunResult) -> Point {
    point.add("host_kv_per_s", host.rate().round());
    point.add("disk_kv_per_s", disk.rate().round());
    point.add("ratio", host.rate() / disk.rate());
    point.add("disk_kv_dispatcher_percent", dispatcher_percent(disk));
    point.add("disk_kv_io_percent", io_percent(disk));
    point.add("disk_kv_link_bytes_per_operation", disk.link_bytes as f64 / disk.operations as f64);
    point.add("host_kv_latency_us_mean", host.latency.mean() / 1e3);
    point.add("disk_kv_latency_us_mean", disk.latency.mean() / 1e3);
    point
}

fn job(
    cx: &Context<'_>,
    plan: &Parameters,
    value_bytes: usize,
    operations: usize,
    threads: usize,
    depth: u16,
) -> Job {
    let mut rng = Seed(cx.seed).child("saker-motiv").rng();
    let value = vec![0x5a; value_bytes];
    let mut put = || {
        let mut key = vec![0; plan.key_bytes];
        rng.fill(&mut key);
        Op::Put(key, value.clone())
    };
    rig::job(threads, depth, (0..operations).map(|_| put()).collect())
}

fn judge(
    cx: &Context<'_>,
    plan: &Parameters,
    series: &[Point],
    causes: &[String; 2],
) -> Vec<crate::report::Check> {
    let place = [("threads", &json!(plan.judged_threads)), ("depth", &json!(plan.judged_depth))];
    let judged: Vec<&Point> = series.iter().filter(|p| p.is_at(&place)).collect();
    let ratio = |profile: &str, size: usize| {
        let here = [("profile", &json!(profile)), ("value_bytes", &json!(size))];
        judged.iter().find(|p| p.is_at(&here)).and_then(|p| p.get("ratio")).unwrap_or(f64::NAN)
    };
    let classes = &cx.plan.profiles;
    let small: Vec<f64> = classes.iter().map(|c| ratio(c, plan.value_bytes[0])).collect();
    let best = small.iter().copied().fold(f64::MIN, f64::max);
    let least = small.iter().copied().fold(f64::MAX, f64::min);
    let rise = |class: &String| {
        let steps = plan.value_bytes.windows(2).map(|w| ratio(class, w[1]) / ratio(class, w[0]));
        steps.fold(f64::MIN, f64::max)
    };
    let [low, mid, high] = [0, 1, 2].map(|n| ratio(&classes[n], 256));
    let mut book = cx.book();
    let bounds = [
        Part::new("best class >= 4.1", best, best >= 4.1),
        Part::new("every class >= 3", least, least >= 3.0),
    ];
    book.order("AC-saker-motiv-1", &bounds, causes[0].as_str());
    let steps: Vec<Part> = classes
        .iter()
        .map(|c| Part::new(format!("{c}: largest step up"), rise(c), rise(c) <= STEP))
        .collect();
    book.order("AC-saker-motiv-2", &steps, "");
    let middle = [
        Part::new("low at 256 B <= 1.15", low, low <= 1.15),
        Part::new("high at 256 B >= 2.0", high, high >= 2.0),
        Part::new("mid at 256 B, between them", mid, low <= mid && mid <= high),
    ];
    book.order("AC-saker-motiv-3", &middle, causes[1].as_str());
    book.finish()
}

/// What the rates are made of where the verdict is taken, and the same with a dispatcher that takes no time.
fn cause(
    cx: &Context<'_>,
    plan: &Parameters,
    series: &[Point],
    value_bytes: usize,
) -> Result<String, LabError> {
    let mut text = String::new();
    for name in &cx.plan.profiles {
        let place = [
            ("profile", &json!(name)),
            ("threads", &json!(plan.judged_threads)),
            ("depth", &json!(plan.judged_depth)),
            ("value_bytes", &json!(value_bytes)),
        ];
        let Some(point) = series.iter().find(|p| p.is_at(&place)) else { continue };
        let get = |number: &str| point.get(number).unwrap_or(f64::NAN);
        let link = cx.profile_named(name)?.link.bandwidth_bytes_per_s.get() as f64;
        let used = get("disk_kv_per_s") * get("disk_kv_link_bytes_per_operation") / link * 100.0;
        let used = if link > 0.0 { format!("{used:.0} % of its bandwidth") } else { "no limit".to_owned() };
        let free = undispatched(cx, plan, name, value_bytes)?;
        let _ = write!(
            text,
            " {name} at {value_bytes} B: HostKV {:.2} M/s, DiskKV {:.2} M/s with the dispatcher busy for {:.0} % and {:.0} B \
             over the link each ({used}); ratio {:.2}, with a dispatcher that takes no time {free:.2}.",
            get("host_kv_per_s") / 1e6,
            get("disk_kv_per_s") / 1e6,
            get("disk_kv_dispatcher_percent"),
            get("disk_kv_link_bytes_per_operation"),
            get("ratio"),
        );
    }
    Ok(text.trim_start().to_owned())
}

/// The ratio where the verdict is taken, on a profile whose dispatcher takes no time.
fn undispatched(
    cx: &Context<'_>,
    plan: &Parameters,
    name: &str,
    value_bytes: usize,
) -> Result<f64, LabError> {
    let mut profile = cx.profile_named(name)?;
    profile.set("firmware.fetch_ns", "0")?;
    profile.set("firmware.dispatch_ns", "0")?;
    let one =
        Parameters { threads: vec![plan.judged_threads], depths: vec![plan.judged_depth], ..plan.clone() };
    let mut series = Vec::new();
    points(cx, &one, &profile, value_bytes, &mut series)?;
    Ok(series[0].get("ratio").unwrap_or(f64::NAN))
}
