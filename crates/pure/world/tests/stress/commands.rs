//! Valid and invalid commands against a model, on both drivers.

use crate::rig::{BLOCK, KV, Machine, Rig, blocks, small, value_bytes_max};
use crate::tier;
use saker_flash::MemMedia;
use saker_host::RawData;
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::nvm::{self, BlockRange};
use saker_nvme::{Key, NSID_ALL, Sqe, Status};
use saker_sim::{Rng, Seed};
use saker_world::{Clocked, Inline};
use std::collections::BTreeMap;

/// An entry of anything: mostly near to a real command.
fn wild(rng: &mut Rng) -> Sqe {
    let opcodes = [0x00, 0x01, 0x02, 0x06, 0x09, 0x10, 0x14, 0x7f, 0xc0];
    let opcode = if rng.below(4) == 0 { rng.next_u64() as u8 } else { opcodes[rng.below(9) as usize] };
    let nsids = [0, 1, 2, 3, NSID_ALL, 0xffff];
    let mut sqe = Sqe::new(opcode, nsids[rng.below(6) as usize]);
    sqe.flags = if rng.below(8) == 0 { rng.next_u64() as u8 } else { 0 };
    sqe.cdw10 = (rng.next_u64() as u32 >> rng.below(32)).into();
    sqe.cdw11 = (rng.below(40) as u32 | ((rng.next_u64() as u32) << rng.below(32))).into();
    sqe.cdw12 = (rng.next_u64() as u32 >> rng.below(32)).into();
    sqe.with_prp(rng.next_u64() >> rng.below(60), rng.next_u64() >> rng.below(60))
}

/// Whatever is refused changes nothing.
fn refused_commands_change_nothing<D: Machine>(seed: u64, count: u32) {
    let mut rng = Seed(seed).child("wild").rng();
    let mut rig: Rig<D> = Rig::new(&small(true, seed));
    let mut refused = 0;
    for _ in 0..count {
        rig.machine.rest();
        let before = rig.machine.digest();
        let via = if rng.below(2) == 0 { KV } else { BLOCK };
        let answer = rig.call(via, wild(&mut rng), RawData::Untouched);
        if !answer.status.is_success() {
            rig.machine.rest();
            assert_eq!(before, rig.machine.digest(), "{}", answer.status);
            refused += 1;
        }
    }
    assert!(refused > count / 4, "{refused} of {count}");
}

/// Valid commands of the KV namespace do what a map does.
fn pairs_follow_a_model<D: Machine>(seed: u64, count: u32) {
    let mut rng = Seed(seed).child("pairs").rng();
    let build = small(true, seed);
    let mut rig: Rig<D> = Rig::new(&build);
    let mut model: BTreeMap<Key, Vec<u8>> = BTreeMap::new();
    for _ in 0..count {
        let n = rng.below(40) as u8;
        let key = Key::new(&[n; 16][..1 + usize::from(n) % 16]).expect("1 to 16 bytes");
        let known = model.contains_key(&key);
        match rng.below(4) {
            0 => {
                let mut value = vec![0; 1 + rng.below(200) as usize];
                rng.fill(&mut value);
                let options = [StoreOptions::NONE, StoreOptions::MUST_EXIST, StoreOptions::MUST_NOT_EXIST];
                let choice = rng.below(3) as usize;
                let sqe = kv::store(KV, &key, value.len() as u32, options[choice]);
                let expected = match (choice, known) {
                    (1, false) => Status::KEY_DOES_NOT_EXIST,
                    (2, true) => Status::KEY_EXISTS,
                    _ => Status::SUCCESS,
                };
                assert!(rig.call(KV, sqe, RawData::ToDevice(&value)).status.is(expected));
                if expected.is_success() {
                    model.insert(key, value);
                }
            }
            1 => {
                let answer = rig.call(KV, kv::retrieve(KV, &key, 100), RawData::FromDevice(100));
                match model.get(&key) {
                    None => assert!(answer.status.is(Status::KEY_DOES_NOT_EXIST)),
                    Some(value) => {
                        let shown = value.len().min(100);
                        assert_eq!(
                            (answer.dw0 as usize, &answer.data[..shown]),
                            (value.len(), &value[..shown])
                        );
                    }
                }
            }
            2 => {
                // EDNEK is 0 unless the host sets it: deleting what is not there succeeds.
                assert!(rig.call(KV, kv::delete(KV, &key), RawData::Untouched).status.is_success());
                model.remove(&key);
            }
            _ => {
                let answer = rig.call(KV, kv::exist(KV, &key), RawData::Untouched);
                assert_eq!(answer.status.is_success(), known);
            }
        }
    }
    rig.connection.format(&mut rig.machine, KV).expect("formats");
    let any = Key::new(&[0]).expect("one byte");
    assert!(rig.call(KV, kv::exist(KV, &any), RawData::Untouched).status.is(Status::KEY_DOES_NOT_EXIST));
}

fn limits<D: Machine>() {
    let build = small(true, 1);
    let mut rig: Rig<D> = Rig::new(&build);
    let key = Key::new(b"key").expect("3 bytes");
    let long = kv::store(KV, &key, value_bytes_max(&build) + 1, StoreOptions::NONE);
    assert!(rig.call(KV, long, RawData::Untouched).status.is(Status::INVALID_VALUE_SIZE));
    let range = BlockRange { slba: blocks(&build), blocks: 1 };
    let beyond = nvm::read(BLOCK, range, false).expect("one block");
    assert!(rig.call(BLOCK, beyond, RawData::Untouched).status.is(Status::LBA_OUT_OF_RANGE));
}

#[test]
fn refused_commands_change_nothing_without_time() {
    (0..tier(3, 30)).for_each(|seed| refused_commands_change_nothing::<Inline<MemMedia>>(seed, 2000));
}

#[test]
fn refused_commands_change_nothing_in_virtual_time() {
    (0..tier(2, 20)).for_each(|seed| refused_commands_change_nothing::<Clocked<MemMedia>>(seed, 1000));
}

#[test]
fn pairs_follow_a_model_without_time() {
    (0..tier(3, 30)).for_each(|seed| pairs_follow_a_model::<Inline<MemMedia>>(seed, 4000));
}

#[test]
fn pairs_follow_a_model_in_virtual_time() {
    (0..tier(2, 20)).for_each(|seed| pairs_follow_a_model::<Clocked<MemMedia>>(seed, 1500));
}

#[test]
fn limits_are_told() {
    limits::<Inline<MemMedia>>();
    limits::<Clocked<MemMedia>>();
}
