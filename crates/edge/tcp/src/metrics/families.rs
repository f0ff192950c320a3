// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From named numbers to families of samples with labels. Labels are names of ours: subsystems as they are configured, namespaces,
//! commands, statuses, engines' counters. What hosts call themselves is none.

use std::collections::BTreeMap;

use prometheus_client::metrics::MetricType;
use saker_nvme::vendor_specific::{
    Counter, CounterKind, CounterOf, LATENCY_BUCKETS, command_name, status_of,
};

use super::Found;
use super::names::help;

/// Labels of a sample.
pub(super) type Labels = Vec<(&'static str, String)>;

/// A sample's number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Of a counter.
    Rising(u64),
    /// Of a counter of time.
    RisingSeconds(f64),
    /// Of a gauge.
    Now(u64),
    /// Of a gauge of a ratio.
    Ratio(f64),
    /// Of a histogram of latencies.
    Latencies {
        /// All of them.
        seconds: f64,
        /// How many.
        count: u64,
        /// The end of each bucket in seconds, and how many it has that no bucket before has.
        buckets: Vec<(f64, u64)>,
    },
}

/// Samples of one name.
#[derive(Debug)]
pub(super) struct Family {
    pub name: String,
    pub help: &'static str,
    pub kind: MetricType,
    pub samples: Vec<(Labels, Value)>,
}

/// What the server itself counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerNumbers {
    /// Sockets accepted.
    pub accepted: u64,
    /// Of these, closed at once because there was no place.
    pub without_place: u64,
    /// Connects that were refused.
    pub refused: u64,
    /// Bytes that connections hold.
    pub memory: u64,
    /// Commands that waited because their host held as much as it may.
    pub memory_waits: u64,
}

/// All families of a scrape, in the order of their names.
#[derive(Debug, Default)]
pub(super) struct Families {
    pub all: Vec<Family>,
}

/// Bytes of a page and of what hosts wrote: what write amplification is counted from.
const PAGE_BYTES: &str = "flash_page_bytes";

impl Families {
    pub fn of(found: &Found, server: &ServerNumbers) -> Self {
        let mut gathered = Gathered::default();
        gathered.of_server(server);
        for (subsystem, counters) in found {
            let labels = vec![("subsystem", subsystem.clone())];
            gathered.add(
                "subsystem_answers",
                MetricType::Gauge,
                labels.clone(),
                Value::Now(counters.is_some().into()),
            );
            if let Some(counters) = counters {
                counters.iter().for_each(|counter| gathered.of_counter(&labels, counter));
                gathered.of_commands(&labels, counters);
                gathered.of_amplification(&labels, counters);
            }
        }
        Self { all: gathered.0.into_values().collect() }
    }
}

#[derive(Default)]
struct Gathered(BTreeMap<String, Family>);

impl Gathered {
    fn add(&mut self, name: &str, kind: MetricType, labels: Labels, value: Value) {
        let name = format!("saker_{name}");
        let help = help(name.trim_start_matches("saker_"));
        let family =
            self.0.entry(name.clone()).or_insert_with(|| Family { name, help, kind, samples: Vec::new() });
        family.samples.push((labels, value));
    }

    fn of_server(&mut self, server: &ServerNumbers) {
        let mut rising =
            |name, count| self.add(name, MetricType::Counter, Labels::new(), Value::Rising(count));
        rising("connections_accepted", server.accepted);
        rising("connections_without_place", server.without_place);
        rising("connections_refused", server.refused);
        rising("host_memory_waits", server.memory_waits);
        self.add("connections_memory_bytes", MetricType::Gauge, Labels::new(), Value::Now(server.memory));
        let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
        self.add("build", MetricType::Gauge, version, Value::Now(1));
    }

    /// A number that is of no command.
    fn of_counter(&mut self, labels: &Labels, counter: &Counter) {
        if counter.of != CounterOf::Device {
            return;
        }
        let mut labels = labels.clone();
        if counter.nsid > 0 {
            labels.push(("namespace", counter.nsid.to_string()));
        }
        match counter.kind {
            CounterKind::Counter | CounterKind::Lasting => match counter.name.strip_suffix("_nanoseconds") {
                Some(name) => {
                    let value = Value::RisingSeconds(seconds(counter.value));
                    self.add(&format!("{name}_seconds"), MetricType::Counter, labels, value);
                }
                None => self.add(&counter.name, MetricType::Counter, labels, Value::Rising(counter.value)),
            },
            CounterKind::Gauge => {
                self.add(&counter.name, MetricType::Gauge, labels, Value::Now(counter.value))
            }
            CounterKind::Engine => {
                labels.push(("name", counter.name.clone().into_owned()));
                self.add("engine_number", MetricType::Gauge, labels, Value::Now(counter.value));
            }
        }
    }

    fn of_commands(&mut self, labels: &Labels, counters: &[Counter]) {
        let mut latencies: BTreeMap<_, (u64, [u64; LATENCY_BUCKETS])> = BTreeMap::new();
        for counter in counters {
            let CounterOf::Command { class, opcode, detail } = counter.of else { continue };
            let mut labels = labels.clone();
            labels.push(("class", class.name().to_owned()));
            labels.push(("command", command_name(class, opcode).unwrap_or("other").to_owned()));
            match counter.name.as_ref() {
                "commands" => {
                    labels.push(("status", status_of(detail).to_string()));
                    self.add("commands", MetricType::Counter, labels, Value::Rising(counter.value));
                }
                "command_nanoseconds" => latencies.entry(labels).or_default().0 = counter.value,
                "command_latency" => {
                    if let Some(bucket) = latencies.entry(labels).or_default().1.get_mut(usize::from(detail))
                    {
                        *bucket = counter.value;
                    }
                }
                _ => {}
            }
        }
        for (labels, (nanos, buckets)) in latencies {
            self.add("command_duration_seconds", MetricType::Histogram, labels, histogram(nanos, &buckets));
        }
    }

    /// What is written for each byte that was asked for, by layer.
    fn of_amplification(&mut self, labels: &Labels, counters: &[Counter]) {
        let number =
            |name: &str, nsid| counters.iter().find(|c| c.name == name && c.nsid == nsid).map(|c| c.value);
        let page_bytes = number(PAGE_BYTES, 0).unwrap_or(0);
        let mut of = |layer: &str, nsid: u32, pages: Option<u64>, asked: Option<u64>| {
            let (Some(pages), Some(asked @ 1..)) = (pages, asked) else { return };
            let mut labels = labels.clone();
            if nsid > 0 {
                labels.push(("namespace", nsid.to_string()));
            }
            labels.push(("layer", layer.to_owned()));
            let ratio = (pages as f64 * page_bytes as f64) / asked as f64;
            self.add("write_amplification_ratio", MetricType::Gauge, labels, Value::Ratio(ratio));
        };
        of("flash", 0, number("flash_pages_programmed", 0), number("host_written_bytes", 0));
        of("life", 0, number("life_flash_pages_programmed", 0), number("life_host_written_bytes", 0));
        let namespaces = counters.iter().filter(|c| c.name == "user_written_bytes").map(|c| c.nsid);
        for nsid in namespaces {
            of("log", nsid, number("log_pages_programmed", nsid), number("user_written_bytes", nsid));
        }
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Bucket n ends at 2^n microseconds, the last one nowhere.
fn histogram(nanos: u64, buckets: &[u64; LATENCY_BUCKETS]) -> Value {
    let end = |n: usize| if n + 1 < LATENCY_BUCKETS { (1_u64 << n) as f64 / 1e6 } else { f64::INFINITY };
    let buckets: Vec<_> = buckets.iter().enumerate().map(|(n, count)| (end(n), *count)).collect();
    Value::Latencies { seconds: seconds(nanos), count: buckets.iter().map(|(_, count)| count).sum(), buckets }
}
