// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the handling of a key is of a store (section 3.1), on the device that has the paper's table.

use super::{FLASH_BYTES, key, open, us};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::report::Point;
use saker_assembly::Build;
use saker_assembly::port;
use saker_device::DeviceConfig;
use saker_host::connect::KvQueueOptions;
use saker_host::{ConnectOptions, Connection, Driver, HostError, KvQueue, Patience, RawData};
use saker_nvme::{Key, Status, nvm};
use saker_profile::Profile;
use saker_world::Clocked;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    key_bytes: usize,
    value_bytes: usize,
}

/// Runs compound-tkey.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let profile = cx.profile()?;
    let store = store(&profile, cx.seed, &plan)?;
    let block = block_write(&profile, cx.seed, plan.value_bytes)?;
    let (handling, share) = (store - block, (store - block) / store * 100.0);
    let mut point = Point::at([("profile", json!(profile.name))]);
    point.add("store_us", store);
    point.add("block_write_us", block);
    point.add("key_handling_us", handling);
    point.add("key_handling_percent", share);
    let mut book = cx.book();
    let measured = [store, block, handling, share].map(|x| (x * 100.0).round() / 100.0);
    let note = "Rounded to the paper's digits. The two latencies are among the profile's numbers; what is shown is that \
                the device returns them, with a key-value and with a block namespace.";
    book.numbers("AC-compound-tkey-1", &measured, note);
    Ok(Outcome { checks: book.finish(), series: vec![point] })
}

fn store(profile: &Profile, seed: u64, plan: &Parameters) -> Result<f64, LabError> {
    let mut serial = open(profile, seed)?;
    let key = Key::new(&key(1, plan.key_bytes)).map_err(|e| LabError::Host(e.into()))?;
    let value = vec![0x5A; plan.value_bytes];
    Ok(us(serial.time(|client| Ok(client.put(&key, &value)?))?))
}

/// A write of blocks on the same device with a block namespace.
fn block_write(profile: &Profile, seed: u64, bytes: usize) -> Result<f64, LabError> {
    let mut build = Build::block(profile, FLASH_BYTES, seed)?;
    build.config = DeviceConfig::block(&build.shape.geometry, true, seed, 4096);
    let host = build.attach(2, 8);
    let mut device = Clocked(build.timed(host.clone()));
    let patience = Patience { polls_max: 1_000_000 };
    let options = ConnectOptions { patience, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut device, options)?;
    let options = KvQueueOptions { entries: 9, slots: 8 };
    let mut queue = connection.create_kv_queue(&mut device, 1, options)?;
    let begun = device.0.now();
    let range = nvm::BlockRange { slba: 0, blocks: (bytes / 4096) as u32 };
    let sqe = nvm::write(1, range, false).map_err(|_| HostError::Status(Status::INVALID_FIELD))?;
    submit(&mut queue, sqe, &vec![0x5A; bytes], &mut device)?;
    Ok(device.0.now().since(begun).as_nanos() as f64 / 1e3)
}

fn submit(
    queue: &mut KvQueue,
    sqe: saker_nvme::Sqe,
    data: &[u8],
    device: &mut impl Driver,
) -> Result<(), LabError> {
    queue.raw(sqe, RawData::ToDevice(data)).map_err(HostError::Submit)?;
    queue.ring();
    loop {
        match queue.poll(|done| done.status) {
            Some(Ok(Status::SUCCESS)) => return Ok(()),
            Some(Ok(status)) => return Err(HostError::Status(status).into()),
            Some(Err(error)) => return Err(HostError::from(error).into()),
            None => device.drive(),
        }
    }
}
