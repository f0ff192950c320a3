// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every number that a command takes, at the ends of what can be written: it is refused at once, in one line that names what is
//! taken, or it is carried out.

use crate::e2e::support::Desk;
use std::time::{Duration, Instant};

const U64_MAX: &str = "18446744073709551615";
const BEYOND_U64: &str = "18446744073709551616";

/// A number nobody means is refused in this time; a run of such length takes days.
const AT_ONCE: Duration = Duration::from_secs(20);

/// Commands with the flag at their end, and what of 0, -1, u64::MAX, more than that, and 999EiB they take.
fn flags() -> Vec<(Vec<&'static str>, &'static [&'static str])> {
    let bench = |workload, flag| {
        vec!["bench", workload, "--device", "mem:?size=64MiB&profile=tiny", "--num", "10", flag]
    };
    let mut all: Vec<(Vec<&str>, &[&str])> = vec![
        (vec!["bench", "readrandom", "--operations"], &[]),
        (vec!["bench", "readrandom", "--num"], &[]),
        (vec!["bench", "readrandom", "--device", "mem:", "--num"], &[]),
        (vec!["bench", "tpcc", "--device", "mem:", "--operations"], &[]),
        (vec!["bench", "kvcache", "--device", "mem:", "--operations"], &[]),
        (vec!["bench", "tpcc", "--device", "mem:", "--operations", "1", "--warehouses"], &[]),
        (vec!["bench", "a", "--operations", "10", "--value-size"], &["0"]),
        (vec!["bench", "a", "--operations", "10", "--key-size"], &[]),
        (vec!["bench", "a", "--operations", "10", "--threads"], &[]),
        (vec!["bench", "a", "--operations", "10", "--qd"], &[]),
        (vec!["bench", "a", "--operations", "10", "--seed"], &["0", U64_MAX]),
        (bench("readrandom", "--reads"), &["0"]),
        (bench("overwrite", "--writes"), &["0"]),
        (bench("seekrandom", "--seek_nexts"), &["0"]),
        (bench("fillrandom", "--batch_size"), &[]),
        (bench("readrandom", "--reverse_iterator"), &["0"]),
        (bench("readrandom", "--use_existing_db"), &["0"]),
        (bench("readrandom", "--duration"), &[]),
        // As fast as the device goes.
        (bench("readrandom", "--rate"), &[U64_MAX, BEYOND_U64]),
        (bench("readwhilewriting", "--benchmark_write_rate_limit"), &["0", U64_MAX]),
        (bench("mixgraph", "--mix_max_scan_len"), &[]),
        (bench("mixgraph", "--mix_max_value_size"), &[]),
        (bench("mixgraph", "--keyrange_num"), &[]),
        (bench("mixgraph", "--sine_mix_rate_interval_milliseconds"), &[]),
        (vec!["create", "x.img", "--profile", "tiny", "--size"], &[]),
        (
            vec!["create", "y.img", "--profile", "tiny", "--force", "--size", "16MiB", "--seed"],
            &["0", U64_MAX],
        ),
        (vec!["list", "--device", "mem:", "--limit"], &["0", U64_MAX]),
        (vec!["scan", "--device", "mem:", "--limit"], &["0", U64_MAX]),
        (vec!["scan", "--device", "mem:", "--timeout"], &[]),
        (vec!["reproduce", "run", "bandslim-arithmetic", "--scale"], &[]),
        (vec!["reproduce", "run", "bandslim-arithmetic", "--threads"], &[]),
        (vec!["block", "read", "--device", "file:both.img?nsid=2"], &["0"]),
        (vec!["block", "trim", "--device", "file:both.img?nsid=2"], &["0"]),
        (vec!["block", "read", "--device", "file:both.img?nsid=2", "0"], &["0"]),
        (vec!["block", "trim", "--device", "file:both.img?nsid=2", "0"], &["0"]),
    ];
    for flag in [
        "--operations",
        "--threads",
        "--qd",
        "--group",
        "--batch",
        "--host-cpus",
        "--device-cpus",
        "--sizes",
        "--skew",
    ] {
        let kept: &[&str] = match flag {
            "--sizes" | "--host-cpus" | "--device-cpus" => &["0"],
            _ => &[],
        };
        let head = if flag == "--operations" {
            vec!["compare", "--sizes", "16B"]
        } else if flag == "--sizes" {
            vec!["compare", "--operations", "10"]
        } else {
            vec!["compare", "--operations", "10", "--sizes", "16B"]
        };
        all.push(([head, vec![flag]].concat(), kept));
    }
    for flag in ["--read-cache", "--store-cache"] {
        let head = vec!["compare", "--operations", "10", "--sizes", "16B", "--store", "tree", flag];
        all.push((head, &["0"]));
    }
    all
}

fn desk() -> Desk {
    let desk = Desk::new();
    let namespaces = ["--namespace", "kv:8MiB", "--namespace", "block:4MiB,512"];
    let line = [&["create", "both.img", "--profile", "tiny", "--size", "16MiB"], &namespaces[..]].concat();
    desk.saker(&line).good();
    desk
}

#[test]
fn absurd_numbers_are_refused_at_once() {
    let desk = desk();
    for (head, taken) in flags() {
        for number in ["0", "-1", U64_MAX, BEYOND_U64, "999EiB", "x"] {
            let line = [head.as_slice(), &[number]].concat();
            let begun = Instant::now();
            let ran = desk.saker(&line);
            assert!(begun.elapsed() < AT_ONCE, "{line:?} took {:?}", begun.elapsed());
            if taken.contains(&number) {
                assert_eq!(ran.code, Some(0), "{line:?}: {}", ran.err);
            } else {
                let message = ran.refused(2);
                assert!(!message.contains("panicked"), "{line:?}: {message}");
            }
        }
    }
}

/// The limit is in the message, so that the next try fits.
#[test]
fn refusals_name_the_limit() {
    let desk = desk();
    for (line, words) in [
        (&["bench", "readrandom", "--operations", U64_MAX][..], "1..=1000000000"),
        (&["bench", "readrandom", "--num", "1000000000", "--value-size", "4KiB"], "the most is 4"),
        (
            &["bench", "fillseq", "--num", "1000000", "--device", "mem:?size=64MiB&profile=tiny"],
            "it holds at most",
        ),
        (&["bench", "a", "--num", "1000000", "--device", "mem:?size=64MiB&profile=tiny"], "it holds at most"),
        (
            &["bench", "fillseq", "--batch_size", "100000", "--value_size", "1MiB", "--device", "mem:"],
            "the most is 1024",
        ),
        (&["bench", "readrandom", "--reads", U64_MAX, "--device", "mem:"], "1000000000"),
        (&["bench", "seekrandom", "--seek_nexts", "4294967295"], "0..=1000000"),
        (
            &["exists", "k", "--device", "tcp://127.0.0.1:1/x?timeout=18446744073709551615"],
            "at most 31536000",
        ),
        (
            &["exists", "k", "--device", "tcp://127.0.0.1:1/x?reconnect=18446744073709551615"],
            "at most 31536000",
        ),
        (&["exists", "k", "--device", "/dev/ng0n1?reconnect=18446744073709551615"], "at most 31536000"),
        (&["exists", "k", "--device", "mem:?prefault=18446744073709551615"], "at most 1000000000"),
        (&["exists", "k", "--device", "mem:?depth=18446744073709551615"], "1 to 4095"),
        (
            &["exists", "k", "--device", "mem:?engine=lsm&write_buffer_size=999TiB"],
            "write 1024 to 4294967296",
        ),
    ] {
        let message = desk.saker(line).refused(2);
        assert!(message.contains(words), "{line:?}: {message}");
    }
}
