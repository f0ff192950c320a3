// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A controller that keeps pairs in a BTreeMap and does what a test tells it to. Written from the specification, apart
//! from the device of this workspace.

use std::collections::BTreeMap;
use std::sync::Arc;

use saker_host::{ConnectOptions, Connection, Driver, Patience, Port};
use saker_link::{
    BarBuffer, DeviceCq, DeviceSq, DmaSpace, Doorbells, PAGE_BYTES, Placement, Registers, Sqe, offset,
};
use saker_nvme::admin::{AdminCommand, feature::fid};
use saker_nvme::identify::{
    ActiveNamespaces, CommandSetCombinations, Controller, Descriptor, DescriptorWriter, KvFormat,
    KvNamespace, cns,
};
use saker_nvme::kv::StoreOptions;
use saker_nvme::kv_list::ListWriter;
use saker_nvme::{Cqe, Key, KvCommand, Status, csi, prp};
use zerocopy::IntoBytes;

pub const NSID: u32 = 1;

/// What a test may change.
pub struct Behaviour {
    pub mqes: u16,
    pub css: u8,
    pub ready: bool,
    pub fatal: bool,
    pub queues: u16,
    pub combinations: Vec<u64>,
    pub kv_config_refused: bool,
    pub value_max: u32,
    /// Status of every command on a key.
    pub refuse: BTreeMap<Key, Status>,
    /// Turns in which I/O queues are not looked at.
    pub stall: u64,
    /// Completes what one turn found in reverse order.
    pub reverse: bool,
    /// Deletes this key before the next List.
    pub delete_before_list: Option<Key>,
    /// Replaces the value of a key once, after it has been retrieved.
    pub replace_after_retrieve: Option<(Key, Vec<u8>)>,
    /// A completion identifier to answer with once instead of the right one.
    pub wrong_cid: Option<u16>,
    /// Log pages by identifier, zeros behind them; of others every byte follows from its place.
    pub logs: BTreeMap<u8, Vec<u8>>,
}

pub struct Fake {
    pub port: Port,
    pub pairs: BTreeMap<Key, Vec<u8>>,
    pub behaviour: Behaviour,
    pub features: BTreeMap<(u32, u8), u32>,
    pub seen: Vec<Sqe>,
    pub flushes: u32,
    admin: Option<(DeviceSq, DeviceCq)>,
    cqs: BTreeMap<u16, DeviceCq>,
    sqs: BTreeMap<u16, DeviceSq>,
}

impl Fake {
    pub fn new() -> Self {
        Self::in_space(DmaSpace::new(4096, 512))
    }

    pub fn placed(offset: u16) -> Self {
        Self::in_space(DmaSpace::with_placement(4096, 512, Placement::At(offset)))
    }

    fn in_space(space: Arc<DmaSpace>) -> Self {
        let port = Port {
            space,
            registers: Arc::new(Registers::new()),
            doorbells: Doorbells::new(8),
            bar: BarBuffer::new(8),
        };
        let behaviour = Behaviour {
            mqes: 1023,
            css: 0x41,
            ready: true,
            fatal: false,
            queues: 4,
            combinations: vec![0b11],
            kv_config_refused: false,
            value_max: 2 << 20,
            refuse: BTreeMap::new(),
            stall: 0,
            reverse: false,
            delete_before_list: None,
            replace_after_retrieve: None,
            wrong_cid: None,
            logs: BTreeMap::new(),
        };
        let fake = Self {
            port,
            pairs: BTreeMap::new(),
            behaviour,
            features: BTreeMap::new(),
            seen: Vec::new(),
            flushes: 0,
            admin: None,
            cqs: BTreeMap::new(),
            sqs: BTreeMap::new(),
        };
        fake.publish_cap();
        fake
    }

    /// CAP as `behaviour` has it: MQES in 15:0, CQR in 16, CSS in 44:37.
    pub fn publish_cap(&self) {
        let cap = u64::from(self.behaviour.mqes) | 1 << 16 | u64::from(self.behaviour.css) << 37;
        self.port.registers.publish_u64(offset::CAP, cap).expect("exists");
    }

    pub fn connect(&mut self) -> Connection {
        let options = ConnectOptions { patience: PATIENCE, io_queues: 3, ..ConnectOptions::default() };
        Connection::connect(self.port.clone(), self, options).expect("connects")
    }

    fn registers(&mut self) {
        let load = |at| self.port.registers.load_u32(at).expect("exists");
        let enabled = load(offset::CC) & 1 != 0;
        let mut csts = 0;
        if enabled && self.behaviour.fatal {
            csts = 2;
        } else if enabled && self.behaviour.ready {
            csts = 1;
            if self.admin.is_none() {
                self.admin = Some(self.admin_queues());
            }
            if load(offset::CC) >> 14 & 3 == 1 {
                csts |= 2 << 2;
            }
        } else {
            (self.admin, self.sqs, self.cqs) = (None, BTreeMap::new(), BTreeMap::new());
        }
        self.port.registers.publish_u32(offset::CSTS, csts).expect("exists");
    }

    fn admin_queues(&self) -> (DeviceSq, DeviceCq) {
        let Port { space, registers, doorbells, .. } = &self.port;
        let aqa = registers.load_u32(offset::AQA).expect("exists");
        let base = |at| registers.load_u64(at).expect("exists");
        let sq = DeviceSq::new(space, doorbells, 0, base(offset::ASQ), (aqa & 0xFFF) + 1).expect("good ASQ");
        let cq =
            DeviceCq::new(space, doorbells, 0, base(offset::ACQ), (aqa >> 16 & 0xFFF) + 1).expect("good ACQ");
        (sq, cq)
    }

    fn serve_admin(&mut self) {
        let Some((mut sq, mut cq)) = self.admin.take() else { return };
        while let Some(sqe) = sq.fetch().expect("good doorbell") {
            self.seen.push(sqe);
            let (status, result) =
                match AdminCommand::decode(&sqe).and_then(|command| self.admin(&command, &sqe)) {
                    Ok(result) => (Status::SUCCESS, result),
                    Err(status) => (status, 0),
                };
            cq.post(&Cqe::new(result.into(), sq.head(), 0, sqe.cid.get(), status)).expect("room");
        }
        self.admin = Some((sq, cq));
    }

    fn admin(&mut self, command: &AdminCommand, sqe: &Sqe) -> Result<u32, Status> {
        let Port { space, doorbells, .. } = &self.port;
        match command {
            AdminCommand::CreateCq(create) => {
                let cq = DeviceCq::new(space, doorbells, create.qid, create.base, create.entries);
                self.cqs.insert(create.qid, cq.map_err(|_| Status::INVALID_FIELD)?);
            }
            AdminCommand::CreateSq(create) => {
                assert!(self.cqs.contains_key(&create.cqid));
                let sq = DeviceSq::new(space, doorbells, create.qid, create.base, create.entries);
                self.sqs.insert(create.qid, sq.map_err(|_| Status::INVALID_FIELD)?);
            }
            AdminCommand::DeleteSq { qid } => drop(self.sqs.remove(qid).ok_or(Status::INVALID_QUEUE_ID)?),
            AdminCommand::DeleteCq { qid } if self.sqs.contains_key(qid) => {
                return Err(Status::INVALID_QUEUE_DELETION);
            }
            AdminCommand::DeleteCq { qid } => drop(self.cqs.remove(qid).ok_or(Status::INVALID_QUEUE_ID)?),
            AdminCommand::SetFeatures(set) if set.fid == fid::NUMBER_OF_QUEUES => {
                let granted = u32::from(self.behaviour.queues - 1);
                return Ok(granted | granted << 16);
            }
            AdminCommand::SetFeatures(set)
                if set.fid == fid::KV_CONFIG && self.behaviour.kv_config_refused =>
            {
                return Err(Status::INVALID_FIELD);
            }
            AdminCommand::SetFeatures(set) => drop(self.features.insert((set.nsid, set.fid), set.cdw11)),
            AdminCommand::GetFeatures(get) => {
                return Ok(self.features.get(&(get.nsid, get.fid)).copied().unwrap_or(0));
            }
            AdminCommand::FormatNvm(_) => self.pairs.clear(),
            AdminCommand::Identify(identify) => {
                let data = self.identify(identify.cns, identify.nsid)?;
                self.write_host(sqe, &data, data.len())?;
            }
            AdminCommand::GetLogPage(log) => {
                let mut page: Vec<u8> = (0..log.bytes).map(|i| (i / 256 + i) as u8).collect();
                if let Some(told) = self.behaviour.logs.get(&log.lid) {
                    let rest = told.iter().skip(log.offset as usize).chain(std::iter::repeat(&0));
                    page.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
                }
                self.write_host(sqe, &page, page.len())?;
            }
            _ => return Err(Status::INVALID_OPCODE),
        }
        Ok(0)
    }

    fn identify(&self, wanted: u8, nsid: u32) -> Result<Vec<u8>, Status> {
        let mut page = vec![0; 4096];
        match wanted {
            cns::CONTROLLER => page.copy_from_slice(Controller::new().as_bytes()),
            cns::ACTIVE_NAMESPACES => {
                page.copy_from_slice(ActiveNamespaces::after(nsid, 1..=1500)?.as_bytes())
            }
            cns::NAMESPACE_DESCRIPTORS => {
                let set = if nsid == NSID { csi::KV } else { csi::NVM };
                DescriptorWriter::new(&mut page).push(&Descriptor::Csi(set)).expect("room");
            }
            cns::CSI_NAMESPACE if nsid == NSID => {
                page.copy_from_slice(
                    KvNamespace::new(1 << 30, KvFormat::new(16, self.behaviour.value_max)).as_bytes(),
                );
            }
            cns::CSI_NAMESPACE => return Err(Status::INVALID_NAMESPACE_OR_FORMAT),
            cns::COMMAND_SETS => {
                page.copy_from_slice(CommandSetCombinations::new(&self.behaviour.combinations).as_bytes());
            }
            _ => return Err(Status::INVALID_FIELD),
        }
        Ok(page)
    }

    /// The shape of a data pointer depends on the buffer's length, not on that of the data.
    fn write_host(&self, sqe: &Sqe, data: &[u8], buffer_bytes: usize) -> Result<(), Status> {
        let (space, mut rest) = (&self.port.space, data);
        self.walk(sqe, buffer_bytes, |iova, bytes| {
            let (now, later) = rest.split_at(bytes.min(rest.len()));
            rest = later;
            space.write(iova, now).map_err(drop)
        })
    }

    fn read_host(&self, sqe: &Sqe, bytes: u32) -> Result<Vec<u8>, Status> {
        let mut data = vec![0; bytes as usize];
        let mut at = 0;
        self.walk(sqe, data.len(), |iova, bytes| {
            at += bytes;
            self.port.space.read(iova, &mut data[at - bytes..at]).map_err(drop)
        })?;
        Ok(data)
    }

    fn walk(
        &self,
        sqe: &Sqe,
        bytes: usize,
        mut visit: impl FnMut(u64, usize) -> Result<(), ()>,
    ) -> Result<(), Status> {
        let entry = |at| self.port.space.read_u64(at).map_err(drop);
        let (prp1, prp2) = (sqe.prp1.get(), sqe.prp2.get());
        let walked =
            prp::walk(prp1, prp2, bytes as u32, PAGE_BYTES as u32, entry, |at, n| visit(at, n as usize));
        walked.map_err(|error| match error {
            prp::PrpError::Offset => Status::PRP_OFFSET_INVALID,
            prp::PrpError::Memory(()) => Status::DATA_TRANSFER_ERROR,
        })
    }

    fn serve_io(&mut self) {
        for (qid, mut sq) in std::mem::take(&mut self.sqs) {
            let mut answers = Vec::new();
            while let Some(sqe) = sq.fetch().expect("good doorbell") {
                self.seen.push(sqe);
                let (status, result) =
                    match KvCommand::decode(&sqe).and_then(|command| self.kv(&command, &sqe)) {
                        Ok(result) => (Status::SUCCESS, result),
                        Err(status) => (status, 0),
                    };
                let cid = self.behaviour.wrong_cid.take().unwrap_or(sqe.cid.get());
                answers.push(Cqe::new(result.into(), sq.head(), qid, cid, status));
            }
            if self.behaviour.reverse {
                answers.reverse();
            }
            for answer in answers {
                self.cqs.get_mut(&qid).expect("created").post(&answer).expect("room");
            }
            self.sqs.insert(qid, sq);
        }
    }

    fn kv(&mut self, command: &KvCommand, sqe: &Sqe) -> Result<u32, Status> {
        if let Some(status) = command.key().and_then(|key| self.behaviour.refuse.get(key)) {
            return Err(*status);
        }
        KvFormat::new(16, self.behaviour.value_max).check(command)?;
        let missing = Status::KEY_DOES_NOT_EXIST;
        match command {
            KvCommand::Flush => self.flushes += 1,
            KvCommand::Store { key, value_bytes, options } => match self.pairs.contains_key(key) {
                true if options.contains(StoreOptions::MUST_NOT_EXIST) => return Err(Status::KEY_EXISTS),
                false if options.contains(StoreOptions::MUST_EXIST) => return Err(missing),
                _ => drop(self.pairs.insert(*key, self.read_host(sqe, *value_bytes)?)),
            },
            KvCommand::Retrieve { key, buffer_bytes, .. } => {
                let value = self.pairs.get(key).ok_or(missing)?;
                let bytes = value.len();
                self.write_host(sqe, &value[..bytes.min(*buffer_bytes as usize)], *buffer_bytes as usize)?;
                if let Some((key, value)) =
                    self.behaviour.replace_after_retrieve.take_if(|(other, _)| other == key)
                {
                    self.pairs.insert(key, value);
                }
                return Ok(bytes as u32);
            }
            KvCommand::Delete { key } => {
                let reported = self.features.get(&(NSID, fid::KV_CONFIG)) == Some(&1);
                if self.pairs.remove(key).is_none() && reported {
                    return Err(missing);
                }
            }
            KvCommand::Exist { key } => drop(self.pairs.get(key).ok_or(missing)?),
            KvCommand::List { start, buffer_bytes } => {
                if let Some(key) = self.behaviour.delete_before_list.take_if(|key| Some(*key) == *start) {
                    self.pairs.remove(&key);
                }
                let mut buffer = vec![0; *buffer_bytes as usize];
                let mut writer = ListWriter::new(&mut buffer).map_err(|_| Status::INVALID_FIELD)?;
                let from = self.pairs.keys().filter(|key| start.is_none_or(|start| **key >= start));
                for key in from {
                    if writer.push(key).is_err() {
                        break;
                    }
                }
                let used = writer.bytes();
                self.write_host(sqe, &buffer[..used], *buffer_bytes as usize)?;
            }
        }
        Ok(0)
    }
}

/// A test that hangs says so.
pub const PATIENCE: Patience = Patience { polls_max: 1000 };

impl Driver for Fake {
    fn drive(&mut self) {
        self.registers();
        self.serve_admin();
        if self.behaviour.stall > 0 {
            self.behaviour.stall -= 1;
        } else {
            self.serve_io();
        }
    }
}

pub fn key(bytes: &[u8]) -> Key {
    Key::new(bytes).expect("1 to 16 bytes")
}
