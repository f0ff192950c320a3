// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a power cut takes of acknowledged pairs: single stores and groups against Bulk PUT, whose buffer is the host's.

use super::{FLASH_BYTES, key};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::rig::{Serial, Took};
use saker_host::group::{Form, Op};
use saker_host::{BulkBuffer, HostError};
use saker_link::Rule;
use saker_nvme::Key;
use saker_profile::Profile;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    key_bytes: usize,
    value_bytes: usize,
    batches: Vec<u32>,
    /// The power is cut after each number of pairs up to this one.
    pairs_max: u32,
}

const WAYS: [&str; 3] = ["singles", "groups", "bulk put"];

/// Acknowledged pairs, those that are gone, and what they took.
#[derive(Clone, Copy, Debug, Default)]
struct Cuts {
    acknowledged: u32,
    lost: u32,
    lost_max: u32,
    took: Took,
}

/// Runs compound-bulk.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let profile = cx.profile()?;
    let (mut series, mut parts) = (Vec::new(), Vec::new());
    let step = (u64::from(plan.pairs_max) / cx.operations(8).max(1)).max(1) as usize;
    for batch in &plan.batches {
        for way in WAYS {
            let mut all = Cuts::default();
            for pairs in (1..=plan.pairs_max).step_by(step) {
                one_cut(&plan, &profile, cx.seed, way, *batch, pairs, &mut all)?;
            }
            let holds = if way == "bulk put" { all.lost_max == batch - 1 || step > 1 } else { all.lost == 0 };
            let name = format!("{way}, batches of {batch}: most acknowledged pairs lost");
            parts.push(Part::new(name, f64::from(all.lost_max), holds));
            series.push(point(way, *batch, &all));
        }
    }
    let mut book = cx.book();
    let note = "The device has a capacitor: what is lost is lost by the host. A put of Bulk PUT is acknowledged in the \
                buffer, one of the others when its command has completed.";
    book.order("AC-compound-bulk-1", &parts, note);
    Ok(Outcome { checks: book.finish(), series })
}

fn one_cut(
    plan: &Parameters,
    profile: &Profile,
    seed: u64,
    way: &str,
    batch: u32,
    pairs: u32,
    all: &mut Cuts,
) -> Result<(), LabError> {
    let mut serial = Serial::open(profile, FLASH_BYTES, seed)?;
    let mut acknowledged = 0;
    let took = serial.time(|client| {
        let (mut buffer, mut waiting) = (BulkBuffer::new(batch), Vec::new());
        for n in 0..pairs {
            let (key, value) = pair(plan, n)?;
            match way {
                "singles" => client.put(&key, &value)?,
                "bulk put" => client.bulk_put(&mut buffer, &key, &value)?,
                _ => {
                    waiting.push((key, value));
                    if waiting.len() < batch as usize {
                        continue;
                    }
                    let mut group = client.begin(Form::All(Op::Store));
                    for (key, value) in &waiting {
                        group.store(key, value)?;
                    }
                    group.commit()?.into_iter().try_for_each(|outcome| outcome.map(drop))?;
                    waiting.clear();
                }
            }
            acknowledged = n + 1;
        }
        Ok(())
    })?;
    let mut after = serial.after_cut(seed + u64::from(pairs))?;
    let keys: Vec<Key> =
        (0..acknowledged).map(|n| pair(plan, n).map(|(key, _)| key)).collect::<Result<_, _>>()?;
    let there = if keys.is_empty() { Vec::new() } else { after.client.multi_get(&keys)? };
    let mut lost = 0;
    for (n, found) in there.into_iter().enumerate() {
        lost += u32::from(found != Some(pair(plan, n as u32)?.1));
    }
    all.acknowledged += acknowledged;
    all.lost += lost;
    all.lost_max = all.lost_max.max(lost);
    all.took.time += took.time;
    all.took.commands += took.commands;
    all.took.traffic += took.traffic;
    Ok(())
}

fn pair(plan: &Parameters, n: u32) -> Result<(Key, Vec<u8>), LabError> {
    let key = Key::new(&key(n, plan.key_bytes)).map_err(HostError::from)?;
    Ok((key, vec![n as u8; plan.value_bytes]))
}

fn point(way: &str, batch: u32, all: &Cuts) -> Point {
    let mut point = Point::at([("way", json!(way)), ("batch", json!(batch))]);
    let pairs = f64::from(all.acknowledged.max(1));
    point.add("acknowledged_pairs", f64::from(all.acknowledged));
    point.add("lost_pairs", f64::from(all.lost));
    point.add("lost_pairs_max", f64::from(all.lost_max));
    point.add("pair_us", all.took.time.as_nanos() as f64 / 1e3 / pairs);
    point.add("commands_per_pair", all.took.commands as f64 / pairs);
    point.add("link_bytes_per_pair", all.took.traffic.bytes(&Rule::Protocol).total() as f64 / pairs);
    point
}
