// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that an engine holds back, as `bench` and `info` tell them.

use super::support::Desk;
use serde_json::Value;

/// A table in level 0 is enough to delay writes, and a second one to stop them if `stop` is 2.
fn url(place: &str, stop: u32) -> String {
    format!(
        "{place}engine=lsm&timing=real&write_buffer_size=2KiB&level0_file_num_compaction_trigger=1\
         &level0_slowdown_writes_trigger=1&delayed_write_rate=64KiB&level0_stop_writes_trigger={stop}"
    )
}

#[test]
fn a_bench_tells_when_writes_were_held_back_and_why() {
    let desk = Desk::with_image();
    for (stop, hold) in [(40, "delayed"), (1, "stopped")] {
        for shards in ["", "&shards=2"] {
            let url = url("mem:?profile=tiny&size=16MiB&", stop) + shards;
            let bench = ["bench", "fillrandom", "--num", "1000", "--device", &url];
            let text = desk.saker(&[&bench[..], &["--json"]].concat()).good();
            let document: Value = serde_json::from_str(&text).expect("JSON");
            let stalls = &document["stalls"];
            let held = &stalls[hold]["l0_file_count_limit"];
            let number = |name: &str| held[name].as_f64().unwrap_or(0.0);
            assert!(number("periods") > 0.0 && number("s") > 0.0 && number("writes") > 0.0, "{url}: {text}");
            assert!(number("s") <= 2.0 * document["elapsed_s"].as_f64().expect("a number"), "{text}");
            let periods = stalls["periods"].as_array().expect("periods");
            assert!(periods.iter().any(|period| period["hold"] == hold), "{text}");
            let text = desk.saker(&bench).good();
            let line = text.lines().find(|line| line.starts_with("stalls.time_line ")).expect("a time line");
            let mark = if hold == "stopped" { '#' } else { '-' };
            assert!(line.contains(mark) && line.ends_with("(# stopped, - delayed)"), "{line}");
        }
    }
}

#[test]
fn a_device_that_held_nothing_back_says_so() {
    let desk = Desk::with_image();
    for device in ["file:disk.img", "mem:?engine=lsm", "mem:?engine=tree&threads=1", "mem:?timing=real"] {
        let text = desk.saker(&["info", "--json", "--device", device]).good();
        let document: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(document["info"]["writes"], serde_json::json!({ "condition": "normal" }), "{device}");
    }
}
