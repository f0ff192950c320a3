// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Key Value namespaces: CNS 05h and 06h with CSI 01h (KV, Figures 39 and 40).

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::key::Key;
use crate::kv::KvCommand;
use crate::status::Status;

/// Identify Namespace data of a Key Value namespace, 4096 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct KvNamespace {
    /// NSZE: bytes for keys and values.
    pub nsze: U64,
    /// Reserved.
    pub reserved_8: [u8; 8],
    /// NUSE: bytes of keys and values in use.
    pub nuse: U64,
    /// NSFEAT: bit 3, NGUID and EUI64 are never reused.
    pub nsfeat: u8,
    /// NKVF: number of formats, 0's based.
    pub nkvf: u8,
    /// NMIC: bit 0, the namespace may be shared.
    pub nmic: u8,
    /// RESCAP: reservation capabilities.
    pub rescap: u8,
    /// FPI: format progress.
    pub fpi: u8,
    /// KVFC: bits 3:0, index of the current format. Reserved up to revision 1.0d, so a single format reads alike.
    pub kvfc: u8,
    /// Reserved.
    pub reserved_30: [u8; 2],
    /// NOVG: optimal value granularity in bytes; 0 none.
    pub novg: U32,
    /// ANAGRPID.
    pub anagrpid: U32,
    /// Reserved.
    pub reserved_40: [u8; 3],
    /// NSATTR: bit 0, write protected.
    pub nsattr: u8,
    /// NVMSETID.
    pub nvmsetid: U16,
    /// ENDGID.
    pub endgid: U16,
    /// NGUID.
    pub nguid: [u8; 16],
    /// EUI64.
    pub eui64: [u8; 8],
    /// KVF0 to KVF15.
    pub kvf: [KvFormat; 16],
    /// Reserved.
    pub reserved_328: [u8; 3512],
    /// Vendor specific.
    pub vendor: [u8; 256],
}

layout!(
    KvNamespace, 4096, nsze @ 0, nuse @ 16, nsfeat @ 24, nkvf @ 25, nmic @ 26, rescap @ 27, fpi @ 28, kvfc @ 29,
    novg @ 32, anagrpid @ 36, nsattr @ 43, nvmsetid @ 44, endgid @ 46, nguid @ 48, eui64 @ 64, kvf @ 72,
    reserved_328 @ 328, vendor @ 3840,
);

impl KvNamespace {
    /// A namespace of `nsze` bytes with one format, which is the current one under every revision; the rest zero.
    #[must_use]
    pub fn new(nsze: u64, format: KvFormat) -> Self {
        let mut namespace = Self::new_zeroed();
        namespace.nsze = U64::new(nsze);
        let [first, ..] = &mut namespace.kvf;
        *first = format;
        namespace
    }

    /// The format that KVFC names; up to revision 1.0d, the first.
    #[must_use]
    pub fn current_format(&self) -> &KvFormat {
        let [first, ..] = &self.kvf;
        self.kvf.get(usize::from(self.kvfc & 0xF)).unwrap_or(first)
    }
}

/// KV Format, 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct KvFormat {
    /// KVKML: the longest key in bytes, at most 16.
    pub key_max_bytes: U16,
    /// Reserved.
    pub reserved_2: u8,
    /// RP, bits 1:0: relative performance, 0 best to 3 degraded.
    pub relative_performance: u8,
    /// KVVML: the longest value in bytes.
    pub value_max_bytes: U32,
    /// MNKS: the most keys; 0, none stated.
    pub keys_max: U32,
    /// Reserved.
    pub reserved_12: [u8; 4],
}

layout!(KvFormat, 16, key_max_bytes @ 0, relative_performance @ 3, value_max_bytes @ 4, keys_max @ 8, reserved_12 @ 12);

impl KvFormat {
    /// A format of best relative performance without a stated number of keys.
    #[must_use]
    pub const fn new(key_max_bytes: u16, value_max_bytes: u32) -> Self {
        Self {
            key_max_bytes: U16::new(key_max_bytes),
            reserved_2: 0,
            relative_performance: 0,
            value_max_bytes: U32::new(value_max_bytes),
            keys_max: U32::ZERO,
            reserved_12: [0; 4],
        }
    }

    /// Whether key and value lengths of a command suit the format.
    ///
    /// # Errors
    /// 86h for a key longer than KVKML, whatever the command (KV lists it for Store, Retrieve and List only); then 85h
    /// for a value to store longer than KVVML. A buffer may be of any size.
    #[inline]
    pub fn check(&self, command: &KvCommand) -> Result<(), Status> {
        if command.key().map_or(0, Key::len) > usize::from(self.key_max_bytes.get()) {
            return Err(Status::INVALID_KEY_SIZE);
        }
        match command {
            KvCommand::Store { value_bytes, .. } if *value_bytes > self.value_max_bytes.get() => {
                Err(Status::INVALID_VALUE_SIZE)
            }
            _ => Ok(()),
        }
    }
}

/// Identify Controller data of the Key Value command set, 4096 bytes: all zero up to revision 1.0d.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct KvController {
    /// VER of the command set, from about revision 1.3: as register VS.
    pub ver: U32,
    /// Reserved.
    pub reserved_4: [u8; 4092],
}

layout!(KvController, 4096, ver @ 0, reserved_4 @ 4);
