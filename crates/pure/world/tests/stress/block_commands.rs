// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compare, Write Zeroes, Verify and Copy beside other features: a full namespace, pages that cannot be read, commands
//! in flight, Format; and what the health log counts of it all.

use crate::stress::pairs::{get, name, put};
use crate::stress::rig::{self, BLOCK, BLOCK_BYTES, KV, Machine, Rig, blocks};
use saker_flash::FaultPlan;
use saker_host::{Driver, RawData};
use saker_nvme::admin::{GetLogPage, Identify, build};
use saker_nvme::identify::{KvNamespace, NvmNamespace, cns};
use saker_nvme::log::{ErrorEntry, Smart, lid};
use saker_nvme::nvm::{self, BlockRange, CopyCommand, CopyRange};
use saker_nvme::{Sqe, Status, csi};
use saker_sim::Chance;
use saker_world::{Clocked, Inline};
use zerocopy::{FromBytes, IntoBytes};

const BYTES: usize = BLOCK_BYTES as usize;

/// `blocks` blocks that tell their place and a round.
fn content(slba: u64, blocks: u32, round: u8) -> Vec<u8> {
    let block = |n: u64| vec![(slba + n) as u8 ^ round | 1; BYTES];
    (0..u64::from(blocks)).flat_map(block).collect()
}

fn range(slba: u64, blocks: u32) -> BlockRange {
    BlockRange { slba, blocks }
}

fn write<D: Machine>(rig: &mut Rig<D>, slba: u64, data: &[u8]) -> Status {
    let sqe = nvm::write(BLOCK, range(slba, (data.len() / BYTES) as u32), false).expect("a range");
    rig.call(BLOCK, sqe, RawData::ToDevice(data)).status
}

fn compare<D: Machine>(rig: &mut Rig<D>, slba: u64, data: &[u8]) -> Status {
    let sqe = nvm::compare(BLOCK, range(slba, (data.len() / BYTES) as u32), false).expect("a range");
    rig.call(BLOCK, sqe, RawData::ToDevice(data)).status
}

fn zero<D: Machine>(rig: &mut Rig<D>, range: BlockRange, deallocate: bool) -> Status {
    let sqe = nvm::write_zeroes(BLOCK, range, false, deallocate).expect("a range");
    rig.call(BLOCK, sqe, RawData::Untouched).status
}

fn verify<D: Machine>(rig: &mut Rig<D>, range: BlockRange) -> Status {
    rig.call(BLOCK, nvm::verify(BLOCK, range).expect("a range"), RawData::Untouched).status
}

fn copy<D: Machine>(rig: &mut Rig<D>, to: u64, from: &[BlockRange]) -> Status {
    let command = CopyCommand { to, ranges: from.len() as u32, format: 0, force_unit_access: true };
    let entries: Vec<u8> =
        from.iter().flat_map(|r| CopyRange::new(*r).expect("a range").as_bytes().to_vec()).collect();
    let sqe = nvm::copy(BLOCK, command).expect("ranges");
    rig.call(BLOCK, sqe, RawData::ToDevice(&entries)).status
}

fn page<D: Machine, T: FromBytes>(rig: &mut Rig<D>, sqe: Sqe) -> T {
    let Rig { connection, machine, .. } = rig;
    let (status, _, data) = connection.raw_admin(machine, sqe, size_of::<T>() as u32).expect("an answer");
    assert!(status.is_success(), "{status}");
    T::read_from_bytes(&data).expect("of that size")
}

fn log<D: Machine, T: FromBytes>(rig: &mut Rig<D>, lid: u8) -> T {
    let bytes = size_of::<T>() as u64;
    let command = GetLogPage {
        nsid: 0,
        lid,
        lsp: 0,
        retain_event: false,
        bytes,
        lsi: 0,
        offset: 0,
        offset_is_index: false,
        uuid_index: 0,
        csi: 0,
    };
    page(rig, build::get_log_page(&command))
}

fn identify(cns: u8, nsid: u32, csi: u8) -> Sqe {
    build::identify(&Identify { nsid, cns, cntid: 0, specific_id: 0, csi, uuid_index: 0 })
}

/// Copies go on where every block is in use, whatever the collections behind them do.
fn copies_on_a_full_namespace<D: Machine>(capacitor: bool) {
    let build = rig::small(capacitor, 4);
    let all = blocks(&build) as u32;
    let mut rig = Rig::<D>::new(&build);
    let mut model = content(0, all, 0);
    assert_eq!(write(&mut rig, 0, &model), Status::SUCCESS);
    for round in 0..60_u64 {
        let blocks = 1 + (round as u32 * 37) % (all / 3);
        let (to, from) = (round * 53 % u64::from(all - 2 * blocks), round * 101 % u64::from(all - blocks));
        let sources = [range(from, blocks), range(to, blocks)];
        assert_eq!(copy(&mut rig, to, &sources), Status::SUCCESS, "round {round}");
        let part = |r: &BlockRange| model[r.slba as usize * BYTES..][..r.blocks as usize * BYTES].to_vec();
        let data = sources.iter().flat_map(part).collect::<Vec<u8>>();
        model[to as usize * BYTES..][..data.len()].copy_from_slice(&data);
    }
    assert_eq!(compare(&mut rig, 0, &model), Status::SUCCESS, "capacitor {capacitor}");
    assert_eq!(verify(&mut rig, range(0, all)), Status::SUCCESS);
    model[7] ^= 1;
    assert_eq!(compare(&mut rig, 0, &model), Status::COMPARE_FAILURE);
    assert_eq!(zero(&mut rig, range(0, all), true), Status::SUCCESS);
    assert_eq!(compare(&mut rig, 0, &vec![0; model.len()]), Status::SUCCESS, "all at once");
    assert_eq!(write(&mut rig, 0, &content(0, all, 9)), Status::SUCCESS, "and full again");
}

#[test]
fn copies_on_a_full_namespace_go_on() {
    for capacitor in [true, false] {
        copies_on_a_full_namespace::<Inline>(capacitor);
        copies_on_a_full_namespace::<Clocked>(capacitor);
    }
}

fn limits<D: Machine>() {
    let build = rig::small(true, 4);
    let all = blocks(&build);
    let mut rig = Rig::<D>::new(&build);
    assert_eq!(write(&mut rig, 0, &content(0, 8, 1)), Status::SUCCESS);
    rig.machine.rest();
    let digest = rig.machine.digest();
    // MCL is 1 MiB, MSRC 127; the last block, and behind it.
    let size = [
        (vec![range(0, 2049)], Status::COMMAND_SIZE_LIMIT_EXCEEDED),
        (vec![range(0, 1); 129], Status::COMMAND_SIZE_LIMIT_EXCEEDED),
        (vec![range(0, 1), range(all, 1)], Status::LBA_OUT_OF_RANGE),
        (vec![range(u64::MAX, 1)], Status::LBA_OUT_OF_RANGE),
    ];
    for (from, status) in size {
        assert_eq!(copy(&mut rig, 0, &from), status, "{from:?}");
    }
    assert_eq!(copy(&mut rig, all - 1, &[range(0, 2)]), Status::LBA_OUT_OF_RANGE);
    for far in [range(all, 1), range(all - 1, 2), range(u64::MAX, 1)] {
        assert_eq!(zero(&mut rig, far, false), Status::LBA_OUT_OF_RANGE);
        assert_eq!(verify(&mut rig, far), Status::LBA_OUT_OF_RANGE);
    }
    // Fused operations are not offered (FUSES is 0): neither half of Compare and Write is taken.
    let mut fused = nvm::compare(BLOCK, range(0, 1), false).expect("a range");
    for fuse in [0b01, 0b10] {
        fused.flags = fuse;
        assert_eq!(rig.call(BLOCK, fused, RawData::ToDevice(&[0; BYTES])).status, Status::INVALID_FIELD);
    }
    rig.machine.rest();
    assert_eq!(rig.machine.digest(), digest, "what is refused changes nothing");
    assert_eq!(copy(&mut rig, 8, &[range(0, 1); 128]), Status::SUCCESS);
}

#[test]
fn ranges_and_sizes_beyond_the_limits_are_refused() {
    limits::<Inline>();
    limits::<Clocked>();
}

/// Pages that cannot be read: nothing is called sound or equal, and a Copy of them writes nothing.
#[test]
fn blocks_that_cannot_be_read_are_told() {
    let mut build = rig::small(false, 6);
    build.faults = FaultPlan { seed: 3, read: Chance::one_in(3), ..FaultPlan::default() };
    let mut rig = Rig::<Clocked>::new(&build);
    let data = content(0, 192, 5);
    assert_eq!(write(&mut rig, 0, &data), Status::SUCCESS);
    assert_eq!(write(&mut rig, 200, &content(200, 8, 5)), Status::SUCCESS);
    assert!(rig.call(BLOCK, nvm::flush(BLOCK), RawData::Untouched).status.is_success());
    let noted = log::<_, Smart>(&mut rig, lid::SMART).error_entries.get();
    let (mut sound, mut lost) = (0, 0);
    for first in (0..192).step_by(4) {
        let told = [
            verify(&mut rig, range(first, 4)),
            compare(&mut rig, first, &data[first as usize * BYTES..][..4 * BYTES]),
            copy(&mut rig, 200, &[range(first, 4)]),
        ];
        for status in told {
            let known = status.is_success() || status.is(Status::UNRECOVERED_READ_ERROR);
            assert!(known, "blocks {first}: {told:?}");
            *(if status.is_success() { &mut sound } else { &mut lost }) += 1;
        }
    }
    assert!(sound > 5 && lost > 5, "{sound} sound, {lost} lost");
    let smart: Smart = log(&mut rig, lid::SMART);
    assert_eq!(smart.media_errors.get(), lost);
    assert_eq!(smart.error_entries.get(), noted + lost);
    let newest: ErrorEntry = log(&mut rig, lid::ERROR);
    assert_eq!((newest.nsid.get(), newest.csi), (BLOCK, csi::NVM));
    assert_eq!(u128::from(newest.error_count.get()), noted + lost);
    assert_eq!(newest.status_word.get(), Status::UNRECOVERED_READ_ERROR.to_word(false));
}

/// A Compare on its way beside a Write of the same blocks sees each block before or after it, and says so or that they
/// differ.
#[test]
fn a_compare_beside_a_write_finds_a_difference_or_none() {
    let mut rig = Rig::<Clocked>::new(&rig::small(true, 8));
    let mut equal = [0, 0];
    for round in 0..40_u8 {
        let (before, after) = (content(0, 16, round), content(0, 16, round ^ 0x40));
        assert_eq!(write(&mut rig, 0, &before), Status::SUCCESS);
        let first = usize::from(round % 2);
        let sqes = [
            (nvm::write(BLOCK, range(0, 16), false).expect("a range"), &after),
            (nvm::compare(BLOCK, range(0, 16), false).expect("a range"), &before),
        ];
        let mut tickets = [0; 2];
        for n in [first, 1 - first] {
            tickets[n] = rig.block.raw(sqes[n].0, RawData::ToDevice(sqes[n].1)).expect("room").slot();
        }
        rig.block.ring();
        let mut left = 2;
        while left > 0 {
            rig.machine.drive();
            while let Some(done) = rig.block.poll(|d| (d.ticket.slot(), d.status)) {
                let (slot, status) = done.expect("an answer");
                let is_compare = slot == tickets[1];
                assert!(
                    status.is_success() || (is_compare && status.is(Status::COMPARE_FAILURE)),
                    "{status}"
                );
                equal[usize::from(status.is_success())] += u32::from(is_compare);
                left -= 1;
            }
        }
        assert_eq!(compare(&mut rig, 0, &after), Status::SUCCESS, "round {round}");
    }
    assert!(equal[0] + equal[1] == 40 && equal[0] > 0, "{equal:?}");
}

/// Format empties a namespace of either kind, for whoever asks by either structure.
fn formatted<D: Machine>() {
    let mut rig = Rig::<D>::new(&rig::roomy(true, 2));
    assert!(put(&mut rig, &name(1), &[7; 3000]).is_success());
    assert_eq!(write(&mut rig, 0, &content(0, 8, 1)), Status::SUCCESS);
    let used = |rig: &mut Rig<D>| {
        let pairs: KvNamespace = page(rig, identify(cns::CSI_NAMESPACE, KV, csi::KV));
        let as_blocks: NvmNamespace = page(rig, identify(cns::NAMESPACE, KV, 0));
        let blocks: NvmNamespace = page(rig, identify(cns::NAMESPACE, BLOCK, 0));
        assert_eq!(as_blocks.nsze.get(), pairs.nsze.get() / 512);
        assert_eq!((as_blocks.nvmcap.get(), as_blocks.ncap), (u128::from(pairs.nsze.get()), as_blocks.nsze));
        [pairs.nuse.get(), as_blocks.nuse.get(), blocks.nuse.get()]
    };
    let [bytes, as_blocks, blocks] = used(&mut rig);
    assert!(bytes >= 3001 && as_blocks == bytes.div_ceil(512) && blocks == 8, "{bytes} {as_blocks} {blocks}");
    for nsid in [KV, BLOCK] {
        let Rig { connection, machine, .. } = &mut rig;
        connection.format(machine, nsid).expect("formatted");
    }
    assert_eq!(used(&mut rig), [0; 3]);
}

#[test]
fn a_formatted_namespace_is_empty_by_every_structure() {
    formatted::<Inline>();
    formatted::<Clocked>();
}

/// Data units of 512,000 bytes, and commands, of pairs and blocks together.
fn counted<D: Machine>() {
    let mut rig = Rig::<D>::new(&rig::roomy(true, 2));
    let units = |rig: &mut Rig<D>| {
        let smart: Smart = log(rig, lid::SMART);
        [smart.data_units_read, smart.data_units_written, smart.read_commands, smart.write_commands]
            .map(|n| n.get())
    };
    assert_eq!(units(&mut rig), [0; 4], "a device that has done nothing");
    let noted = log::<_, Smart>(&mut rig, lid::SMART).error_entries.get();
    for n in 0..300 {
        assert!(put(&mut rig, &name(n % 30), &[n as u8; 3000]).is_success());
        assert_eq!(get(&mut rig, &name(n % 30), 4096).len(), 3000);
    }
    // 900,000 bytes each way.
    assert_eq!(units(&mut rig), [2, 2, 300, 300]);
    for n in 0..100 {
        assert_eq!(write(&mut rig, n, &content(n, 16, 1)), Status::SUCCESS);
        assert_eq!(verify(&mut rig, range(n, 16)), Status::SUCCESS);
    }
    // 819,200 more; Verify reads data, but is no command that gives any.
    assert_eq!(units(&mut rig), [4, 4, 300, 400]);
    assert_eq!(compare(&mut rig, 0, &content(0, 16, 2)), Status::COMPARE_FAILURE);
    assert_eq!(copy(&mut rig, 200, &[range(0, 16)]), Status::SUCCESS);
    assert_eq!(zero(&mut rig, range(0, 16), true), Status::SUCCESS);
    assert_eq!(units(&mut rig), [4, 4, 301, 402]);
    // What fails, and what asks for keys alone, counts for nothing; an answer is no error.
    let missing = rig.call(KV, saker_nvme::kv::retrieve(KV, &name(9999), 64), RawData::FromDevice(64));
    assert!(missing.status.is(Status::KEY_DOES_NOT_EXIST), "{}", missing.status);
    assert_eq!(write(&mut rig, u64::MAX, &content(0, 1, 0)), Status::LBA_OUT_OF_RANGE);
    assert_eq!(units(&mut rig), [4, 4, 301, 402]);
    let smart: Smart = log(&mut rig, lid::SMART);
    let noted = smart.error_entries.get() - noted;
    assert_eq!((noted, smart.media_errors.get()), (1, 0), "the write beyond the end");
}

#[test]
fn the_health_log_counts_data_and_commands() {
    counted::<Inline>();
    counted::<Clocked>();
}
