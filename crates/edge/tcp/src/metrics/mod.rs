// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The metrics endpoint: what all subsystems count, in the formats of Prometheus and OpenMetrics.
//!
//! A scrape asks each subsystem's thread for its numbers, the same that log page C3h tells. Nothing is shared with threads that
//! carry commands, and there is no global registry: each scrape has one of its own.

mod families;
mod http;
mod names;
mod places;
mod request;
pub(crate) mod server;

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use saker_nvme::vendor_specific::Counter;

pub(crate) use families::ServerNumbers;
use families::{Families, Family, Value};

/// What one scrape has found: each subsystem's name with its numbers, or none if it did not answer in time.
pub(crate) type Found = Vec<(String, Option<Vec<Counter>>)>;

/// The whole answer in the text format of OpenMetrics.
pub(crate) fn open_metrics(found: &Found, server: &ServerNumbers) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Collected(Families::of(found, server))));
    let mut text = String::new();
    encode(&mut text, &registry).expect("writing to a string does not fail");
    text
}

/// The same in the older text format of Prometheus: there a counter's family has the name of its sample, and there are no units
/// and no end.
pub(crate) fn classic(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let lines: Vec<&str> = open_metrics.lines().collect();
    let counters: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    for line in lines.into_iter().filter(|line| !line.starts_with("# EOF") && !line.starts_with("# UNIT")) {
        match described(line).filter(|(_, name, _)| counters.contains(name)) {
            Some((what, name, rest)) => text.push_str(&format!("{what}{name}_total {rest}")),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// A line of metadata in parts: what it tells, of which family, the rest.
fn described(line: &str) -> Option<(&'static str, &str, &str)> {
    ["# HELP ", "# TYPE "].into_iter().find_map(|what| {
        let (name, rest) = line.strip_prefix(what)?.split_once(' ')?;
        Some((what, name, rest))
    })
}

#[derive(Debug)]
struct Collected(Families);

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in &self.0.all {
            let encoder = encoder.encode_descriptor(&family.name, family.help, None, family.kind)?;
            family.encode(encoder)?;
        }
        Ok(())
    }
}

impl EncodeMetric for Family {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (labels, value) in &self.samples {
            if labels.is_empty() {
                encode_one(value, &mut encoder)?;
            } else {
                encode_one(value, &mut encoder.encode_family(labels)?)?;
            }
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        self.kind
    }
}

fn encode_one(value: &Value, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
    match value {
        Value::Rising(count) => encoder.encode_counter::<NoLabelSet, _, f64>(count, None),
        Value::RisingSeconds(seconds) => encoder.encode_counter::<NoLabelSet, _, f64>(seconds, None),
        Value::Now(number) => encoder.encode_gauge(number),
        Value::Ratio(ratio) => encoder.encode_gauge(ratio),
        Value::Latencies { seconds, count, buckets } => {
            encoder.encode_histogram::<NoLabelSet>(*seconds, *count, buckets, None)
        }
    }
}
