// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes of many blocks: as long as MDTS allows, however small the ring.

use crate::stress::rig::{self, BLOCK, BLOCK_BYTES, Machine, Rig};
use saker_assembly::Build;
use saker_device::NamespaceConfig;
use saker_host::RawData;
use saker_nvme::Status;
use saker_nvme::nvm::{self, BlockRange};
use saker_profile::Profile;
use saker_world::{Clocked, Inline};

/// Largest transfer that Identify Controller allows.
const MDTS_BYTES: u32 = 4 << 20;
/// The most that this host lends for one command.
const LENT_BYTES: u32 = 2 << 20;

fn content(blocks: u32, block_bytes: u32, round: u8) -> Vec<u8> {
    (0..blocks * block_bytes).map(|n| (n / block_bytes * 31 + n % 251) as u8 ^ round).collect()
}

fn write<D: Machine>(rig: &mut Rig<D>, slba: u64, data: &[u8], block_bytes: u32) -> Status {
    let range = BlockRange { slba, blocks: data.len() as u32 / block_bytes };
    rig.call(BLOCK, nvm::write(BLOCK, range, false).expect("65,536 at most"), RawData::ToDevice(data)).status
}

fn read<D: Machine>(rig: &mut Rig<D>, slba: u64, blocks: u32, block_bytes: u32) -> Vec<u8> {
    let sqe = nvm::read(BLOCK, BlockRange { slba, blocks }, false).expect("65,536 at most");
    let answer = rig.call(BLOCK, sqe, RawData::FromDevice(blocks * block_bytes));
    assert!(answer.status.is_success(), "{}", answer.status);
    answer.data
}

/// From one block to the whole namespace, beginning anywhere, again and again.
fn around_the_ring<D: Machine>(capacitor: bool) {
    let build = rig::small(capacitor, 11);
    let all = rig::blocks(&build) as u32;
    let per_page = build.shape.geometry.page_bytes / BLOCK_BYTES;
    let ring = u32::from(build.ring_slots()) * per_page;
    assert!(all > 2 * ring, "a ring of {ring} blocks is small against {all}");
    let mut rig = Rig::<D>::new(&build);
    for round in 0..4 {
        for blocks in [1, ring / 2, ring - 8 * per_page, ring - 1, ring, ring + 1, 2 * ring + 3, all] {
            let data = content(blocks, BLOCK_BYTES, round);
            let slba = u64::from((all - blocks).min(u32::from(round) * 7));
            assert_eq!(
                write(&mut rig, slba, &data, BLOCK_BYTES),
                Status::SUCCESS,
                "{blocks} blocks of {all}"
            );
            assert!(read(&mut rig, slba, blocks, BLOCK_BYTES) == data, "{blocks} blocks of {all} are others");
        }
    }
    let data = content(2, BLOCK_BYTES, 9);
    assert_eq!(write(&mut rig, u64::from(all) - 1, &data, BLOCK_BYTES), Status::LBA_OUT_OF_RANGE);
}

#[test]
fn a_write_may_be_longer_than_the_ring() {
    for capacitor in [true, false] {
        around_the_ring::<Inline>(capacitor);
        around_the_ring::<Clocked>(capacitor);
    }
}

/// Long writes on profiles as they are, and one that is longer than MDTS allows.
#[test]
fn the_longest_writes_are_taken_or_refused_whole() {
    for name in ["default", "cosmos-plus", "tiny"] {
        let profile = Profile::builtin(name).expect("built in");
        let mut build = Build::kv(&profile, 1 << 30, 3).expect("large enough");
        let (geometry, capacitor) = (build.shape.geometry, build.config.capacitor);
        let half = geometry.segments / 2;
        let block_bytes = geometry.page_bytes.min(4096);
        let block = NamespaceConfig::block(BLOCK, &geometry, half, capacitor, block_bytes);
        build.config.namespaces = vec![NamespaceConfig::kv(rig::KV, &geometry, half, 3), block];
        let mut rig = Rig::<Inline>::with_pages(&build, 4096);
        let blocks = LENT_BYTES / block_bytes;
        let data = content(blocks, block_bytes, 1);
        assert_eq!(write(&mut rig, 5, &data, block_bytes), Status::SUCCESS, "{name}");
        assert!(read(&mut rig, 5, blocks, block_bytes) == data, "{name}");
        let more = BlockRange { slba: 0, blocks: MDTS_BYTES / block_bytes + 1 };
        let sqe = nvm::write(BLOCK, more, false).expect("65,536 at most");
        assert_eq!(rig.call(BLOCK, sqe, RawData::Untouched).status, Status::INVALID_FIELD, "{name}");
        assert!(read(&mut rig, 5, blocks, block_bytes) == data, "{name}: a refused write changes nothing");
    }
}
