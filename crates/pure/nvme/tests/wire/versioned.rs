// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Retrieve Versioned.

use saker_nvme::group::{VersionedRetrieve, retrieve_versioned};
use saker_nvme::sqe::Direction;
use saker_nvme::transfer::{Contents, Transfer, needs_shared_memory};
use saker_nvme::vendor_specific::opcode;
use saker_nvme::{Key, NSID_ALL, PointerRule, Sqe, Status};

fn decoded(change: impl FnOnce(&mut Sqe)) -> Result<VersionedRetrieve, Status> {
    let mut sqe = retrieve_versioned(1, &Key::new(b"key").unwrap(), 100);
    change(&mut sqe);
    VersionedRetrieve::decode(&sqe, PointerRule::Prp)
}

#[test]
fn round_trip_and_refusals() {
    let good = VersionedRetrieve { key: Key::new(b"key").unwrap(), buffer_bytes: 100 };
    assert_eq!(decoded(|_| ()), Ok(good));
    assert_eq!(decoded(|sqe| sqe.cdw10.set(24)), Ok(VersionedRetrieve { buffer_bytes: 24, ..good }));
    for bytes in [0, 1, 23] {
        assert_eq!(decoded(|sqe| sqe.cdw10.set(bytes)), Err(Status::INVALID_FIELD), "{bytes}");
    }
    for bit in 8..32 {
        let reserved = decoded(|sqe| sqe.cdw11.set(sqe.cdw11.get() | 1 << bit));
        assert_eq!(reserved, Err(Status::INVALID_FIELD), "bit {bit}");
    }
    assert_eq!(decoded(|sqe| sqe.cdw11.set(0)), Err(Status::INVALID_KEY_SIZE));
    assert_eq!(decoded(|sqe| sqe.cdw11.set(17)), Err(Status::INVALID_FIELD));
    assert_eq!(decoded(|sqe| sqe.nsid.set(NSID_ALL)), Err(Status::INVALID_FIELD));
}

#[test]
fn it_only_reads_and_brings_data_to_the_host() {
    assert_eq!(Direction::of(opcode::RETRIEVE_VERSIONED), Direction::ControllerToHost);
    let sqe = retrieve_versioned(1, &Key::new(b"key").unwrap(), 100);
    assert_eq!(Contents::Kv.transfer(&sqe), Transfer::ToHost(100));
    assert!(Contents::Kv.only_reads(&sqe) && !needs_shared_memory(&sqe));
}
