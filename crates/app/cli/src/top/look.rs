// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a device did between two looks, and how it is now.

use std::collections::BTreeMap;

use saker::{Counter, CounterOf};
use saker_host::counters::{LATENCY_BUCKETS, command_name};
use serde::Serialize;

use crate::linked::looked::Sample;

/// What a device did, and how it is.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Look {
    /// Seconds between the two looks.
    pub seconds: f64,
    /// Commands that read, a second.
    pub reads_per_s: f64,
    /// Commands that wrote, a second.
    pub writes_per_s: f64,
    /// Commands with an error status, a second; answers such as "there is no such key" are among them.
    pub errors_per_s: f64,
    /// Bytes read, a second.
    pub read_bytes_per_s: f64,
    /// Bytes written, a second.
    pub written_bytes_per_s: f64,
    /// Latencies, where a target tells them and there were commands: half of them, and 99 of 100, were below, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<Latency>,
    /// Queues that are connected; 0 without a target.
    pub queues: u64,
    /// Commands that the device has.
    pub in_device: u64,
    /// Commands that wait for it.
    pub waiting: u64,
    /// Bytes programmed for each byte written meanwhile; nothing where nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// The same of its whole life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_amplification_of_life: Option<f64>,
    /// Segments erased, a second.
    pub erases_per_s: f64,
    /// Segments that garbage collection released, a second.
    pub gc_segments_per_s: f64,
    /// Which part of the time writes were stopped.
    pub stopped_ratio: f64,
    /// Which part of the time writes were delayed.
    pub delayed_ratio: f64,
    /// Bytes of records that live, of all namespaces.
    pub live_bytes: u64,
    /// Bytes of records that may live.
    pub capacity_bytes: u64,
    /// Pairs.
    pub pairs: u64,
    /// Commands a second by their names, where a target tells them; the most frequent first.
    pub commands: Vec<(String, f64)>,
}

/// Latencies in microseconds: the ends of the buckets that they fall into.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// The mean.
    pub mean: f64,
    /// The median is below.
    pub p50: f64,
    /// 99 of 100 are below.
    pub p99: f64,
}

/// Two samples by name.
struct Pair<'a> {
    before: &'a [Counter],
    now: &'a [Counter],
    seconds: f64,
}

impl Pair<'_> {
    /// All numbers of a name, added up over the namespaces.
    fn sum(of: &[Counter], name: &str) -> u64 {
        of.iter().filter(|counter| counter.name == name).map(|counter| counter.value).sum()
    }

    fn gauge(&self, name: &str) -> u64 {
        Self::sum(self.now, name)
    }

    /// How much a counter rose; of a device that has begun anew, all that it has.
    fn rise(&self, name: &str) -> u64 {
        let (before, now) = (Self::sum(self.before, name), Self::sum(self.now, name));
        if now < before { now } else { now - before }
    }

    fn rate(&self, name: &str) -> f64 {
        self.rise(name) as f64 / self.seconds
    }

    fn time_ratio(&self, name: &str) -> f64 {
        (self.rise(name) as f64 / 1e9 / self.seconds).min(1.0)
    }

    fn amplification(&self, pages: u64, bytes: u64) -> Option<f64> {
        (bytes > 0).then(|| pages as f64 * self.gauge("flash_page_bytes") as f64 / bytes as f64)
    }

    /// How much each number of a command rose.
    fn commands(&self, name: &str) -> impl Iterator<Item = (CounterOf, u64)> {
        let before: BTreeMap<CounterOf, u64> =
            self.before.iter().filter(|c| c.name == name).map(|c| (c.of, c.value)).collect();
        self.now.iter().filter(move |c| c.name == name).map(move |c| {
            let before = before.get(&c.of).copied().unwrap_or(0);
            (c.of, if c.value < before { c.value } else { c.value - before })
        })
    }
}

impl Look {
    /// What happened between two samples of one device.
    #[must_use]
    pub fn between(before: &Sample, now: &Sample) -> Self {
        let seconds = now.at.saturating_duration_since(before.at).as_secs_f64().max(1e-6);
        let pair = Pair { before: &before.counters, now: &now.counters, seconds };
        Self {
            seconds,
            reads_per_s: pair.rate("host_read_commands"),
            writes_per_s: pair.rate("host_write_commands"),
            errors_per_s: pair.rate("device_command_errors"),
            read_bytes_per_s: pair.rate("host_read_bytes"),
            written_bytes_per_s: pair.rate("host_written_bytes"),
            latency_us: latency(&pair),
            queues: pair.gauge("connected_queues"),
            in_device: pair.gauge("commands_in_device"),
            waiting: pair.gauge("commands_waiting"),
            write_amplification: pair
                .amplification(pair.rise("flash_pages_programmed"), pair.rise("host_written_bytes")),
            write_amplification_of_life: pair.amplification(
                pair.gauge("life_flash_pages_programmed"),
                pair.gauge("life_host_written_bytes"),
            ),
            erases_per_s: pair.rate("flash_segments_erased"),
            gc_segments_per_s: pair.rate("gc_segments"),
            stopped_ratio: pair.time_ratio("write_stop_nanoseconds"),
            delayed_ratio: pair.time_ratio("write_delay_nanoseconds"),
            live_bytes: pair.gauge("live_bytes"),
            capacity_bytes: pair.gauge("capacity_bytes"),
            pairs: pair.gauge("pairs"),
            commands: commands(&pair),
        }
    }
}

/// Of commands of data: those of the admin queue are few, and `saker top` sends some itself.
fn is_of_data(of: CounterOf) -> bool {
    use saker::CommandClass::{Kv, Nvm};
    matches!(of, CounterOf::Command { class: Kv | Nvm, .. })
}

fn latency(pair: &Pair<'_>) -> Option<Latency> {
    let mut buckets = [0_u64; LATENCY_BUCKETS];
    for (of, rise) in pair.commands("command_latency").filter(|(of, _)| is_of_data(*of)) {
        if let CounterOf::Command { detail, .. } = of
            && let Some(bucket) = buckets.get_mut(usize::from(detail))
        {
            *bucket += rise;
        }
    }
    let count: u64 = buckets.iter().sum();
    let nanos: u64 =
        pair.commands("command_nanoseconds").filter(|(of, _)| is_of_data(*of)).map(|(_, rise)| rise).sum();
    (count > 0).then(|| Latency {
        mean: nanos as f64 / 1e3 / count as f64,
        p50: below(&buckets, count.div_ceil(2)),
        p99: below(&buckets, (count * 99).div_ceil(100)),
    })
}

/// The end of the bucket in which the `nth` is, in microseconds.
fn below(buckets: &[u64; LATENCY_BUCKETS], nth: u64) -> f64 {
    let mut seen = 0;
    let bucket = buckets.iter().position(|count| {
        seen += count;
        seen >= nth
    });
    (1_u64 << bucket.unwrap_or(LATENCY_BUCKETS - 1)) as f64
}

fn commands(pair: &Pair<'_>) -> Vec<(String, f64)> {
    let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
    for (of, rise) in pair.commands("commands") {
        if let CounterOf::Command { class, opcode, .. } = of {
            let name = format!("{} {}", class.name(), command_name(class, opcode).unwrap_or("other"));
            *by_name.entry(name).or_default() += rise;
        }
    }
    let mut all: Vec<_> = by_name.into_iter().filter(|(_, rise)| *rise > 0).collect();
    all.sort_by_key(|(_, rise)| std::cmp::Reverse(*rise));
    all.into_iter().map(|(name, rise)| (name, rise as f64 / pair.seconds)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker::{CommandClass, CounterKind};
    use std::time::{Duration, Instant};

    fn sample(at: Instant, scale: u64) -> Sample {
        let of = |name, value| Counter::new(name, CounterKind::Counter, 0, value);
        let command = |name: &'static str, detail, value| Counter {
            of: CounterOf::Command { class: CommandClass::Kv, opcode: 1, detail },
            ..of(name, value)
        };
        let counters = vec![
            of("host_write_commands", 100 * scale),
            of("host_written_bytes", 4096 * scale),
            of("flash_pages_programmed", 2 * scale),
            of("flash_page_bytes", 4096),
            of("write_stop_nanoseconds", 500_000_000 * scale),
            command("commands", 0, 90 * scale),
            command("command_latency", 3, 98 * scale),
            command("command_latency", 10, 2 * scale),
            command("command_nanoseconds", 0, 1_000_000 * scale),
        ];
        Sample { at, counters }
    }

    #[test]
    fn what_rose_is_divided_by_the_time() {
        let begun = Instant::now();
        let look = Look::between(&sample(begun, 1), &sample(begun + Duration::from_secs(2), 3));
        assert_eq!((look.writes_per_s, look.written_bytes_per_s, look.stopped_ratio), (100.0, 4096.0, 0.5));
        assert_eq!(look.write_amplification, Some(2.0));
        assert_eq!(look.latency_us, Some(Latency { mean: 10.0, p50: 8.0, p99: 1024.0 }));
        assert_eq!(look.commands, [("kv Store".to_owned(), 90.0)]);
    }

    #[test]
    fn a_device_that_begins_anew_counts_from_nothing() {
        let begun = Instant::now();
        let look = Look::between(&sample(begun, 10), &sample(begun + Duration::from_secs(1), 1));
        assert_eq!((look.writes_per_s, look.commands[0].1), (100.0, 90.0));
        let still = Look::between(&sample(begun, 1), &sample(begun, 1));
        assert_eq!((still.writes_per_s, still.latency_us, still.write_amplification), (0.0, None, None));
    }
}
