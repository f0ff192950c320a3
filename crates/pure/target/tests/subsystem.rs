// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A subsystem without sockets: what two hosts see of one device.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "subsystem/hosts.rs"]
mod hosts;
#[path = "subsystem/traffic.rs"]
mod traffic;

use saker_device::controller::{HealthCounters, NamespaceFacts, NamespaceKind};
use saker_nvme::admin::{self, GetLogPage, Identify, SetFeatures, build, feature::fid};
use saker_nvme::fabrics::{self, Connect, ConnectData, DISCOVERY_NQN, DiscoveryEntry, property};
use saker_nvme::identify::{Controller, ControllerList, cns};
use saker_nvme::log::{EffectsLog, ErrorEntry, Smart, SupportedLogs, lid};
use saker_nvme::regs::Cc;
use saker_nvme::sgl::{SglDescriptor, kind};
use saker_nvme::{Sqe, Status, csi, kv};
use saker_sim::Instant;
use saker_target::{
    Answer, Bound, Hosts, Kind, Policies, Portal, Reaction, Refusal, Subsystem, SubsystemConfig, check_io,
};
use zerocopy::FromBytes;

const NQN: &str = "nqn.2026-11.dev.saker:test";
const START: Instant = Instant::ZERO;

fn config(kind: Kind) -> SubsystemConfig {
    let address = "127.0.0.1".parse().unwrap();
    let portals = vec![Portal { nqn: NQN.into(), address, port: 4420, id: 1 }];
    SubsystemConfig {
        nqn: if kind == Kind::Nvm { NQN.into() } else { DISCOVERY_NQN.into() },
        serial: "S".into(),
        model: "M".into(),
        firmware: "1".into(),
        volatile_write_cache: true,
        vendor: None,
        hosts: Hosts::Any,
        policies: Policies::default(),
        portals,
        kind,
        controllers_max: 3,
        remote_ports: Default::default(),
        namespace_rates: Default::default(),
    }
}

fn facts() -> Vec<NamespaceFacts> {
    let kind = NamespaceKind::Kv {
        key_bytes_max: 16,
        value_bytes_max: 2 << 20,
        size_bytes: 1 << 30,
        used_bytes: 0,
        ednek: false,
        engine: "lsm",
        settings: Vec::new(),
        writes: Box::default(),
    };
    vec![NamespaceFacts { nsid: 1, kind, nguid: [1; 16], eui64: [2; 8] }]
}

/// A subsystem and the clock of its test.
struct Rig {
    subsystem: Subsystem,
}

impl Rig {
    fn new(kind: Kind) -> Self {
        Self { subsystem: Subsystem::new(config(kind)).unwrap() }
    }

    fn connect(&mut self, id: u64, qid: u16, cntlid: u16, host: &str) -> Result<Bound, Refusal> {
        let mut data = ConnectData::empty();
        data.cntlid = cntlid.into();
        let nqn = self.subsystem.nqn().to_owned();
        data.subnqn = fabrics::nqn_field(&nqn).unwrap();
        data.hostnqn = fabrics::nqn_field(host).unwrap();
        let connect = Connect { qid, sqsize: 31, keep_alive_ms: 1000, ..Connect::default() };
        self.subsystem.connect(id, &connect, &data, START)
    }

    /// A host with an enabled controller.
    fn host(&mut self, id: u64, host: &str) -> Bound {
        let bound = self.connect(id, 0, ConnectData::ANY_CONTROLLER, host).unwrap();
        let cc = Cc::default().with_css(Cc::CSS_ALL).with_iosqes(6).with_iocqes(4).with_en(true);
        let set = fabrics::property_set(property::CC, false, cc.0.into());
        assert_eq!(self.answer(id, set), Answer::result(0));
        bound
    }

    fn react(&mut self, id: u64, sqe: Sqe) -> Reaction {
        let sqe = sqe.with_sgl(&SglDescriptor::new(kind::TRANSPORT_DATA_BLOCK, 0, 0));
        self.subsystem.command(id, 7, &sqe, &facts(), START)
    }

    #[track_caller]
    fn answer(&mut self, id: u64, sqe: Sqe) -> Answer {
        match self.react(id, sqe) {
            Reaction::Complete(answer) => answer,
            other => panic!("not answered at once: {other:?}"),
        }
    }
}

fn set_feature(fid: u8, cdw11: u32, nsid: u32) -> Sqe {
    build::set_features(&SetFeatures { nsid, fid, save: false, cdw11 })
}

fn identify(cns: u8) -> Sqe {
    build::identify(&Identify { nsid: 1, cns, cntid: 0, specific_id: 0, csi: csi::KV, uuid_index: 0 })
}

#[test]
fn properties_are_the_registers() {
    let mut rig = Rig::new(Kind::Nvm);
    rig.connect(1, 0, 0xFFFF, "nqn.h").unwrap();
    let cap = rig.answer(1, fabrics::property_get(property::CAP, true)).result;
    assert_eq!(cap & 0xFFFF, 1023, "MQES");
    assert_ne!(cap & 1 << 43, 0, "I/O command sets, without which Linux ignores KV namespaces");
    assert_eq!(cap & 1 << 36, 0, "no subsystem reset");
    assert_eq!(rig.answer(1, fabrics::property_get(property::CSTS, false)).result, 0);
    assert_eq!(rig.answer(1, identify(cns::CONTROLLER)).status, Status::COMMAND_SEQUENCE_ERROR);
    for bad in [fabrics::property_get(property::CAP, false), fabrics::property_get(0x28, true)] {
        assert_eq!(rig.answer(1, bad).status, Status::INVALID_FIELD);
    }
    let set = fabrics::property_set(property::CSTS, false, 1);
    assert_eq!(rig.answer(1, set).status, Status::INVALID_FIELD);
    let set = fabrics::property_set(property::CC, false, 0x0046_0061);
    assert_eq!(rig.answer(1, set), Answer::result(0));
    assert_eq!(rig.answer(1, fabrics::property_get(property::CSTS, false)).result, 1, "RDY");
    assert_eq!(rig.answer(1, fabrics::property_get(property::CC, false)).result, 0x0046_0061);
}

#[test]
fn identify_is_what_linux_checks() {
    let mut rig = Rig::new(Kind::Nvm);
    let bound = rig.host(1, "nqn.h");
    let data = Controller::read_from_bytes(&rig.answer(1, identify(cns::CONTROLLER)).data).unwrap();
    assert_eq!((data.cntlid.get(), data.cntrltype, data.cmic), (bound.cntlid, 1, 0b1011));
    assert_eq!(data.sgls.get() & 0b11, 1);
    assert_eq!(data.sgls.get() >> 20 & 0b11, 0b11, "offsets and transport data blocks");
    assert_eq!((data.ioccsz.get(), data.iorcsz.get(), data.icdoff.get()), ((64 + 8192) / 16, 1, 0));
    assert_ne!(data.kas.get(), 0);
    assert_eq!((data.maxcmd.get(), data.mdts), (1024, 9), "2^9 pages of 4 KiB hold the longest value");
    assert!(data.subnqn.starts_with(NQN.as_bytes()));
}

#[test]
fn commands_of_rings_do_not_exist() {
    let mut rig = Rig::new(Kind::Nvm);
    rig.host(1, "nqn.h");
    for opcode in [0x00, 0x01, 0x04, 0x05] {
        assert_eq!(rig.answer(1, Sqe::new(opcode, 0)).status, Status::INVALID_OPCODE);
    }
    let prp = Sqe::new(admin::opcode::KEEP_ALIVE, 0);
    let reaction = rig.subsystem.command(1, 7, &prp, &facts(), START);
    assert_eq!(reaction, Reaction::Complete(Answer::status(Status::INVALID_FIELD)), "PRPs");
}

#[test]
fn hosts_have_controllers_of_their_own() {
    let mut rig = Rig::new(Kind::Nvm);
    let (first, second) = (rig.host(1, "nqn.a"), rig.host(2, "nqn.b"));
    assert_ne!(first.cntlid, second.cntlid);
    let refusal = rig.connect(3, 1, first.cntlid, "nqn.b").unwrap_err();
    assert_eq!((refusal.status, refusal.dw0), (Status::CONNECT_INVALID_PARAMETERS, 0x1_0200), "HOSTNQN");
    rig.connect(3, 1, first.cntlid, "nqn.a").unwrap();
    rig.connect(4, 1, second.cntlid, "nqn.b").unwrap();
    rig.host(5, "nqn.c");
    let full = rig.connect(6, 0, 0xFFFF, "nqn.d").unwrap_err();
    assert_eq!(full.status, Status::CONNECT_CONTROLLER_BUSY);
    assert_eq!(rig.subsystem.disconnected(1), [3], "the I/O queues go with the admin queue");
    assert_eq!(rig.subsystem.controllers(), 2);
    assert_eq!(rig.subsystem.bound(4).map(|bound| bound.cntlid), Some(second.cntlid));
}

#[test]
fn only_named_hosts_where_names_are_given() {
    let hosts = Hosts::Named(vec!["nqn.friend".into()]);
    let mut rig = Rig { subsystem: Subsystem::new(SubsystemConfig { hosts, ..config(Kind::Nvm) }).unwrap() };
    let refusal = rig.connect(1, 0, 0xFFFF, "nqn.stranger").unwrap_err();
    assert_eq!(refusal.status, Status::CONNECT_INVALID_HOST);
    rig.connect(1, 0, 0xFFFF, "nqn.friend").unwrap();
}

#[test]
fn the_write_cache_is_off_while_any_host_wants_it_off() {
    let mut rig = Rig::new(Kind::Nvm);
    rig.host(1, "nqn.a");
    rig.host(2, "nqn.b");
    let (off, on) =
        (set_feature(fid::VOLATILE_WRITE_CACHE, 0, 0), set_feature(fid::VOLATILE_WRITE_CACHE, 1, 0));
    assert!(matches!(rig.react(1, off), Reaction::Device(_)));
    assert!(matches!(rig.react(2, off), Reaction::Device(_)));
    assert!(rig.subsystem.wants_write_through());
    assert_eq!(rig.answer(2, on), Answer::result(0), "the device keeps writing through for the first host");
    assert!(rig.subsystem.wants_write_through());
    rig.subsystem.disconnected(1);
    assert!(!rig.subsystem.wants_write_through(), "nobody wants it any more");
}

#[test]
fn a_refused_switch_is_taken_back() {
    let mut rig = Rig::new(Kind::Nvm);
    rig.host(1, "nqn.a");
    let Reaction::Device(sqe) = rig.react(1, set_feature(fid::VOLATILE_WRITE_CACHE, 0, 0)) else {
        panic!("for the device");
    };
    rig.subsystem.device_answered(1, &sqe, Status::INTERNAL_ERROR);
    assert!(!rig.subsystem.wants_write_through());
}

#[test]
fn a_format_is_told_to_every_host_that_listens() {
    let mut rig = Rig::new(Kind::Nvm);
    for (id, name) in [(1, "nqn.a"), (2, "nqn.b")] {
        rig.host(id, name);
        rig.answer(id, set_feature(fid::ASYNC_EVENT_CONFIG, 1 << 8, 0));
        assert_eq!(rig.react(id, build::async_event_request().with_cid(9)), Reaction::Hold);
    }
    assert!(rig.subsystem.events().is_empty());
    let format = admin::FormatNvm { nsid: 1, format_index: 0, secure_erase: 0 };
    let Reaction::Device(sqe) = rig.react(1, build::format_nvm(&format)) else { panic!("for the device") };
    rig.subsystem.device_answered(1, &sqe, Status::SUCCESS);
    // Notice (2), namespace attribute changed (0), log page 04h.
    let told = Answer::result(0x04_0002);
    assert_eq!(rig.subsystem.events(), [(1, 7, told.clone()), (2, 7, told)]);
}

#[test]
fn silence_ends_an_association_and_any_command_keeps_it() {
    let mut rig = Rig::new(Kind::Nvm);
    rig.host(1, "nqn.a");
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    assert!(rig.subsystem.expired(at(1000)).is_empty());
    assert_eq!(rig.subsystem.expired(at(1001)), [1]);
    let alive = build::keep_alive().with_sgl(&SglDescriptor::new(kind::TRANSPORT_DATA_BLOCK, 0, 0));
    rig.subsystem.command(1, 0, &alive, &facts(), at(900));
    assert!(rig.subsystem.expired(at(1900)).is_empty());
    let told = build::get_features(&admin::GetFeatures {
        nsid: 0,
        fid: fid::KEEP_ALIVE_TIMER,
        select: admin::FeatureSelect::Current,
        cdw11: 0,
    });
    assert_eq!(rig.answer(1, told), Answer::result(1000), "as Connect said");
    assert_eq!(rig.answer(1, set_feature(fid::KEEP_ALIVE_TIMER, 5000, 0)), Answer::result(0));
    assert_eq!(rig.answer(1, told), Answer::result(5000));
    assert!(rig.subsystem.expired(at(5000)).is_empty());
    assert_eq!(rig.subsystem.expired(at(5001)), [1]);
    assert_eq!(rig.answer(1, set_feature(fid::KEEP_ALIVE_TIMER, 0, 0)), Answer::result(0));
    assert!(rig.subsystem.expired(at(1_000_000)).is_empty(), "switched off");
}

fn log_page(lid: u8, bytes: u64) -> Sqe {
    build::get_log_page(&GetLogPage {
        nsid: 0,
        lid,
        lsp: 0,
        retain_event: false,
        bytes,
        lsi: 0,
        offset: 0,
        offset_is_index: false,
        uuid_index: 0,
        csi: csi::KV,
    })
}

#[test]
fn controllers_of_all_hosts_are_listed() {
    let mut rig = Rig::new(Kind::Nvm);
    let first = rig.host(1, "nqn.a").cntlid;
    let second = rig.host(2, "nqn.b").cntlid;
    let list = |rig: &mut Rig, id, cns| {
        let data = rig.answer(id, identify(cns)).data;
        ControllerList::read_from_bytes(&data).unwrap().iter().collect::<Vec<_>>()
    };
    for cns in [cns::CONTROLLERS, cns::ATTACHED_CONTROLLERS] {
        assert_eq!(list(&mut rig, 1, cns), [first, second]);
    }
    rig.subsystem.disconnected(1);
    assert_eq!(list(&mut rig, 2, cns::CONTROLLERS), [second], "the other is gone");
    rig.host(3, "nqn.a");
    assert_eq!(list(&mut rig, 2, cns::CONTROLLERS).len(), 2);
}

#[test]
fn each_host_has_its_errors_and_its_features_and_all_have_one_health() {
    let mut rig = Rig::new(Kind::Nvm);
    rig.host(1, "nqn.a");
    rig.host(2, "nqn.b");
    rig.connect(5, 3, 1, "nqn.a").unwrap();
    let mut counters = HealthCounters::default();
    counters.wrote(512_000);
    counters.read(1);
    rig.subsystem.note_counters(counters);
    let failed = Sqe::new(kv::opcode::STORE, 1).with_cid(77);
    rig.subsystem.io_failed(5, &failed, &facts(), Status::INVALID_VALUE_SIZE);
    rig.subsystem.io_failed(5, &failed, &facts(), Status::KEY_EXISTS);
    rig.answer(1, Sqe::new(admin::opcode::CREATE_SQ, 0).with_cid(4));
    let entries = |rig: &mut Rig, id| {
        let page = rig.answer(id, log_page(lid::ERROR, 1024)).data;
        let all = page.chunks_exact(64).map(|entry| ErrorEntry::read_from_bytes(entry).unwrap());
        let there = all.filter(|entry| entry.error_count.get() > 0);
        there.map(|e| (e.sqid.get(), e.cid.get(), e.opcode, e.csi)).collect::<Vec<_>>()
    };
    assert_eq!(entries(&mut rig, 1), [(0, 4, 1, 0), (3, 77, 1, 1)], "the latest first");
    assert_eq!(entries(&mut rig, 2), []);
    for (id, errors) in [(1, 2), (2, 0)] {
        let smart = Smart::read_from_bytes(&rig.answer(id, log_page(lid::SMART, 512)).data).unwrap();
        assert_eq!((smart.data_units_written.get(), smart.data_units_read.get()), (1, 1));
        assert_eq!((smart.write_commands.get(), smart.read_commands.get()), (1, 1));
        assert_eq!(smart.error_entries.get(), errors);
    }
    rig.answer(1, set_feature(fid::WRITE_ATOMICITY, 1, 0));
    let get = build::get_features(&admin::GetFeatures {
        nsid: 0,
        fid: fid::WRITE_ATOMICITY,
        select: admin::FeatureSelect::Current,
        cdw11: 0,
    });
    assert_eq!((rig.answer(1, get).result, rig.answer(2, get).result), (1, 0));
}

#[test]
fn the_host_identifier_is_that_of_connect() {
    let mut rig = Rig::new(Kind::Nvm);
    rig.host(1, "nqn.a");
    let of = |cdw11| {
        let select = admin::FeatureSelect::Current;
        build::get_features(&admin::GetFeatures { nsid: 0, fid: fid::HOST_IDENTIFIER, select, cdw11 })
    };
    assert_eq!(rig.answer(1, of(1)).data, [0; 16], "what the rig's Connect says");
    assert_eq!(rig.answer(1, of(0)).status, Status::INVALID_FIELD, "128 bits over Fabrics");
    let set = set_feature(fid::HOST_IDENTIFIER, 1, 0);
    assert_eq!(rig.answer(1, set).status, Status::COMMAND_SEQUENCE_ERROR);
    let data = Controller::read_from_bytes(&rig.answer(1, identify(cns::CONTROLLER)).data).unwrap();
    assert_eq!(data.ctratt.get() & 1, 1);
}

#[test]
fn effects_name_no_queue_commands() {
    for (kind, format) in [(Kind::Nvm, true), (Kind::Discovery, false)] {
        let mut rig = Rig::new(kind);
        rig.host(1, "nqn.a");
        let log = EffectsLog::read_from_bytes(&rig.answer(1, log_page(lid::EFFECTS, 4096)).data).unwrap();
        for opcode in 0..=255_u8 {
            let sqe = Sqe::new(opcode, 0);
            let known = match rig.react(1, sqe) {
                Reaction::Complete(answer) => !answer.status.is(Status::INVALID_OPCODE),
                _ => true,
            };
            assert_eq!(log.admin(opcode).supported(), known, "{kind:?}, {opcode:#x}");
        }
        assert_eq!(log.admin(admin::opcode::FORMAT_NVM).supported(), format);
        assert_eq!(log.io(kv::opcode::STORE).supported(), kind == Kind::Nvm);
    }
}

/// The log of a running target never changes, so there is no event for it: OAES says so, and the bit of feature 0Bh is
/// dropped.
#[test]
fn a_persistent_discovery_connection_is_kept_and_told_nothing() {
    let mut rig = Rig::new(Kind::Discovery);
    rig.host(1, "nqn.a");
    let data = Controller::read_from_bytes(&rig.answer(1, identify(cns::CONTROLLER)).data).unwrap();
    assert_eq!(data.oaes.get() >> 31, 0);
    assert_eq!(rig.answer(1, set_feature(fid::ASYNC_EVENT_CONFIG, 1 << 31, 0)), Answer::result(0));
    let get = build::get_features(&admin::GetFeatures {
        nsid: 0,
        fid: fid::ASYNC_EVENT_CONFIG,
        select: admin::FeatureSelect::Current,
        cdw11: 0,
    });
    assert_eq!(rig.answer(1, get), Answer::result(0));
    assert_eq!(rig.react(1, build::async_event_request()), Reaction::Hold);
    assert!(rig.subsystem.events().is_empty());
    let supported =
        SupportedLogs::read_from_bytes(&rig.answer(1, log_page(lid::SUPPORTED, 1024)).data).unwrap();
    assert!(supported.contains(lid::DISCOVERY));
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    assert!(rig.subsystem.expired(at(1000)).is_empty());
    assert_eq!(rig.subsystem.expired(at(1001)), [1], "for as long as Connect said");
}

#[test]
fn a_shutdown_waits_for_the_flush() {
    let mut rig = Rig::new(Kind::Nvm);
    rig.host(1, "nqn.a");
    let set = fabrics::property_set(property::CC, false, 0x0046_4061);
    assert_eq!(rig.react(1, set), Reaction::FlushThenShutdown);
    let shst = |rig: &mut Rig| rig.answer(1, fabrics::property_get(property::CSTS, false)).result >> 2 & 3;
    assert_eq!(shst(&mut rig), 1, "in progress");
    rig.subsystem.shutdown_done(1);
    assert_eq!(shst(&mut rig), 2, "complete");
}

#[test]
fn discovery_names_the_subsystems_and_has_no_queues() {
    let mut rig = Rig::new(Kind::Discovery);
    let bound = rig.host(1, "nqn.a");
    let data = Controller::read_from_bytes(&rig.answer(1, identify(cns::CONTROLLER)).data).unwrap();
    assert_eq!((data.cntrltype, data.nn.get()), (2, 0));
    let log = |offset, bytes| {
        let command = GetLogPage {
            nsid: 0,
            lid: 0x70,
            lsp: 0,
            retain_event: false,
            bytes,
            lsi: 0,
            offset,
            offset_is_index: false,
            uuid_index: 0,
            csi: 0,
        };
        build::get_log_page(&command)
    };
    let head = rig.answer(1, log(0, 16)).data;
    assert_eq!(head, [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], "GENCTR and NUMREC");
    let record = DiscoveryEntry::read_from_bytes(&rig.answer(1, log(1024, 1024)).data).unwrap();
    assert_eq!((fabrics::nqn_of(&record.subnqn), &record.trsvcid[..4]), (Some(NQN), b"4420".as_slice()));
    assert_eq!(rig.answer(1, log(4096, 16)).status, Status::INVALID_FIELD, "beyond the end");
    let io = rig.connect(2, 1, bound.cntlid, "nqn.a").unwrap_err();
    assert_eq!((io.status, io.dw0), (Status::CONNECT_INVALID_PARAMETERS, 42), "QID");
}

#[test]
fn io_commands_need_the_data_they_name() {
    let command = |opcode, cdw10: u32| {
        let mut sqe = Sqe::new(opcode, 1);
        sqe.cdw10.set(cdw10);
        sqe
    };
    let short = Err(Status::DATA_SGL_LENGTH_INVALID);
    assert_eq!(check_io(&command(kv::opcode::STORE, 9), vec![1; 8], 0, &facts()), short);
    assert_eq!(check_io(&command(kv::opcode::RETRIEVE, 9), vec![], 8, &facts()), short);
    let long = check_io(&command(kv::opcode::STORE, 3), vec![1; 8], 0, &facts()).unwrap();
    assert_eq!((long.data, long.room), (vec![1; 3], 0), "a descriptor may be too long");
    let value = check_io(&command(kv::opcode::RETRIEVE, 3), vec![], 8, &facts()).unwrap();
    assert_eq!((value.room, value.is_value), (3, true));
    let list = check_io(&command(kv::opcode::LIST, 8), vec![], 8, &facts()).unwrap();
    assert_eq!((list.room, list.is_value), (8, false));
    let memory = vec![9; 64];
    let stored = check_io(&command(kv::opcode::STORE, 9), memory.clone(), 64, &facts());
    assert_eq!(stored, short, "memory for an answer is no data of the host");
    let value = check_io(&command(kv::opcode::RETRIEVE, 3), memory, 8, &facts()).unwrap();
    assert_eq!((value.data.len(), value.room), (64, 3), "the memory goes to the device");
    let huge = check_io(&command(kv::opcode::RETRIEVE, u32::MAX), vec![], 8, &facts());
    assert_eq!(huge, Err(Status::INVALID_FIELD));
    assert_eq!(check_io(&command(0xC1, 0), vec![], 0, &facts()), Err(Status::INVALID_OPCODE));
}

#[test]
fn only_held_event_requests_can_be_aborted() {
    let mut rig = Rig::new(Kind::Nvm);
    rig.host(1, "nqn.a");
    let request = |cid| build::async_event_request().with_cid(cid);
    assert_eq!(rig.react(1, request(70)), Reaction::Hold);
    // DW0 bit 0: not aborted.
    assert_eq!(rig.answer(1, build::abort(0, 71)).result, 1);
    assert!(rig.subsystem.events().is_empty());
    assert_eq!(rig.answer(1, build::abort(0, 70)), Answer::result(0));
    assert_eq!(rig.subsystem.events(), [(1, 7, Answer::status(Status::ABORT_REQUESTED))]);
    assert_eq!(rig.answer(1, build::abort(0, 70)).result, 1, "it is gone");
    // There is room for as many requests as before.
    for cid in 0..4 {
        assert_eq!(rig.react(1, request(cid)), Reaction::Hold);
    }
}

/// SPDK uses the identifiers of its requests again before it shuts a controller down.
#[test]
fn a_command_with_the_identifier_of_an_event_request_ends_that() {
    let mut rig = Rig::new(Kind::Nvm);
    rig.host(1, "nqn.a");
    rig.answer(1, set_feature(fid::ASYNC_EVENT_CONFIG, 1 << 8, 0));
    for cid in 70..74 {
        assert_eq!(rig.react(1, build::async_event_request().with_cid(cid)), Reaction::Hold);
    }
    let get = fabrics::property_get(property::CC, false).with_cid(71);
    assert_eq!(rig.answer(1, get).status, Status::SUCCESS);
    assert_eq!(rig.subsystem.events(), [(1, 7, Answer::status(Status::ABORT_REQUESTED))]);
    assert_eq!(
        rig.react(1, build::async_event_request().with_cid(75)),
        Reaction::Hold,
        "there is room again"
    );
    let full = rig.answer(1, build::async_event_request().with_cid(76)).status;
    assert_eq!(full, Status::AER_LIMIT_EXCEEDED);
}
