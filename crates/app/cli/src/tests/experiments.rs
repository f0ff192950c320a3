// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings, sweeps, files and differences of `saker reproduce`; `saker bench` and `saker compare --html`.

use serde_json::{Value, json};

use super::files::Scratch;
use super::{Fake, ran};
use saker_lab::Verdict;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn settings_and_sweeps_reach_every_run() {
    let fake = Fake::default();
    let sweep = ["--sweep", "profile.a=1,2", "--sweep", "profile.b=[3,4],5"];
    let mut line = vec!["reproduce", "run", "fig-1", "fig-2", "--json", "--set", "profile.c=9"];
    line.extend(sweep);
    let document = parsed(&fake.told(&line).out);
    let profiles: Vec<&str> =
        document["experiments"].as_array().unwrap().iter().map(|e| e["profile"].as_str().unwrap()).collect();
    assert_eq!(profiles.len(), 8);
    assert_eq!(profiles[0], "tiny with c=9, a=1, b=[3,4]");
    assert_eq!(profiles[3], "tiny with c=9, a=2, b=5");
}

#[test]
fn a_setting_that_is_none_is_refused() {
    let fake = Fake::default();
    for bad in ["fetch_ns=5", "profile.x", "profile.=1"] {
        let found = fake.run(&["reproduce", "run", "bandslim-arithmetic", "--set", bad]);
        assert_eq!((found.code, found.out.as_str(), found.err.lines().count()), (2, "", 1), "{bad}");
        assert!(found.err.contains("profile.KEY=VALUE"), "{}", found.err);
    }
}

#[test]
fn out_leaves_results_a_page_and_verdicts() {
    let directory = Scratch::new("reproduce-out");
    let fake = Fake::default();
    let out = directory.path("report");
    let found = fake.told(&["reproduce", "all", "--out", &out, "--quiet"]);
    assert_eq!((found.code, found.err.as_str()), (0, ""));
    let read = |name: &str| std::fs::read_to_string(format!("{out}/{name}")).unwrap();
    assert_eq!(parsed(&read("results.json"))["schema"], "saker.reproduce.v1");
    let page = read("report.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("badge pass"));
    assert!(page.contains("href=\"fig-1.html\"") && page.contains("href=\"fig-2.html\""));
    let page = read("fig-1.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("AC-1") && page.contains("badge pass"));
    assert!(
        read("verdicts.md")
            .contains("| AC-1 | **pass** (reproduced) | Twice as fast | 2.0 (10 %) | 1.5 to 2 | small run |")
    );
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error() {
    let directory = Scratch::new("reproduce-bad");
    let file = directory.file("taken", b"");
    let found = Fake::default().told(&["reproduce", "all", "--out", &file]);
    assert_eq!((found.code, found.err.lines().count()), (1, 1));
}

#[test]
fn differences_are_shown_and_answer_no() {
    let directory = Scratch::new("reproduce-diff");
    let mut fake = Fake::default();
    let before = directory.file("a.json", fake.told(&["reproduce", "all", "--json"]).out.as_bytes());
    fake.verdict = Some(Verdict::Fail);
    let after = directory.file("b.json", fake.told(&["reproduce", "run", "fig-1", "--json"]).out.as_bytes());
    assert_eq!(fake.run(&["reproduce", "diff", &before, &before]), ran(0, "no differences\n", ""));
    let found = fake.run(&["reproduce", "diff", &before, &after]);
    assert_eq!(found.code, 1);
    let lines: Vec<Vec<&str>> = found.out.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines[1], ["fig-1", "(tiny)", "AC-1", "verdict", "pass", "fail"]);
    assert_eq!(found.out.lines().last(), Some("2 differences, 1 of them verdicts"));
    let document = parsed(&fake.run(&["reproduce", "diff", &before, &after, "--json"]).out);
    assert_eq!(
        (&document["schema"], &document["changes"][0]["after"]),
        (&json!("saker.reproduce.diff.v1"), &json!("fail"))
    );
}

#[test]
fn the_spread_over_seeds_is_shown_and_a_verdict_that_changes_answers_no() {
    let directory = Scratch::new("reproduce-spread");
    let mut fake = Fake::default();
    let one = directory.file("a.json", fake.told(&["reproduce", "all", "--json"]).out.as_bytes());
    fake.verdict = Some(Verdict::Fail);
    let other = directory.file("b.json", fake.told(&["reproduce", "run", "fig-1", "--json"]).out.as_bytes());
    assert_eq!(fake.run(&["reproduce", "spread", &one, &one]).code, 0);
    let found = fake.run(&["reproduce", "spread", &one, &one, &other]);
    assert_eq!(found.code, 1);
    assert!(found.out.lines().nth(1).is_some_and(|line| line.starts_with("AC-1")), "{}", found.out);
    assert!(found.out.contains("pass pass fail"), "{}", found.out);
    let document = parsed(&fake.run(&["reproduce", "spread", &one, &other, "--json"]).out);
    assert_eq!(document["schema"], json!("saker.reproduce.spread.v1"));
    assert_eq!(document["claims"][0]["verdicts"], json!(["pass", "fail"]));
    assert_eq!(fake.run(&["reproduce", "spread", &one]).code, 2);
}

#[test]
fn only_results_can_be_compared() {
    let directory = Scratch::new("reproduce-none");
    let fake = Fake::default();
    let cases = [
        ("other.json", "{\"schema\":\"x\",\"experiments\":[]}"),
        ("broken.json", "{"),
        ("shape.json", "{\"schema\":\"saker.reproduce.v1\"}"),
    ];
    for (name, text) in cases {
        let path = directory.file(name, text.as_bytes());
        let found = fake.run(&["reproduce", "diff", &path, &path]);
        assert_eq!((found.code, found.err.lines().count()), (1, 1), "{name}");
        assert!(found.err.contains("is no result"), "{}", found.err);
    }
    assert_eq!(fake.run(&["reproduce", "diff", "no/such", "no/such"]).code, 1);
}

#[test]
fn bench_shows_numbers_and_writes_one_document() {
    let fake = Fake { variable: Some(String::new()), ..Fake::default() };
    let text = fake.told(&["bench", "m", "--operations", "1234"]).out;
    assert!(text.lines().any(|l| l.split_whitespace().eq(["operations", "1,234"])), "{text}");
    let document = parsed(&fake.told(&["bench", "m", "--json", "--seed", "5"]).out);
    assert_eq!((&document["schema"], &document["seed"]), (&json!("saker.bench.v1"), &json!(5)));
    assert_eq!((&document["at"]["workload"], &document["latency_us_mean"]), (&json!("m"), &json!(12.5)));
}

#[test]
fn a_calibration_is_a_table_or_a_document() {
    let text = Fake::default().told(&["profile", "calibrate", "cosmos-plus", "--passthrough"]).out;
    assert!(text.starts_with("cosmos-plus: threshold1 36 B, threshold2 0 B"), "{text}");
    assert!(text.lines().any(|l| l.split_whitespace().eq(["4", "piggyback", "1.500", "-"])), "{text}");
    let document = parsed(&Fake::default().told(&["profile", "calibrate", "cosmos-plus", "--json"]).out);
    assert_eq!(document["schema"], json!("saker.profile.calibration.v1"));
    assert_eq!(document["calibration"]["sizes"][0]["ns"], json!({ "piggyback": 1500, "sgl": null }));
}

#[test]
fn a_device_and_a_trace_exclude_each_other() {
    let found = Fake::default().run(&["bench", "m", "--device", "mem:", "--trace", "t.json"]);
    assert_eq!((found.code, found.out.as_str(), found.err.lines().count()), (2, "", 1));
}

#[test]
fn compare_writes_a_page_beside_its_output() {
    let directory = Scratch::new("compare-html");
    let path = directory.path("compare.html");
    let fake = Fake::default();
    let with = fake.told(&["compare", "--quiet", "--html", &path]);
    assert_eq!(with.out, fake.told(&["compare", "--quiet"]).out);
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("HostKV") && page.contains("DiskKV"));
}
