// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How many pairs reach the device in one command: packed into one payload, by a vector of addresses, mapped one by one,
//! unpacked again; against one command each (sections 2.2 and 5: left to be measured).

use super::{FLASH_BYTES, key};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::rig::{Serial, Took};
use saker_host::{HostError, KvClient};
use saker_link::{DmaRegion, PAGE_BYTES, Rule};
use saker_nvme::group::{Form, Op, Packer, PairAddress, payload_bytes};
use saker_nvme::kv::StoreOptions;
use saker_nvme::{Key, Status};
use saker_profile::Profile;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    pairs: Vec<u32>,
    /// Key and value bytes.
    sizes: Vec<(usize, usize)>,
    judged_pairs: Vec<u32>,
}

/// A way to bring the pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Singles,
    Packed,
    Vector,
    Mapped,
    Bulk,
}

const WAYS: [(Way, &str); 5] = [
    (Way::Singles, "singles"),
    (Way::Packed, "packed"),
    (Way::Vector, "vector"),
    (Way::Mapped, "mapped"),
    (Way::Bulk, "bulk put"),
];

/// Runs compound-ablation.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let mut series = Vec::new();
    for name in &cx.plan.profiles {
        let profile = cx.profile_named(name)?;
        cx.note(format!("profile {name}"));
        for size in &plan.sizes {
            for pairs in &plan.pairs {
                for (way, label) in WAYS {
                    let commands = (cx.operations(1) as u32 / pairs).clamp(2, 64);
                    let run = Run { way, pairs: *pairs, key_bytes: size.0, value_bytes: size.1, commands };
                    series.push(run.point(&profile, cx.seed, label)?);
                }
            }
        }
    }
    let mut book = cx.book();
    let (parts, note) = order(cx, &plan, &series)?;
    book.order("AC-compound-ablation-1", &parts, note);
    book.order(
        "AC-compound-ablation-2",
        &copies(cx, &plan, &series),
        "Host time is the profile's prices times what was done: copied bytes, submissions, mapped pages.",
    );
    Ok(Outcome { checks: book.finish(), series })
}

struct Run {
    way: Way,
    pairs: u32,
    key_bytes: usize,
    value_bytes: usize,
    commands: u32,
}

impl Run {
    fn point(&self, profile: &Profile, seed: u64, label: &str) -> Result<Point, LabError> {
        let mut serial = Serial::open(profile, FLASH_BYTES, seed)?;
        let took = self.measure(&mut serial)?;
        let all = f64::from(self.pairs * self.commands);
        let host = self.host_ns(profile) / f64::from(self.pairs);
        let device = took.time.as_nanos() as f64 / all;
        let mut point = Point::at([
            ("profile", json!(profile.name)),
            ("way", json!(label)),
            ("pairs", json!(self.pairs)),
            ("key_bytes", json!(self.key_bytes)),
            ("value_bytes", json!(self.value_bytes)),
        ]);
        point.add("pair_us", (device + host) / 1e3);
        point.add("device_us", device / 1e3);
        point.add("host_us", host / 1e3);
        point.add("commands_per_pair", took.commands as f64 / all);
        point.add("link_bytes_per_pair", took.traffic.bytes(&Rule::Protocol).total() as f64 / all);
        point.add("pages_per_1000_pairs", took.pages as f64 / all * 1e3);
        Ok(point)
    }

    fn measure(&self, serial: &mut Serial) -> Result<Took, LabError> {
        let operands = self.operands(serial)?;
        serial.time(|client| {
            for command in 0..self.commands {
                self.send(client, command, &operands)?;
            }
            Ok(client.flush()?)
        })
    }

    /// Keys and values dispersed in host memory, each in a page of its own.
    fn operands(&self, serial: &mut Serial) -> Result<DmaRegion, LabError> {
        let pages = self.pairs as usize * 2 * PAGE_BYTES;
        let space = serial.client.queue_mut().space().clone();
        let region = space.alloc_bytes(pages).map_err(|_| LabError::Missing("host memory".into()))?;
        Ok(region)
    }

    fn pair(&self, command: u32, n: u32) -> (Vec<u8>, Vec<u8>) {
        let number = command * self.pairs + n;
        (key(number, self.key_bytes), vec![number as u8; self.value_bytes])
    }

    fn send(
        &self,
        client: &mut KvClient<impl saker_host::Driver>,
        command: u32,
        operands: &DmaRegion,
    ) -> Result<(), LabError> {
        let queue = client.queue_mut();
        let mut tickets = Vec::new();
        match self.way {
            Way::Singles => {
                for n in 0..self.pairs {
                    let (key, value) = self.pair(command, n);
                    let key = Key::new(&key).map_err(HostError::from)?;
                    tickets.push(queue.store(&key, &value, StoreOptions::NONE));
                }
            }
            Way::Packed => tickets.push(queue.group(Form::All(Op::Store), None, &self.payload(command)?)),
            Way::Bulk => tickets.push(queue.bulk_put(&self.payload(command)?)),
            Way::Vector | Way::Mapped => {
                let pairs = self.place(command, operands)?;
                tickets.push(queue.group_vector(&pairs, self.way == Way::Mapped));
            }
        }
        for ticket in tickets {
            ticket.map_err(HostError::Submit)?;
        }
        drain(client)
    }

    fn payload(&self, command: u32) -> Result<Vec<u8>, LabError> {
        let pair = (self.key_bytes, self.value_bytes);
        let mut payload = vec![0; payload_bytes(Op::Store, std::iter::repeat_n(pair, self.pairs as usize))];
        let refused = || HostError::Group(saker_nvme::group::Refused::Full);
        let mut packer = Packer::new(Form::All(Op::Store), &mut payload).ok_or_else(refused)?;
        for n in 0..self.pairs {
            let (key, value) = self.pair(command, n);
            packer.push(Op::Store, &key, &value).map_err(HostError::Group)?;
        }
        packer.finish();
        Ok(payload)
    }

    fn place(&self, command: u32, operands: &DmaRegion) -> Result<Vec<PairAddress>, LabError> {
        let mut placed = Vec::new();
        for n in 0..self.pairs {
            let (key, value) = self.pair(command, n);
            let at = n as usize * 2 * PAGE_BYTES;
            let written = operands.write(at, &key).and_then(|()| operands.write(at + PAGE_BYTES, &value));
            written.map_err(|_| LabError::Missing("host memory".into()))?;
            placed.push(PairAddress {
                key_address: operands.iova() + at as u64,
                value_address: operands.iova() + (at + PAGE_BYTES) as u64,
                key_bytes: key.len() as u32,
                value_bytes: value.len() as u32,
            });
        }
        Ok(placed)
    }

    /// Host time of one command (of all singles of it), in nanoseconds.
    fn host_ns(&self, profile: &Profile) -> f64 {
        let (pairs, pair) = (f64::from(self.pairs), (self.key_bytes + self.value_bytes) as f64);
        let call = (profile.host.submit_ns.get() + profile.host.complete_ns.get()) as f64;
        let byte = profile.host.cpu.copy_byte_ps.get() as f64 / 1e3;
        let header = profile.host.cpu.encode_ps.get() as f64 / 1e3;
        let map = profile.transfer.host_page_map_ns.get() as f64;
        let staged = |bytes: f64| call + bytes * byte + (bytes / PAGE_BYTES as f64).ceil() * map;
        match self.way {
            Way::Singles => pairs * staged(self.value_bytes as f64),
            Way::Packed | Way::Bulk => staged(pairs * (pair + 8.0)) + pairs * header,
            Way::Vector => staged(pairs * 24.0) + pairs * header,
            Way::Mapped => staged(pairs * 24.0) + pairs * header + pairs * 2.0 * map,
        }
    }
}

/// Waits for all commands; any that failed is an error.
fn drain(client: &mut KvClient<impl saker_host::Driver>) -> Result<(), LabError> {
    client.queue_mut().ring();
    while client.queue_mut().in_flight() > 0 {
        match client.queue_mut().poll(|done| (done.status, done.result)) {
            Some(Ok((Status::SUCCESS, 0))) => {}
            Some(Ok((status, _))) => return Err(HostError::Status(status).into()),
            Some(Err(error)) => return Err(HostError::from(error).into()),
            None => saker_host::Driver::drive(client.driver_mut()),
        }
    }
    Ok(())
}

fn number(series: &[Point], profile: &str, way: &str, pairs: u32, size: (usize, usize), name: &str) -> f64 {
    let place = [
        ("profile", &json!(profile)),
        ("way", &json!(way)),
        ("pairs", &json!(pairs)),
        ("key_bytes", &json!(size.0)),
        ("value_bytes", &json!(size.1)),
    ];
    series.iter().find(|p| p.is_at(&place)).and_then(|p| p.get(name)).unwrap_or(f64::NAN)
}

/// What should be less than what, and what may be to blame where it is not: a number of the profile to change.
const ORDERS: [(Way, Way, &str); 3] = [
    (Way::Packed, Way::Vector, "transfer.sgl_setup_ns"),
    (Way::Vector, Way::Mapped, "transfer.sgl_setup_ns"),
    (Way::Packed, Way::Singles, "firmware.cpu.checksum_byte_ps"),
];

fn label(way: Way) -> &'static str {
    WAYS.iter().find(|(w, _)| *w == way).map_or("", |(_, label)| label)
}

/// The largest ratio of two ways' times among the judged places, and where it is.
fn worst(
    plan: &Parameters,
    series: &[Point],
    profile: &str,
    less: Way,
    more: Way,
) -> (f64, u32, (usize, usize)) {
    let places = plan.judged_pairs.iter().flat_map(|n| plan.sizes.iter().map(move |s| (*n, *s)));
    let ratio = |(pairs, size): (u32, (usize, usize))| {
        let of = |way| number(series, profile, label(way), pairs, size, "pair_us");
        (of(less) / of(more), pairs, size)
    };
    places.map(ratio).fold((f64::MIN, 0, (0, 0)), |a, b| if b.0 > a.0 { b } else { a })
}

/// Packed below vector below mapped, and packed below singles; of each miss its place, and what the suspect changes.
fn order(cx: &Context<'_>, plan: &Parameters, series: &[Point]) -> Result<(Vec<Part>, String), LabError> {
    let (mut parts, mut note) = (Vec::new(), String::new());
    for (less, more, suspect) in ORDERS {
        for profile in &cx.plan.profiles {
            let (ratio, pairs, size) = worst(plan, series, profile, less, more);
            let what = format!("{profile}: {} over {}, at most", label(less), label(more));
            parts.push(Part::new(what, ratio, ratio < 1.0));
            if ratio < 1.0 {
                continue;
            }
            let mut changed = cx.profile_named(profile)?;
            let page = changed.transfer.page_dma_ns.get();
            let value = if suspect.starts_with("transfer.") { page } else { 0 };
            changed.set(suspect, &value.to_string())?;
            let time = |way| -> Result<f64, LabError> {
                let (key_bytes, value_bytes) = size;
                let run = Run { way, pairs, key_bytes, value_bytes, commands: commands(cx, pairs) };
                Ok(run.point(&changed, cx.seed, "")?.get("pair_us").unwrap_or(f64::NAN))
            };
            let without = time(less)? / time(more)?;
            let _ = write!(
                note,
                "{profile}, {pairs} pairs of {} and {} B: {ratio:.2}; with {suspect}={value} {without:.2}. ",
                size.0, size.1,
            );
        }
    }
    Ok((parts, note))
}

fn commands(cx: &Context<'_>, pairs: u32) -> u32 {
    (cx.operations(1) as u32 / pairs).clamp(2, 64)
}

/// What copying costs the host against what gathering costs the device.
fn copies(cx: &Context<'_>, plan: &Parameters, series: &[Point]) -> Vec<Part> {
    let mut parts = Vec::new();
    for profile in &cx.plan.profiles {
        let mut worst = f64::MIN;
        for (pairs, size) in plan.judged_pairs.iter().flat_map(|n| plan.sizes.iter().map(move |s| (*n, *s))) {
            let of = |way, name| number(series, profile, way, pairs, size, name);
            let copied = of("packed", "host_us") - of("vector", "host_us");
            let gathered = of("vector", "device_us") - of("packed", "device_us");
            worst = worst.max(copied / gathered);
        }
        parts.push(Part::new(format!("{profile}: copying over gathering, at most"), worst, worst < 1.0));
    }
    parts
}
