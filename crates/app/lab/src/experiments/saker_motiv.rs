//! How far DiskKV falls behind HostKV without batching (SAKER, SYSTOR'25, Fig. 1).

use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::rig;
use crate::run::{Context, Outcome};
use saker_sim::Seed;
use saker_sim::profile::Profile;
use saker_world::{Build, Job, RunResult, Side, run_disk_kv, run_host_kv};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
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
    let checks = judge(cx, &plan, &series);
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
            let host = rig::complete(run_host_kv(&block, std::slice::from_ref(&job))?.remove(0), "HostKV")?;
            let disk = rig::complete(run_disk_kv(&kv, &[job])?.remove(0), "DiskKV")?;
            series.push(point(Point::at(place), &host, &disk));
        }
    }
    Ok(())
}

fn point(mut point: Point, host: &RunResult, disk: &RunResult) -> Point {
    point.add("host_kv_per_s", host.rate().round());
    point.add("disk_kv_per_s", disk.rate().round());
    point.add("ratio", host.rate() / disk.rate());
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
        Side::Put(key, value.clone())
    };
    rig::job(threads, depth, (0..operations).map(|_| put()).collect())
}

fn judge(cx: &Context<'_>, plan: &Parameters, series: &[Point]) -> Vec<crate::report::Check> {
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
    let cause = cause(cx, series, plan);
    let mut book = cx.book();
    let bounds = [
        Part::new("best class >= 4.1", best, best >= 4.1),
        Part::new("every class >= 3", least, least >= 3.0),
    ];
    book.order("AC-saker-motiv-1", &bounds, cause.clone());
    let steps: Vec<Part> = classes
        .iter()
        .map(|c| Part::new(format!("{c}: largest step up"), rise(c), rise(c) <= STEP))
        .collect();
    book.order("AC-saker-motiv-2", &steps, cause.clone());
    let middle = [
        Part::new("low at 256 B <= 1.15", low, low <= 1.15),
        Part::new("high at 256 B >= 2.0", high, high >= 2.0),
        Part::new("mid at 256 B, between them", mid, low <= mid && mid <= high),
    ];
    book.order("AC-saker-motiv-3", &middle, cause);
    book.finish()
}

/// What the two rates are made of at the smallest value, from the run and the profile.
fn cause(cx: &Context<'_>, series: &[Point], plan: &Parameters) -> String {
    let class = cx.plan.profiles.last().map_or("", String::as_str);
    let at = |threads: usize, depth: u16, name: &str| {
        let place = [
            ("profile", &json!(class)),
            ("threads", &json!(threads)),
            ("depth", &json!(depth)),
            ("value_bytes", &json!(plan.value_bytes[0])),
        ];
        series.iter().find(|p| p.is_at(&place)).and_then(|p| p.get(name)).unwrap_or(f64::NAN)
    };
    let (threads, depth) = (plan.judged_threads, plan.judged_depth);
    format!(
        "Measured in {class} at {} B: HostKV {:.2} M/s, DiskKV {:.2} M/s, ratio {:.2}; with one in flight {:.2} M/s \
         and {:.2} M/s, ratio {:.2}. No cost is fitted.",
        plan.value_bytes[0],
        at(threads, depth, "host_kv_per_s") / 1e6,
        at(threads, depth, "disk_kv_per_s") / 1e6,
        at(threads, depth, "ratio"),
        at(threads, plan.depths[0], "host_kv_per_s") / 1e6,
        at(threads, plan.depths[0], "disk_kv_per_s") / 1e6,
        at(threads, plan.depths[0], "ratio"),
    )
}
