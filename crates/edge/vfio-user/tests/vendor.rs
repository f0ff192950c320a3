// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Methods of transfer that only a bus with queues in memory can carry: values in the entries of the queue, behind them, and in
//! memory behind the BAR.

use saker_link::DoorbellKind;
use saker_nvme::kv::StoreOptions;
use saker_nvme::{Key, Status, vendor_specific};

use crate::rig::{PAIRS, Rig};

const NONE: StoreOptions = StoreOptions::NONE;

#[test]
fn piggyback_inline_and_mmio_stores_arrive() {
    for busy_poll in [false, true] {
        let rig = Rig::new(PAIRS, busy_poll);
        let mut driver = rig.driver().with_queue(false);
        let value: Vec<u8> = (0..100).collect();
        let key = Key::new(b"piggyback").unwrap();
        driver.submit(&vendor_specific::store_piggyback(1, &key, &value, NONE));
        driver.submit(&vendor_specific::transfer(1, 1, &value[35..91]));
        driver.submit(&vendor_specific::transfer(1, 2, &value[91..]));
        let statuses: Vec<_> = (0..3).map(|_| driver.completion().status()).collect();
        assert!(statuses.iter().all(|status| status.is_success()), "{statuses:?}");
        assert_eq!(driver.retrieve(b"piggyback"), Ok(value.clone()));

        let key = Key::new(b"inline").unwrap();
        let pair = driver.pair.as_mut().unwrap();
        pair.submit(&vendor_specific::store_inline(1, &key, 100, NONE).with_cid(900)).unwrap();
        for part in value.chunks(64) {
            let mut entry = [0; 64];
            entry[..part.len()].copy_from_slice(part);
            pair.submit_payload(&entry).unwrap();
        }
        pair.ring();
        driver.function.tell(1, DoorbellKind::SqTail).unwrap();
        let cqe = driver.completion();
        assert_eq!((cqe.cid.get(), cqe.status()), (900, Status::SUCCESS));
        assert_eq!(driver.retrieve(b"inline"), Ok(value.clone()));

        let key = Key::new(b"mmio").unwrap();
        let mut lines = value.clone();
        lines.resize(128, 0);
        // As a processor without write combining stores: word by word.
        for (n, word) in lines.chunks(8).enumerate() {
            driver.function.socket().write(2, 64 + n as u64 * 8, word).unwrap();
        }
        let stored = driver.io(&vendor_specific::store_mmio(1, &key, 100, 64, NONE));
        assert_eq!(stored.status(), Status::SUCCESS);
        assert_eq!(driver.retrieve(b"mmio"), Ok(value.clone()));
        let again = driver.io(&vendor_specific::store_mmio(1, &key, 100, 64, NONE));
        assert_eq!(again.status(), Status::COMMAND_SEQUENCE_ERROR, "its bytes were taken");
    }
}
