// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of a client: regions that overlap, wrap, vanish, are not whole; files that are none; what is cut off.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use saker_link::{ARENA_IOVA, DoorbellKind};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::regs::{Csts, offset};
use saker_nvme::sgl::{SglDescriptor, kind};
use saker_nvme::{Key, Sqe, Status};
use saker_vfio_client::VfioError;
use zerocopy::IntoBytes;

use crate::rig::{PAIRS, Rig};

fn file(bytes: u64) -> OwnedFd {
    let file = memfd_create("guest", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, bytes).unwrap();
    file
}

fn errno(result: Result<(), VfioError>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(VfioError::Refused { error, .. }) => error.raw_os_error().unwrap(),
        Err(other) => panic!("{other}"),
    }
}

const EINVAL: i32 = 22;
const EEXIST: i32 = 17;
const ENOENT: i32 = 2;
const EOPNOTSUPP: i32 = 95;
const EACCES: i32 = 13;

#[test]
fn regions_are_whole_pages_of_a_file_in_memory_and_do_not_overlap() {
    let rig = Rig::new(PAIRS, false);
    let mut driver = rig.driver();
    let (guest, socket) = (file(64 << 10), driver.function.socket());
    let mut map = |offset, iova, bytes| errno(socket.map(guest.as_fd(), offset, iova, bytes));
    assert_eq!(map(0, 0x10_0000_0000, 0x8000), 0);
    for (iova, bytes) in [(0x10_0000_0000, 0x8000), (0x10_0000_7000, 0x1000), (0x0F_FFFF_F000, 0x2000)] {
        assert_eq!(map(0, iova, bytes), EEXIST, "{iova:#x} {bytes:#x}");
    }
    assert_eq!(map(0, 0x10_0000_8000, 0x1000), 0, "just behind it");
    assert_eq!(map(0, 0x0F_FFFF_F000, 0x1000), 0, "just before it");
    for (offset, iova, bytes) in [
        (0, 0x20_0000_0000, 0),
        (0, 0x20_0000_0001, 0x1000),
        (1, 0x20_0000_0000, 0x1000),
        (0, 0x20_0000_0000, 0x1001),
        (0, u64::MAX - 0xFFF, 0x2000),
        (0xF000, 0x20_0000_0000, 0x2000),
        (u64::MAX - 0xFFF, 0x20_0000_0000, 0x2000),
        (0, 0x20_0000_0000, 1 << 62),
    ] {
        assert_eq!(map(offset, iova, bytes), EINVAL, "{offset:#x} {iova:#x} {bytes:#x}");
    }
    assert_eq!(map(0, u64::MAX - 0xFFF, 0x1000), 0, "the last page of the address space");
    for (iova, bytes) in [
        (0x10_0000_0000, 0x1000),
        (0x10_0000_1000, 0x7000),
        (0x0F_FFFF_F000, 0x2000),
        (0x30_0000_0000, 0x1000),
    ] {
        assert_eq!(errno(socket.unmap(iova, bytes)), ENOENT, "{iova:#x} {bytes:#x}");
    }
    assert_eq!(errno(socket.unmap(0x0F_FFFF_F000, 0xA000)), 0, "three at once");
    assert_eq!(errno(socket.unmap(0x10_0000_0000, 0x8000)), ENOENT);
    // Files that do not live in memory, and one that may not be written.
    let folder = tempfile::tempfile_in("/").unwrap_or_else(|_| tempfile::tempfile().unwrap());
    folder.set_len(0x2000).unwrap();
    let on_disk = errno(socket.map(folder.as_fd(), 0, 0x40_0000_0000, 0x1000));
    let kinds = [on_disk, errno(socket.map(io::stdin().as_fd(), 0, 0x40_0000_0000, 0x1000))];
    assert!(kinds.iter().all(|errno| [EOPNOTSUPP, EINVAL].contains(errno)), "{kinds:?}");
    let readable = std::fs::File::open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&guest)));
    assert_eq!(errno(socket.map(readable.unwrap().as_fd(), 0, 0x40_0000_0000, 0x1000)), EACCES);
}

#[test]
fn data_that_crosses_two_regions_is_moved_and_what_is_not_mapped_is_an_error() {
    let rig = Rig::new(PAIRS, false);
    let mut driver = rig.driver().with_queue(false);
    let (first, second) = (file(0x4000), file(0x4000));
    let base = 0x10_0000_0000_u64;
    driver.function.socket().map(first.as_fd(), 0, base, 0x4000).unwrap();
    driver.function.socket().map(second.as_fd(), 0x1000, base + 0x4000, 0x1000).unwrap();
    let value: Vec<u8> = (0..0x1000_u32).map(|n| (n % 253) as u8).collect();
    rustix::io::pwrite(&first, &value[..0x800], 0x3800).unwrap();
    rustix::io::pwrite(&second, &value[0x800..], 0x1000).unwrap();
    // An SGL data block, which may lie anywhere.
    let store = |at: u64, bytes: u32| {
        let sqe = kv::store(1, &Key::new(b"key").unwrap(), bytes, StoreOptions::default());
        with_sgl(sqe, at, bytes)
    };
    assert_eq!(driver.io(&store(base + 0x3800, 0x1000)).status(), Status::SUCCESS);
    assert_eq!(driver.retrieve(b"key"), Ok(value.clone()));
    for at in [base + 0x4800, base + 0x5000, base - 1, 0, u64::MAX - 0xFFF, u64::MAX] {
        let status = driver.io(&store(at, 0x1000)).status();
        assert_eq!(status, Status::DATA_TRANSFER_ERROR, "{at:#x}");
    }
    let unaligned = kv::store(1, &Key::new(b"key").unwrap(), 0x3000, StoreOptions::default());
    let status = driver.io(&unaligned.with_prp(base, 0x66_0000_0000)).status();
    assert_eq!(status, Status::DATA_TRANSFER_ERROR, "a list that is nowhere");
    assert_eq!(driver.retrieve(b"key"), Ok(value), "nothing has changed");
}

fn with_sgl(mut sqe: Sqe, at: u64, bytes: u32) -> Sqe {
    sqe.flags = 0x40;
    sqe.prp1 = at.into();
    sqe.prp2 = u64::from(bytes).into();
    sqe
}

/// As Linux names the data of a request in several pieces: an array of descriptors, and arrays behind it.
#[test]
fn data_in_segments_of_an_sgl_is_moved_and_bad_segments_are_refused() {
    let rig = Rig::new(PAIRS, false);
    let mut driver = rig.driver().with_queue(false);
    let data = driver.memory(4096);
    let value: Vec<u8> = (0..700_u32).map(|n| (n % 251) as u8).collect();
    data.write(0, &value).unwrap();
    let arrays = driver.memory(8192);
    let (at, base) = (arrays.iova(), data.iova());
    let put = |n: usize, kind: u8, address: u64, length: u32| {
        arrays.write(n * 16, SglDescriptor::new(kind, address, length).as_bytes()).unwrap();
    };
    let store = |length: u32, kind: u8| {
        let sqe = kv::store(1, &Key::new(b"sgl").unwrap(), 700, StoreOptions::default());
        sqe.with_sgl(&SglDescriptor::new(kind, at, length))
    };
    put(0, kind::DATA_BLOCK, base, 100);
    put(1, kind::DATA_BLOCK, u64::MAX, 0);
    put(2, kind::DATA_BLOCK, base + 100, 601);
    assert_eq!(driver.io(&store(48, kind::LAST_SEGMENT)).status(), Status::SUCCESS);
    assert_eq!(driver.retrieve(b"sgl"), Ok(value.clone()));
    put(2, kind::SEGMENT, at + 4096, 32);
    put(256, kind::DATA_BLOCK, base + 100, 599);
    put(257, kind::LAST_SEGMENT, at + 4096 + 64, 16);
    put(260, kind::DATA_BLOCK, base + 699, 1);
    assert_eq!(driver.io(&store(48, kind::SEGMENT)).status(), Status::SUCCESS, "three arrays");
    let get =
        kv::retrieve(1, &Key::new(b"sgl").unwrap(), 700).with_sgl(&SglDescriptor::new(kind::SEGMENT, at, 48));
    data.write(0, &[0; 700]).unwrap();
    assert_eq!(driver.io(&get).status(), Status::SUCCESS);
    let mut back = vec![0; 700];
    data.read(0, &mut back).unwrap();
    assert_eq!(back, value);
    let mut refused = |sqe: Sqe, status: Status| assert_eq!(driver.io(&sqe).status(), status, "{sqe:?}");
    refused(store(40, kind::LAST_SEGMENT), Status::INVALID_SGL_SEGMENT_DESCRIPTOR);
    refused(store(0, kind::SEGMENT), Status::INVALID_SGL_SEGMENT_DESCRIPTOR);
    refused(store(1 << 20, kind::LAST_SEGMENT), Status::INVALID_SGL_DESCRIPTOR_COUNT);
    refused(store(48, kind::LAST_SEGMENT), Status::SGL_DESCRIPTOR_TYPE_INVALID);
    refused(store(48, kind::BIT_BUCKET), Status::SGL_DESCRIPTOR_TYPE_INVALID);
    put(260, kind::DATA_BLOCK, base + 699, 0);
    refused(store(48, kind::SEGMENT), Status::DATA_SGL_LENGTH_INVALID);
    // Arrays that name each other have an end all the same.
    put(257, kind::SEGMENT, at, 48);
    refused(store(48, kind::SEGMENT), Status::INVALID_SGL_DESCRIPTOR_COUNT);
    put(2, kind::LAST_SEGMENT, 0x77_0000_0000, 16);
    refused(store(48, kind::SEGMENT), Status::DATA_TRANSFER_ERROR);
}

#[test]
fn a_ring_whose_memory_is_moved_goes_on_and_one_whose_memory_vanishes_is_fatal() {
    let rig = Rig::new(PAIRS, false);
    let mut driver = rig.driver().with_queue(false);
    assert_eq!(driver.store(b"key", b"value"), Status::SUCCESS);
    let bytes = driver.function.space().free_pages();
    assert!(bytes > 0);
    let (function, whole) = (&mut driver.function, 2048 * 4096);
    let again = function.file().try_clone_to_owned().unwrap();
    // As QEMU does when the layout of memory changes: unmapped, and mapped anew at once.
    function.socket().unmap(ARENA_IOVA, whole).unwrap();
    function.socket().map(again.as_fd(), 0, ARENA_IOVA, whole).unwrap();
    assert_eq!(driver.retrieve(b"key"), Ok(b"value".to_vec()));
    driver.function.socket().unmap(ARENA_IOVA, whole).unwrap();
    // A doorbell for a queue that is nowhere.
    driver.pair.as_mut().unwrap().submit(&kv::flush(1)).unwrap();
    driver.pair.as_mut().unwrap().ring();
    driver.function.tell(1, DoorbellKind::SqTail).unwrap();
    let csts = Csts(driver.function.register(offset::CSTS).unwrap());
    assert!(csts.cfs(), "{csts:?}");
    driver.function.socket().map(again.as_fd(), 0, ARENA_IOVA, whole).unwrap();
    driver.function.disable().unwrap();
    driver.function.enable().unwrap();
    let mut driver = driver.with_queue(false);
    assert_eq!(driver.retrieve(b"key"), Ok(b"value".to_vec()));
}

/// A file that is cut off behind the mapping: the client is left, the process lives, and the next client is served.
#[test]
fn memory_that_is_cut_off_ends_the_client_and_nobody_else() {
    for busy_poll in [false, true] {
        let rig = Rig::new(PAIRS, busy_poll);
        for round in 0..5_u32 {
            let mut driver = rig.driver().with_queue(false);
            if round > 0 {
                assert_eq!(driver.retrieve(b"kept"), Ok((round - 1).to_le_bytes().to_vec()));
            }
            assert_eq!(driver.store(b"kept", &round.to_le_bytes()), Status::SUCCESS);
            let guest = file(0x10_0000);
            let base = 0x10_0000_0000_u64;
            driver.function.socket().map(guest.as_fd(), 0, base, 0x10_0000).unwrap();
            ftruncate(&guest, if round % 2 == 0 { 0 } else { 0x1000 }).unwrap();
            let (at, key) = (base + 0x2000, Key::new(b"lost").unwrap());
            let sqe = if round % 3 == 0 {
                kv::retrieve(1, &Key::new(b"kept").unwrap(), 64)
            } else {
                kv::store(1, &key, 64, StoreOptions::default())
            };
            driver.submit(&with_sgl(sqe, at, 64));
            let begun = std::time::Instant::now();
            while driver.function.register(offset::CSTS).is_ok() {
                assert!(begun.elapsed().as_secs() < 60, "the client is still served");
            }
        }
        let mut driver = rig.driver().with_queue(false);
        assert_eq!(driver.retrieve(b"lost"), Err(Status::KEY_DOES_NOT_EXIST), "no zeros were stored for it");
        assert_eq!(driver.retrieve(b"kept"), Ok(4_u32.to_le_bytes().to_vec()));
    }
}
