// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands whose work is done elsewhere: their arguments and their output.

use serde_json::{Value, json};

use super::{Fake, document, ran};
use crate::output::VERSION;
use crate::report::Finding;
use saker_lab::Verdict;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn create_says_what_it_made() {
    let fake = Fake::default();
    let line = "created x.img: 1.0 GB, profile default, engine hash_store\n";
    assert_eq!(fake.told(&["create", "x.img", "--size", "1GiB"]), ran(0, "", line));
    let fields = "\"image\":\"x.img\",\"flash_bytes\":4096,\"profile\":\"tiny\",\"engine\":\"lsm\",\
                  \"namespaces\":[{\"nsid\":1,\"kind\":\"kv\",\"flash_bytes\":4096}]";
    let found =
        fake.told(&["create", "x.img", "--size", "4KiB", "--profile", "tiny", "--engine", "lsm", "--json"]);
    assert_eq!(found, ran(0, &document("saker.create.v1", fields).replace("null", "1"), ""));
}

#[test]
fn check_tells_damage_by_exit_code() {
    let mut fake = Fake::default();
    let line = "x.img: sound; 1,234 records, 5.6 MB verified, 1 unfinished writes\n";
    assert_eq!(fake.told(&["check", "x.img"]), ran(0, line, ""));
    let copy = Finding { place: "header copy 0".to_owned(), what: "behind".to_owned() };
    fake.repairable = vec![copy];
    assert_eq!(
        fake.told(&["check", "x.img"]),
        ran(0, &format!("{line}repairable: header copy 0: behind\n"), "")
    );
    fake.repairable.clear();
    fake.damage = vec![Finding { place: "page 7".to_owned(), what: "bad\nchecksum".to_owned() }];
    let lines = "x.img: DAMAGED in 1 place; 5.6 MB read, live records not counted\npage 7: bad checksum\n";
    assert_eq!(fake.told(&["check", "x.img"]), ran(1, lines, ""));
    let found = fake.told(&["check", "x.img", "--json"]);
    assert_eq!(found.code, 1);
    assert_eq!(parsed(&found.out)["damage"], json!([{ "place": "page 7", "what": "bad\nchecksum" }]));
}

#[test]
fn compare_puts_systems_side_by_side() {
    let fake = Fake::default();
    let found = fake.told(&[
        "compare",
        "--timing",
        "real",
        "--seed",
        "7",
        "--sizes",
        "64B,1KiB",
        "--operations",
        "10",
        "--verbose",
    ]);
    let text = format!(
        "saker {VERSION}  seed 7  profile default\n10 operations, sizes [64, 1024]\n\n\
         real, hash_store, values all (INVALID: late events)  HostKV  DiskKV\n\
         puts_per_s                                           1,000   2,500,000\n\
         put_latency_us_mean                                  12.500  -\n\
         lag: 50 of 1,000 device events came more than 5 us late\n"
    );
    assert_eq!(found, ran(0, &text, ""));
}

#[test]
fn the_document_of_a_comparison_has_its_seed() {
    let found = Fake::default().told(&["compare", "--json", "--quiet", "--seed", "9"]);
    assert_eq!((found.code, found.err.as_str()), (0, ""));
    let document = parsed(&found.out);
    assert_eq!((&document["schema"], &document["seed"]), (&json!("saker.compare.v1"), &json!(9)));
    assert_eq!(document["runs"][0]["timing"], "virtual");
    assert_eq!(document["runs"][0]["store"], "hash_store");
    let metric = json!({ "name": "puts_per_s", "value": 1000.0 });
    assert_eq!(document["runs"][0]["systems"][0]["metrics"][0], metric);
}

#[test]
fn a_comparison_in_which_operations_failed_is_no_success() {
    for (put_errors, code) in [(Some(0), 0), (Some(1), 1)] {
        let fake = Fake { put_errors, ..Fake::default() };
        assert_eq!(fake.told(&["compare", "--json"]).code, code);
    }
}

#[test]
fn compare_needs_to_know_the_format_of_its_input() {
    let fake = Fake::default();
    let error = "cannot tell the format of `x.bin` from its name; add --format tsv, jsonl or semicolon";
    assert_eq!(fake.run(&["compare", "--input", "x.bin"]), ran(2, "", &format!("saker: error: {error}\n")));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "{\"key\":\"k\",\"value\":\"v\"}\n").unwrap();
    let path = file.path().to_str().unwrap();
    assert_eq!(fake.run(&["compare", "--input", path, "--format", "jsonl", "--quiet"]).code, 0);
    let refused = fake.run(&["compare", "--input", path, "--format", "tsv"]);
    assert!(refused.code == 1 && refused.err.contains("line 1: no tab"), "{}", refused.err);
}

#[test]
fn experiments_are_listed_and_run_by_name() {
    let mut fake = Fake::default();
    let list = "id     source  title\nfig-1  Paper   Title\nfig-2  Paper   Title\n";
    assert_eq!(fake.told(&["reproduce", "list"]), ran(0, list, ""));
    let text = format!(
        "fig-1  saker {VERSION}  seed 3  scale 1/64  profile tiny\n\
         \x20 AC-1  pass  Twice as fast\n    published  2.0 (10 %)\n    measured   1.5 to 2\n    note       small run\n\n\
         1 pass, 0 fail, 0 cannot_follow\n"
    );
    assert_eq!(fake.told(&["reproduce", "run", "fig-1", "--scale", "64", "--seed", "3"]), ran(0, &text, ""));
    let error = "saker: error: there is no experiment `fig-9`; see `saker reproduce list`\n";
    assert_eq!(fake.run(&["reproduce", "run", "bandslim-arithmetic", "fig-9"]), ran(2, "", error));
    fake.verdict = Some(Verdict::Fail);
    let all = fake.told(&["reproduce", "all"]);
    assert_eq!((all.code, all.out.lines().last()), (1, Some("0 pass, 2 fail, 0 cannot_follow")));
    fake.verdict = Some(Verdict::CannotFollow);
    assert_eq!(fake.told(&["reproduce", "all"]).code, 0);
}

#[test]
fn the_document_of_experiments_is_as_documented() {
    let fake = Fake { verdict: Some(Verdict::CannotFollow), ..Fake::default() };
    let found = fake.told(&["reproduce", "all", "--json"]);
    let document = parsed(&found.out);
    assert_eq!(document["experiments"].as_array().unwrap().len(), 2);
    let expected = json!({
        "id": "AC-1", "claim": "Twice as fast", "source": "Paper section 1", "tolerance": "10 %", "expected": 2.0,
        "measured": "1.5 to 2", "verdict": "cannot_follow", "evidence": "reproduced", "note": "small\nrun",
    });
    assert_eq!(document["experiments"][1]["checks"][0], expected);
    assert_eq!(document["experiments"][1]["id"], "fig-2");
}

#[test]
fn profiles_are_listed_and_shown_with_sources() {
    let fake = Fake::default();
    let list = fake.run(&["profile", "list"]).out;
    assert!(list.lines().any(|l| l.starts_with("saker-mid ")), "{list}");
    let show = fake.run(&["profile", "show", "saker-mid"]).out;
    assert!(show.starts_with("saker-mid: SAKER's mid speed class"), "{show}");
    let line = show.lines().find(|l| l.starts_with("media.read_latency_ns ")).unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(words[1..4], ["22000", "ns", "paper"]);
    assert!(line.ends_with("SAKER (SYSTOR'25) Fig. 2, Mid"), "{line}");
    let json = parsed(&fake.run(&["profile", "show", "saker-mid", "--json"]).out);
    let row =
        json["values"].as_array().unwrap().iter().find(|v| v["path"] == "media.read_latency_ns").unwrap();
    assert_eq!(
        (&row["value"], &row["unit"], &row["source"]),
        (&json!(22_000), &json!("ns"), &json!("paper"))
    );
}

#[test]
fn a_profile_can_be_a_file() {
    let directory = super::files::Scratch::new("profile");
    let fake = Fake::default();
    let toml = fake.run(&["profile", "show", "tiny", "--toml"]).out;
    let path = directory.file("mine.toml", toml.as_bytes());
    assert_eq!(fake.run(&["profile", "show", &path]), fake.run(&["profile", "show", "tiny"]));
    let broken = directory.file("broken.toml", b"name = ");
    let found = fake.run(&["profile", "show", &broken]);
    assert_eq!((found.code, found.err.lines().count()), (1, 1));
    let unknown = fake.run(&["profile", "show", "nosuch"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.err.starts_with("saker: error: there is no profile `nosuch`; choose one of "),
        "{}",
        unknown.err
    );
}
