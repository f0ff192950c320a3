// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Containers at the host and I/O threads in the device (SAKER, SYSTOR'25, Fig. 4).

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::{Check, Point};
use crate::rig;

use super::saker_tree::{TreeSizes, add_tree, dispatcher_percent, host_percent, io_percent};
use saker_assembly::Build;
use saker_device::{EngineKind, Settings};
use saker_nvme::group::{COUNT_BYTES, Op as GroupOp, entry_bytes};
use saker_sim::Seed;
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    key_bytes: usize,
    value_bytes: Vec<usize>,
    batches: Vec<u16>,
    threads: usize,
    io_cores: Vec<u32>,
    depths: Vec<u16>,
    judged_depth: u16,
    /// The first with all depths and batches.
    stores: Vec<String>,
    other_batches: Vec<u16>,
    /// Modelled bytes of the tree's buffer at full scale.
    tree_buffer_bytes: u64,
    /// The LSM store's sizes at full scale.
    lsm: TreeSizes,
}

/// A run of cells: store, depth, batches.
struct Panel<'a> {
    store: &'a str,
    engine: EngineKind,
    value_bytes: usize,
    depth: u16,
    batches: &'a [u16],
}

/// Bytes of a container.
const CONTAINER_BYTES: usize = 4096;
/// What a step may fall by in larger batches, and with more I/O threads.
const BATCH_SLACK: f64 = 0.98;
const IO_SLACK: f64 = 0.95;

/// Runs saker-write-batch.
pub fn run_batch(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let series = points(cx, &plan)?;
    let checks = judge_batch(cx, &plan, &series);
    Ok(Outcome { series, checks })
}

/// Runs saker-write-io.
pub fn run_io(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let series = points(cx, &plan)?;
    let at = |store: &str, size: usize, io: u32| {
        let place = [("store", json!(store)), ("io_cores", json!(io)), ("value_bytes", json!(size))];
        normalised(&series, &place)
    };
    let cells = plan.stores.iter().flat_map(|store| plan.value_bytes.iter().map(move |size| (store, *size)));
    let parts: Vec<Part> = cells
        .map(|(store, size)| {
            let step = least_step(plan.io_cores.iter().map(|io| at(store, size, *io)));
            Part::new(format!("{store}, {size} B: least step"), step, step >= IO_SLACK)
        })
        .collect();
    let mut book = cx.book();
    book.order("AC-saker-write-io-1", &parts, lsm_delays(&plan, &series));
    let most = plan.io_cores.iter().copied().max().unwrap_or(1);
    let best = plan.value_bytes.iter().map(|size| at("lsm", *size, most)).fold(f64::MIN, f64::max);
    let parts = [Part::new(format!("best of {most} I/O threads over HostKV"), best, best >= 1.05)];
    book.order("AC-saker-write-io-2", &parts, lsm_shares(&plan, &series));
    Ok(Outcome { series, checks: book.finish() })
}

fn points(cx: &Context<'_>, plan: &Parameters) -> Result<Vec<Point>, LabError> {
    let mut series = Vec::new();
    for (n, store) in plan.stores.iter().enumerate() {
        let engine = EngineKind::named(store).unwrap_or_default();
        let (depths, batches) = match n {
            0 => (plan.depths.clone(), &plan.batches),
            _ => (vec![plan.judged_depth], &plan.other_batches),
        };
        for value_bytes in &plan.value_bytes {
            cx.note(format!("{store}, values of {value_bytes} B"));
            for depth in &depths {
                let panel = Panel { store, engine, value_bytes: *value_bytes, depth: *depth, batches };
                cells(cx, plan, &panel, &mut series)?;
            }
        }
    }
    Ok(series)
}

/// HostKV once, and DiskKV with every batch and number of I/O threads.
fn cells(
    cx: &Context<'_>,
    plan: &Parameters,
    panel: &Panel<'_>,
    series: &mut Vec<Point>,
) -> Result<(), LabError> {
    let value_bytes = panel.value_bytes;
    let job = job(cx, plan, value_bytes, panel.depth);
    let bytes = ((job.operations.len() * (value_bytes + 64)) as u64 * 4).max(1 << 30);
    let mut profile = cx.profile()?;
    let tuned = |build: Build| {
        if panel.engine == EngineKind::LSM {
            return cx.asked(plan.lsm.in_build(build, cx.scale));
        }
        let mut build = build.with_engine(panel.engine);
        let buffer = plan.tree_buffer_bytes / u64::from(cx.scale);
        if panel.engine == EngineKind::TREE {
            build.ask(&Settings::told(&[("write_buffer_size", buffer)]));
        }
        cx.asked(build)
    };
    let block = tuned(Build::block(&profile, bytes, cx.seed)?)?;
    let host =
        rig::complete(run_virtual(StoreKind::Host, &block, std::slice::from_ref(&job))?.remove(0), "HostKV")?;
    for io_cores in &plan.io_cores {
        profile.set("firmware.io_cores", &io_cores.to_string())?;
        let kv = tuned(Build::kv(&profile, bytes, cx.seed)?)?;
        for batch in panel.batches {
            let disk = run_virtual(StoreKind::Sessions { batch: *batch }, &kv, std::slice::from_ref(&job))?
                .remove(0);
            let disk = rig::complete(disk, "DiskKV")?;
            let place = [
                ("store", json!(panel.store)),
                ("value_bytes", json!(value_bytes)),
                ("depth", json!(panel.depth)),
                ("batch", json!(batch)),
                ("io_cores", json!(io_cores)),
            ];
            let mut point = point(Point::at(place), &host, &disk);
            if panel.engine == EngineKind::LSM {
                add_tree(&mut point, "host_kv", &host);
                add_tree(&mut point, "disk_kv", &disk);
            }
            series.push(point);
        }
    }
    Ok(())
}

fn point(mut point: Point, host: &RunResult, disk: &RunResult) -> Point {
    point.add("host_kv_per_s", host.rate().round());
    point.add("disk_kv_per_s", disk.rate().round());
    point.add("normalised", disk.rate() / host.rate());
    point.add("disk_kv_commands", disk.commands as f64);
    point.add("disk_kv_operations", disk.operations as f64);
    point.add("disk_kv_link_bytes_per_operation", disk.link_bytes as f64 / disk.operations as f64);
    point.add("host_kv_cpu_percent", host_percent(host));
    point.add("disk_kv_host_percent", host_percent(disk));
    point.add("disk_kv_dispatcher_percent", dispatcher_percent(disk));
    point.add("disk_kv_io_percent", io_percent(disk));
    point
}

fn job(cx: &Context<'_>, plan: &Parameters, value_bytes: usize, depth: u16) -> Job {
    let mut rng = Seed(cx.seed).child("saker-write").rng();
    let value = vec![0x5a; value_bytes];
    let mut put = || {
        let mut key = vec![0; plan.key_bytes];
        rng.fill(&mut key);
        Op::Put(key, value.clone())
    };
    let operations = cx.operations(2000) as usize;
    rig::job(plan.threads, depth, (0..operations).map(|_| put()).collect())
}

fn find<'p>(series: &'p [Point], place: &[(&str, Value)]) -> Option<&'p Point> {
    let place: Vec<(&str, &Value)> = place.iter().map(|(name, value)| (*name, value)).collect();
    series.iter().find(|point| point.is_at(&place))
}

fn normalised(series: &[Point], place: &[(&str, Value)]) -> f64 {
    find(series, place).and_then(|point| point.get("normalised")).unwrap_or(f64::NAN)
}

/// The smallest ratio of a number to the one before it.
fn least_step(numbers: impl Iterator<Item = f64>) -> f64 {
    let numbers: Vec<f64> = numbers.collect();
    numbers.windows(2).map(|w| w[1] / w[0]).fold(f64::MAX, f64::min)
}

fn judge_batch(cx: &Context<'_>, plan: &Parameters, series: &[Point]) -> Vec<Check> {
    let at = |size: usize, batch: u16| {
        let depth = ("depth", json!(plan.judged_depth));
        normalised(series, &[depth, ("value_bytes", json!(size)), ("batch", json!(batch))])
    };
    let sizes = &plan.value_bytes;
    let alone: Vec<f64> = sizes.iter().map(|size| at(*size, 1)).collect();
    let least = alone.iter().copied().fold(f64::MAX, f64::min);
    let mut book = cx.book();
    let parts = [
        Part::within("least of X1 over HostKV", least, 0.075, 0.14),
        Part::new("X1 over HostKV at the smallest value", alone[0], alone[0] <= least),
    ];
    book.order("AC-saker-write-batch-1", &parts, made_of(plan, series));
    let parts: Vec<Part> = sizes
        .iter()
        .map(|size| {
            let step = least_step(plan.batches.iter().map(|batch| at(*size, *batch)));
            Part::new(format!("{size} B: least step"), step, step >= BATCH_SLACK)
        })
        .collect();
    book.order("AC-saker-write-batch-2", &parts, lsm_did(plan, series));
    let close = at(sizes[0], 64);
    let parts = [Part::new("X64 over HostKV at the smallest value", close, close >= 0.80)];
    book.order("AC-saker-write-batch-3", &parts, made_of(plan, series));
    let tree: Vec<Part> = sizes
        .iter()
        .map(|size| {
            let place = [("store", json!("tree")), ("value_bytes", json!(size)), ("batch", json!(1))];
            let alone = normalised(series, &place);
            Part::new(format!("{size} B: X1 over HostKV"), alone, alone >= 0.9)
        })
        .collect();
    book.order("AC-saker-write-batch-4", &tree, rates_of(series, "tree", sizes[0]));
    let measured: Vec<f64> = sizes.iter().map(|size| pairs_of(plan, series, *size)).collect();
    book.numbers(
        "AC-saker-write-batch-5",
        &measured,
        "Pairs of a full container, from the commands of each run.",
    );
    book.finish()
}

/// Pairs of a full container, if the run's commands are those of such containers; otherwise not a number.
fn pairs_of(plan: &Parameters, series: &[Point], size: usize) -> f64 {
    let place = [("value_bytes", json!(size)), ("batch", json!(64)), ("depth", json!(plan.judged_depth))];
    let Some(point) = find(series, &place) else { return f64::NAN };
    let get = |name: &str| point.get(name).unwrap_or(0.0) as usize;
    let room = (CONTAINER_BYTES - COUNT_BYTES) / entry_bytes(GroupOp::Store, plan.key_bytes, size);
    let pairs = room.clamp(1, 64);
    let operations = get("disk_kv_operations");
    let share = |thread: usize| operations / plan.threads + usize::from(thread < operations % plan.threads);
    let containers: usize = (0..plan.threads).map(|thread| share(thread).div_ceil(pairs)).sum();
    // One more for the Flush.
    if get("disk_kv_commands") == containers + 1 { pairs as f64 } else { f64::NAN }
}

/// What the rates are made of with the smallest values.
fn made_of(plan: &Parameters, series: &[Point]) -> String {
    let size = plan.value_bytes[0];
    let text = |batch: u16| {
        let depth = ("depth", json!(plan.judged_depth));
        let place = [depth, ("value_bytes", json!(size)), ("batch", json!(batch))];
        let get = |name: &str| find(series, &place).and_then(|p| p.get(name)).unwrap_or(f64::NAN);
        format!(
            "X{batch} at {size} B: HostKV {:.2} M/s, its threads busy for {:.0} %; DiskKV {:.2} M/s, threads {:.0} %, dispatcher {:.0} %, \
             I/O threads {:.0} %, {:.1} B over the link each.",
            get("host_kv_per_s") / 1e6,
            get("host_kv_cpu_percent"),
            get("disk_kv_per_s") / 1e6,
            get("disk_kv_host_percent"),
            get("disk_kv_dispatcher_percent"),
            get("disk_kv_io_percent"),
            get("disk_kv_link_bytes_per_operation"),
        )
    };
    [1, 64].map(text).join(" ")
}

/// What the LSM store's rates are made of with the most I/O threads, and what fewer threads give.
fn lsm_shares(plan: &Parameters, series: &[Point]) -> String {
    let cores = [plan.io_cores.iter().min(), plan.io_cores.iter().max()].map(|n| n.copied().unwrap_or(1));
    let text = |size: &usize| {
        let get = |io: u32, name: &str| {
            let place = [("store", json!("lsm")), ("value_bytes", json!(size)), ("io_cores", json!(io))];
            find(series, &place).and_then(|point| point.get(name)).unwrap_or(f64::NAN)
        };
        let [few, many] = cores.map(|io| get(io, "disk_kv_per_s") / 1e6);
        let of = |name: &str| get(cores[1], name);
        format!(
            "{size} B {few:.2} to {many:.2} of {:.2}, busy for {:.0} % (HostKV's threads), {:.0} % (dispatcher) and {:.0} % (I/O threads)",
            of("host_kv_per_s") / 1e6,
            of("host_kv_cpu_percent"),
            of("disk_kv_dispatcher_percent"),
            of("disk_kv_io_percent"),
        )
    };
    let all: Vec<String> = plan.value_bytes.iter().map(text).collect();
    let [few, many] = cores;
    let all = all.join("; ");
    format!("lsm in M/s with {few} to {many} I/O threads, of HostKV's: {all}. {}", lsm_did(plan, series))
}

/// For how long the LSM store in the device held writes, by I/O threads.
fn lsm_delays(plan: &Parameters, series: &[Point]) -> String {
    let text = |size: &usize| {
        let of = |io: &u32| {
            let place = [("store", json!("lsm")), ("value_bytes", json!(size)), ("io_cores", json!(io))];
            let get = |name: &str| find(series, &place).and_then(|p| p.get(name)).unwrap_or(f64::NAN);
            let run = get("disk_kv_operations") / get("disk_kv_per_s") * 1e3;
            format!("{:.1} and {:.1} of {run:.1}", get("disk_kv_stopped_ms"), get("disk_kv_delayed_ms"))
        };
        let all: Vec<String> = plan.io_cores.iter().map(of).collect();
        format!("{size} B {}", all.join(", "))
    };
    let all: Vec<String> = plan.value_bytes.iter().map(text).collect();
    format!(
        "Milliseconds for which writes of lsm in the device were stopped and delayed, of the run's, with {:?} I/O threads: {}.",
        plan.io_cores,
        all.join("; ")
    )
}

/// How often the LSM stores flushed and compacted by the end of the runs, and for how long they held writes.
fn lsm_did(plan: &Parameters, series: &[Point]) -> String {
    let text = |size: &usize| {
        let point = find(series, &[("store", json!("lsm")), ("value_bytes", json!(size))])?;
        let get = |name: &str| point.get(name).unwrap_or(f64::NAN);
        let side = |side: &str| {
            format!(
                "{:.0} and {:.0}, {:.1} ms stopped and {:.1} delayed",
                get(&format!("{side}_flushes")),
                get(&format!("{side}_compactions")),
                get(&format!("{side}_stopped_ms")),
                get(&format!("{side}_delayed_ms")),
            )
        };
        Some(format!("{size} B: HostKV {}; DiskKV {}", side("host_kv"), side("disk_kv")))
    };
    let all: Vec<String> = plan.value_bytes.iter().filter_map(text).collect();
    format!("Flushes and compactions of lsm in the first cell of each size: {}.", all.join(". "))
}

/// The rates of a store's first cell with values of a size.
fn rates_of(series: &[Point], store: &str, size: usize) -> String {
    let point = find(series, &[("store", json!(store)), ("value_bytes", json!(size))]);
    let get = |name: &str| point.and_then(|p| p.get(name)).unwrap_or(f64::NAN);
    format!(
        "{store} at {size} B: HostKV {:.2} M/s, its threads busy for {:.0} %; DiskKV {:.2} M/s in the first cell, I/O threads {:.0} %, \
         {:.0} B over the link each.",
        get("host_kv_per_s") / 1e6,
        get("host_kv_cpu_percent"),
        get("disk_kv_per_s") / 1e6,
        get("disk_kv_io_percent"),
        get("disk_kv_link_bytes_per_operation"),
    )
}
