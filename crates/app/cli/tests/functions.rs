// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PCIe functions beside a target: what an operator sees of them, and SIGHUP while a client works.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

use saker::Kv;

use crate::target::{Target, run};

const FUNCTION: &str = "nqn.2026-11.dev.saker:function";
const NETWORK: &str = "nqn.2026-11.dev.saker:network";

/// A target with a PCIe function and a subsystem on the network, and where its metrics are.
struct Both {
    folder: tempfile::TempDir,
    target: Target,
    metrics: u16,
}

impl Both {
    fn start(options: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("saker.toml");
        // A port that was free a moment ago.
        let metrics = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let text = Self::text(folder.path(), metrics, options, "");
        std::fs::write(&config, text).unwrap();
        let target = Target::configured(&config);
        Self { folder, target, metrics }
    }

    fn text(folder: &std::path::Path, metrics: u16, options: &str, limit: &str) -> String {
        let socket = folder.join("socket");
        format!(
            "listen = [\"127.0.0.1:0\"]\nlog_format = \"json\"\nmetrics = \"127.0.0.1:{metrics}\"\n\
             [[subsystem]]\nurl = \"mem:?profile=tiny&size=64MiB&{options}\"\nnqn = \"{FUNCTION}\"\n\
             vfio_user = \"{}\"\n\
             [[subsystem]]\nurl = \"mem:?profile=tiny&size=64MiB&{options}\"\nnqn = \"{NETWORK}\"\n{limit}\n",
            socket.display()
        )
    }

    fn device(&self) -> String {
        format!("vfio-user:{}?reconnect=0", self.folder.path().join("socket").display())
    }

    fn scrape(&self) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.metrics)).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    /// The number of a metric of the function, all of whose labels are named.
    fn number(&self, metric: &str, labels: &[&str]) -> Option<f64> {
        let text = self.scrape();
        let is_it = |line: &&str| {
            line.strip_prefix(metric).is_some_and(|rest| rest.starts_with('{'))
                && labels.iter().chain(&[FUNCTION]).all(|label| line.contains(&format!("\"{label}\"")))
        };
        text.lines().find(is_it)?.rsplit_once(' ')?.1.parse().ok()
    }
}

#[test]
fn metrics_and_the_log_page_tell_of_the_clients_of_a_function() {
    for timing in ["off", "real"] {
        let both = Both::start(&format!("timing={timing}"));
        assert_eq!(both.number("saker_subsystem_answers", &[]), Some(1.0), "{}", both.scrape());
        assert_eq!(both.number("saker_controllers", &[]), Some(0.0));
        assert_eq!(both.number("saker_commands_total", &["kv", "Store"]), None, "nobody has stored anything");
        let mut kv = Kv::open(&both.device()).unwrap();
        for n in 0..30_u32 {
            kv.put(&n.to_le_bytes(), b"value").unwrap();
        }
        assert_eq!(kv.get(b"missing").unwrap(), None);
        for (metric, labels, count) in [
            ("saker_controllers", &[][..], 1.0),
            ("saker_vfio_user_clients_total", &[], 1.0),
            ("saker_vfio_user_clients_expelled_total", &[], 0.0),
            ("saker_vfio_user_requests_refused_total", &[], 0.0),
        ] {
            assert_eq!(both.number(metric, labels), Some(count), "{timing} {metric}");
        }
        // By whatever method the library has stored them.
        let stores = |text: &str| -> f64 {
            let is_store = |line: &&str| {
                line.starts_with("saker_commands_total{") && line.contains(FUNCTION) && line.contains("Store")
            };
            let count = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap();
            text.lines().filter(is_store).map(count).sum()
        };
        assert_eq!(stores(&both.scrape()), 30.0, "{timing}: {}", both.scrape());
        let retrieved = both
            .number("saker_commands_total", &["kv", "Retrieve", "KV Key Does Not Exist (SCT 0h, SC 87h)"]);
        assert_eq!(retrieved, Some(1.0), "{timing}");
        assert!(both.number("saker_commands_total", &["admin", "Identify"]).is_some_and(|n| n > 0.0));
        assert!(both.number("saker_vfio_user_requests_total", &[]).is_some_and(|n| n > 30.0));
        let timed = both.number("saker_command_duration_seconds_count", &["kv", "Retrieve"]);
        assert_eq!(timed, Some(if timing == "off" { 0.0 } else { 1.0 }), "{timing}");
        // The same in log page C3h, which the client itself reads.
        let counted = kv.counters().unwrap().unwrap();
        let of = |name: &str| counted.iter().filter(|c| c.name == name).map(|c| c.value).sum::<u64>();
        assert_eq!((of("vfio_user_clients"), of("controllers")), (1, 1));
        assert!(of("commands") > 31, "{}", of("commands"));
        kv.close().unwrap();
        let top = run(&["top", &both.device(), "--interval", "0.1", "--count", "2"]);
        assert!(top.lines().count() > 2, "{top}");
        both.target.end();
    }
}

#[test]
fn a_client_that_works_does_not_notice_a_reload() {
    let mut both = Both::start("timing=off");
    let mut kv = Kv::open(&both.device()).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut rounds = 0_u32;
            while !is_over.load(Ordering::Relaxed) {
                kv.put(b"key", &rounds.to_le_bytes()).unwrap();
                assert_eq!(kv.get(b"key").unwrap(), Some(rounds.to_le_bytes().to_vec()));
                rounds += 1;
            }
            rounds
        });
        for limit in ["[[subsystem.namespace]]\nnsid = 1\ncommands_per_second = 5", ""] {
            let text = Both::text(both.folder.path(), both.metrics, "timing=off", limit);
            std::fs::write(both.folder.path().join("saker.toml"), text).unwrap();
            both.target.signal("-HUP");
            both.target.line("the configuration was read again");
            if !limit.is_empty() {
                // It is that of the other subsystem's namespace.
                let mut network = Kv::open(&both.target.url).unwrap();
                (0..8_u32).for_each(|n| network.put(&n.to_le_bytes(), b"limited").unwrap());
                network.close().unwrap();
                let told = both.target.line("host waits for a limit of a namespace");
                assert_eq!(told["limit"], "commands_per_second");
            }
        }
        // What only a new start changes is named; the function stays where it is.
        let text = Both::text(both.folder.path(), both.metrics, "timing=off", "");
        let elsewhere = text.replace("/socket\"", "/elsewhere\"");
        std::fs::write(both.folder.path().join("saker.toml"), elsewhere).unwrap();
        both.target.signal("-HUP");
        let told = both.target.line("the configuration was read again; some settings change later");
        assert_eq!(told["with_a_new_start"], "subsystem");
        is_over.store(true, Ordering::Relaxed);
        assert!(worker.join().unwrap() > 0);
    });
    assert_eq!(kv.reconnects(), 0);
    kv.close().unwrap();
    both.target.end();
}

/// The suite's findings by clause, on every engine: no other verdict by vfio-user than over TCP.
#[test]
fn conformance_by_vfio_user_is_that_over_tcp() {
    for engine in saker::EngineKind::ALL.iter().map(|kind| kind.name()) {
        let both = Both::start(&format!("engine={engine}"));
        let findings = |device: &str| -> Vec<(String, String)> {
            let document: serde_json::Value =
                serde_json::from_str(&run(&["conform", device, "--json"])).expect("JSON");
            assert_eq!(document["failed"], 0, "{device}: {document}");
            let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
            let findings = document["findings"].as_array().expect("a list");
            findings.iter().map(|finding| (text(&finding["id"]), text(&finding["verdict"]))).collect()
        };
        let (function, network) = (findings(&both.device()), findings(&both.target.url));
        assert!(function.len() > 45, "{engine}");
        assert_eq!(function, network, "{engine}");
        both.target.end();
    }
}
