// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Zipfian reads with caches of three sizes (SAKER, SYSTOR'25, Fig. 5).

use super::{cache, on_disk, on_host, time, with_cores};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::experiments::saker_tree::{TreeSizes, counter, dispatcher_percent, host_percent, io_percent};
use crate::judge::Part;
use crate::report::{Check, Point};
use crate::rig;
use saker_assembly::Build;
use saker_sim::Seed;
use saker_workload::{Distribution, KeyForm, KeySpace};
use saker_world::{Job, Op, RunResult};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    key_bytes: usize,
    value_bytes: Vec<usize>,
    data_mb: u64,
    cache_mib: Vec<usize>,
    cache_value_bytes_max: usize,
    skews: Vec<f64>,
    threads: usize,
    io_cores: usize,
    depth: u16,
    /// The LSM store's sizes at full scale.
    lsm: TreeSizes,
}

pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let mut series = Vec::new();
    for value_bytes in &plan.value_bytes {
        for cache_mib in &plan.cache_mib {
            cx.note(format!("values of {value_bytes} B, cache of {cache_mib} MiB"));
            points(cx, &plan, *value_bytes, *cache_mib, &mut series)?;
        }
    }
    let checks = judge(cx, &plan, &series, &made_of(cx, &plan)?);
    Ok(Outcome { series, checks })
}

/// One store on each side, all skews one after the other.
fn points(
    cx: &Context<'_>,
    plan: &Parameters,
    value_bytes: usize,
    cache_mib: usize,
    series: &mut Vec<Point>,
) -> Result<(), LabError> {
    let jobs = jobs(cx, plan, value_bytes)?;
    let cache = cache(cx, cache_mib, plan.cache_value_bytes_max);
    let profile = with_cores(cx.profile()?, plan.io_cores)?;
    let build = |build: Build| cx.asked(Build { cache, ..plan.lsm.in_build(build, cx.scale) });
    let host = on_host(build(Build::block(&profile, 1 << 30, cx.seed)?)?, &jobs)?;
    let disk = on_disk(build(Build::kv(&profile, 1 << 30, cx.seed)?)?, &jobs)?;
    // The filling, then for each skew reads that warm the cache, and reads that count.
    for (n, skew) in plan.skews.iter().enumerate() {
        let place =
            [("value_bytes", json!(value_bytes)), ("cache_mib", json!(cache_mib)), ("skew", json!(skew))];
        series.push(point(Point::at(place), &host[2 + 2 * n], &disk[2 + 2 * n]));
    }
    Ok(())
}

fn point(mut point: Point, host: &RunResult, disk: &RunResult) -> Point {
    point.add("host_kv_per_s", host.rate().round());
    point.add("disk_kv_per_s", disk.rate().round());
    point.add("gap", 1.0 - disk.rate() / host.rate());
    point.add("host_kv_hit_ratio", host.cache.hit_ratio());
    point.add("disk_kv_hit_ratio", disk.cache.hit_ratio());
    point.add("host_kv_latency_us_mean", host.latency.mean() / 1e3);
    point.add("disk_kv_latency_us_mean", disk.latency.mean() / 1e3);
    for (side, run) in [("host_kv", host), ("disk_kv", disk)] {
        point.add(&format!("{side}_flushes"), counter(run, "flushes") as f64);
        point.add(&format!("{side}_compactions"), counter(run, "compactions") as f64);
        point.add(&format!("{side}_nand_pages"), run.reads.nand_pages as f64 / run.operations.max(1) as f64);
        point.add(&format!("{side}_threads_percent"), host_percent(run));
    }
    point.add("disk_kv_dispatcher_percent", dispatcher_percent(disk));
    point.add("disk_kv_io_percent", io_percent(disk));
    point
}

fn jobs(cx: &Context<'_>, plan: &Parameters, value_bytes: usize) -> Result<Vec<Job>, LabError> {
    let pairs =
        (plan.data_mb * 1_000_000 / u64::from(cx.scale) / (plan.key_bytes + value_bytes) as u64).max(500);
    let keys = KeySpace::new(cx.seed, plan.key_bytes, KeyForm::Hashed)?;
    let fill = (0..pairs).map(|n| Op::Put(keys.key(n), vec![n as u8; value_bytes])).collect();
    let mut jobs = vec![rig::job(plan.threads, plan.depth, fill)];
    let reads = cx.operations(300);
    for skew in &plan.skews {
        let mut picker = Distribution::Skewed { alpha: *skew }.picker(cx.seed, pairs)?;
        let mut rng = Seed(cx.seed).child("saker-read-cache").rng();
        for _ in 0..2 {
            let operations = (0..reads).map(|_| Op::Get(keys.key(picker.pick(&mut rng)))).collect();
            jobs.push(Job { flush: false, ..rig::job(plan.threads, plan.depth, operations) });
        }
    }
    Ok(jobs)
}

fn judge(cx: &Context<'_>, plan: &Parameters, series: &[Point], made_of: &str) -> Vec<Check> {
    let at = |size: &usize, cache: &usize, skew: &f64, name: &str| {
        let place = [("value_bytes", json!(size)), ("cache_mib", json!(cache)), ("skew", json!(skew))];
        let place: Vec<_> = place.iter().map(|(name, value)| (*name, value)).collect();
        series.iter().find(|p| p.is_at(&place)).and_then(|p| p.get(name)).unwrap_or(f64::NAN)
    };
    let parts = |caches: &[usize], least: f64, most: f64| {
        let mut parts = Vec::new();
        for cache in caches {
            for (size, skew) in plan.value_bytes.iter().flat_map(|v| plan.skews.iter().map(move |s| (v, s))) {
                let name = format!("gap with {cache} MiB, {size} B, s = {skew}");
                parts.push(Part::within(name, at(size, cache, skew, "gap"), least, most));
            }
        }
        parts
    };
    let (without, with): (Vec<usize>, Vec<usize>) = plan.cache_mib.iter().partition(|mib| **mib == 0);
    let mut book = cx.book();
    book.order("AC-saker-read-cache-1", &parts(&without, 0.14, 0.28), made_of);
    book.order("AC-saker-read-cache-2", &parts(&with, -0.07, 0.07), busy(plan, series));
    let mean = |size: &usize| {
        plan.skews.iter().map(|skew| at(size, &0, skew, "gap")).sum::<f64>() / plan.skews.len() as f64
    };
    let most = plan.value_bytes.iter().map(mean).fold(f64::MIN, f64::max);
    let below = |size: usize| {
        Part::new(
            format!("gap without cache at {size} B, below the largest"),
            mean(&size),
            mean(&size) < most,
        )
    };
    book.order("AC-saker-read-cache-3", &[below(16), below(1024)], "");
    book.finish()
}

/// How busy both sides were with the largest cache, and what the trees had done by then.
fn busy(plan: &Parameters, series: &[Point]) -> String {
    let most = json!(plan.cache_mib.iter().max());
    let skew = json!(plan.skews.get(plan.skews.len() / 2));
    let text = |size: &usize| {
        let place = [("value_bytes", &json!(size)), ("cache_mib", &most), ("skew", &skew)];
        let point = series.iter().find(|p| p.is_at(&place))?;
        let get = |name: &str| point.get(name).unwrap_or(f64::NAN);
        Some(format!(
            "{size} B: {:.1} and {:.1} % hits, threads busy for {:.0} and {:.0} %, dispatcher {:.0} %, I/O threads {:.0} %, {:.0} and {:.0} \
             flushes, {:.0} and {:.0} compactions",
            100.0 * get("host_kv_hit_ratio"),
            100.0 * get("disk_kv_hit_ratio"),
            get("host_kv_threads_percent"),
            get("disk_kv_threads_percent"),
            get("disk_kv_dispatcher_percent"),
            get("disk_kv_io_percent"),
            get("host_kv_flushes"),
            get("disk_kv_flushes"),
            get("host_kv_compactions"),
            get("disk_kv_compactions"),
        ))
    };
    let all: Vec<String> = plan.value_bytes.iter().filter_map(text).collect();
    format!("HostKV and DiskKV with the largest cache, s = {skew}: {}.", all.join("; "))
}

/// What a read without a cache is made of, with the shortest and the longest values and the middle exponent.
fn made_of(cx: &Context<'_>, plan: &Parameters) -> Result<String, LabError> {
    let (first, last) = (plan.value_bytes[0], plan.value_bytes[plan.value_bytes.len() - 1]);
    let of = |value_bytes| -> Result<String, LabError> {
        let [host, small, disk] = traced(cx, plan, value_bytes)?;
        let ratio = |host: &RunResult| 1.0 - disk.rate() / host.rate();
        Ok(format!(
            "{value_bytes} B without a cache: {} {} The gap is {:.2}, and {:.2} with pages of 4 KiB at the host.",
            time::of_reads("HostKV", &host),
            time::of_reads("DiskKV", &disk),
            ratio(&host),
            ratio(&small),
        ))
    };
    Ok(format!("{} {}", of(first)?, of(last)?))
}

/// HostKV as it is, HostKV with the smallest pages a block device takes, and DiskKV.
fn traced(cx: &Context<'_>, plan: &Parameters, value_bytes: usize) -> Result<[RunResult; 3], LabError> {
    let mut jobs = jobs(cx, plan, value_bytes)?;
    jobs.truncate(3);
    let profile = with_cores(cx.profile()?, plan.io_cores)?;
    let build = |build: Build| cx.asked(Build { traces: true, ..plan.lsm.in_build(build, cx.scale) });
    let block = build(Build::block(&profile, 1 << 30, cx.seed)?)?;
    let mut host = on_host(block.clone(), &jobs)?;
    let mut small = on_host(Build { host_page_bytes: 4096, ..block }, &jobs)?;
    let mut disk = on_disk(build(Build::kv(&profile, 1 << 30, cx.seed)?)?, &jobs)?;
    Ok([host.swap_remove(2), small.swap_remove(2), disk.swap_remove(2)])
}
