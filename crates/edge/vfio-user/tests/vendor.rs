// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Methods of transfer that only a bus with queues in memory can carry: values in the entries of the queue, behind them, and in
//! memory behind the BAR.

use saker_link::{DmaRegion, DoorbellKind};
use saker_nvme::admin::opcode::GET_LOG_PAGE;
use saker_nvme::group::{Form, GroupCommand, GroupId, Op};
use saker_nvme::kv::StoreOptions;
use saker_nvme::sgl::{SglDescriptor, kind};
use saker_nvme::vendor_specific::{
    IndirectCommand, IndirectOp, IteratorCommand, IteratorRange, LID_COUNTERS,
};
use saker_nvme::{Cqe, Key, Sqe, Status, vendor_specific};

use crate::rig::{Driver, PAIRS, Rig};

const NONE: StoreOptions = StoreOptions::NONE;

#[test]
fn piggyback_inline_and_mmio_stores_arrive() {
    for busy_poll in [false, true] {
        let rig = Rig::new(PAIRS, busy_poll);
        let mut driver = rig.driver().with_queue(false);
        let value: Vec<u8> = (0..100).collect();
        let key = Key::new(b"piggyback").unwrap();
        let before = link_bytes(&mut driver);
        driver.submit(&vendor_specific::store_piggyback(1, &key, &value, NONE));
        driver.submit(&vendor_specific::transfer(1, 1, &value[35..91]));
        driver.submit(&vendor_specific::transfer(1, 2, &value[91..]));
        let statuses: Vec<_> = (0..3).map(|_| driver.completion().status()).collect();
        assert!(statuses.iter().all(|status| status.is_success()), "{statuses:?}");
        assert_eq!(since(&mut driver, before), [3 * 64, 3 * 16], "three entries, three completions");
        assert_eq!(driver.retrieve(b"piggyback"), Ok(value.clone()));

        let key = Key::new(b"inline").unwrap();
        let before = link_bytes(&mut driver);
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
        assert_eq!(since(&mut driver, before), [3 * 64, 16], "the entry, and two of value");
        assert_eq!(driver.retrieve(b"inline"), Ok(value.clone()));

        let key = Key::new(b"mmio").unwrap();
        let before = link_bytes(&mut driver);
        let mut lines = value.clone();
        lines.resize(128, 0);
        // As a processor without write combining stores: word by word.
        for (n, word) in lines.chunks(8).enumerate() {
            driver.function.socket().write(2, 64 + n as u64 * 8, word).unwrap();
        }
        let stored = driver.io(&vendor_specific::store_mmio(1, &key, 100, 64, NONE));
        assert_eq!(stored.status(), Status::SUCCESS);
        assert_eq!(since(&mut driver, before), [64, 16], "the entry: its two lines were stored by the host");
        assert_eq!(driver.retrieve(b"mmio"), Ok(value.clone()));
        let again = driver.io(&vendor_specific::store_mmio(1, &key, 100, 64, NONE));
        assert_eq!(again.status(), Status::COMMAND_SEQUENCE_ERROR, "its bytes were taken");
    }
}

/// What the device has counted on the link, in log page C3h: to it, and to its host.
fn link_bytes(driver: &mut Driver) -> [u64; 2] {
    let data = driver.memory(1 << 15);
    let mut page = Sqe::new(GET_LOG_PAGE, 0);
    page.cdw10 = (u32::from(LID_COUNTERS) | ((1 << 13) - 1) << 16).into();
    let sqe = driver.with_data(page, &data, 1 << 15);
    driver.function.admin(&sqe).unwrap();
    let mut bytes = vec![0; 1 << 15];
    data.read(0, &mut bytes).unwrap();
    [b"link_to_device_bytes".as_slice(), b"link_to_host_bytes"].map(|name| {
        let mut entries = bytes[32..].chunks_exact(64);
        let entry = entries.find(|entry| entry[..40].strip_prefix(name).is_some_and(|rest| rest[0] == 0));
        u64::from_le_bytes(entry.expect("it is counted")[56..].try_into().unwrap())
    })
}

/// What came since `before`, without the command that read the page then.
fn since(driver: &mut Driver, before: [u64; 2]) -> [u64; 2] {
    let now = link_bytes(driver);
    let after = link_bytes(driver);
    [0, 1].map(|n| (now[n] - before[n]) - (after[n] - now[n]))
}

/// The command with `bytes` bytes of data in one SGL data block.
fn with_block(driver: &mut Driver, sqe: Sqe, data: &DmaRegion, bytes: u32) -> Cqe {
    driver.io(&sqe.with_sgl(&SglDescriptor::new(kind::DATA_BLOCK, data.iova(), bytes)))
}

/// A payload of one entry, whose words are little-endian: a count, then lengths, each followed by its bytes.
fn payload(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = 1_u32.to_le_bytes().to_vec();
    for part in parts {
        bytes.extend((part.len() as u32).to_le_bytes());
        bytes.extend_from_slice(part);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

/// Linux names the data of a command by an SGL where its buffer is in few pieces (torvalds/linux, `drivers/nvme/host/pci.c`,
/// `sgl_threshold`), whatever the opcode.
#[test]
fn vendor_commands_take_sgls() {
    let rig = Rig::new("mem:?size=64MiB&profile=tiny&engine=lsm", false);
    let mut driver = rig.driver().with_queue(false);
    let data = driver.memory(1 << 16);
    let id = GroupId::new(b"group").unwrap();
    let group = |driver: &mut Driver, form, parts: &[&[u8]]| {
        let bytes = payload(parts);
        data.write(0, &bytes).unwrap();
        let command = GroupCommand::OneWay { id: Some(id), form, bytes: bytes.len() as u32 };
        with_block(driver, command.encode(1), &data, bytes.len() as u32).status()
    };
    assert_eq!(group(&mut driver, Form::All(Op::Store), &[b"grouped", b"the value"]), Status::SUCCESS);
    assert_eq!(group(&mut driver, Form::All(Op::Retrieve), &[b"grouped"]), Status::SUCCESS);
    let results = GroupCommand::Results { id, buffer_bytes: 1 << 16 };
    assert_eq!(with_block(&mut driver, results.encode(1), &data, 1 << 16).status(), Status::SUCCESS);
    let mut found = [0; 24];
    data.read(0, &mut found).unwrap();
    assert_eq!(found[12..21], *b"the value", "{found:?}");

    let long = [7; 40];
    let key = driver.memory(long.len());
    key.write(0, &long).unwrap();
    data.write(0, b"under a long key").unwrap();
    let indirect = |op| IndirectCommand { op, key_address: key.iova(), key_bytes: 40 }.encode(1);
    let store = indirect(IndirectOp::Store { value_bytes: 16, options: NONE });
    assert_eq!(with_block(&mut driver, store, &data, 16).status(), Status::SUCCESS);
    data.write(0, &[0; 16]).unwrap();
    let retrieve = indirect(IndirectOp::Retrieve { buffer_bytes: 1 << 16 });
    assert_eq!(with_block(&mut driver, retrieve, &data, 1 << 16).result_dw0(), 16);
    let mut found = [0; 16];
    data.read(0, &mut found).unwrap();
    assert_eq!(found, *b"under a long key");

    data.write(0, &[0; 64]).unwrap();
    let open = IteratorCommand::Open { keys_only: false, beside: None }.encode(1);
    let opened = with_block(&mut driver, open, &data, IteratorRange::BYTES);
    assert_eq!(opened.status(), Status::SUCCESS);
    let next = IteratorCommand::Next {
        iterator: opened.result_dw0(),
        buffer_bytes: 1 << 16,
        pairs_max: 1,
        backwards: false,
        seek: Some(Key::new(b"grouped").unwrap()),
    };
    let next = with_block(&mut driver, next.encode(1), &data, 1 << 16);
    let mut found = vec![0; next.result_dw0() as usize];
    data.read(0, &mut found).unwrap();
    assert_eq!((next.status(), found), (Status::SUCCESS, payload(&[b"grouped", b"the value"])));

    let value: Vec<u8> = (0..5000_u32).map(|n| n as u8).collect();
    let (pages, rest) = value.split_at(4096);
    // At an address where a list of pages would need a second entry.
    data.write(100, pages).unwrap();
    for (sequence, part) in rest.chunks(vendor_specific::TRANSFER_BYTES).enumerate() {
        let told = driver.io(&vendor_specific::tail(1, sequence as u32, part));
        assert_eq!(told.status(), Status::SUCCESS);
    }
    let store = vendor_specific::store_hybrid(1, &Key::new(b"hybrid").unwrap(), 5000, rest, NONE);
    let block = SglDescriptor::new(kind::DATA_BLOCK, data.iova() + 100, 4096);
    assert_eq!(driver.io(&store.with_sgl(&block)).status(), Status::SUCCESS);
    assert_eq!(driver.retrieve(b"hybrid"), Ok(value));
}
