// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Power is cut while values travel: each key then has its last acknowledged value or the one on its way, whole.

use crate::methods::rig::{Timed, build, key, value};
use crate::methods::tier;
use saker_assembly::Build;
use saker_assembly::port;
use saker_device::{Costs, Device, timings};
use saker_flash::Flash;
use saker_host::{Method, Pacing};
use saker_nvme::Status;
use saker_segment_store::{PageBuffer, PageBufferMemory};
use saker_world::Clocked;
use std::collections::BTreeMap;

/// Names and versions: a value tells both.
fn versioned(name: u32, version: u32) -> Vec<u8> {
    value(name * 1000 + version, [20, 60, 130, 700, 4150, 9000][version as usize % 6])
}

fn reopen(build: &Build, rig: &Timed, seed: u64) -> Timed {
    let (media, ring) = rig.machine.0.cut(seed);
    let g = &build.shape.geometry;
    let memory = PageBufferMemory::from_bytes(ring.memory());
    let ring = PageBuffer::new(memory, build.ring_slots(), g.page_bytes, g.oob_bytes);
    let flash = Flash::power_on(media, ring, Some(timings(&build.profile)), build.faults);
    let host = build.attach(1, 32);
    let mut device = Device::timed(flash, build.device_config(), host.clone(), Costs::of(&build.profile));
    while !device.is_booted() {
        let at = device.next_deadline().expect("recovery goes on by itself");
        device.step(at);
    }
    assert_eq!(device.gathered_bytes(), 0);
    Timed::attached(Clocked(device), port(&host), &[(300, 16)])
}

#[test]
fn a_cut_leaves_whole_values() {
    let build = Build {
        config: {
            let mut c = build().config;
            c.capacitor = true;
            c
        },
        ..build()
    };
    let mut rig = Timed::new(&build, &[(300, 16)]);
    let mut acknowledged: BTreeMap<u32, u32> = BTreeMap::new();
    let (mut cuts, mut on_their_way) = (0, 0);
    for n in 0..tier(120, 1200u32) {
        let (name, version) = (n % 7, n / 7);
        let method = Method::ALL[n as usize % Method::ALL.len()];
        let pacing = if n % 4 == 0 { Pacing::Passthrough } else { Pacing::Pipelined };
        rig.choose(0, method, pacing);
        let ticket = rig.store(0, &key(name), &versioned(name, version));
        rig.queues[0].ring();
        for step in 0.. {
            rig.pump();
            let answer = rig.over(0, ticket);
            if answer.is_none() && step % 5 != n % 5 {
                continue;
            }
            let over = answer.is_some();
            if let Some(answer) = answer {
                assert_eq!(answer.status, Status::SUCCESS);
                acknowledged.insert(name, version);
            }
            if n % 3 == 0 {
                cuts += 1;
                on_their_way += u32::from(!over);
                check(&mut reopen(&build, &rig, u64::from(n)), &acknowledged, (name, version));
            }
            if over {
                break;
            }
        }
    }
    assert!(cuts > 60 && on_their_way > 20, "{cuts} cuts, {on_their_way} of values on their way");
}

fn check(rig: &mut Timed, acknowledged: &BTreeMap<u32, u32>, sent: (u32, u32)) {
    for name in 0..7 {
        let answer = rig.get(0, &key(name));
        let newest = acknowledged.get(&name);
        let is = |version: u32| answer.status.is_success() && answer.data == versioned(name, version);
        let absent = newest.is_none() && answer.status.is(Status::KEY_DOES_NOT_EXIST);
        let good = absent || newest.is_some_and(|v| is(*v)) || (name == sent.0 && is(sent.1));
        assert!(good, "key {name}: {:?}, {} bytes", answer.status, answer.data.len());
    }
}
