// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The public door of one thread beside itself: puts one by one and in batches, gets one by one, queued and many at once, of the same pairs in the
//! same run, `mem:`, timing `off`.
//!
//! `cargo run --release -p saker --example front -- [PAIRS] [VALUE_BYTES] [ENGINE | URL]...`: 1,000,000 pairs of 16 + 100 bytes, every engine.
//! Rounds alternate; a figure is the median of its rounds, in thousands of operations a second. First touches of memory are
//! outside the clock: a round overwrites what the first has stored. The last columns say how many times as fast many are as one by one.
//! `only=put,batch` among the arguments leaves the others of `put`, `batch`, `get`, `multi_get`, `into`, `queued` out, for a profiler.

use saker::{EngineKind, Kv, QueuedGet, Values, WriteBatch};
use std::collections::VecDeque;
use std::time::Instant;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const ROUNDS: usize = 5;
const MANY: usize = 64;

/// Pair `n` of a round of its own: rounds visit the keys in an order that no memory foresees.
fn key(n: u64) -> [u8; 16] {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mixed.to_be_bytes());
    key[8..].copy_from_slice(&n.to_be_bytes());
    key
}

/// Thousands of operations a second.
fn rate(n: u64, work: impl FnOnce() -> Outcome) -> Outcome<f64> {
    let begun = Instant::now();
    work()?;
    Ok(n as f64 / begun.elapsed().as_secs_f64() / 1e3)
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
}

struct Front {
    kv: Kv,
    pairs: u64,
    value: Vec<u8>,
}

impl Front {
    /// The pairs of a round, in its order: a stride that shares no factor with their number visits each once.
    fn order(&self, round: usize) -> impl Iterator<Item = u64> + use<> {
        let (pairs, stride) = (self.pairs, 1_000_003 + 2 * round as u64);
        (0..pairs).map(move |n| n.wrapping_mul(stride) % pairs)
    }

    fn puts(&mut self, round: usize) -> Outcome {
        let order = self.order(round);
        order.map(key).try_for_each(|key| Ok(self.kv.put(&key, &self.value)?))
    }

    fn batches(&mut self, round: usize) -> Outcome {
        let mut batch = WriteBatch::new();
        for n in self.order(round) {
            batch.put(&key(n), &self.value);
            if batch.len() == MANY {
                self.kv.write(&batch)?;
                batch.clear();
            }
        }
        Ok(self.kv.write(&batch)?)
    }

    fn gets(&mut self, round: usize) -> Outcome {
        let mut buffer = vec![0; self.value.len()];
        for n in self.order(round) {
            assert_eq!(self.kv.get_into(&key(n), &mut buffer)?, Some(self.value.len()));
        }
        Ok(())
    }

    /// 64 are under way, and the oldest is finished before the next is queued.
    fn queued(&mut self, round: usize) -> Outcome {
        let mut buffer = vec![0; self.value.len()];
        let mut gets = VecDeque::with_capacity(MANY);
        for n in self.order(round) {
            if gets.len() == MANY {
                self.finish(gets.pop_front(), &mut buffer)?;
            }
            gets.push_back(self.kv.get_queued(&key(n))?);
        }
        gets.into_iter().try_for_each(|get| self.finish(Some(get), &mut buffer))
    }

    fn finish(&mut self, get: Option<QueuedGet>, buffer: &mut [u8]) -> Outcome {
        let found = get.map(|get| self.kv.finish_get_into(get, buffer)).transpose()?;
        assert_eq!(found.flatten(), Some(self.value.len()));
        Ok(())
    }

    fn multi_gets(&mut self, round: usize, values: &mut Option<Values>) -> Outcome {
        let mut order = self.order(round);
        loop {
            let mut keys = [[0; 16]; MANY];
            let mut count = 0;
            while let Some((place, n)) = keys.get_mut(count).and_then(|place| Some((place, order.next()?))) {
                *place = key(n);
                count += 1;
            }
            let lent = keys.each_ref().map(<[u8; 16]>::as_slice);
            let found = match values {
                _ if count == 0 => return Ok(()),
                Some(values) => {
                    self.kv.multi_get_into(&lent[..count], values)?;
                    values.iter().flatten().count()
                }
                None => self.kv.multi_get(&lent[..count])?.into_iter().flatten().count(),
            };
            assert_eq!(found, count);
        }
    }
}

const PHASES: [&str; 6] = ["put", "batch", "get", "multi_get", "into", "queued"];

impl Front {
    fn phase(&mut self, phase: &str, round: usize, values: &mut Option<Values>) -> Outcome {
        match phase {
            "put" => self.puts(round),
            "batch" => self.batches(round),
            "get" => self.gets(round),
            "multi_get" => self.multi_gets(round, &mut None),
            "into" => self.multi_gets(round, values),
            _ => self.queued(round),
        }
    }
}

fn measure(engine: &str, pairs: u64, value_bytes: usize, only: Option<&str>) -> Outcome {
    let flash = (pairs * (value_bytes as u64 + 100) * 3).max(512 << 20);
    let in_memory = format!("mem:?size={flash}B&engine={engine}&prefault={pairs}");
    let kv = Kv::open(if engine.contains(':') { engine } else { &in_memory })?;
    let mut front = Front { kv, pairs, value: vec![7; value_bytes] };
    front.puts(0)?;
    let mut rates: [Vec<f64>; 6] = Default::default();
    let mut values = Some(Values::default());
    for round in 1..=ROUNDS {
        for (phase, rates) in PHASES.iter().zip(&mut rates) {
            if only.is_none_or(|only| only.split(',').any(|name| name == *phase)) {
                rates.push(rate(pairs, || front.phase(phase, round, &mut values))?);
            }
        }
    }
    let [put, batch, get, multi, into, queued] = rates.map(median);
    println!(
        "{engine:>14} {put:9.0} {batch:9.0} {get:9.0} {multi:9.0} {into:9.0} {queued:9.0} {:7.2} {:7.2} {:7.2} {:8.2}",
        batch / put,
        multi / get,
        into / get,
        queued / get
    );
    Ok(())
}

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let pairs = arguments.next().map_or(Ok(1_000_000), |n| n.parse())?;
    let value_bytes = arguments.next().map_or(Ok(100), |n| n.parse())?;
    let (only, mut engines): (Vec<String>, Vec<String>) =
        arguments.partition(|word| word.starts_with("only="));
    let only = only.first().and_then(|only| only.strip_prefix("only="));
    if engines.is_empty() {
        engines = EngineKind::ALL.iter().map(|engine| engine.name().to_owned()).collect();
    }
    println!("{pairs} pairs of 16 + {value_bytes} bytes, batches of {MANY}, thousands a second");
    println!(
        "        engine       put     batch       get multi_get      into    queued batch/1 multi/1  into/1 queued/1"
    );
    engines.iter().try_for_each(|engine| measure(engine, pairs, value_bytes, only))
}
