// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program's own experiments and benches, at a tiny scale.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn saker(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_saker"));
    command.env_remove("SAKER_DEVICE").args(arguments).output().unwrap()
}

fn document(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// No experiment is so long that this does not make it as short as it may be.
const SMALLEST: &str = "1000000";

#[test]
fn every_experiment_runs_and_repeats() {
    let first = saker(&["reproduce", "all", "--scale", SMALLEST, "--json"]);
    // A slow machine takes more than a minute, and is told so; nothing else is said.
    let told = String::from_utf8_lossy(&first.stderr);
    assert!(told.lines().all(|line| line.contains(" min: ") && line.contains("experiments done")), "{told}");
    let found = document(&first);
    assert_eq!(found["schema"], "saker.reproduce.v1");
    let list = document(&saker(&["reproduce", "list", "--json"]));
    let ids = |all: &Value| -> Vec<String> {
        all["experiments"].as_array().unwrap().iter().map(|e| e["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&found), ids(&list));
    // Those of KVAccel, and SAKER's with a hundred cells each, take most of the time of all, however short they are made: the soak
    // repeats them too.
    let long = ["kvaccel-", "saker-write-"];
    let repeats = |id: &&str| saker_testing::is_soak() || !long.iter().any(|family| id.starts_with(family));
    let again = ids(&found);
    let again: Vec<&str> = again.iter().map(String::as_str).filter(repeats).collect();
    assert!(again.len() > 30, "{again:?}");
    let second =
        document(&saker(&[&["reproduce", "run", "--scale", SMALLEST, "--json"], &again[..]].concat()));
    let of = |all: &Value, id: &str| -> Value {
        all["experiments"].as_array().unwrap().iter().find(|e| e["id"] == id).expect("it ran").clone()
    };
    for id in again {
        assert_eq!(of(&found, id), of(&second, id), "{id}: the same seed gives the same numbers");
    }
    for experiment in found["experiments"].as_array().unwrap() {
        let fields: Vec<&String> = experiment.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["checks", "id", "profile", "scale", "seed", "series"]);
        for check in experiment["checks"].as_array().unwrap() {
            let explained = check["verdict"] != "fail" || !check["note"].as_str().unwrap().is_empty();
            assert!(explained, "{}: a miss without its cause", check["id"]);
        }
    }
}

#[test]
fn a_changed_number_changes_what_is_measured() {
    let run = |set: &str| document(&saker(&["reproduce", "run", "bandslim-dlt", "--set", set, "--json"]));
    let verdict = |d: &Value| d["experiments"][0]["checks"][0]["verdict"].clone();
    assert_eq!(verdict(&run("profile.firmware.write_buffer_bytes=8_388_608")), "pass");
    let other = run("profile.firmware.write_buffer_bytes=16_777_216");
    assert_eq!(verdict(&other), "fail", "twice the entries are not the published table");
    assert_eq!(other["experiments"][0]["profile"], "cosmos-plus with firmware.write_buffer_bytes=16_777_216");
}

#[test]
fn a_misspelt_setting_is_told_the_closest() {
    let output = saker(&["reproduce", "run", "bandslim-dlt", "--set", "profile.geometry.pagebytes=4096"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1));
    assert!(error.contains("`geometry.page_bytes`"), "{error}");
}

#[test]
fn benches_run_in_virtual_time_and_on_devices() {
    let virtually =
        ["bench", "m", "--operations", "300", "--transfer", "adaptive", "--profile", "cosmos-plus", "--json"];
    let (first, second) = (saker(&virtually), saker(&virtually));
    assert_eq!(first.stdout, second.stdout);
    let found = document(&first);
    assert!(found["commands_per_operation"].as_f64().unwrap() >= 1.0 && found["operations"] == 300);
    let real =
        document(&saker(&["bench", "readrandom", "--operations", "200", "--device", "mem:", "--json"]));
    assert_eq!((&real["operations"], &real["at"]["device"]), (&Value::from(200), &Value::from("mem:")));
    for (wrong, names) in
        [(["bench", "nosuch", "--json"], "fillseq"), (["bench", "a", "--transfer=x"], "piggyback")]
    {
        let output = saker(&wrong);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains(names));
    }
}

#[test]
fn benches_take_the_parameters_of_db_bench() {
    let seeks = ["bench", "seekrandom", "--num", "200", "--reads=50", "--seek_nexts=5", "--value_size", "32"];
    let found = document(&saker(&[&seeks[..], &["--threads", "2", "--json"]].concat()));
    let device = found["at"]["device"].as_str().expect("a URL");
    assert!(device.starts_with("mem:?engine=lsm&size="), "{device}");
    assert_eq!((&found["operations"], &found["found"]), (&Value::from(100), &Value::from(100)));
    let back = document(&saker(&[&seeks[..], &["--reverse_iterator", "--json"]].concat()));
    assert_eq!(back["found"], Value::from(50));
    let unordered = saker(&[&seeks[..], &["--reverse_iterator=1", "--device", "mem:"]].concat());
    assert_eq!(unordered.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unordered.stderr).contains("no order"), "{unordered:?}");
    let mixed = ["bench", "mixgraph", "--num=300", "--mix_get_ratio=0.5", "--mix_put_ratio=0.5", "--json"];
    let found = document(&saker(&mixed));
    let kinds = ["get_operations", "put_operations"].map(|kind| found[kind].as_u64().expect("a count"));
    assert!(kinds[0] > 100 && kinds[1] > 100 && kinds.iter().sum::<u64>() == 300, "{kinds:?}");
    let paced = ["bench", "fillrandom", "--num=100", "--rate=10000", "--device", "mem:", "--json"];
    assert!(document(&saker(&paced))["elapsed_s"].as_f64().expect("seconds") >= 0.0099);
    for wrong in
        [&["bench", "replay"][..], &["bench", "seekrandom", "--rate=0"], &["bench", "fillseq", "--num=0"]]
    {
        assert_eq!(saker(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_calibration_finds_the_quickest_method_of_each_size() {
    let found = document(&saker(&["profile", "calibrate", "cosmos-plus", "--passthrough", "--json"]));
    let sizes = found["calibration"]["sizes"].as_array().expect("sizes");
    assert_eq!((sizes[0]["bytes"].as_u64(), sizes[sizes.len() - 1]["bytes"].as_u64()), (Some(4), Some(8192)));
    for size in sizes {
        let ns = size["ns"].as_object().expect("methods");
        let least = ns.values().filter_map(Value::as_u64).min();
        assert_eq!(ns[size["quickest"].as_str().expect("a name")].as_u64(), least, "{size}");
    }
}

#[test]
fn a_bench_on_a_device_takes_the_method_asked_for() {
    let bench = |method| {
        saker(&[
            "bench",
            "m",
            "--operations",
            "50",
            "--device",
            "mem:?profile=tiny&size=16MiB",
            "--transfer",
            method,
        ])
    };
    assert!(bench("inline").status.success());
    assert!(!bench("sgl").status.success(), "this device takes none");
}

#[test]
fn traces_tell_where_the_time_of_each_command_went() {
    let directory = std::env::temp_dir().join(format!("saker-trace-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let run = |name: &str| {
        let path = directory.join(name).display().to_string();
        let line = ["bench", "a", "--value-size", "128B", "--operations", "50", "--transfer", "piggyback"];
        let output = saker(&[&line[..], &["--profile", "cosmos-plus", "--trace", &path]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(Path::new(&path)).unwrap()
    };
    let lines = run("t.jsonl");
    assert_eq!(lines.lines().count(), 150, "three commands a store");
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let sum: u64 = first["spans"].as_array().unwrap().iter().map(|s| s[1].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), first["elapsed_ns"].as_u64());
    let events: Value = serde_json::from_str(&run("t.json")).unwrap();
    assert!(events["traceEvents"].as_array().unwrap().len() > 300);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn the_document_names_every_check() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reproduce.md");
    let text = std::fs::read_to_string(path).unwrap();
    for plan in saker_lab::run::plans() {
        let missing: Vec<&str> = plan
            .claims
            .iter()
            .map(|c| c.id.as_str())
            .filter(|id| !text.contains(&format!("| {id} |")))
            .collect();
        assert!(missing.is_empty(), "regenerate docs/reproduce.md: {missing:?}");
    }
}
