// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Choices, and devices that lack a method.

use crate::methods::rig::{Machine, Quick, Timed, build, key, value};
use saker_host::transfer::{Adaptive, Auto, Available, Objective};
use saker_host::{Method, Pacing, TransferOptions, TransferPolicy};
use saker_link::Rule;
use saker_nvme::Status;
use saker_nvme::vendor_specific::Methods;

/// A host that wants a method from a device without it sends PRPs, and the device refuses the commands.
#[test]
fn a_device_without_methods_gets_prps() {
    let mut build = build();
    build.config.methods = Methods::default();
    build.config.sgl = false;
    let mut rig = Quick::new(&build, &[(64, 8)]);
    assert_eq!(rig.available, Available::default());
    for (n, method) in Method::ALL.into_iter().enumerate() {
        rig.choose(0, method, Pacing::Pipelined);
        assert_eq!(rig.queues[0].method_for(20), Method::Prp);
        assert_eq!(rig.put(0, &key(n as u32), &value(1, 20)), Status::SUCCESS);
        assert_eq!(rig.get(0, &key(n as u32)).data, value(1, 20));
    }
    assert_eq!(rig.machine.stats().traffic.to_device.bytes(), Method::ALL.len() as u64 * 4096);
    for (opcode, name, _) in saker_nvme::vendor_specific::COMMANDS {
        let answer = rig.raw(0, saker_nvme::Sqe::new(opcode, 1));
        assert_eq!(answer.status, Status::INVALID_OPCODE, "{name}");
    }
}

/// By bytes, Auto is never above the best single method.
#[test]
fn auto_by_bytes_is_the_least() {
    let mut rig = Timed::new(&build(), &[(400, 1)]);
    let sq_entries = rig.queues[0].pair().sq_entries();
    let available = Available { sq_entries, ..rig.available };
    for bytes in [1, 4, 35, 36, 64, 91, 100, 200, 1000, 4096, 4100, 5000, 8192] {
        let mut cost = |options: TransferOptions| {
            rig.queues[0].set_transfer(options, available);
            rig.pump();
            let before = rig.traffic();
            assert_eq!(rig.put(0, &key(1), &value(1, bytes)), Status::SUCCESS);
            rig.pump();
            (rig.traffic() - before).bytes(&Rule::Protocol).total()
        };
        let pacing = Pacing::Pipelined;
        let best = Method::ALL.map(|m| cost(TransferOptions::fixed(m, pacing))).into_iter().min();
        let policy = TransferPolicy::Auto(Auto { objective: Objective::Bytes });
        let auto = cost(TransferOptions { policy, pacing, small_reads: 0 });
        assert!(Some(auto) <= best.map(|b| b + b / 50), "{bytes} bytes: {auto} above {best:?}");
    }
}

#[test]
fn adaptive_sends_what_it_chose() {
    let mut rig = Quick::new(&build(), &[(200, 100)]);
    let available = Available { sq_entries: 200, ..rig.available };
    let policy = TransferPolicy::Adaptive(Adaptive::new(128, 64));
    rig.queues[0].set_transfer(TransferOptions { policy, ..TransferOptions::default() }, available);
    for (bytes, commands, paged) in
        [(35, 1, 0), (127, 3, 0), (128, 1, 4096), (4096 + 63, 3, 4096), (4096 + 64, 1, 8192)]
    {
        let before = rig.machine.stats().traffic;
        assert_eq!(rig.put(0, &key(1), &value(1, bytes)), Status::SUCCESS);
        let t = rig.machine.stats().traffic - before;
        assert_eq!((t.sqe_fetches, t.to_device.bytes()), (commands, paged), "{bytes} bytes");
        assert_eq!(rig.get(0, &key(1)).data, value(1, bytes));
    }
}
