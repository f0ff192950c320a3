// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A controller with its registers, and the namespaces the tests use.

use saker_link::{Registers, offset};
use saker_nvme::admin::feature::fid;
use saker_nvme::admin::{FeatureSelect, GetFeatures, GetLogPage, Identify, SetFeatures, build};
use saker_nvme::{Sqe, Status};

use crate::controller::{
    Action, Controller, Identity, NamespaceFacts, NamespaceKind, Outcome, RegisterAction, Transport,
};

/// CC as Linux enables a controller of all command sets (`nvme_enable_ctrl`).
pub const CC_ALL: u32 = 0x0046_0061;
/// CC for the NVM Command Set alone.
pub const CC_NVM: u32 = 0x0046_0001;
/// CC without I/O command sets.
pub const CC_ADMIN: u32 = 0x0046_0071;

/// A Key Value namespace, NSID 1.
pub const KV: u32 = 1;
/// A block namespace, NSID 2.
pub const BLOCK: u32 = 2;
/// A valid NSID without a namespace.
pub const INACTIVE: u32 = 7;

pub fn identity() -> Identity {
    Identity {
        serial: "SKR0001".into(),
        model: "Saker KV SSD".into(),
        firmware: "0.1.0".into(),
        subnqn: "nqn.2014-08.org.nvmexpress:uuid:00112233-4455-4677-8899-aabbccddeeff".into(),
        uuid: [
            0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x46, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF,
        ],
        controller_id: 5,
        max_queue_pairs: 8,
        max_queue_entries: 1024,
        max_transfer_bytes: 4 << 20,
        volatile_write_cache: true,
        sgl: false,
        transport: Transport::Memory,
        vendor: None,
    }
}

pub fn namespaces() -> Vec<NamespaceFacts> {
    let kv = NamespaceKind::Kv {
        key_bytes_max: 16,
        value_bytes_max: 2 << 20,
        size_bytes: 1 << 30,
        used_bytes: 0x1234,
        ednek: false,
        engine: "lsm",
        settings: Vec::new(),
        writes: Box::default(),
    };
    let block = NamespaceKind::Block { block_bytes: 4096, blocks: 0x1_0000, used_blocks: 0x42 };
    // Out of order on purpose.
    vec![
        NamespaceFacts { nsid: BLOCK, kind: block, nguid: [0xB2; 16], eui64: [0; 8] },
        NamespaceFacts { nsid: KV, kind: kv, nguid: [0xA1; 16], eui64: [0xE1; 8] },
    ]
}

/// Controller and registers; admin commands go through the shorthands.
pub struct Bench {
    pub controller: Controller,
    pub regs: Registers,
    pub namespaces: Vec<NamespaceFacts>,
}

impl Bench {
    /// Disabled, its admin queue registers set as Linux does: 32 entries each.
    pub fn disabled(identity: Identity) -> Self {
        let controller = Controller::new(identity).expect("fits the wire");
        let regs = Registers::new();
        controller.publish(&regs);
        let bench = Self { controller, regs, namespaces: namespaces() };
        bench.store(offset::AQA, 0x001F_001F);
        bench.regs.store_u64(offset::ASQ, 0x10_0000).expect("exists");
        bench.regs.store_u64(offset::ACQ, 0x20_0000).expect("exists");
        bench
    }

    /// Enabled with `cc`.
    pub fn enabled(cc: u32) -> Self {
        Self::of(identity(), cc)
    }

    pub fn of(identity: Identity, cc: u32) -> Self {
        let mut bench = Self::disabled(identity);
        assert!(matches!(bench.write_cc(cc), RegisterAction::Enable { .. }));
        bench.controller.ready(&bench.regs);
        bench
    }

    pub fn store(&self, at: u32, value: u32) {
        self.regs.store_u32(at, value).expect("exists");
    }

    pub fn load(&self, at: u32) -> u32 {
        self.regs.load_u32(at).expect("exists")
    }

    pub fn step(&mut self) -> RegisterAction {
        self.controller.on_register_change(&self.regs)
    }

    pub fn write_cc(&mut self, cc: u32) -> RegisterAction {
        self.store(offset::CC, cc);
        self.step()
    }

    pub fn csts(&self) -> u32 {
        self.load(offset::CSTS)
    }

    pub fn admin(&mut self, sqe: &Sqe) -> Outcome {
        self.controller.admin(sqe, &self.namespaces)
    }

    /// The refusal of a command, which must carry nothing else.
    pub fn refusal(&mut self, sqe: &Sqe) -> Status {
        let outcome = self.admin(sqe);
        assert_eq!(outcome, Outcome::refused(outcome.status));
        assert!(!outcome.status.is_success(), "accepted: {sqe:?}");
        outcome.status
    }

    /// The action of a command.
    pub fn action(&mut self, sqe: &Sqe) -> Action {
        let outcome = self.admin(sqe);
        assert_eq!((outcome.status, &outcome.data), (Status::SUCCESS, &None));
        outcome.action.expect("an action")
    }

    /// DW0 of a command that succeeds at once.
    pub fn result(&mut self, sqe: &Sqe) -> u32 {
        let outcome = self.admin(sqe);
        assert_eq!(outcome, Outcome::dw0(outcome.dw0));
        outcome.dw0
    }

    /// The data of a command that succeeds at once.
    pub fn data(&mut self, sqe: &Sqe) -> Vec<u8> {
        let outcome = self.admin(sqe);
        assert_eq!((outcome.status, outcome.dw0, &outcome.action), (Status::SUCCESS, 0, &None));
        outcome.data.expect("data")
    }

    pub fn get(&mut self, fid: u8, select: FeatureSelect) -> u32 {
        self.result(&get(0, fid, select, 0))
    }

    /// Everything Get Features tells of the controller's features.
    pub fn features(&mut self) -> Vec<u32> {
        let fids = [
            fid::ARBITRATION,
            fid::POWER_MANAGEMENT,
            fid::TEMPERATURE_THRESHOLD,
            fid::VOLATILE_WRITE_CACHE,
            fid::NUMBER_OF_QUEUES,
            fid::INTERRUPT_COALESCING,
            fid::INTERRUPT_VECTOR,
            fid::WRITE_ATOMICITY,
            fid::ASYNC_EVENT_CONFIG,
            fid::KEEP_ALIVE_TIMER,
            fid::COMMAND_SET_PROFILE,
        ];
        let mut told: Vec<u32> = fids.into_iter().map(|fid| self.get(fid, FeatureSelect::Current)).collect();
        let recovery = self.admin(&get(BLOCK, fid::ERROR_RECOVERY, FeatureSelect::Current, 0));
        told.extend(recovery.status.is_success().then_some(recovery.dw0));
        told
    }
}

pub fn identify(cns: u8, nsid: u32, csi: u8) -> Sqe {
    build::identify(&Identify { nsid, cns, cntid: 0, specific_id: 0, csi, uuid_index: 0 })
}

pub fn set(nsid: u32, fid: u8, cdw11: u32) -> Sqe {
    build::set_features(&SetFeatures { nsid, fid, save: false, cdw11 })
}

pub fn get(nsid: u32, fid: u8, select: FeatureSelect, cdw11: u32) -> Sqe {
    build::get_features(&GetFeatures { nsid, fid, select, cdw11 })
}

/// A log page of the controller, from its beginning.
pub fn log(lid: u8, bytes: u64, csi: u8) -> GetLogPage {
    GetLogPage {
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
    }
}

pub fn u16_at(data: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(data[at..at + 2].try_into().expect("two bytes"))
}

pub fn u32_at(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(data[at..at + 4].try_into().expect("four bytes"))
}

pub fn u64_at(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(data[at..at + 8].try_into().expect("eight bytes"))
}
