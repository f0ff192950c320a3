// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much data a command moves, and which way: told by its fields, whatever its data pointer says.

use zerocopy::FromBytes;

use crate::admin::feature::{HostIdentifier, fid};
use crate::identify::{Descriptor, DescriptorReader, NvmNamespace, cns};
use crate::nvm::{CopyRange, DsmRange};
use crate::vendor_specific::opcode as vendor;
use crate::{IDENTIFY_BYTES, Sqe, admin, csi, kv, nvm};

/// Data of a command, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// None.
    None,
    /// From the host.
    ToDevice(u64),
    /// To the host.
    ToHost(u64),
}

impl Transfer {
    /// Bytes, whichever way.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::None => 0,
            Self::ToDevice(bytes) | Self::ToHost(bytes) => bytes,
        }
    }
}

/// What the namespace that a command names consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    /// Pairs.
    Kv,
    /// Logical blocks.
    Blocks {
        /// Bytes of a block.
        block_bytes: u32,
    },
}

impl Contents {
    /// Data of an I/O command; unknown commands have none.
    #[must_use]
    pub const fn transfer(self, sqe: &Sqe) -> Transfer {
        match self {
            Self::Kv => of_kv(sqe),
            Self::Blocks { block_bytes } => of_blocks(sqe, block_bytes),
        }
    }

    /// Whether executing an I/O command twice is as good as once, whatever other hosts do in between. A Flush is none: it
    /// vouches for what was completed before it.
    #[must_use]
    pub const fn only_reads(self, sqe: &Sqe) -> bool {
        match self {
            Self::Kv => matches!(
                sqe.opcode,
                kv::opcode::RETRIEVE | kv::opcode::LIST | kv::opcode::EXIST | vendor::RETRIEVE_VERSIONED
            ),
            Self::Blocks { .. } => {
                matches!(sqe.opcode, nvm::opcode::READ | nvm::opcode::COMPARE | nvm::opcode::VERIFY)
            }
        }
    }
}

const fn of_kv(sqe: &Sqe) -> Transfer {
    let bytes = sqe.cdw10.get() as u64;
    match sqe.opcode {
        kv::opcode::STORE
        | vendor::GROUP
        | vendor::GROUP_PREFETCH
        | vendor::ITERATOR_OPEN
        | vendor::TRANSACTION_PART => Transfer::ToDevice(bytes),
        kv::opcode::RETRIEVE
        | kv::opcode::LIST
        | vendor::GROUP_RESULTS
        | vendor::ITERATOR_NEXT
        | vendor::RETRIEVE_VERSIONED => Transfer::ToHost(bytes),
        _ => Transfer::None,
    }
}

const fn of_blocks(sqe: &Sqe, block_bytes: u32) -> Transfer {
    let bytes = ((sqe.cdw12.get() & 0xFFFF) as u64 + 1) * block_bytes as u64;
    match sqe.opcode {
        nvm::opcode::WRITE | nvm::opcode::COMPARE => Transfer::ToDevice(bytes),
        nvm::opcode::READ => Transfer::ToHost(bytes),
        nvm::opcode::DATASET_MANAGEMENT => {
            Transfer::ToDevice(((sqe.cdw10.get() & 0xFF) as u64 + 1) * size_of::<DsmRange>() as u64)
        }
        nvm::opcode::COPY => {
            Transfer::ToDevice(((sqe.cdw12.get() & 0xFF) as u64 + 1) * size_of::<CopyRange>() as u64)
        }
        _ => Transfer::None,
    }
}

/// Data of an admin command; `None` for one that is not known here.
#[must_use]
pub const fn of_admin(sqe: &Sqe) -> Option<Transfer> {
    match sqe.opcode {
        admin::opcode::IDENTIFY => Some(Transfer::ToHost(IDENTIFY_BYTES as u64)),
        admin::opcode::GET_LOG_PAGE => {
            let numd = (sqe.cdw10.get() >> 16) as u64 | ((sqe.cdw11.get() & 0xFFFF) as u64) << 16;
            Some(Transfer::ToHost((numd + 1) * 4))
        }
        admin::opcode::SET_FEATURES if sqe.cdw10.get() as u8 == fid::HOST_IDENTIFIER => {
            Some(Transfer::ToDevice(HostIdentifier(sqe.cdw11.get()).bytes() as u64))
        }
        // Capabilities have no data; whatever the host's buffer is, it stays as it was.
        admin::opcode::GET_FEATURES if sqe.cdw10.get() as u8 == fid::HOST_IDENTIFIER => {
            Some(Transfer::ToHost(HostIdentifier(sqe.cdw11.get()).bytes() as u64))
        }
        admin::opcode::SET_FEATURES
        | admin::opcode::GET_FEATURES
        | admin::opcode::ABORT
        | admin::opcode::FORMAT_NVM
        | admin::opcode::ASYNC_EVENT_REQUEST
        | admin::opcode::KEEP_ALIVE => Some(Transfer::None),
        _ => None,
    }
}

/// What the answer to an Identify tells of a namespace: NSID and contents. CNS 03h tells its command set; CNS 00h the
/// size of blocks, where `known`, what was told of it before, is not [`Contents::Kv`]: namespaces of pairs answer it
/// too.
#[must_use]
pub fn contents_told(
    sqe: &Sqe,
    data: &[u8],
    known: impl FnOnce(u32) -> Option<Contents>,
) -> Option<(u32, Contents)> {
    let (nsid, cns) = (sqe.nsid.get(), sqe.cdw10.get() as u8);
    match (sqe.opcode, cns) {
        (admin::opcode::IDENTIFY, cns::NAMESPACE_DESCRIPTORS) => {
            let set = DescriptorReader::new(data).filter_map(|descriptor| match descriptor {
                Ok(Descriptor::Csi(csi)) => Some(csi),
                _ => None,
            });
            (set.last() == Some(csi::KV)).then_some((nsid, Contents::Kv))
        }
        (admin::opcode::IDENTIFY, cns::NAMESPACE) if known(nsid) != Some(Contents::Kv) => {
            let (page, _) = NvmNamespace::read_from_prefix(data).ok()?;
            Some((nsid, Contents::Blocks { block_bytes: page.block_bytes()? }))
        }
        _ => None,
    }
}

/// As [`Contents::only_reads`], of an admin command.
#[must_use]
pub const fn admin_only_reads(sqe: &Sqe) -> bool {
    matches!(sqe.opcode, admin::opcode::IDENTIFY | admin::opcode::GET_LOG_PAGE | admin::opcode::GET_FEATURES)
}

/// Whether a command needs memory that host and device share. Buses that move data by commands have none: there, groups,
/// transactions, versioned retrieves and iterators are the vendor commands that remain.
#[must_use]
pub const fn needs_shared_memory(sqe: &Sqe) -> bool {
    sqe.opcode >= FIRST_VENDOR_OPCODE
        && !matches!(sqe.opcode, vendor::GROUP | vendor::GROUP_RESULTS | vendor::GROUP_PREFETCH)
        && sqe.opcode != vendor::RETRIEVE_VERSIONED
        && !crate::vendor_specific::is_iterator(sqe.opcode)
        && !crate::group::is_split(sqe.opcode)
}

/// Opcodes from here on are vendor specific (Base, "Opcode" of Command Dword 0).
const FIRST_VENDOR_OPCODE: u8 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;

    fn sqe(opcode: u8, cdw10: u32, cdw11: u32, cdw12: u32) -> Sqe {
        let mut sqe = Sqe::new(opcode, 1);
        (sqe.cdw10, sqe.cdw11, sqe.cdw12) = (cdw10.into(), cdw11.into(), cdw12.into());
        sqe
    }

    #[test]
    fn pairs() {
        let of = |opcode| Contents::Kv.transfer(&sqe(opcode, 77, 0x0304, 9));
        assert_eq!([of(0x01), of(0xC5), of(0xC9), of(0xD9), of(0xDD)], [Transfer::ToDevice(77); 5]);
        assert_eq!([of(0x02), of(0x06), of(0xC2), of(0xDA)], [Transfer::ToHost(77); 4]);
        assert_eq!(
            [of(0x00), of(0x10), of(0x14), of(0xC0), of(0xE4), of(0xE8), of(0x55)],
            [Transfer::None; 7]
        );
    }

    #[test]
    fn blocks_are_counted_from_zero() {
        let blocks = Contents::Blocks { block_bytes: 512 };
        assert_eq!(blocks.transfer(&sqe(0x01, 9, 0, 0xABCD_0007)), Transfer::ToDevice(8 * 512));
        assert_eq!(blocks.transfer(&sqe(0x02, 9, 0, 0)), Transfer::ToHost(512));
        assert_eq!(blocks.transfer(&sqe(0x09, 0xFF01, 4, 0)), Transfer::ToDevice(32));
        assert_eq!(blocks.transfer(&sqe(0x05, 9, 0, 7)), Transfer::ToDevice(8 * 512));
        assert_eq!(blocks.transfer(&sqe(0x19, 9, 0, 0x4000_0F02)), Transfer::ToDevice(3 * 32));
        for opcode in [0x00, 0x08, 0x0C] {
            assert_eq!(blocks.transfer(&sqe(opcode, 9, 0, 7)), Transfer::None);
        }
        for (opcode, only_reads) in
            [(0x02, true), (0x05, true), (0x0C, true), (0x06, false), (0x08, false), (0x19, false)]
        {
            assert_eq!(blocks.only_reads(&sqe(opcode, 0, 0, 0)), only_reads, "{opcode:02x}");
        }
    }

    #[test]
    fn log_pages_have_a_length_in_two_parts() {
        assert_eq!(of_admin(&sqe(0x02, 0x03FF_0005, 0, 0)), Some(Transfer::ToHost(4096)));
        assert_eq!(of_admin(&sqe(0x02, 0x0000_0005, 1, 0)), Some(Transfer::ToHost(4 * 65_537)));
        assert_eq!(of_admin(&sqe(0x06, 1, 0, 0)), Some(Transfer::ToHost(4096)));
        assert_eq!(of_admin(&sqe(0x81, 1, 0, 0)), None);
    }

    #[test]
    fn a_host_identifier_is_data_of_its_feature() {
        assert_eq!(of_admin(&sqe(0x0A, 0x81, 1, 0)), Some(Transfer::ToHost(16)));
        assert_eq!(of_admin(&sqe(0x0A, 0x81, 0, 0)), Some(Transfer::ToHost(8)));
        assert_eq!(of_admin(&sqe(0x09, 0x81, 1, 0)), Some(Transfer::ToDevice(16)));
        assert_eq!([0x09, 0x0A].map(|opcode| of_admin(&sqe(opcode, 0x0F, 1, 0))), [Some(Transfer::None); 2]);
    }

    /// A namespace of pairs answers CNS 00h too: what CNS 03h said of it holds, whichever came first.
    #[test]
    fn pairs_are_not_taken_for_blocks() {
        let ask = |cns| sqe(0x06, cns, 0, 0);
        let mut page = [0; IDENTIFY_BYTES];
        page[130] = 9;
        let blocks = Contents::Blocks { block_bytes: 512 };
        assert_eq!(contents_told(&ask(0), &page, |_| None), Some((1, blocks)));
        assert_eq!(contents_told(&ask(0), &page, |_| Some(Contents::Kv)), None);
        let (pairs, others) = ([4, 1, 0, 0, 1], [4, 1, 0, 0, 0]);
        assert_eq!(contents_told(&ask(3), &pairs, |_| Some(blocks)), Some((1, Contents::Kv)));
        assert_eq!(contents_told(&ask(3), &others, |_| None), None);
        assert_eq!(contents_told(&ask(1), &page, |_| None), None);
    }

    #[test]
    fn what_needs_shared_memory() {
        for opcode in [0x00, 0x01, 0x14, 0x7F, 0xC2, 0xC5, 0xC9, 0xD9, 0xDA, 0xDD, 0xE4, 0xE8] {
            assert!(!needs_shared_memory(&sqe(opcode, 0, 0, 0)), "{opcode:02x}");
        }
        for opcode in [0x80, 0xC0, 0xC1, 0xC3, 0xC4, 0xD4, 0xD8, 0xFF] {
            assert!(needs_shared_memory(&sqe(opcode, 0, 0, 0)), "{opcode:02x}");
        }
    }
}
