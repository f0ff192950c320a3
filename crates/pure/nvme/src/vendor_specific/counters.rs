// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a device has counted: log page C3h, a row of named numbers.

use std::borrow::Cow;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{LID_COUNTERS, text, text_of};
use crate::admin::opcode::GET_LOG_PAGE;
use crate::{Sqe, Status};

/// Log page C3h begins with these 32 bytes; as many [`CounterEntry`]s follow as it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CountersHead {
    /// "SKRN": the page is this one.
    pub signature: [u8; 4],
    /// Version of the layout: 1.
    pub version: U16,
    /// Reserved.
    pub reserved_6: [u8; 2],
    /// Entries that follow.
    pub count: U32,
    /// Bytes of each.
    pub entry_bytes: U32,
    /// Reserved.
    pub reserved_16: [u8; 16],
}

layout!(
    CountersHead, 32, signature @ 0, version @ 4, reserved_6 @ 6, count @ 8, entry_bytes @ 12, reserved_16 @ 16,
);

impl CountersHead {
    /// The signature.
    pub const SIGNATURE: [u8; 4] = *b"SKRN";
    /// The version.
    pub const VERSION: u16 = 1;

    /// The beginning of a page of so many entries.
    #[must_use]
    pub fn new(count: u32) -> Self {
        Self {
            signature: Self::SIGNATURE,
            version: U16::new(Self::VERSION),
            reserved_6: [0; 2],
            count: U32::new(count),
            entry_bytes: U32::new(size_of::<CounterEntry>() as u32),
            reserved_16: [0; 16],
        }
    }

    /// Whether signature and version are ours, and entries have the length that we know: the rest may be believed.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let is_ours = self.signature == Self::SIGNATURE && self.version.get() == Self::VERSION;
        is_ours && self.entry_bytes.get() as usize == size_of::<CounterEntry>()
    }
}

/// One number of the page; 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CounterEntry {
    /// Its name, zeros behind it.
    pub name: [u8; 40],
    /// [`CounterKind`].
    pub kind: u8,
    /// [`CommandClass`], 0 if the number is of no command.
    pub class: u8,
    /// Opcode, or [`CounterEntry::OTHER`]; of Fabrics commands the type.
    pub opcode: U16,
    /// Of `commands`: SCT in bits 10:8, SC in bits 7:0. Of `command_latency`: which bucket.
    pub detail: U16,
    /// Reserved.
    pub reserved_46: [u8; 2],
    /// The namespace; 0: of the whole device.
    pub nsid: U32,
    /// Reserved.
    pub reserved_52: [u8; 4],
    /// The number.
    pub value: U64,
}

layout!(
    CounterEntry, 64, name @ 0, kind @ 40, class @ 41, opcode @ 42, detail @ 44, reserved_46 @ 46, nsid @ 48, reserved_52 @ 52,
    value @ 56,
);

impl CounterEntry {
    /// All opcodes of a class that have no name here, together.
    pub const OTHER: u16 = 0xFFFF;
}

/// What kind of number it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CounterKind {
    /// It only rises, from 0 when the device was opened.
    Counter = 0,
    /// As it is now.
    Gauge = 1,
    /// It only rises, through the whole life of the device.
    Lasting = 2,
    /// A number of an engine's own, by the engine's name for it.
    Engine = 3,
}

impl CounterKind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Counter, Self::Gauge, Self::Lasting, Self::Engine];

    /// Its name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "since the opening",
            Self::Gauge => "now",
            Self::Lasting => "of its life",
            Self::Engine => "the engine's own",
        }
    }
}

/// Commands that share their opcodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CommandClass {
    /// I/O of a Key Value namespace.
    Kv = 1,
    /// I/O of a namespace of blocks, and of none.
    Nvm = 2,
    /// Admin commands.
    Admin = 3,
    /// Fabrics commands.
    Fabrics = 4,
}

impl CommandClass {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Kv, Self::Nvm, Self::Admin, Self::Fabrics];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kv => "kv",
            Self::Nvm => "nvm",
            Self::Admin => "admin",
            Self::Fabrics => "fabrics",
        }
    }
}

/// What a number is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CounterOf {
    /// The device or a namespace.
    Device,
    /// Commands of an opcode.
    Command {
        /// Who the opcode belongs to.
        class: CommandClass,
        /// The opcode, or [`CounterEntry::OTHER`].
        opcode: u16,
        /// Status or bucket.
        detail: u16,
    },
}

/// A number of the page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What kind of number it is.
    pub kind: CounterKind,
    /// What it is of.
    pub of: CounterOf,
    /// The namespace; 0: of the whole device.
    pub nsid: u32,
    /// The number.
    pub value: u64,
}

impl Counter {
    /// A number of the device or of a namespace.
    #[must_use]
    pub const fn new(name: &'static str, kind: CounterKind, nsid: u32, value: u64) -> Self {
        Self { name: Cow::Borrowed(name), kind, of: CounterOf::Device, nsid, value }
    }

    /// Whether both are the same number of two moments, or of two parts of a device.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.nsid, self.of, self.kind) == (other.nsid, other.of, other.kind) && self.name == other.name
    }

    /// The entry.
    #[must_use]
    pub fn encode(&self) -> CounterEntry {
        let (class, opcode, detail) = match self.of {
            CounterOf::Device => (0, 0, 0),
            CounterOf::Command { class, opcode, detail } => (class as u8, opcode, detail),
        };
        CounterEntry {
            name: text(&self.name),
            kind: self.kind as u8,
            class,
            opcode: U16::new(opcode),
            detail: U16::new(detail),
            reserved_46: [0; 2],
            nsid: U32::new(self.nsid),
            reserved_52: [0; 4],
            value: U64::new(self.value),
        }
    }

    /// From an entry; `None`: of a kind or a class that a later device has.
    #[must_use]
    pub fn decode(entry: &CounterEntry) -> Option<Self> {
        let kind = CounterKind::ALL.into_iter().find(|kind| *kind as u8 == entry.kind)?;
        let of = if entry.class == 0 {
            CounterOf::Device
        } else {
            let class = CommandClass::ALL.into_iter().find(|class| *class as u8 == entry.class)?;
            CounterOf::Command { class, opcode: entry.opcode.get(), detail: entry.detail.get() }
        };
        let name = Cow::Owned(text_of(&entry.name));
        Some(Self { name, kind, of, nsid: entry.nsid.get(), value: entry.value.get() })
    }

    /// The whole page.
    #[must_use]
    pub fn page(all: &[Self]) -> Vec<u8> {
        let mut page = CountersHead::new(all.len() as u32).as_bytes().to_vec();
        all.iter().for_each(|counter| page.extend_from_slice(counter.encode().as_bytes()));
        page
    }

    /// What a page has, as far as it is there; `None`: it is another page.
    #[must_use]
    pub fn of_page(page: &[u8]) -> Option<Vec<Self>> {
        let (head, rest) = CountersHead::read_from_prefix(page).ok().filter(|(head, _)| head.is_known())?;
        let entries = rest.chunks_exact(size_of::<CounterEntry>()).take(head.count.get() as usize);
        let entries = entries.filter_map(|bytes| CounterEntry::read_from_bytes(bytes).ok());
        Some(entries.filter_map(|entry| Self::decode(&entry)).collect())
    }
}

/// Whether an admin command asks for this page.
#[must_use]
pub fn asks_for_counters(sqe: &Sqe) -> bool {
    sqe.opcode == GET_LOG_PAGE && sqe.cdw10.get() as u8 == LID_COUNTERS
}

/// Buckets of latencies: bucket n has commands of less than 2^n microseconds that no bucket before has, the last one all others.
pub const LATENCY_BUCKETS: usize = 25;

/// The bucket of a latency in nanoseconds.
#[inline]
#[must_use]
pub const fn latency_bucket(nanos: u64) -> usize {
    let micros = nanos / 1000;
    let bucket = (u64::BITS - micros.leading_zeros()) as usize;
    if bucket < LATENCY_BUCKETS { bucket } else { LATENCY_BUCKETS - 1 }
}

/// The status of commands as an entry has it: SCT and SC.
#[must_use]
pub const fn status_detail(status: Status) -> u16 {
    (status.sct() as u16) << 8 | status.sc() as u16
}

/// The status of an entry of commands.
#[must_use]
pub const fn status_of(detail: u16) -> Status {
    Status::new((detail >> 8) as u8 & 7, detail as u8)
}

/// The name of a command; `None`: it is one of the others.
#[must_use]
pub fn command_name(class: CommandClass, opcode: u16) -> Option<&'static str> {
    let opcode = u8::try_from(opcode).ok()?;
    let names: &[(u8, &'static str)] = match class {
        CommandClass::Kv => {
            let vendor = super::COMMANDS.iter().find(|(known, ..)| *known == opcode);
            if let Some((_, name, _)) = vendor {
                return Some(name);
            }
            KV
        }
        CommandClass::Nvm => NVM,
        CommandClass::Admin => ADMIN,
        CommandClass::Fabrics => FABRICS,
    };
    names.iter().find(|(known, _)| *known == opcode).map(|(_, name)| *name)
}

const KV: &[(u8, &str)] = {
    use crate::kv::opcode as o;
    &[
        (o::FLUSH, "Flush"),
        (o::STORE, "Store"),
        (o::RETRIEVE, "Retrieve"),
        (o::LIST, "List"),
        (o::DELETE, "Delete"),
        (o::EXIST, "Exist"),
    ]
};

const NVM: &[(u8, &str)] = {
    use crate::nvm::opcode as o;
    &[
        (o::FLUSH, "Flush"),
        (o::WRITE, "Write"),
        (o::READ, "Read"),
        (o::COMPARE, "Compare"),
        (o::WRITE_ZEROES, "Write Zeroes"),
        (o::DATASET_MANAGEMENT, "Dataset Management"),
        (o::VERIFY, "Verify"),
        (o::COPY, "Copy"),
    ]
};

const ADMIN: &[(u8, &str)] = {
    use crate::admin::opcode as o;
    &[
        (GET_LOG_PAGE, "Get Log Page"),
        (o::IDENTIFY, "Identify"),
        (o::ABORT, "Abort"),
        (o::SET_FEATURES, "Set Features"),
        (o::GET_FEATURES, "Get Features"),
        (o::ASYNC_EVENT_REQUEST, "Asynchronous Event Request"),
        (o::KEEP_ALIVE, "Keep Alive"),
        (o::FORMAT_NVM, "Format NVM"),
    ]
};

const FABRICS: &[(u8, &str)] = {
    use crate::fabrics::fctype as f;
    &[
        (f::PROPERTY_SET, "Property Set"),
        (f::CONNECT, "Connect"),
        (f::PROPERTY_GET, "Property Get"),
        (0x05, "Authentication Send"),
        (0x06, "Authentication Receive"),
        (f::DISCONNECT, "Disconnect"),
    ]
};
