//! One command against its namespace: decode, check, call the engine, turn its answer into a status.

use crate::config::{NamespaceKind, TRANSFER_BYTES_MAX};
use crate::groups::GroupRequest;
use crate::long_keys::IndirectRequest;
use crate::namespace::{Namespace, Store};
use crate::transfer::{Aside, HostData, Pieces};
use saker_engine::{AnyEngine, Condition, Engine, KvError, Sink, Source, SourceError};
use saker_flash::page_map::{BlockError, PageMap};
use saker_flash::{Media, NamespaceMedium};
use saker_link::{DmaSpace, PAGE_BYTES, Sqe, Traffic};
use saker_medium::{MediaError, Reads, Step, Tag};
use saker_nvme::kv::StoreOptions;
use saker_nvme::kv_list::ListWriter;
use saker_nvme::nvm::{BlockRange, DsmRange, NvmCommand};
use saker_nvme::vendor::{InlineRetrieve, TINY_BYTES};
use saker_nvme::{Key, KvCommand, PointerRule, Status};
use saker_sim::{Meter, TimedOp, Unit};
use zerocopy::FromBytes;

/// A decoded command and where its data is.
#[derive(Clone, Debug)]
pub enum Request {
    /// For a KV namespace.
    Kv(KvCommand, Pieces),
    /// For a block namespace.
    Block(NvmCommand, Pieces),
    /// A retrieve into the completion queue, and what it found.
    Small(InlineRetrieve, Vec<u8>),
    /// Many operations.
    Group(Box<GroupRequest>),
    /// With a key of more than 16 bytes.
    Indirect(Box<IndirectRequest>),
}

/// What a latency table looks at: the operation and its sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Not in tables: it takes no time.
    Nothing,
    /// One operation: bytes of its key, and of its value or buffer.
    Single(TimedOp, u32, u32),
    /// A group: operations, and bytes of its payload.
    Group(TimedOp, u32, u32),
}

/// The host's memory, and who moves its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reach<'a> {
    /// The memory.
    pub space: &'a DmaSpace,
    /// Whether an engine moves data, without a core.
    pub dma_engine: bool,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: Status,
    /// Completion dword 0.
    pub dw0: u32,
    /// Completion dword 1.
    pub dw1: u32,
    /// Bytes that go to the host's buffer.
    pub bytes_out: u32,
    /// It completes when everything up to this tag has completed and a sync has followed.
    pub flush: Option<Tag>,
}

impl Reply {
    pub(crate) const fn status(status: Status) -> Self {
        Self { status, dw0: 0, dw1: 0, bytes_out: 0, flush: None }
    }
}

/// What became of an execution.
#[derive(Debug)]
pub enum Outcome {
    /// The engine is done with it.
    Done(Reply),
    /// Bring these pages.
    Need(Reads),
    /// Background work or outstanding I/O must progress.
    Blocked,
}

impl Request {
    /// Decodes a command for a namespace of that kind and resolves its data pointers. Nothing is changed by a
    /// command that is refused here.
    #[inline]
    pub fn decode(
        sqe: &Sqe,
        kind: &NamespaceKind,
        space: &DmaSpace,
        rule: PointerRule,
    ) -> Result<Self, Status> {
        match kind {
            NamespaceKind::Kv { value_bytes_max, .. } => {
                let command = KvCommand::decode_with(sqe, rule)?;
                if let KvCommand::Store { value_bytes, .. } = command
                    && value_bytes > *value_bytes_max
                {
                    return Err(Status::INVALID_VALUE_SIZE);
                }
                let bytes = kv_data_bytes(&command);
                if bytes > TRANSFER_BYTES_MAX {
                    return Err(Status::INVALID_FIELD);
                }
                Ok(Self::Kv(command, Pieces::of(sqe, bytes, space)?))
            }
            NamespaceKind::Block { block_bytes, blocks } => {
                let command = NvmCommand::decode_with(sqe, rule)?;
                let bytes = block_data_bytes(&command, *block_bytes, *blocks)?;
                Ok(Self::Block(command, Pieces::of(sqe, bytes, space)?))
            }
        }
    }

    /// Bytes of data the host sends with it.
    #[inline]
    pub fn bytes_in(&self) -> u32 {
        match self {
            Self::Kv(KvCommand::Store { value_bytes, .. }, _) => *value_bytes,
            Self::Block(NvmCommand::Write { .. } | NvmCommand::DatasetManagement { .. }, pieces) => {
                pieces.bytes()
            }
            Self::Group(group) => group.bytes_in(),
            Self::Indirect(indirect) => indirect.bytes_in(),
            _ => 0,
        }
    }

    /// Whether it changes or reads stored data on behalf of the host, for the delays of a profile.
    pub fn is_write(&self) -> bool {
        match self {
            Self::Group(group) => return group.is_write(),
            Self::Indirect(indirect) => return indirect.is_write(),
            _ => {}
        }
        self.bytes_in() > 0 || matches!(self, Self::Kv(KvCommand::Delete { .. } | KvCommand::Store { .. }, _))
    }

    /// What a latency table looks at.
    pub fn timing(&self, space: &DmaSpace) -> Timing {
        let single = |op, key: &Key, bytes| Timing::Single(op, key.len() as u32, bytes);
        match self {
            Self::Kv(KvCommand::Store { key, value_bytes, .. }, _) => {
                single(TimedOp::Store, key, *value_bytes)
            }
            Self::Kv(KvCommand::Retrieve { key, buffer_bytes, .. }, _) => {
                single(TimedOp::Retrieve, key, *buffer_bytes)
            }
            Self::Small(command, _) => single(TimedOp::Retrieve, &command.key, command.bytes_max),
            Self::Kv(KvCommand::Delete { key }, _) => single(TimedOp::Delete, key, 0),
            Self::Kv(KvCommand::Exist { key }, _) => single(TimedOp::Exist, key, 0),
            Self::Group(group) => group.timing(space),
            Self::Indirect(indirect) => indirect.timing(),
            Self::Block(NvmCommand::Read { .. }, pieces) => {
                Timing::Single(TimedOp::BlockRead, 0, pieces.bytes())
            }
            Self::Block(NvmCommand::Write { .. }, pieces) => {
                Timing::Single(TimedOp::BlockWrite, 0, pieces.bytes())
            }
            Self::Kv(..) | Self::Block(..) => Timing::Nothing,
        }
    }

    /// Where its data is in host memory or in the device.
    pub fn pieces(&self) -> &Pieces {
        match self {
            Self::Kv(_, pieces) | Self::Block(_, pieces) => pieces,
            Self::Group(group) => group.pieces(),
            Self::Indirect(indirect) => indirect.pieces(),
            Self::Small(..) => &Pieces::NONE,
        }
    }

    /// Counts what goes over the link for the data that the host sends with it.
    #[inline]
    pub fn count_in(&self, sqe: &Sqe, traffic: &mut Traffic) {
        let bytes = self.bytes_in();
        if bytes > 0 {
            self.pieces().count(bytes, &mut traffic.to_device);
            self.count_list(sqe, bytes, traffic);
        }
        match self {
            Self::Group(group) => group.count_aside(traffic),
            Self::Indirect(indirect) => indirect.count_key(traffic),
            _ => {}
        }
    }

    /// What the device fetches beside the data at DPTR.
    pub fn aside(&self) -> Aside {
        match self {
            Self::Group(group) => group.aside(),
            Self::Indirect(indirect) => indirect.aside(),
            _ => Aside::default(),
        }
    }

    /// Counts a PRP list for `bytes` bytes of data.
    #[inline]
    pub fn count_list(&self, sqe: &Sqe, bytes: u32, traffic: &mut Traffic) {
        if matches!(self.pieces(), Pieces::Many(_)) {
            let pages = (sqe.prp1.get() % PAGE_BYTES as u64 + u64::from(bytes)).div_ceil(PAGE_BYTES as u64);
            if pages > 2 {
                traffic.lists.add_exact(sqe.prp2.get(), (pages - 1) * 8);
            }
        }
    }

    /// Takes the buffer of a value that came with commands out.
    #[inline]
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        match self {
            Self::Kv(_, pieces) => pieces.into_buffer(),
            Self::Block(..) | Self::Small(..) | Self::Group(_) | Self::Indirect(_) => None,
        }
    }

    /// Executes the command.
    #[inline]
    pub fn execute<M: Media, W: Meter>(
        &mut self,
        namespace: &mut Namespace,
        reach: Reach<'_>,
        m: &mut NamespaceMedium<'_, M>,
        w: &mut W,
    ) -> Outcome {
        w.work(Unit::Decode, 1);
        let error_on_delete = namespace.error_on_delete;
        match (self, &mut namespace.store) {
            (Self::Kv(command, pieces), Store::Kv(store)) => {
                kv(command, pieces, store, error_on_delete, reach, m, w)
            }
            (Self::Block(command, pieces), Store::Block(map)) => {
                block(command, pieces, map, reach.space, m, w)
            }
            (Self::Small(command, found), Store::Kv(store)) => small(command, found, store, m, w),
            (Self::Group(group), Store::Kv(store)) => {
                group.execute(store, &mut namespace.kept, namespace.long_keys, reach, m, w)
            }
            (Self::Indirect(indirect), Store::Kv(store)) => {
                let digest = namespace.long_keys.unwrap_or_default();
                indirect.execute(store, digest, error_on_delete, reach, m, w)
            }
            (_, Store::Damaged(_)) => Outcome::Done(Reply::status(Status::UNRECOVERED_ERROR)),
            _ => Outcome::Done(Reply::status(Status::NAMESPACE_NOT_READY)),
        }
    }
}

/// Stores a value without a request.
#[inline]
pub fn store_value<M: Media, W: Meter, S: Source>(
    namespace: &mut Namespace,
    key: &Key,
    value: &mut S,
    options: StoreOptions,
    m: &mut NamespaceMedium<'_, M>,
    w: &mut W,
) -> Outcome {
    w.work(Unit::Decode, 1);
    match &mut namespace.store {
        Store::Kv(store) => {
            let step = store.store(key.as_bytes(), value, condition(options), m, w);
            reply(step.map(|r| r.map(|()| 0)), false)
        }
        Store::Damaged(_) => Outcome::Done(Reply::status(Status::UNRECOVERED_ERROR)),
        _ => Outcome::Done(Reply::status(Status::NAMESPACE_NOT_READY)),
    }
}

#[inline]
fn kv_data_bytes(command: &KvCommand) -> u32 {
    match command {
        KvCommand::Store { value_bytes, .. } => *value_bytes,
        KvCommand::Retrieve { buffer_bytes, .. } | KvCommand::List { buffer_bytes, .. } => *buffer_bytes,
        KvCommand::Flush | KvCommand::Delete { .. } | KvCommand::Exist { .. } => 0,
    }
}

fn block_data_bytes(command: &NvmCommand, block_bytes: u32, blocks: u64) -> Result<u32, Status> {
    match command {
        NvmCommand::Flush => Ok(0),
        NvmCommand::DatasetManagement { ranges, .. } => Ok(ranges * size_of::<DsmRange>() as u32),
        NvmCommand::Read { range, .. } | NvmCommand::Write { range, .. } => {
            let end = range.slba.checked_add(u64::from(range.blocks));
            if end.is_none_or(|end| end > blocks) {
                return Err(Status::LBA_OUT_OF_RANGE);
            }
            let bytes = range.blocks.checked_mul(block_bytes).filter(|b| *b <= TRANSFER_BYTES_MAX);
            bytes.ok_or(Status::INVALID_FIELD)
        }
    }
}

#[inline]
fn kv<M: Media, W: Meter>(
    command: &KvCommand,
    pieces: &Pieces,
    store: &mut AnyEngine,
    error_on_delete: bool,
    Reach { space, dma_engine }: Reach<'_>,
    m: &mut NamespaceMedium<'_, M>,
    w: &mut W,
) -> Outcome {
    match command {
        KvCommand::Store { key, value_bytes, options } => {
            let mut data = HostData { space, pieces, bytes: *value_bytes, dma_engine };
            reply(
                store.store(key.as_bytes(), &mut data, condition(*options), m, w).map(|r| r.map(|()| 0)),
                false,
            )
        }
        KvCommand::Retrieve { key, buffer_bytes, .. } => {
            let mut data = HostData { space, pieces, bytes: *buffer_bytes, dma_engine };
            match reply(store.retrieve(key.as_bytes(), &mut data, m, w), true) {
                Outcome::Done(r) => Outcome::Done(Reply { bytes_out: r.dw0.min(*buffer_bytes), ..r }),
                other => other,
            }
        }
        KvCommand::Delete { key } => match store.delete(key.as_bytes(), m, w) {
            Step::Done(Err(KvError::NotFound)) if !error_on_delete => {
                Outcome::Done(Reply::status(Status::SUCCESS))
            }
            step => reply(step.map(|r| r.map(|()| 0)), false),
        },
        KvCommand::Exist { key } => reply(store.exist(key.as_bytes(), m, w).map(|r| r.map(|()| 0)), false),
        KvCommand::List { start, buffer_bytes } => {
            list(start.as_ref(), *buffer_bytes, pieces, store, space, m, w)
        }
        KvCommand::Flush => {
            Outcome::Done(Reply { flush: Some(store.flush(m)), ..Reply::status(Status::SUCCESS) })
        }
    }
}

/// The bytes that a small retrieve takes; a tiny one of a longer value takes none.
struct Few<'a> {
    found: &'a mut Vec<u8>,
    room: u32,
}

impl Sink for Few<'_> {
    fn room(&self) -> u32 {
        self.room
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SourceError> {
        Sink::write(self.found, offset, bytes)
    }
}

fn small<M: Media, W: Meter>(
    command: &InlineRetrieve,
    found: &mut Vec<u8>,
    store: &mut AnyEngine,
    m: &mut NamespaceMedium<'_, M>,
    w: &mut W,
) -> Outcome {
    found.clear();
    let mut few = Few { found, room: command.bytes_max };
    match reply(store.retrieve(command.key.as_bytes(), &mut few, m, w), true) {
        Outcome::Done(r) if !command.is_tiny => Outcome::Done(r),
        Outcome::Done(r) => {
            let mut word = [0; TINY_BYTES];
            if r.dw0 as usize <= TINY_BYTES {
                word[..found.len()].copy_from_slice(found);
            }
            found.clear();
            Outcome::Done(Reply { dw1: u32::from_le_bytes(word), ..r })
        }
        other => other,
    }
}

#[inline]
pub(crate) fn condition(options: StoreOptions) -> Condition {
    if options.contains(StoreOptions::MUST_EXIST) {
        Condition::MustExist
    } else if options.contains(StoreOptions::MUST_NOT_EXIST) {
        Condition::MustNotExist
    } else {
        Condition::Always
    }
}

#[inline]
fn reply(step: Step<Result<u32, KvError>>, tells_size: bool) -> Outcome {
    match step {
        Step::Done(Ok(n)) => {
            let dw0 = if tells_size { n } else { 0 };
            Outcome::Done(Reply { dw0, ..Reply::status(Status::SUCCESS) })
        }
        Step::Done(Err(e)) => Outcome::Done(Reply::status(kv_status(e))),
        Step::Need(reads) => Outcome::Need(reads),
        Step::Blocked(_) => Outcome::Blocked,
    }
}

/// The one table from engine errors to KV status (KV command set 1.0d, Fig. 4).
pub fn kv_status(e: KvError) -> Status {
    match e {
        KvError::CapacityExceeded => Status::CAPACITY_EXCEEDED,
        KvError::NotFound => Status::KEY_DOES_NOT_EXIST,
        KvError::Exists => Status::KEY_EXISTS,
        KvError::KeySize => Status::INVALID_KEY_SIZE,
        KvError::ValueSize => Status::INVALID_VALUE_SIZE,
        KvError::Unrecovered(MediaError::HostFull) => Status::CAPACITY_EXCEEDED,
        KvError::Unrecovered(_) | KvError::Corrupt => Status::UNRECOVERED_ERROR,
        KvError::Transfer => Status::DATA_TRANSFER_ERROR,
    }
}

/// The one table from block errors to NVM status.
pub fn block_status(e: BlockError) -> Status {
    match e {
        BlockError::OutOfRange => Status::LBA_OUT_OF_RANGE,
        BlockError::Unrecovered(_) | BlockError::Corrupt => Status::UNRECOVERED_READ_ERROR,
        BlockError::Transfer => Status::DATA_TRANSFER_ERROR,
    }
}

fn list<M: Media, W: Meter>(
    start: Option<&Key>,
    buffer_bytes: u32,
    pieces: &Pieces,
    store: &mut AnyEngine,
    space: &DmaSpace,
    m: &mut NamespaceMedium<'_, M>,
    w: &mut W,
) -> Outcome {
    let mut buffer = vec![0; buffer_bytes as usize];
    let Ok(mut writer) = ListWriter::new(&mut buffer) else {
        return Outcome::Done(Reply::status(Status::INVALID_FIELD));
    };
    let start = start.map_or(&[][..], Key::as_bytes);
    let listed = store.list(start, |key| Key::new(key).is_ok_and(|key| writer.push(&key).is_ok()), m, w);
    let length = writer.bytes() as u32;
    match listed {
        Step::Done(Ok(())) => Outcome::Done(match pieces.write(space, 0, &buffer[..length as usize]) {
            Ok(()) => Reply { bytes_out: length, ..Reply::status(Status::SUCCESS) },
            Err(_) => Reply::status(Status::DATA_TRANSFER_ERROR),
        }),
        other => reply(other.map(|r| r.map(|()| 0)), false),
    }
}

fn block<M: Media, W: Meter>(
    command: &mut NvmCommand,
    pieces: &Pieces,
    map: &mut PageMap,
    space: &DmaSpace,
    m: &mut NamespaceMedium<'_, M>,
    w: &mut W,
) -> Outcome {
    let block_bytes = map.config().block_bytes;
    let done = |step: Step<Result<(), BlockError>>, bytes_out| match step {
        Step::Done(Ok(())) => Outcome::Done(Reply { bytes_out, ..Reply::status(Status::SUCCESS) }),
        Step::Done(Err(e)) => Outcome::Done(Reply::status(block_status(e))),
        Step::Need(reads) => Outcome::Need(reads),
        Step::Blocked(_) => Outcome::Blocked,
    };
    match command {
        NvmCommand::Flush => {
            Outcome::Done(Reply { flush: Some(map.flush(m)), ..Reply::status(Status::SUCCESS) })
        }
        NvmCommand::Write { range, force_unit_access } => {
            let written = write_blocks(range, pieces, map, space, m, w);
            match done(written, 0) {
                Outcome::Done(r) if *force_unit_access && r.status.is_success() => {
                    Outcome::Done(Reply { flush: Some(map.flush(m)), ..r })
                }
                other => other,
            }
        }
        NvmCommand::Read { range, .. } => {
            let zeros = vec![0; block_bytes as usize];
            let deliver = |n: u32, bytes: Option<&[u8]>| {
                let bytes = bytes.unwrap_or(&zeros);
                pieces.write(space, n * block_bytes, bytes).map_err(|_| BlockError::Transfer)
            };
            done(map.read(range.slba, range.blocks, deliver, m, w), range.blocks * block_bytes)
        }
        NvmCommand::DatasetManagement { ranges, deallocate } => {
            let mut bytes = vec![0; *ranges as usize * size_of::<DsmRange>()];
            if pieces.read(space, 0, &mut bytes).is_err() {
                return Outcome::Done(Reply::status(Status::DATA_TRANSFER_ERROR));
            }
            if !*deallocate {
                return Outcome::Done(Reply::status(Status::SUCCESS));
            }
            let ranges: Vec<_> = bytes.chunks_exact(size_of::<DsmRange>()).filter_map(dsm_range).collect();
            done(map.deallocate(&ranges, m, w), 0)
        }
    }
}

/// Writes what is left of a range, as much at once as the ring takes; `range` shrinks as blocks are written. So a command
/// may be longer than the ring, and none is atomic beyond a block (NVM command set, AWUN).
fn write_blocks<M: Media, W: Meter>(
    range: &mut BlockRange,
    pieces: &Pieces,
    map: &mut PageMap,
    space: &DmaSpace,
    m: &mut NamespaceMedium<'_, M>,
    w: &mut W,
) -> Step<Result<(), BlockError>> {
    let block_bytes = map.config().block_bytes;
    let total = pieces.bytes() / block_bytes;
    while range.blocks > 0 {
        let (done, part) = (total - range.blocks, range.blocks.min(map.blocks_at_once(m)));
        let fill = |n: u32, out: &mut [u8]| {
            pieces.read(space, (done + n) * block_bytes, out).map_err(|_| BlockError::Transfer)
        };
        match map.write(range.slba, part, fill, m, w) {
            Step::Done(Ok(())) => {}
            other => return other,
        }
        *range = BlockRange { slba: range.slba + u64::from(part), blocks: range.blocks - part };
    }
    Step::Done(Ok(()))
}

fn dsm_range(bytes: &[u8]) -> Option<(u64, u64)> {
    let range = DsmRange::read_from_bytes(bytes).ok()?;
    Some((range.slba.get(), u64::from(range.blocks.get())))
}
