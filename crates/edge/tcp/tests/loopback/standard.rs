// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What standard hosts ask for beside the commands of data, of a device in memory, of an image, and of one at a target.

use saker::{EngineKind, ImagePlan, NamespacePlan, Raw};
use saker_host::RawData;
use saker_nvme::admin::{FeatureSelect, GetFeatures, GetLogPage, Identify, SetFeatures, build, feature::fid};
use saker_nvme::identify::{Controller, ControllerList, KvNamespace, NvmNamespace, cns};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::log::{EffectsLog, ErrorEntry, Smart, lid};
use saker_nvme::nvm::{self, BlockRange, CopyCommand, CopyRange};
use saker_nvme::{Key, Sqe, Status, admin, csi};
use zerocopy::{FromBytes, IntoBytes};

use crate::loopback::support::{serve, url};

fn ask(raw: &mut Raw, sqe: Sqe, room: u32) -> (Status, u64, Vec<u8>) {
    raw.admin(sqe, room).expect("an answer")
}

fn identify<T: FromBytes>(raw: &mut Raw, cns: u8, csi: u8) -> T {
    let nsid = if cns == cns::CONTROLLER { 0 } else { raw.nsid() };
    let sqe = build::identify(&Identify { nsid, cns, cntid: 0, specific_id: 0, csi, uuid_index: 0 });
    let (status, _, data) = ask(raw, sqe, 4096);
    assert!(status.is_success(), "CNS {cns:#x}: {status}");
    T::read_from_bytes(&data).expect("4096 bytes")
}

fn log<T: FromBytes>(raw: &mut Raw, lid: u8, csi: u8) -> T {
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
        csi,
    };
    let (status, _, data) = ask(raw, build::get_log_page(&command), bytes as u32);
    assert!(status.is_success(), "log page {lid:#x}: {status}");
    T::read_from_bytes(&data).expect("of that size")
}

fn feature(raw: &mut Raw, fid: u8, cdw11: u32, room: u32) -> (Status, u64, Vec<u8>) {
    let command = GetFeatures { nsid: raw.nsid(), fid, select: FeatureSelect::Current, cdw11 };
    ask(raw, build::get_features(&command), room)
}

fn io(raw: &mut Raw, sqe: Sqe, data: RawData<'_>) -> (Status, Vec<u8>) {
    let done = raw.io(std::iter::once((sqe, data)), |done| (done.status, done.data().to_vec()));
    done.expect("an answer").remove(0)
}

/// What the health log counts: data units read and written, commands that read and wrote.
fn done(raw: &mut Raw) -> [u128; 4] {
    let smart: Smart = log(raw, lid::SMART, 0);
    [smart.data_units_read, smart.data_units_written, smart.read_commands, smart.write_commands]
        .map(|n| n.get())
}

/// A namespace of pairs: seen by whoever asks for blocks, and one of pairs all the same.
fn pairs(device: &str, over_fabrics: bool) {
    let mut raw = Raw::open(device).expect(device);
    let nsid = raw.nsid();
    let told: KvNamespace = identify(&mut raw, cns::CSI_NAMESPACE, csi::KV);
    let blocks: NvmNamespace = identify(&mut raw, cns::NAMESPACE, 0);
    assert!(blocks.ncap.get() > 0 && blocks.block_bytes() == Some(512), "{device}");
    assert_eq!(blocks.nvmcap.get(), u128::from(told.nsze.get()), "{device}");
    let before = done(&mut raw);
    let key = Key::new(b"abcd").expect("a key");
    let value = vec![7; 5000];
    let stored = io(&mut raw, kv::store(nsid, &key, 5000, StoreOptions::NONE), RawData::ToDevice(&value));
    assert!(stored.0.is_success(), "{device}: {}", stored.0);
    let found = io(&mut raw, kv::retrieve(nsid, &key, 5000), RawData::FromDevice(5000));
    assert!(found.0.is_success() && found.1 == value, "{device}: {}", found.0);
    let missing = Key::new(b"none").expect("a key");
    let found = io(&mut raw, kv::retrieve(nsid, &missing, 64), RawData::FromDevice(64));
    assert!(found.0.is(Status::KEY_DOES_NOT_EXIST), "{device}: {}", found.0);

    // An image goes on counting where its last run ended; a device in memory begins.
    let after = done(&mut raw);
    assert_eq!([after[2] - before[2], after[3] - before[3]], [1, 1], "{device}");
    assert!(
        after[..2].iter().zip(&before).all(|(after, before)| (1..=before + 1).contains(after)),
        "{device}"
    );
    if device.starts_with("mem:") {
        assert_eq!(after, [1, 1, 1, 1], "{device}");
    }
    // A key of 17 bytes: an error of this host, with its namespace and opcode.
    let mut bad = kv::store(nsid, &key, 4, StoreOptions::NONE);
    bad.cdw11.set(17);
    let bad = io(&mut raw, bad, RawData::ToDevice(&[0; 4]));
    assert_eq!(bad.0, Status::INVALID_FIELD, "{device}");
    if !device.contains("shards") {
        let entry: ErrorEntry = log(&mut raw, lid::ERROR, 0);
        assert_eq!(
            (entry.nsid.get(), entry.opcode, entry.csi),
            (nsid, kv::opcode::STORE, csi::KV),
            "{device}"
        );
        assert_eq!(entry.status_word.get(), bad.0.to_word(false), "{device}");
        assert_ne!(entry.sqid.get(), 0, "{device}");
    }

    let effects: EffectsLog = log(&mut raw, lid::EFFECTS, csi::KV);
    for opcode in admin::QUEUE_OPCODES {
        assert_eq!(effects.admin(opcode).supported(), !over_fabrics, "{device}, {opcode:#x}");
    }
    assert_eq!(effects.admin(0x7F).supported(), over_fabrics, "{device}");
    let controller: Controller = identify(&mut raw, cns::CONTROLLER, 0);
    assert_eq!(controller.ctratt.get() & 1, 1, "{device}");
    for cns in [cns::CONTROLLERS, cns::ATTACHED_CONTROLLERS] {
        let list: ControllerList = identify(&mut raw, cns, 0);
        assert!(list.iter().any(|cntlid| cntlid == controller.cntlid.get()), "{device}");
    }
    features(&mut raw, device, over_fabrics);
    raw.close().expect("closed");
}

fn features(raw: &mut Raw, device: &str, over_fabrics: bool) {
    let (status, _, data) = feature(raw, fid::HOST_IDENTIFIER, 1, 16);
    assert!(status.is_success() && (data == [0; 16]) != over_fabrics, "{device}: {status}, {data:?}");
    for (fid, value) in [(fid::WRITE_ATOMICITY, 1), (fid::KEEP_ALIVE_TIMER, 120_000)] {
        let set = SetFeatures { nsid: 0, fid, save: false, cdw11: value };
        assert!(ask(raw, build::set_features(&set), 0).0.is_success(), "{device}, {fid:#x}");
        // Each shard has a keep alive timer of its own; nothing expires here.
        assert_eq!(feature(raw, fid, 0, 0).1, u64::from(value), "{device}, {fid:#x}");
    }
    let status = feature(raw, fid::ERROR_RECOVERY, 0, 0).0;
    assert!(status.is(Status::INVALID_NAMESPACE_OR_FORMAT), "{device}: pairs have no such feature: {status}");
}

/// Compare, Write Zeroes, Verify and Copy.
fn blocks(device: &str) {
    let mut raw = Raw::open_blocks(device).expect(device);
    let nsid = raw.nsid();
    let range = |slba, blocks| BlockRange { slba, blocks };
    let data: Vec<u8> = (0..16_u32 << 12).map(|n| (n / 4096 * 17 + n % 253) as u8).collect();
    let write = nvm::write(nsid, range(4, 16), false).expect("a range");
    assert_eq!(io(&mut raw, write, RawData::ToDevice(&data)).0, Status::SUCCESS, "{device}");
    let compare = |raw: &mut Raw, slba, data: &[u8]| {
        let sqe = nvm::compare(nsid, range(slba, data.len() as u32 / 4096), false).expect("a range");
        io(raw, sqe, RawData::ToDevice(data)).0
    };
    assert_eq!(compare(&mut raw, 4, &data), Status::SUCCESS, "{device}");
    assert_eq!(compare(&mut raw, 5, &data), Status::COMPARE_FAILURE, "{device}");
    let entries: Vec<u8> = [range(12, 8), range(4, 8)]
        .iter()
        .flat_map(|r| CopyRange::new(*r).expect("a range").as_bytes().to_vec())
        .collect();
    let command = CopyCommand { to: 4, ranges: 2, format: 0, force_unit_access: false };
    let copy = nvm::copy(nsid, command).expect("ranges");
    assert_eq!(io(&mut raw, copy, RawData::ToDevice(&entries)).0, Status::SUCCESS, "{device}");
    let swapped = [&data[8 << 12..], &data[..8 << 12]].concat();
    assert_eq!(compare(&mut raw, 4, &swapped), Status::SUCCESS, "{device}: the halves have changed places");
    let zero = nvm::write_zeroes(nsid, range(5, 3), true, true).expect("a range");
    assert_eq!(io(&mut raw, zero, RawData::Untouched).0, Status::SUCCESS, "{device}");
    assert_eq!(compare(&mut raw, 5, &[0; 3 << 12]), Status::SUCCESS, "{device}");
    let verify = nvm::verify(nsid, range(0, 64)).expect("a range");
    assert_eq!(io(&mut raw, verify, RawData::Untouched).0, Status::SUCCESS, "{device}");
    let fused = Sqe { flags: 1, ..nvm::compare(nsid, range(4, 1), false).expect("a range") };
    assert_eq!(io(&mut raw, fused, RawData::ToDevice(&data[..4096])).0, Status::INVALID_FIELD, "{device}");

    let set = SetFeatures { nsid, fid: fid::ERROR_RECOVERY, save: false, cdw11: 25 };
    assert!(ask(&mut raw, build::set_features(&set), 0).0.is_success(), "{device}");
    assert_eq!(feature(&mut raw, fid::ERROR_RECOVERY, 0, 0).1, 25, "{device}");
    let told: NvmNamespace = identify(&mut raw, cns::NAMESPACE, 0);
    assert_eq!((told.mcl.get(), told.msrc, told.dlfeat), (256, 127, 0b001), "{device}");
    raw.close().expect("closed");
}

#[test]
fn pairs_are_described_to_hosts_that_ask_for_blocks() {
    for device in ["mem:?size=320MiB", "mem:?size=320MiB&timing=real", "mem:?size=640MiB&shards=2"] {
        pairs(device, false);
    }
    for engine in EngineKind::ALL.iter().map(|kind| kind.name()) {
        pairs(&format!("mem:?size=320MiB&engine={engine}"), false);
        let server = serve(&format!("mem:?size=320MiB&engine={engine}"));
        pairs(&url(&server, ""), true);
        server.stop().expect("stopped");
    }
}

#[test]
fn blocks_take_the_commands_that_are_announced() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("both.img");
    let blocks_plan = NamespacePlan::Block { bytes: Some(32 << 20), block_bytes: 4096 };
    let namespaces = vec![NamespacePlan::Kv { flash_bytes: None }, blocks_plan];
    let plan = ImagePlan { namespaces, ..ImagePlan::kv(1 << 30, "default", 1) };
    plan.create(&path).expect("an image");
    let device = format!("file:{}", path.display());
    blocks(&device);
    blocks(&format!("{device}?timing=real"));
    pairs(&device, false);
    let server = serve(&device);
    blocks(&url(&server, ""));
    blocks(&url(&server, "digest=both"));
    server.stop().expect("stopped");
}
