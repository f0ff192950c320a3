// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::jobs::{Act, Job};
use super::*;
use std::collections::BTreeMap;

fn options(bench: DbBench) -> DbOptions {
    DbOptions {
        bench,
        num: 400,
        reads: None,
        writes: None,
        value_size: 50,
        key_size: 16,
        threads: 1,
        seek_nexts: 9,
        reverse_iterator: false,
        batch_size: 1,
        queued: false,
        rate: None,
        benchmark_write_rate_limit: 0,
        duration: None,
        use_existing_db: false,
        seed: 3,
        mix: MixOptions::default(),
        input: None,
        replay: ReplayOptions::default(),
    }
}

const LSM: &str = "mem:?engine=lsm&profile=tiny&size=32MiB";
const HASH: &str = "mem:?profile=tiny&size=32MiB";

fn run(url: &str, options: &DbOptions) -> (Kv, BTreeMap<String, f64>) {
    let (kv, report) = db_on_url(Kv::open(url).expect("opens"), url, options).expect("runs");
    let values = report.point.values.iter().filter_map(|(name, v)| Some((name.clone(), v.as_f64()?)));
    (kv, values.collect())
}

#[test]
fn fills_reads_and_seeks() {
    for url in [LSM, HASH] {
        for bench in [DbBench::FillSeq, DbBench::FillRandom] {
            let (mut kv, found) = run(url, &options(bench));
            assert_eq!((found["operations"], kv.list(None).count()), (400.0, 400), "{url} {bench:?}");
        }
        let batched = DbOptions { batch_size: 32, writes: Some(450), ..options(DbBench::FillRandom) };
        let (mut kv, found) = run(url, &batched);
        assert_eq!((found["operations"], kv.list(None).count()), (450.0, 400));
        let (_, reads) =
            run(url, &DbOptions { reads: Some(100), threads: 3, ..options(DbBench::ReadRandom) });
        assert_eq!([reads["operations"], reads["found"], reads["missing"]], [300.0, 300.0, 0.0]);
        let empty = DbOptions { use_existing_db: true, ..options(DbBench::ReadRandom) };
        assert_eq!(run(url, &empty).1["missing"], 400.0);
    }
    let (_, seeks) = run(LSM, &DbOptions { reads: Some(50), ..options(DbBench::SeekRandom) });
    // Random keys of 400: few are among the last nine.
    assert!((440.0..=500.0).contains(&seeks["pairs_sought"]) && seeks["found"] == 50.0, "{seeks:?}");
    // Of 400 pairs those from a key on, and those up to it.
    let to_the_ends = |reverse_iterator| {
        let all = DbOptions { seek_nexts: 400, reads: Some(50), ..options(DbBench::SeekRandom) };
        run(LSM, &DbOptions { reverse_iterator, ..all }).1["pairs_sought"]
    };
    assert_eq!(to_the_ends(false) + to_the_ends(true), 50.0 * 401.0);
    let (_, both) = run(LSM, &DbOptions { threads: 2, ..options(DbBench::ReadWhileWriting) });
    assert!(both["found"] == 800.0 && both["writes_meanwhile"] > 0.0, "{both:?}");
}

/// A run ends with its duration, also if the next operation is meant to begin an age later.
#[test]
fn a_slow_rate_ends_with_the_duration() {
    let slow =
        DbOptions { rate: Some(Rate::Fixed(1e-9)), duration: Some(0.05), ..options(DbBench::ReadRandom) };
    let begun = std::time::Instant::now();
    let (_, found) = run(LSM, &slow);
    assert!(begun.elapsed().as_secs() < 20 && found["operations"] <= 1.0, "{found:?}");
}

/// No operations have no latencies.
#[test]
fn nothing_takes_no_time() {
    let (_, found) = run(LSM, &DbOptions { reads: Some(0), ..options(DbBench::ReadRandom) });
    assert_eq!(found["operations"], 0.0);
    assert!(found.keys().all(|name| !name.contains("_us_")), "{found:?}");
}

#[test]
fn latencies_count_from_the_intended_start() {
    // Far more than any device does: the last operation begins late by nearly all of the run.
    let hurried = DbOptions { rate: Some(Rate::Fixed(1e12)), ..options(DbBench::FillSeq) };
    let (_, found) = run(LSM, &hurried);
    assert!(found["latency_us_max"] >= found["elapsed_s"] * 1e6 * 0.5, "{found:?}");
    let calm = DbOptions { rate: Some(Rate::Fixed(20_000.0)), ..options(DbBench::FillSeq) };
    let (_, found) = run(LSM, &calm);
    assert!(found["elapsed_s"] >= 399.0 / 20_000.0, "{found:?}");
}

fn mixed(mix: MixOptions, operations: u64) -> Vec<(Act, Vec<u8>, usize)> {
    let options = DbOptions { num: 30_000, mix, ..options(DbBench::MixGraph) };
    let picks = Picks::new(&options).expect("sound");
    let mut job = mixgraph::MixGraph::new(&options, picks, 0, operations).expect("sound");
    let (mut key, mut value, mut all) = (Vec::new(), Vec::new(), Vec::new());
    while let Some((act, _)) = job.next(&mut key, &mut value).expect("sound") {
        all.push((act, key.clone(), value.len()));
    }
    all
}

/// The model of FAST'20 for ZippyDB: the hottest range of thirty takes four fifths of all operations.
#[test]
fn mixgraph_follows_its_model() {
    let mix = MixOptions {
        mix_get_ratio: 0.85,
        mix_put_ratio: 0.14,
        mix_seek_ratio: 0.01,
        keyrange_num: 30,
        keyrange_dist: [14.18, -2.917, 0.0164, -0.08082],
        key_dist: (0.002312, 0.3467),
        ..MixOptions::default()
    };
    let all = mixed(mix, 50_000);
    let count = |wanted: fn(&Act) -> bool| all.iter().filter(|(act, ..)| wanted(act)).count();
    let (gets, seeks) = (count(|a| *a == Act::Get), count(|a| matches!(a, Act::Seek(_))));
    assert!(gets.abs_diff(42_500) < 500 && seeks.abs_diff(500) < 100, "{gets} {seeks}");
    let mut ranges = BTreeMap::new();
    for (_, key, _) in &all {
        let number = u64::from_be_bytes(*key.first_chunk().expect("16 bytes"));
        *ranges.entry(number / 1000).or_insert(0_u32) += 1;
    }
    let hottest = f64::from(*ranges.values().max().expect("some")) / all.len() as f64;
    assert!(ranges.len() == 30 && (0.79..0.83).contains(&hottest), "{hottest}");
    let values: Vec<_> = all.iter().filter(|(act, ..)| *act == Act::Put).map(|(_, _, n)| *n).collect();
    assert!(values.iter().all(|n| (1..1024).contains(n)));
    let mean = values.iter().sum::<usize>() as f64 / values.len() as f64;
    assert!((32.0..38.0).contains(&mean), "{mean}");
    let alike = mixed(MixOptions::default(), 1000);
    assert!(alike.iter().all(|(act, ..)| *act == Act::Get));
}

#[test]
fn mixgraph_runs_on_a_device() {
    let mix =
        MixOptions { mix_put_ratio: 0.5, mix_seek_ratio: 0.1, mix_max_scan_len: 20, ..MixOptions::default() };
    let sine = Sine { a: 5000.0, b: 100.0, c: 0.0, d: 20_000.0, interval_ms: 1, noise: 0.1 };
    let options = DbOptions { mix, rate: Some(Rate::Sine(sine)), ..options(DbBench::MixGraph) };
    let (_, found) = run(LSM, &options);
    assert_eq!(found["operations"], 400.0);
    assert!(found["put_operations"] > 50.0 && found["seek_operations"] > 10.0, "{found:?}");
}

fn replayed(text: &str, threads: u32) -> Result<(Kv, BTreeMap<String, f64>), LabError> {
    let file = std::env::temp_dir().join(format!("saker-trace-{}-{threads}.csv", std::process::id()));
    std::fs::write(&file, text).expect("writes");
    let options = DbOptions { input: Some(file.clone()), threads, ..options(DbBench::Replay) };
    let run = db_on_url(Kv::open(LSM).expect("opens"), LSM, &options);
    std::fs::remove_file(&file).expect("removes");
    let (kv, report) = run?;
    let values = report.point.values.iter().filter_map(|(name, v)| Some((name.clone(), v.as_f64()?)));
    Ok((kv, values.collect()))
}

#[test]
fn traces_are_replayed_at_their_times() {
    let text = "100,alpha,5,20,set\n100.001,beta,8,3,put\n100.01,alpha,5,0,get\n100.01,gamma,5,0,get\n\
                100.02,beta,8,0,delete\n100.03,a,1,2,scan\n";
    let (mut kv, found) = replayed(text, 2).expect("sound");
    assert_eq!((found["operations"], found["found"], found["missing"]), (6.0, 2.0, 1.0));
    assert!(found["elapsed_s"] >= 0.03, "{found:?}");
    assert_eq!(kv.get(b"alpha").expect("sound").map(|v| v.len()), Some(20));
    assert_eq!(kv.get(b"beta....").expect("sound"), None);
    let named = "op,time,value_size,key,key_size\nset,5,4,k,1\n";
    assert_eq!(replayed(named, 3).expect("sound").1["operations"], 1.0);
    let twitter = "0,key,3,7,client,set,60\n0,key,3,0,client,get,0\n";
    assert_eq!(replayed(twitter, 4).expect("sound").1["found"], 1.0);
    let exported = "\u{feff}\"time\",\"key\",\"size\",\"key size\",\"op\"\r\n0,\"a,b\",7,3,\"set\"\r\n1e-3,\"a,b\",0,3,get\r\n";
    let (mut kv, found) = replayed(exported, 5).expect("sound");
    assert_eq!((found["operations"], found["found"]), (2.0, 1.0));
    assert_eq!(kv.get(b"a,b").expect("sound").map(|v| v.len()), Some(7));
    for (wrong, what) in [
        ("nan,k,1,1,get\n", "`nan` is no time"),
        ("inf,k,1,1,get\n", "`inf` is no time"),
        ("0,k,1,1,jump\n", "jump"),
        ("0,k,1\n", "no operation"),
        ("0,k,x,1,get\n", "no key size"),
        ("0,k,300,1,get\n", "1 to 255"),
    ] {
        let error = replayed(wrong, 1).expect_err("wrong").to_string();
        assert!(error.contains(what) && error.contains("line 1"), "{error}");
    }
    for nothing in ["", "\n", "op,time,value_size,key,key_size\n"] {
        let error = replayed(nothing, 2).expect_err("no operations").to_string();
        assert!(error.contains("has no operations"), "{error}");
    }
}
