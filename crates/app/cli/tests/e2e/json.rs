// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--json`: one versioned document on standard output, and nothing else there.

use crate::e2e::support::Desk;
use serde_json::Value;

/// The document of a run.
fn document(text: &str) -> Value {
    assert_eq!(text.matches('\n').count(), 1, "one line: {text}");
    let value: Value = serde_json::from_str(text).expect("one document");
    assert_eq!(value["saker"], env!("CARGO_PKG_VERSION"));
    assert!(value.get("seed").is_some(), "{text}");
    value
}

#[test]
fn every_command_has_a_document_of_its_own() {
    let desk = Desk::new();
    desk.write("some.tsv", b"a\tb\nc\td\n");
    desk.write("page", &[1; 512]);
    desk.write("script", b"get k\nput script v\n");
    for (line, schema) in [
        (
            &[
                "create",
                "disk.img",
                "--profile",
                "tiny",
                "--namespace",
                "kv:8MiB",
                "--namespace",
                "block:1MiB,512",
            ][..],
            "create",
        ),
        (&["put", "k", "v"], "put"),
        (&["get", "k"], "get"),
        (&["get", "k", "-o", "out"], "get"),
        (&["exists", "k"], "exists"),
        (&["load", "some.tsv"], "load"),
        (&["list"], "list"),
        (&["scan"], "scan"),
        (&["dump", "out.jsonl"], "dump"),
        (&["txn", "script"], "txn"),
        (&["delete", "k"], "delete"),
        (&["info"], "info"),
        (&["block", "write", "0", "page"], "block.write"),
        (&["block", "read", "0", "-o", "back"], "block.read"),
        (&["block", "trim", "0"], "block.trim"),
        (&["check", "disk.img"], "check"),
        (&["profile", "list"], "profile.list"),
        (&["profile", "show", "saker-mid"], "profile"),
        (&["reproduce", "list"], "reproduce.list"),
        (&["bench", "readwrite", "--operations", "100"], "bench"),
        (&["compare", "--operations", "200", "--sizes", "64B"], "compare"),
    ] {
        // Those that have no device to be named refuse one.
        let has_device = !["create", "check", "profile", "reproduce", "compare"].contains(&line[0]);
        let device = if has_device { &["--device", "file:disk.img"][..] } else { &[] };
        let ran = desk.saker(&[line, &["--json"], device].concat());
        let value = document(&ran.good());
        assert_eq!(value["schema"], format!("saker.{schema}.v1"), "{line:?}");
    }
}

#[test]
fn a_no_is_a_document_too() {
    let desk = Desk::with_image();
    let absent = desk.disk(&["exists", "k", "--json"]);
    assert_eq!(absent.code, Some(1));
    assert_eq!(document(&String::from_utf8(absent.out).expect("text"))["exists"], false);
    desk.disk(&["get", "k", "--json"]).refused(1);
}

/// Every timing gives as many operations as asked for, on as many threads, without errors.
#[test]
fn comparisons_use_the_threads_asked_for_in_every_timing() {
    let desk = Desk::new();
    let line = [
        "compare",
        "--timing",
        "all",
        "--threads",
        "3",
        "--qd",
        "4",
        "--operations",
        "900",
        "--sizes",
        "32B",
    ];
    let value = document(&desk.saker(&[&line[..], &["--json"]].concat()).good());
    let runs = value["runs"].as_array().expect("runs");
    let timings: Vec<_> = runs.iter().map(|r| r["timing"].as_str().expect("a name")).collect();
    assert_eq!(timings, ["virtual", "real", "off"]);
    for run in runs {
        for system in run["systems"].as_array().expect("systems") {
            let metric = |name: &str| {
                let all = system["metrics"].as_array().expect("metrics");
                all.iter().find(|m| m["name"] == name).expect(name)["value"].as_f64().expect("a number")
            };
            assert_eq!((metric("put_errors"), metric("get_errors")), (0.0, 0.0));
            assert!(metric("put_operations_per_s") > 0.0);
        }
        let is_real = run["timing"] == "real";
        assert_eq!(run["events"].is_u64(), is_real, "the lag is told in real: {run}");
        if let (Some(events), Some(late)) = (run["events"].as_u64(), run["late_events"].as_u64()) {
            assert!(events > 1800);
            assert_eq!(run["invalid"].is_string(), late * 100 > events, "{run}");
        }
    }
}
