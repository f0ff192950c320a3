// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker compare`: stores, groups, caches and charts.

use crate::e2e::support::Desk;
use serde_json::Value;

const SMALL: [&str; 7] = ["compare", "--operations", "300", "--sizes", "32B", "--seed", "5"];

fn document(desk: &Desk, more: &[&str]) -> Value {
    let text = desk.saker(&[&SMALL[..], &["--json", "-q"], more].concat()).good();
    serde_json::from_str(&text).expect("one document")
}

fn metric(system: &Value, name: &str) -> f64 {
    let all = system["metrics"].as_array().expect("metrics");
    all.iter().find(|m| m["name"] == name).expect(name)["value"].as_f64().expect("a number")
}

fn systems(run: &Value) -> &Vec<Value> {
    run["systems"].as_array().expect("systems")
}

/// Progress goes to standard error, a line for each run, and `--quiet` leaves it out.
#[test]
fn progress_is_told_beside_the_output() {
    let desk = Desk::new();
    let told = desk.saker(&SMALL);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(told.err.ends_with('\n') && !told.err.trim().is_empty(), "{:?}", told.err);
    let quiet = desk.saker(&[&SMALL[..], &["--quiet"]].concat());
    assert_eq!((quiet.code, quiet.err.as_str(), quiet.out), (Some(0), "", told.out));
}

/// Every store in every timing: HostKV and DiskKV alone, in groups and with the host layer, without errors.
#[test]
fn every_store_is_compared_in_every_timing() {
    let desk = Desk::new();
    let stores = ["hash_store", "hash_plus", "tree", "lsm"];
    let line =
        ["--store", "hash_store,hash-plus,tree,lsm", "--timing", "all", "--group", "4,16", "--qd", "4"];
    let value = document(&desk, &line);
    assert_eq!(value["schema"], "saker.compare.v1");
    let runs = value["runs"].as_array().expect("runs");
    let places: Vec<_> =
        runs.iter().map(|r| (r["timing"].as_str().unwrap(), r["store"].as_str().unwrap())).collect();
    let expected: Vec<_> =
        ["virtual", "real", "off"].iter().flat_map(|t| stores.iter().map(move |s| (*t, *s))).collect();
    assert_eq!(places, expected);
    for run in runs {
        let found: Vec<_> = systems(run).iter().map(|s| (s["name"].as_str().unwrap(), &s["group"])).collect();
        let none = Value::Null;
        let names = [
            ("HostKV", &none),
            ("DiskKV", &none),
            ("DiskKV group x4", &Value::from(4)),
            ("DiskKV group x16", &Value::from(16)),
            ("DiskKV+SAKER x64", &none),
        ];
        assert_eq!(found, names);
        let at_host = if run["store"] == "hash_plus" { "hash_store" } else { run["store"].as_str().unwrap() };
        for (n, system) in systems(run).iter().enumerate() {
            assert_eq!(system["store"], if n == 0 { at_host.into() } else { run["store"].clone() });
            assert_eq!((metric(system, "put_errors"), metric(system, "get_errors")), (0.0, 0.0), "{system}");
        }
        // A Flush is a command, too.
        let commands = [301.0, 76.0, 20.0].map(|n| n / 300.0);
        let measured = [1, 2, 3].map(|n| metric(&systems(run)[n], "put_commands_per_operation"));
        assert_eq!(measured, commands, "{run}");
    }
}

#[test]
fn reads_of_the_same_pairs_are_answered_by_a_cache_at_the_host() {
    let desk = Desk::new();
    let line = ["--store", "tree", "--skew", "1.1", "--store-cache", "64KiB"];
    let ratios = |more: &[&str]| -> Vec<f64> {
        let value = document(&desk, &[&line, more].concat());
        systems(&value["runs"][0]).iter().map(|s| metric(s, "get_cache_hit_ratio")).collect()
    };
    assert_eq!(ratios(&[]), [0.0; 4]);
    let with = ratios(&["--read-cache", "1MiB"]);
    assert!(with[0] > 0.3 && with[3] > 0.3 && with[1..3] == [0.0; 2], "{with:?}");
}

/// One heading and every chart for each timing and store.
#[test]
fn the_page_has_every_chart_for_each_store() {
    let desk = Desk::new();
    let line = ["--store", "hash_store,lsm", "--html", "page.html"];
    let text = desk.saker(&[&SMALL[..], &line, &["--verbose"]].concat()).good();
    for head in ["virtual, hash_store, values 32 B", "virtual, lsm, values 32 B"] {
        assert!(text.contains(head), "{text}");
    }
    let page = String::from_utf8(desk.read("page.html")).expect("text");
    for store in ["hash_store", "lsm"] {
        assert_eq!(page.matches(&format!(">Timing virtual, store {store}<")).count(), 1, "{store}");
    }
    for title in [
        "Stores per second",
        "Retrieve latency, 99.9th percentile",
        "Commands per store",
        "Link bytes per retrieve",
        "NAND pages programmed by stores",
        "Write amplification",
    ] {
        assert_eq!(page.matches(&format!("aria-label=\"{title}\"")).count(), 2, "{title}");
    }
}

/// One screen: each size, each system, what is worth a look, and what to try next.
#[test]
fn the_story_fits_a_screen_and_says_when_there_are_too_few() {
    let desk = Desk::new();
    let text = desk.saker(&["compare", "--operations", "2000", "-q"]).good();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() <= 24 && lines.iter().all(|line| line.chars().count() <= 100), "{text}");
    for size in ["16 B", "64 B", "256 B", "1024 B", "4096 B"] {
        assert_eq!(text.matches(&format!("\n  {size} ")).count(), 2, "puts and gets of {size}: {text}");
    }
    for part in ["HostKV", "group x64", "SAKER x64 : HostKV", "###", "Try next:", "--verbose"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("Too few: 2000 operations") && text.contains("--operations 20480"), "{text}");
    let enough = desk.saker(&["compare", "--operations", "20480", "--sizes", "16B", "-q"]).good();
    assert!(!enough.contains("Too few"), "{enough}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let desk = Desk::new();
    for (more, words) in [
        (["--store", "btree"], "hash_store, hash_original, hash_plus, lsm, tree"),
        (["--store", "lsm,lsm"], "store `lsm` is named twice"),
        (["--store-cache", "1MiB"], "add --store tree"),
        (["--skew", "0"], "write a number above 0"),
        (["--skew", "NaN"], "write a number above 0"),
        (["--group", "1"], "saker compare --help"),
    ] {
        let refused = desk.saker(&[&SMALL[..], &more].concat()).refused(2);
        assert!(refused.contains(words), "{refused}");
    }
}
