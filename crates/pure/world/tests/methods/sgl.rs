// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SGL data blocks at any address, and descriptors that are refused.

use crate::methods::rig::{Machine, Rig, build, key, value};
use saker_link::{HostQueuePair, Sqe};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::sgl::{SglDescriptor, kind};
use saker_nvme::{Cqe, Status};
use saker_world::{Clocked, Inline};

fn call<D: Machine>(rig: &mut Rig<D>, pair: &mut HostQueuePair, sqe: Sqe) -> Cqe {
    pair.submit(&sqe).expect("room");
    pair.ring();
    for _ in 0..10_000 {
        rig.machine.drive();
        if let Some(cqe) = pair.poll() {
            pair.ring_cq();
            return cqe;
        }
    }
    panic!("no answer to {sqe:?}");
}

fn block(at: u64, bytes: u32) -> SglDescriptor {
    SglDescriptor::new(kind::DATA_BLOCK, at, bytes)
}

fn hold<D: Machine>() {
    let mut rig = Rig::<D>::new(&build(), &[(8, 2), (2, 1)]);
    rig.queues.truncate(1);
    rig.connection.delete_queue(&mut rig.machine, 2).expect("deleted");
    let mut pair = rig.connection.create_queue(&mut rig.machine, 8).expect("made");
    let memory = rig.connection.port().space.alloc_pages(4).expect("room");
    for offset in [0, 1, 3, 4, 63, 4095, 4097] {
        for bytes in [1, 31, 64, 4096, 8000] {
            let sent = value(offset + bytes, bytes as usize);
            memory.write(offset as usize, &sent).expect("in the region");
            let before = rig.machine.stats().traffic;
            let at = memory.iova() + u64::from(offset);
            let store = kv::store(1, &key(1), bytes, StoreOptions::NONE).with_sgl(&block(at, bytes));
            assert_eq!(call(&mut rig, &mut pair, store).status(), Status::SUCCESS);
            memory.write(0, &[0; 4 * 4096]).expect("in the region");
            // A longer block is a buffer with room to spare.
            let get = kv::retrieve(1, &key(1), bytes).with_sgl(&block(at + 1, bytes + 9));
            let cqe = call(&mut rig, &mut pair, get);
            assert_eq!((cqe.status(), cqe.result_dw0()), (Status::SUCCESS, bytes));
            let mut back = vec![1; bytes as usize + 2];
            memory.read(offset as usize, &mut back).expect("in the region");
            assert!(back[0] == 0 && back[1..=bytes as usize] == sent && back[bytes as usize + 1] == 0);
            let t = rig.machine.stats().traffic - before;
            assert_eq!((t.to_device.bytes(), t.to_host.bytes()), (u64::from(bytes), u64::from(bytes)));
        }
    }
    let base = memory.iova();
    let store = kv::store(1, &key(2), 64, StoreOptions::NONE);
    let refused = [
        (store.with_sgl(&block(base, 63)), Status::DATA_SGL_LENGTH_INVALID),
        (store.with_sgl(&SglDescriptor::new(kind::SEGMENT, base, 64)), Status::SGL_DESCRIPTOR_TYPE_INVALID),
        (
            store.with_sgl(&SglDescriptor::new(kind::BIT_BUCKET, base, 64)),
            Status::SGL_DESCRIPTOR_TYPE_INVALID,
        ),
        (store.with_sgl(&block(u64::MAX - 3, 64)), Status::DATA_TRANSFER_ERROR),
        (store.with_sgl(&block(8, 64)), Status::DATA_TRANSFER_ERROR),
    ];
    for (sqe, status) in refused {
        assert_eq!(call(&mut rig, &mut pair, sqe).status(), status, "{sqe:?}");
    }
    for flags in [0x80, 0xC0, 0x41] {
        for mut sqe in [store, kv::exist(1, &key(1)), kv::flush(1)] {
            sqe.flags = flags;
            assert_eq!(call(&mut rig, &mut pair, sqe).status(), Status::INVALID_FIELD, "{sqe:?}");
        }
    }
    assert_eq!(rig.get(0, &key(2)).status, Status::KEY_DOES_NOT_EXIST);
}

#[test]
fn without_time() {
    hold::<Inline>();
}

#[test]
fn in_virtual_time() {
    hold::<Clocked>();
}
