// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's interface, as `include/uapi/linux/nvme_ioctl.h` has it: layouts in the machine's byte order.

use saker_nvme::Sqe;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `struct nvme_uring_cmd`: the command as both interfaces take it. CID, PSDT and data pointers are the driver's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct UringCommand {
    /// OPC.
    pub opcode: u8,
    /// Must be 0.
    pub flags: u8,
    /// Reserved.
    pub reserved_2: u16,
    /// NSID: the namespace's own, or 0 for admin commands that have none.
    pub nsid: u32,
    /// CDW2 and CDW3.
    pub cdw2: [u32; 2],
    /// Address of metadata: none.
    pub metadata: u64,
    /// Address of the data.
    pub addr: u64,
    /// Bytes of metadata: none.
    pub metadata_len: u32,
    /// Bytes of the data.
    pub data_len: u32,
    /// CDW10 to CDW15.
    pub cdw10: [u32; 6],
    /// 0: the driver's own.
    pub timeout_ms: u32,
    /// Reserved.
    pub reserved_68: u32,
}

/// `struct nvme_passthru_cmd64`: the same with the result behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct PassthroughCommand {
    /// The command.
    pub command: UringCommand,
    /// DW0 and DW1 of the completion.
    pub result: u64,
}

const _: () = assert!(size_of::<UringCommand>() == 72 && size_of::<PassthroughCommand>() == 80);

/// Bytes for a command in an entry of io_uring of 128 bytes.
pub const COMMAND_BYTES: usize = 80;

/// `NVME_IOCTL_ID`: the NSID.
pub const IOCTL_ID: u32 = 0x4E40;
/// `NVME_IOCTL_ADMIN64_CMD`.
pub const IOCTL_ADMIN64: u32 = 0xC050_4E47;
/// `NVME_IOCTL_IO64_CMD`.
pub const IOCTL_IO64: u32 = 0xC050_4E48;
/// `NVME_URING_CMD_IO`.
pub const URING_IO: u32 = 0xC048_4E80;

impl UringCommand {
    /// The command of an entry, with data of `data_len` bytes at `addr`.
    #[must_use]
    pub const fn new(sqe: &Sqe, addr: u64, data_len: u32) -> Self {
        Self {
            opcode: sqe.opcode,
            flags: 0,
            reserved_2: 0,
            nsid: sqe.nsid.get(),
            cdw2: [sqe.cdw2.get(), sqe.cdw3.get()],
            metadata: 0,
            addr: if data_len == 0 { 0 } else { addr },
            metadata_len: 0,
            data_len,
            cdw10: [
                sqe.cdw10.get(),
                sqe.cdw11.get(),
                sqe.cdw12.get(),
                sqe.cdw13.get(),
                sqe.cdw14.get(),
                sqe.cdw15.get(),
            ],
            timeout_ms: 0,
            reserved_68: 0,
        }
    }

    /// As an entry of io_uring carries it.
    #[must_use]
    pub fn padded(&self) -> [u8; COMMAND_BYTES] {
        let mut bytes = [0; COMMAND_BYTES];
        let (command, _) = bytes.split_at_mut(size_of::<Self>());
        command.copy_from_slice(self.as_bytes());
        bytes
    }
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;
    use saker_nvme::{Key, kv};

    #[test]
    fn golden_bytes_of_a_store() {
        let key = Key::new(b"0123456789abcdef").expect("16 bytes");
        let sqe = kv::store(7, &key, 300, kv::StoreOptions::default());
        let command = UringCommand::new(&sqe, 0x1122_3344_5566_7788, 300);
        let expected = [
            &[0x01, 0, 0, 0, 7, 0, 0, 0][..],
            b"01234567",
            &[0; 8],
            &[0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11],
            &[0, 0, 0, 0, 0x2C, 1, 0, 0],
            &[0x2C, 1, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            b"89abcdef",
            &[0; 8],
        ]
        .concat();
        assert_eq!(command.as_bytes(), expected);
        assert_eq!(command.padded()[..72], expected);
        assert_eq!(command.padded()[72..], [0; 8]);
    }

    #[test]
    fn a_command_without_data_names_no_memory() {
        let command = UringCommand::new(&Sqe::new(0x14, 1), 0x1000, 0);
        assert_eq!((command.addr, command.data_len), (0, 0));
    }

    /// `_IOWR('N', number, bytes)` of `asm-generic/ioctl.h`: direction 3, size 14 bits, type, number.
    fn iowr(number: u32, bytes: usize) -> u32 {
        3 << 30 | (bytes as u32) << 16 | u32::from(b'N') << 8 | number
    }

    #[test]
    fn numbers_follow_from_the_sizes() {
        assert_eq!(IOCTL_ID, u32::from(b'N') << 8 | 0x40);
        assert_eq!(IOCTL_ADMIN64, iowr(0x47, size_of::<PassthroughCommand>()));
        assert_eq!(IOCTL_IO64, iowr(0x48, size_of::<PassthroughCommand>()));
        assert_eq!(URING_IO, iowr(0x80, size_of::<UringCommand>()));
    }
}
