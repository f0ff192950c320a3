// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use crate::chart::Figure;
use crate::plan::{ChartPlan, Planted, Settings};
use crate::report::{Experiment, Verdict};
use crate::shared_runs::SharedRuns;
use saker_testing::is_soak;
use std::collections::BTreeSet;

/// Every check that the experiments of this group owe.
const OWED: &[&str] = &[
    "AC-saker-motiv-1",
    "AC-saker-motiv-2",
    "AC-saker-motiv-3",
    "AC-saker-write-batch-1",
    "AC-saker-write-batch-2",
    "AC-saker-write-batch-3",
    "AC-saker-write-batch-4",
    "AC-saker-write-batch-5",
    "AC-saker-write-io-1",
    "AC-saker-write-io-2",
    "AC-saker-read-cache-1",
    "AC-saker-read-cache-2",
    "AC-saker-read-cache-3",
    "AC-saker-tpcc-1",
    "AC-saker-tpcc-2",
    "AC-saker-tpcc-3",
    "AC-saker-tpcc-4",
    "AC-saker-tpcc-5",
    "AC-saker-tpcc-6",
    "AC-bandslim-fig3-1",
    "AC-bandslim-fig3-2",
    "AC-bandslim-fig3-3",
    "AC-bandslim-fig4-1",
    "AC-bandslim-fig4-2",
    "AC-bandslim-fig4-3",
    "AC-bandslim-fig8-1",
    "AC-bandslim-fig8-2",
    "AC-bandslim-fig8-3",
    "AC-bandslim-fig8-4",
    "AC-bandslim-fig9-1",
    "AC-bandslim-fig9-2",
    "AC-bandslim-fig9-3",
    "AC-bandslim-fig10a-1",
    "AC-bandslim-fig10a-2",
    "AC-bandslim-fig10a-3",
    "AC-bandslim-fig10b-1",
    "AC-bandslim-fig10c-1",
    "AC-bandslim-fig10c-2",
    "AC-bandslim-fig10c-3",
    "AC-bandslim-fig10d-1",
    "AC-bandslim-fig11-1",
    "AC-bandslim-fig11-2",
    "AC-bandslim-fig11-3",
    "AC-bandslim-fig11-4",
    "AC-bandslim-fig12-1",
    "AC-bandslim-fig12-2",
    "AC-bandslim-fig12-3",
    "AC-bandslim-fig12-4",
    "AC-packing-all-1",
    "AC-packing-all-2",
    "AC-packing-all-3",
    "AC-packing-all-4",
    "AC-lsm-ranges-1",
    "AC-lsm-ranges-2",
    "AC-lsm-ranges-3",
    "AC-lsm-ranges-4",
    "AC-bandslim-threshold-1",
    "AC-bandslim-threshold-2",
    "AC-bandslim-dlt-1",
    "AC-talk-fig2-1",
    "AC-compound-tkey-1",
    "AC-compound-fig1-1",
    "AC-compound-fig1-2",
    "AC-compound-fig2-1",
    "AC-compound-fig2-2",
    "AC-compound-fig2-3",
    "AC-compound-fig3-1",
    "AC-compound-fig3-2",
    "AC-compound-fig3-3",
    "AC-byteexpress-1",
    "AC-byteexpress-2",
    "AC-byteexpress-3",
    "AC-byteexpress-4",
    "AC-batching-all-1",
    "AC-batching-all-2",
    "AC-batching-all-3",
    "AC-batching-all-4",
    "AC-batching-all-5",
    "AC-batching-all-6",
    "AC-batching-all-7",
    "AC-batching-all-8",
    "AC-bandslim-arithmetic-1",
    "AC-bandslim-arithmetic-2",
    "AC-bandslim-arithmetic-3",
    "AC-bandslim-arithmetic-4",
    "AC-bandslim-arithmetic-5",
    "AC-bandslim-arithmetic-6",
    "AC-bandslim-arithmetic-7",
    "AC-bandslim-arithmetic-8",
    "AC-bandslim-arithmetic-9",
    "AC-bandslim-arithmetic-10",
    "AC-bandslim-arithmetic-11",
    "AC-bandslim-arithmetic-12",
    "AC-bandslim-arithmetic-13",
    "AC-bandslim-arithmetic-14",
    "AC-kvaccel-slowdown-1",
    "AC-kvaccel-stall-1",
    "AC-kvaccel-stall-2",
    "AC-kvaccel-thr-1",
    "AC-kvaccel-p99-1",
    "AC-kvaccel-eff-1",
    "AC-kvaccel-pcie-idle-1",
    "AC-kvaccel-pcie-use-1",
    "AC-kvaccel-pcie-use-2",
    "AC-kvaccel-rb-1",
    "AC-kvaccel-rb-2",
    "AC-kvaccel-rb-3",
    "AC-kvaccel-rb-4",
    "AC-kvaccel-range-1",
    "AC-kvaccel-sweep-1",
    "AC-kvaccel-sweep-2",
    "AC-kvaccel-sweep-3",
    "AC-kvaccel-adaptive-1",
    "AC-kvaccel-adaptive-2",
    "AC-kvaccel-adaptive-3",
    "AC-plus-memory-1",
    "AC-plus-memory-2",
    "AC-plus-memory-3",
    "AC-plus-memory-4",
    "AC-plus-gc-overhead-1",
    "AC-plus-gc-overhead-2",
    "AC-plus-gc-overhead-3",
    "AC-plus-capacity-1",
    "AC-plus-capacity-2",
    "AC-plus-capacity-3",
    "AC-plus-lookup-1",
    "AC-plus-mapping-footprint-1",
    "AC-plus-fig3l-1",
    "AC-plus-fig3m-1",
    "AC-plus-fig3m-2",
    "AC-plus-invmap-1",
    "AC-plus-invmap-2",
    "AC-plus-collision-1",
    "AC-plus-ycsb-1",
    "AC-plus-ycsb-2",
    "AC-plus-charges-1",
    "AC-plus-charges-2",
    "AC-plus-charges-3",
    "AC-plus-fig3r-1",
    "AC-plus-ablation-1",
    "AC-plus-ablation-2",
    "AC-plus-ablation-3",
    "AC-plus-tail-1",
    "AC-plus-tail-2",
    "AC-plus-tail-3",
    "AC-plus-tail-4",
    "AC-plus-tail-5",
    "AC-plus-dftl-1",
    "AC-plus-dftl-2",
    "AC-plus-dftl-3",
    "AC-plus-dftl-4",
    "AC-plus-dftl-5",
    "AC-plus-dftl-6",
    "AC-plus-cpu-1",
];

#[test]
fn plans_are_sound_and_their_profiles_exist() {
    for plan in ALL.iter().map(Entry::plan) {
        assert!(!plan.title.is_empty() && !plan.source.is_empty(), "{}", plan.id);
        for name in &plan.profiles {
            assert!(saker_profile::Profile::builtin(name).is_ok(), "{}: {name}", plan.id);
        }
        assert!(plan.default_scale >= 1 && plan.operations >= 1, "{}", plan.id);
    }
}

#[test]
fn ids_are_unique_and_every_check_owed_exists() {
    let plans: Vec<Plan> = ALL.iter().map(Entry::plan).collect();
    let ids: BTreeSet<&str> = plans.iter().map(|p| p.id.as_str()).collect();
    assert_eq!(ids.len(), plans.len());
    let claims: Vec<&str> = plans.iter().flat_map(|p| &p.claims).map(|c| c.id.as_str()).collect();
    let distinct: BTreeSet<&str> = claims.iter().copied().collect();
    assert_eq!(distinct.len(), claims.len());
    let missing: Vec<_> = OWED.iter().filter(|id| !distinct.contains(*id)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Experiments that take four fifths of the time of all, however short they are made: the soak draws their charts.
const DEAR_TO_DRAW: [&str; 8] = [
    "kvaccel-adaptive",
    "kvaccel-efficiency",
    "kvaccel-p99",
    "kvaccel-range",
    "kvaccel-rollback",
    "kvaccel-slowdown",
    "kvaccel-sweep",
    "kvaccel-throughput",
];

#[test]
fn charts_draw_what_experiments_measure() {
    for plan in ALL.iter().map(Entry::plan) {
        if DEAR_TO_DRAW.contains(&plan.id.as_str()) && !is_soak() {
            continue;
        }
        let settings = Settings { scale: Some(u32::MAX), ..Default::default() };
        let found = crate::run::run(&plan.id, &settings).unwrap();
        for chart in &plan.charts {
            let figure = Figure::of(chart, &found.series);
            let figure = figure.unwrap_or_else(|| panic!("{}: {} shows nothing", plan.id, chart.title));
            let svg = crate::chart::svg(&figure);
            assert!(svg.contains("<circle") || svg.contains("<rect"), "{}: {}", plan.id, chart.title);
            assert!(chart.x_label.len() > 3 && chart.y_label.len() > 3);
            for stated in &chart.published {
                let alone = ChartPlan { published: vec![stated.clone()], ..chart.clone() };
                let shown = Figure::of(&alone, &found.series).unwrap().published.len();
                assert_eq!(shown, stated.at.len(), "{}: {}: {}", plan.id, chart.title, stated.text);
            }
        }
    }
}

/// Plants what a plan names in everything that this thread does; `None`: nothing.
fn plant(fault: Option<&str>) {
    use saker_host::transfer::{Method, planted};
    use saker_hybrid::planted::Fault;
    use saker_segment_store::planted::Fault as Stored;
    let method = fault.and_then(|fault| fault.strip_prefix("host.transfer="));
    let method = method.map(|name| Method::ALL.into_iter().find(|method| method.name() == name).expect(name));
    planted::force(method);
    let hybrid = fault.and_then(|fault| fault.strip_prefix("hybrid."));
    saker_hybrid::planted::plant(hybrid.map(|name| match name {
        "BlindDetector" => Fault::BlindDetector,
        "LostTombstone" => Fault::LostTombstone,
        "StaleCopy" => Fault::StaleCopy,
        "DroppedEarly" => Fault::DroppedEarly,
        "AlwaysPays" => Fault::AlwaysPays,
        _ => panic!("{name}"),
    }));
    let store = fault.and_then(|fault| fault.strip_prefix("store."));
    saker_segment_store::planted::plant(store.map(|name| match name {
        "TableKeepsNoReads" => Stored::TableKeepsNoReads,
        "EntriesWrittenAlone" => Stored::EntriesWrittenAlone,
        _ => panic!("{name}"),
    }));
    assert_eq!(fault.is_some(), method.is_some() || hybrid.is_some() || store.is_some(), "{fault:?}");
}

/// Each experiment names a change that turns one of its claims red, or moves a figure of one that fails.
#[test]
fn every_plan_has_a_planted_change() {
    let without = ALL.iter().map(Entry::plan).filter(|plan| {
        !plan.planted.iter().any(|planted| !planted.turns.is_empty() || !planted.moves.is_empty())
    });
    assert_eq!(without.map(|plan| plan.id).collect::<Vec<_>>(), [""; 0]);
}

/// A claim that holds without its mechanism would not be about it.
#[test]
fn planted_changes_turn_checks_red() {
    let mut wrong = Vec::new();
    // All of them take the soak minutes: one alone is run by its name.
    let chosen = std::env::var("SAKER_EXPERIMENT").unwrap_or_default();
    for entry in ALL.iter().filter(|entry| entry.plan().id.contains(&chosen)) {
        let plan = entry.plan();
        let run = |planted: Option<&Planted>| {
            let (mut plan, set) = (entry.plan(), planted.map(|planted| &planted.set));
            // What a fit would say is not asked.
            plan.fit = None;
            plan.parameters.extend(planted.iter().flat_map(|planted| planted.parameters.clone()));
            let profile =
                set.into_iter().flatten().map(|text| crate::settings::setting(text).unwrap()).collect();
            plant(planted.and_then(|planted| planted.fault.as_deref()));
            let found = crate::run::run_plan(
                entry,
                &plan,
                &Settings { profile, ..Settings::default() },
                &SharedRuns::default(),
                None,
            );
            plant(None);
            found.unwrap()
        };
        let asked: Vec<_> = plan.planted.iter().filter(|planted| !planted.is_dear || is_soak()).collect();
        if asked.is_empty() {
            continue;
        }
        let plain = run(None);
        for planted in asked {
            let changed = run(Some(planted));
            for id in &planted.turns {
                let of = |found: &Experiment| found.checks.iter().find(|c| c.id == *id).map(|c| c.verdict);
                let verdicts = (of(&plain), of(&changed));
                if verdicts != (Some(Verdict::Pass), Some(Verdict::Fail)) {
                    wrong.push(format!("{id} is {verdicts:?} with {planted:?}"));
                }
            }
            for moved in &planted.moves {
                let of = |found: &Experiment| found.checks.iter().find(|c| c.id == moved.claim).cloned();
                let there = [of(&plain), of(&changed)]
                    .map(|check| check.map(|c| (moved.is_there(&c.measured), c.measured)));
                if !matches!(&there, [Some((false, _)), Some((true, _))]) {
                    wrong.push(format!("{} is {there:?}", moved.told()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
