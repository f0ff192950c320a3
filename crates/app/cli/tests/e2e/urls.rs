// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every option of device URLs, each by its effect.

use crate::e2e::support::{Desk, ran, repository};
use saker_host::Method;

/// `saker info --json` of a URL.
fn info(desk: &Desk, url: &str) -> serde_json::Value {
    let text = desk.saker(&["info", "--json", "--device", url]).good();
    serde_json::from_str::<serde_json::Value>(&text).expect("JSON")["info"].clone()
}

#[test]
fn size_profile_and_seed_make_the_device_in_memory() {
    let desk = Desk::new();
    let small = info(&desk, "mem:?size=8MiB&profile=tiny");
    assert_eq!(small["profile"], "tiny");
    let capacity = |i: &serde_json::Value| i["namespaces"][0]["capacity_bytes"].as_u64().expect("a number");
    assert!(capacity(&small) < 8 << 20);
    assert!(capacity(&info(&desk, "mem:?size=16MiB&profile=tiny")) > capacity(&small));
    assert_eq!(info(&desk, "mem:")["profile"], "default");
    let serial = |seed| info(&desk, &format!("mem:?profile=tiny&size=8MiB&seed={seed}"))["serial"].clone();
    assert_eq!(serial(1), serial(1));
    assert_ne!(serial(1), serial(2));
    assert_eq!(info(&desk, "mem:?engine=hash_store")["profile"], "default");
    assert_eq!(info(&desk, "mem:?engine=lsm")["profile"], "default");
}

#[test]
fn an_lsm_image_lists_in_the_order_of_keys() {
    lists_in_the_order_of_keys("lsm");
}

#[test]
fn a_tree_image_lists_in_the_order_of_keys() {
    lists_in_the_order_of_keys("tree");
}

fn lists_in_the_order_of_keys(engine: &str) {
    let desk = Desk::new();
    desk.saker(&["create", "tree.img", "--size", "64MiB", "--profile", "tiny", "--engine", engine]).good();
    let url = ["--device", "file:tree.img"];
    for key in ["pear", "apple", "fig"] {
        desk.saker(&[&["put", key, "fruit"][..], &url[..]].concat()).good();
    }
    assert_eq!(desk.saker(&[&["get", "fig"][..], &url[..]].concat()).good(), "fruit");
    let list = || desk.saker(&[&["list"][..], &url[..]].concat()).good();
    assert_eq!(list().lines().collect::<Vec<_>>(), ["apple", "fig", "pear"]);
    desk.saker(&[&["delete", "apple"][..], &url[..]].concat()).good();
    assert_eq!(list().lines().collect::<Vec<_>>(), ["fig", "pear"]);
    desk.saker(&["check", "tree.img"]).good();
}

#[test]
fn info_tells_how_groups_and_long_keys_go() {
    let desk = Desk::new();
    for profile in ["fixed", "samsung-kvssd"] {
        let told = info(&desk, &format!("mem:?profile={profile}&timing=real"));
        assert_eq!(told["groups"]["commands"], "both ways");
        assert_eq!(told["groups"]["payload_bytes_max"], 1 << 20);
        assert_eq!(told["groups"]["prefetch"], true);
        assert_eq!(told["long_keys"], "by pointer");
    }
}

#[test]
fn threads_timing_and_depth_change_how_not_what() {
    let desk = Desk::with_image();
    // Devices opened by URL take no SGLs.
    let methods = Method::ALL.into_iter().filter(|method| *method != Method::Sgl);
    let methods = methods.map(|method| format!("transfer={}&depth=256", method.name()));
    let options = [
        "threads=0",
        "threads=1",
        "timing=off",
        "timing=real",
        "depth=1",
        "depth=512",
        "threads=1&depth=8",
        "transfer=small",
        "prefault=1000",
    ];
    for (n, options) in options.map(str::to_owned).into_iter().chain(methods).enumerate() {
        let url = format!("file:disk.img?{options}");
        let value = n.to_string();
        desk.saker(&["put", "k", &value, "--device", &url]).good();
        assert_eq!(desk.saker(&["get", "k", "--device", &url]).good(), value, "{options}");
    }
    desk.saker(&["check", "disk.img"]).good();
}

#[test]
fn with_latencies_the_same_work_takes_the_profiles_time() {
    let desk = Desk::with_image();
    let lines: String = (0..200).map(|n| format!("key{n}\t{}\n", "v".repeat(1500))).collect();
    desk.write("some.tsv", lines.as_bytes());
    // 200 values of 1,500 bytes are 100 programs or more on 4 LUNs, 100 us each: no less than 2.5 ms.
    let text = desk.saker(&["load", "some.tsv", "--json", "--device", "file:disk.img?timing=real"]).good();
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["records"], 200);
    assert!(report["seconds"].as_f64().expect("a number") > 0.0025, "{text}");
}

#[test]
fn seeded_faults_fail_programs_and_lose_nothing() {
    let lines: String = (0..3000).map(|n| format!("key{n}\tvalue {n} {}\n", "v".repeat(700))).collect();
    let load = |options: &str| {
        let desk = Desk::with_image();
        desk.write("some.tsv", lines.as_bytes());
        desk.saker(&["load", "some.tsv", "--device", &format!("file:disk.img?{options}")]).good();
        desk
    };
    let faults = "timing=real&fault.program=1/50&fault.erase=1/50&fault.spike=1/10&fault.spike_ns=1000";
    let (without, desk) = (load(""), load(&format!("fault.seed=7&{faults}")));
    for n in [0, 1499, 2999] {
        let value = desk.disk(&["get", &format!("key{n}")]).good();
        assert_eq!(value, format!("value {n} {}", "v".repeat(700)));
    }
    let check = desk.saker(&["check", "disk.img"]).good();
    assert!(check.starts_with("disk.img: sound; 3,000 records"), "{check}");
    assert!(desk.read("disk.img") != without.read("disk.img"), "failed programs were made good elsewhere");
    let other = load(&format!("fault.seed=8&{faults}"));
    assert!(desk.read("disk.img") != other.read("disk.img"), "the seed chooses which");
}

#[test]
fn reads_that_fail_are_errors_and_no_wrong_values() {
    let desk = Desk::with_image();
    desk.disk(&["put", "k", &"v".repeat(1900)]).good();
    desk.disk(&["put", "l", &"w".repeat(1900)]).good();
    let refused = desk.saker(&["get", "k", "--device", "file:disk.img?fault.read=1/1"]).refused(1);
    assert!(refused.contains("saker check"), "{refused}");
    assert_eq!(desk.disk(&["get", "k"]).good(), "v".repeat(1900));
}

#[test]
fn caches_change_no_answer_and_wrong_ones_are_refused() {
    let desk = Desk::with_image();
    desk.disk(&["put", "k", "old"]).good();
    for policy in ["lru", "s3fifo"] {
        let device = format!("file:disk.img?cache=1MiB&cache_policy={policy}&cache_value_max=4KiB");
        desk.saker(&["put", "k", policy, "--device", &device]).good();
        assert_eq!(desk.saker(&["get", "k", "--device", &device]).good(), policy);
        assert_eq!(desk.disk(&["get", "k"]).good(), policy);
    }
    let refused = desk.saker(&["get", "k", "--device", "mem:?cache_policy=best"]).refused(2);
    assert!(refused.contains("lru") && refused.contains("s3fifo"), "{refused}");
}

#[test]
fn settings_of_the_tree_change_no_answer_and_wrong_ones_are_refused() {
    let desk = Desk::new();
    desk.saker(&[&["create", "disk.img", "--engine", "lsm"], &crate::e2e::support::TINY[..]].concat()).good();
    let all = ["compaction_threads=3", "pinned_levels=2&level0_stop_writes_trigger=9", "slowdown=off"];
    for settings in all {
        let device = format!("file:disk.img?write_buffer_size=64KiB&{settings}");
        desk.saker(&["put", "k", settings, "--device", &device]).good();
        assert_eq!(desk.saker(&["get", "k", "--device", &device]).good(), settings);
        assert_eq!(desk.disk(&["get", "k"]).good(), settings);
    }
    let refused = desk.saker(&["get", "k", "--device", "file:disk.img?max_write_buffer_number=1"]).refused(2);
    assert!(refused.contains("write 2 to 64"), "{refused}");
    desk.saker(&["get", "k", "--device", "file:disk.img?slowdown=perhaps"]).refused(2);
}

#[test]
fn packing_policies_have_names_and_read_what_others_have_written() {
    let desk = Desk::new();
    let create = ["create", "disk.img", "--engine", "lsm", "--packing"];
    let unknown = desk.saker(&[&create[..], &["tight"], &crate::e2e::support::TINY[..]].concat()).refused(2);
    assert!(unknown.contains("backfill"), "it names those there are: {unknown}");
    let create_hash = ["create", "disk.img", "--engine", "hash_store", "--packing", "block"];
    let refused = desk.saker(&[&create_hash[..], &crate::e2e::support::TINY[..]].concat()).refused(2);
    assert!(refused.contains("hash_store has no setting `packing`; it is a setting of lsm"), "{refused}");
    desk.saker(&[&create[..], &["block"], &crate::e2e::support::TINY[..]].concat()).good();
    for packing in ["none", "block", "all", "selective", "backfill", "auto", "auto-time"] {
        let device = format!("file:disk.img?packing={packing}");
        let value = packing.repeat(1000);
        desk.saker(&["put", "k", &value, "--device", &device]).good();
        desk.saker(&["put", packing, "small", "--device", &device]).good();
        assert_eq!(desk.disk(&["get", "k"]).good(), value);
        assert_eq!(desk.disk(&["get", packing]).good(), "small");
    }
    assert_eq!(desk.disk(&["get", "none"]).good(), "small", "all before are still there");
    desk.saker(&["check", "disk.img"]).good();
}

#[test]
fn shards_serve_as_one_device() {
    let desk = Desk::new();
    let bench = |device| ["bench", "readrandom", "--operations", "300", "--device", device, "--json"];
    for device in ["mem:?shards=3", "mem:?shards=3&threads=1"] {
        let printed = desk.saker(&bench(device)).good();
        assert!(printed.contains("\"found\":300"), "{printed}");
    }
    desk.saker(&bench("mem:?shards=0")).refused(2);
}

/// What was loaded before the cut is there, or was not acknowledged; nothing is damaged.
#[test]
fn a_planned_power_cut_ends_the_device_and_the_next_opening_recovers() {
    let desk = Desk::with_image();
    desk.disk(&["put", "before", "safe"]).good();
    let lines: String = (0..3000).map(|n| format!("key{n}\t{}\n", "v".repeat(700))).collect();
    desk.write("some.tsv", lines.as_bytes());
    desk.saker(&["load", "some.tsv", "--device", "file:disk.img?fault.cut=200"]).refused(1);
    assert_eq!(desk.disk(&["get", "before"]).good(), "safe");
    let check = desk.saker(&["check", "disk.img"]).good();
    assert!(check.starts_with("disk.img: sound; "), "{check}");
    let keys = desk.disk(&["list"]).good().lines().count();
    assert!((2..3001).contains(&keys), "{keys} keys survived a cut at the 200th operation");
}

#[test]
fn shards_share_the_flash_in_memory() {
    let desk = Desk::new();
    let url = |shards: u32| format!("mem:?profile=tiny&size=64MiB&shards={shards}");
    let line = ["bench", "fillrandom", "--operations", "100", "--device"];
    desk.saker(&[&line[..], &[&url(3)]].concat()).good();
    assert!(desk.saker(&["exists", "k", "--device", &url(65)]).refused(2).contains("write 1 to 64"));
    assert!(
        desk.saker(&["exists", "k", "--device", &url(64)]).refused(2).contains("too few"),
        "each has its part"
    );
}

#[test]
fn every_example_of_the_documentation_is_tried_here() {
    let page = std::fs::read_to_string(repository("docs/urls.md")).expect("reads");
    let here = include_str!("urls.rs").to_owned() + include_str!("blocks.rs");
    let mut options = 0;
    for row in page.lines().filter(|l| l.starts_with("| `") && (l.contains(":?") || l.contains("...&"))) {
        let url = row.split('`').nth(1).expect("in code");
        let (_, all) = url.split_once(['?', '&']).expect("options");
        for name in all.split('&').filter_map(|o| o.split('=').next()) {
            assert!(here.contains(&format!("{name}=")), "{name} is not tried");
            options += 1;
        }
    }
    assert!(options >= 10, "the table has the options: {options}");
}

#[test]
fn an_image_whose_name_is_not_utf_8_is_refused_by_name() {
    let desk = Desk::new();
    let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"disk\xFF.img");
    let message = ran(desk.command(&["serve", "--image"]).arg(name)).refused(2);
    assert!(message.ends_with("is not UTF-8; name a link to it"), "{message}");
}
