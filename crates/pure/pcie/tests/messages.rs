// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages: their bytes by hand, and what is refused.

use saker_pcie::message::{Header, IrqAction, MESSAGE_BYTES_MAX, MessageError, Request, command};
use saker_pcie::reply::{self, Mappable};

const fn header(command: u16, body: usize) -> Header {
    Header { id: 0x1234, command, size: 16 + body as u32, flags: 0, error: 0 }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn parse(command: u16, body: &[u8], descriptors: usize) -> Result<Request<'_>, MessageError> {
    Request::parse(&header(command, body.len()), body, descriptors)
}

const BOTH: Mappable = Mappable { doorbells: true, memory: true };
const NEITHER: Mappable = Mappable { doorbells: false, memory: false };

#[test]
fn a_header_has_sixteen_bytes() {
    let bytes = [0x34, 0x12, 0x0A, 0x00, 0x24, 0, 0, 0, 0x10, 0, 0, 0, 0x16, 0, 0, 0];
    let expected = Header { id: 0x1234, command: 10, size: 36, flags: 16, error: 22 };
    assert_eq!(Header::parse(&bytes), Ok(expected));
    assert_eq!(expected.bytes(), bytes);
    assert!(expected.wants_no_reply() && !expected.is_reply() && expected.body_bytes() == 20);
    for size in [0, 15, MESSAGE_BYTES_MAX as u32 + 1, u32::MAX] {
        assert_eq!(Header::parse(&Header { size, ..expected }.bytes()), Err(MessageError::Size(size)));
    }
}

#[test]
fn requests_are_read() {
    let map = words(&[32, 3, 0x1000, 0, 0x8000, 1, 0x2000, 0]);
    let mapped = Request::DmaMap { writable: true, offset: 0x1000, iova: 0x1_0000_8000, bytes: 0x2000 };
    assert_eq!(parse(command::DMA_MAP, &map, 1), Ok(mapped));
    assert_eq!(parse(command::DMA_MAP, &map, 0), Ok(mapped), "a region that cannot be mapped");
    let unmap = words(&[24, 2, 0x8000, 1, 0x2000, 0]);
    let unmapped = Request::DmaUnmap { flags: 2, iova: 0x1_0000_8000, bytes: 0x2000, all: true };
    assert_eq!(parse(command::DMA_UNMAP, &unmap, 0), Ok(unmapped));
    assert_eq!(parse(command::DMA_UNMAP, &unmap, 1), Ok(unmapped), "SPDK sends the file along");
    assert_eq!(parse(command::VERSION, b"\0\0\x01\0{}\0", 0), Ok(Request::Version { major: 0, minor: 1 }));
    assert_eq!(parse(command::DEVICE_INFO, &words(&[16, 0, 0, 0]), 0), Ok(Request::DeviceInfo));
    let info = words(&[64, 0, 7, 0, 0, 0, 0, 0]);
    assert_eq!(parse(command::REGION_INFO, &info, 0), Ok(Request::RegionInfo { index: 7, room: 64 }));
    assert_eq!(parse(command::IRQ_INFO, &words(&[16, 0, 2, 0]), 0), Ok(Request::IrqInfo { index: 2 }));
    let access = words(&[0x1000, 0, 0, 4, 0xAABB_CCDD]);
    let read = Request::RegionRead { region: 0, offset: 0x1000, count: 4 };
    assert_eq!(parse(command::REGION_READ, &access, 0), Ok(read));
    let write = Request::RegionWrite { region: 0, offset: 0x1000, data: &[0xDD, 0xCC, 0xBB, 0xAA] };
    assert_eq!(parse(command::REGION_WRITE, &access, 0), Ok(write));
    assert_eq!(parse(command::RESET, &[], 0), Ok(Request::Reset));
}

#[test]
fn interrupts_are_set_taken_back_and_triggered() {
    let set = |flags, count, descriptors| {
        parse(command::SET_IRQS, &words(&[20, flags, 2, 3, count]), descriptors).map(|request| {
            let Request::SetIrqs { index: 2, start: 3, action, .. } = request else { panic!("{request:?}") };
            action
        })
    };
    assert_eq!(set(0x24, 2, 2), Ok(IrqAction::Descriptors));
    assert_eq!(set(0x24, 2, 0), Ok(IrqAction::Forget), "without descriptors there is nothing to tell by");
    assert_eq!(set(0x21, 0, 0), Ok(IrqAction::Forget));
    assert_eq!(set(0x21, 1, 0), Ok(IrqAction::Trigger));
    assert_eq!(set(0x09, 1, 0), Ok(IrqAction::Mask));
    for (flags, count, descriptors) in
        [(0x24, 1, 2), (0x24, 3, 2), (0x21, 1, 1), (0x22, 1, 0), (0, 1, 0), (0x24, u32::MAX, 0)]
    {
        assert!(set(flags, count, descriptors).is_err(), "{flags:#x} {count} {descriptors}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert_eq!(parse(11, &[0; 32], 0), Err(MessageError::Command(11)), "that is the server's to send");
    assert_eq!(parse(0, &[], 0), Err(MessageError::Command(0)));
    let came = |command, came| Err(MessageError::Descriptors { command, came });
    assert_eq!(parse(command::DMA_MAP, &[0; 32], 2), came(command::DMA_MAP, 2));
    assert_eq!(parse(command::DMA_UNMAP, &[0; 24], 2), came(command::DMA_UNMAP, 2));
    assert_eq!(parse(command::RESET, &[], 1), came(command::RESET, 1));
    for command in (1..=10).filter(|command| ![4, 6].contains(command)) {
        assert_eq!(parse(command, &[], 0), Err(MessageError::Short), "{command}");
    }
    for flags in [1, 2, 15] {
        let reply = Header { flags, ..header(command::RESET, 0) };
        assert_eq!(Request::parse(&reply, &[], 0), Err(MessageError::Type(flags)));
    }
    for count in [0, 5, u32::MAX] {
        let body = words(&[0, 0, 0, count, 7]);
        assert!(parse(command::REGION_WRITE, &body, 0).is_err(), "{count} bytes of 4");
    }
}

#[test]
fn answers_have_these_bytes() {
    let to = |command| header(command, 0);
    assert_eq!(reply::done(&to(2)), [0x34, 0x12, 2, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(reply::failed(&to(2), 22), [0x34, 0x12, 2, 0, 16, 0, 0, 0, 0x21, 0, 0, 0, 22, 0, 0, 0]);
    let body = |bytes: Vec<u8>| {
        assert_eq!(u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize, bytes.len());
        bytes[16..].to_vec()
    };
    let capabilities = "{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":65536,\"pgsizes\":4096,\"max_dma_maps\":4096}}\0";
    assert_eq!(body(reply::version(&to(1))), [&[0; 4], capabilities.as_bytes()].concat());
    assert_eq!(body(reply::device_info(&to(4))), words(&[16, 3, 9, 5]));
    assert_eq!(body(reply::unmapped(&to(3), 0, 0x1000, 0x2000)), words(&[24, 0, 0x1000, 0, 0x2000, 0]));
    assert_eq!(body(reply::irq_info(&to(7), 2)), words(&[16, 9, 2, 65]));
    assert_eq!(body(reply::irq_info(&to(7), 0)), words(&[16, 0, 0, 0]));
    assert_eq!(body(reply::irq_info(&to(7), 4)), words(&[16, 9, 4, 1]));
    assert_eq!(body(reply::region(&to(9), 8, 0, 2, &[1, 2])), [&words(&[8, 0, 0, 2])[..], &[1, 2]].concat());
    let (info, with_file) = reply::region_info(&to(5), 7, 32, BOTH);
    assert_eq!((body(info), with_file), (words(&[32, 3, 7, 0, 4096, 0, 0, 0]), false));
    // The page of doorbells: first the client learns how much room the answer needs.
    let (short, with_file) = reply::region_info(&to(5), 0, 32, BOTH);
    assert_eq!((body(short), with_file), (words(&[64, 0xF, 0, 32, 0x4000, 0, 0, 0]), false));
    let (whole, with_file) = reply::region_info(&to(5), 0, 64, BOTH);
    let area = words(&[0x0001_0001, 0, 1, 0, 0x1000, 0, 0x1000, 0]);
    assert_eq!((body(whole), with_file), ([words(&[64, 0xF, 0, 32, 0x4000, 0, 0, 0]), area].concat(), true));
    let (plain, _) = reply::region_info(&to(5), 0, 64, NEITHER);
    assert_eq!(body(plain), words(&[32, 3, 0, 0, 0x4000, 0, 0, 0]));
}
