// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hosts and clients that mean no good: commands and messages of any kind. The server lives, holds little, and is right
//! afterwards. A program of its own: it looks at the memory and the descriptors of the whole process.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "rig.rs"]
#[expect(dead_code, reason = "the other program uses all of it")]
mod rig;

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use saker_link::{ARENA_IOVA, DmaRegion, DoorbellKind};
use saker_nvme::regs::{Csts, offset};
use saker_nvme::{Cqe, Sqe, Status};
use saker_pcie::message::Header;
use saker_sim::seed::{Rng, Seed};
use saker_testing::{Replay, tier};
use zerocopy::FromBytes;

use rig::{Driver, PAIRS, Rig};

/// One test at a time.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory of this process in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Pages around the one that commands mean.
const AROUND: u64 = 32;

/// An address that a driver may not have meant, but not that of its queues: what is written over those is its own loss.
fn address(rng: &mut Rng, memory: &DmaRegion) -> u64 {
    let page = memory.iova() + AROUND * 4096;
    let address = match rng.below(8) {
        0 => rng.below(u64::MAX),
        1 => u64::MAX - rng.below(8192),
        2 => rng.below(1 << 20),
        3 => page + rng.below(16),
        4 => page - 4096 * rng.below(4),
        5 => 1 << rng.below(64),
        _ => page,
    };
    let is_mapped = (ARENA_IOVA..ARENA_IOVA + (64 << 20)).contains(&address);
    if is_mapped && !(page - 4 * 4096..page + 4096).contains(&address) { page } else { address }
}

/// A command of any kind: its fields from what means something, or noise.
fn command(rng: &mut Rng, page: &DmaRegion) -> Sqe {
    let mut bytes = [0; 64];
    rng.fill(&mut bytes);
    let mut sqe = Sqe::read_from_bytes(&bytes[..]).unwrap();
    if rng.below(5) > 0 {
        const OPCODES: [u8; 29] = [
            0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0C, 0x10, 0x14, 0x19, 0x7F, 0xC0, 0xC1, 0xC2,
            0xC4, 0xC5, 0xC9, 0xCE, 0xD0, 0xD1, 0xD4, 0xD8, 0xD9, 0xDA, 0xE4, 0xDD, 0xE8,
        ];
        sqe.opcode = OPCODES[rng.below(29) as usize];
        sqe.flags = [0, 0, 0, 0x40, 0x40, 0x80, 0xC0, 1][rng.below(8) as usize];
        sqe.nsid = [1, 1, 1, 2, 0, u32::MAX][rng.below(6) as usize].into();
        sqe.prp1 = address(rng, page).into();
        sqe.prp2 = if sqe.flags & 0x40 != 0 { rng.below(1 << 24).into() } else { address(rng, page).into() };
        let (wide, narrow) = ([3, 8, 13, 22, 32][rng.below(5) as usize], [5, 9, 32][rng.below(3) as usize]);
        sqe.cdw10 = (rng.below(1 << wide) as u32).into();
        sqe.cdw11 = (rng.below(1 << narrow) as u32).into();
    }
    sqe
}

/// Commands of a queue that is made again when the device has given it up. Format and deletions of pairs are none of these, so
/// what was stored before has to be there.
#[test]
fn malformed_commands_are_answered_and_harm_nothing() {
    let _turn = turn();
    let replay = Replay::campaign();
    for url in
        ["mem:?size=64MiB&profile=tiny&blocks=4MiB", "mem:?size=64MiB&profile=tiny&engine=lsm&timing=real"]
    {
        let mut rng = Seed(replay.seed()).child(url).rng();
        let rig = Rig::new(url, false);
        let mut driver = rig.driver().with_queue(false);
        // Keys of 9 bytes, which no command here names but by chance.
        let key = |n: u32| [b"kept-", &n.to_le_bytes()[..]].concat();
        for n in 0..50 {
            assert_eq!(driver.store(&key(n), &vec![n as u8; 300]), Status::SUCCESS);
        }
        let page = driver.memory(2 * AROUND as usize * 4096);
        let before = resident_kib();
        for n in 0..tier(3_000_u64, 500_000) {
            if n % 8 == 0 {
                bad_admin(&mut driver, &mut rng, &page);
            }
            let sqe = command(&mut rng, &page);
            driver.submit(&sqe);
            drain(&mut driver, &mut rng);
            if n % 500 == 0 {
                driver.function.disable().unwrap();
                driver.function.enable().unwrap();
                driver = driver.with_queue(false);
            }
        }
        driver.function.disable().unwrap();
        driver.function.enable().unwrap();
        let mut driver = driver.with_queue(false);
        for n in 0..50 {
            assert_eq!(driver.retrieve(&key(n)), Ok(vec![n as u8; 300]), "{url}");
        }
        let grown = resident_kib().saturating_sub(before);
        assert!(grown < 200 << 10, "{url}: {grown} KiB more than before");
    }
}

/// What a queue has to give within a moment; a command that waits for its value is answered by the next one.
fn drain(driver: &mut Driver, rng: &mut Rng) {
    for _ in 0..50 {
        let pair = driver.pair.as_mut().unwrap();
        while pair.poll().is_some() {}
        pair.ring_cq();
        driver.function.tell(1, DoorbellKind::CqHead).unwrap();
        if driver.pair.as_ref().unwrap().in_flight() < 8 {
            break;
        }
        std::thread::sleep(Duration::from_micros(rng.below(100)));
    }
    // Whatever they were, entries that the device has not fetched are taken back by making the queue again.
    if driver.pair.as_ref().unwrap().free_entries() < 16 {
        driver.function.disable().unwrap();
        driver.function.enable().unwrap();
        driver.pair = Some(driver.function.create_pair(1, 64, false).unwrap());
    }
}

/// An admin command of any kind but those that delete pairs, and those that wait.
fn bad_admin(driver: &mut Driver, rng: &mut Rng, page: &DmaRegion) {
    const OPCODES: [u8; 9] = [0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x08, 0x0A, 0x18];
    let mut sqe = command(rng, page);
    sqe.opcode = OPCODES[rng.below(9) as usize];
    // Queue 1 is ours.
    if matches!(sqe.opcode, 0x00 | 0x01 | 0x04 | 0x05) {
        let (qid, entries) = (2 + rng.below(70) as u32, rng.below(1 << 16) as u32);
        sqe.cdw10 = (qid | entries << 16).into();
    }
    let cqe: Cqe = driver.function.raw_admin(&sqe).unwrap();
    assert!(cqe.cid.get() != 0);
}

/// Doorbells of any value on queues that are there and that are not.
#[test]
fn doorbells_out_of_range_are_ignored_or_refused() {
    let _turn = turn();
    for busy_poll in [false, true] {
        let rig = Rig::new(PAIRS, busy_poll);
        let mut driver = rig.driver().with_queue(false);
        assert_eq!(driver.store(b"key", b"value"), Status::SUCCESS);
        for value in [64, 65, 4096, u32::MAX, 1 << 31] {
            for at in [0x1000, 0x1004, 0x1008, 0x100C, 0x1010, 0x1000 + 8 * 64] {
                let _ = driver.function.set_register(at, value);
            }
            assert!(driver.function.set_register(0x1000 + 8 * 65, value).is_err());
            for qid in 0..65 {
                for kind in [DoorbellKind::SqTail, DoorbellKind::CqHead] {
                    driver.function.doorbells().write(kind, qid, value).unwrap();
                }
            }
        }
        let csts = Csts(driver.function.register(offset::CSTS).unwrap());
        assert!(csts.rdy() || csts.cfs(), "{csts:?}");
        driver.function.disable().unwrap();
        driver.function.enable().unwrap();
        let mut driver = driver.with_queue(false);
        assert_eq!(driver.retrieve(b"key"), Ok(b"value".to_vec()));
    }
}

/// Files that messages bring along.
struct Files(Vec<OwnedFd>);

impl Files {
    fn new() -> Self {
        let file = |bytes| {
            let file = memfd_create("hostile", MemfdFlags::CLOEXEC).unwrap();
            ftruncate(&file, bytes).unwrap();
            file
        };
        let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let (end, _) = UnixStream::pair().unwrap();
        Self(vec![file(1 << 20), file(0), event, null.into(), end.into(), file(4096)])
    }

    fn some(&self, rng: &mut Rng) -> Vec<BorrowedFd<'_>> {
        let count = [0, 0, 1, 1, 1, 2, 16, 17][rng.below(8) as usize];
        (0..count).map(|_| self.0[rng.below(self.0.len() as u64) as usize].as_fd()).collect()
    }
}

fn number(rng: &mut Rng) -> u32 {
    const NOTABLE: [u32; 12] = [0, 1, 2, 3, 4, 0x24, 0x21, 0x1000, 0x2000, 0x10_0000, 0x7FFF_F000, u32::MAX];
    if rng.below(4) == 0 { rng.below(1 << 32) as u32 } else { NOTABLE[rng.below(12) as usize] }
}

fn message(rng: &mut Rng) -> Vec<u8> {
    let command = rng.below(18) as u16;
    let words = match command {
        2 => 8,
        3 => 6,
        _ => rng.below(14),
    };
    let body: Vec<u8> = (0..words).flat_map(|_| number(rng).to_le_bytes()).collect();
    let size = if rng.below(60) == 0 { number(rng) } else { 16 + body.len() as u32 };
    let flags = [0, 0, 0, 0x10, 0x10, 1, 0x21, u32::MAX][rng.below(8) as usize];
    let header = Header { id: rng.below(1 << 16) as u16, command, size, flags, error: 0 };
    [&header.bytes()[..], &body].concat()
}

fn send(stream: &UnixStream, bytes: &[u8], files: &[BorrowedFd<'_>]) -> bool {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(32))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(files.is_empty() || control.push(SendAncillaryMessage::ScmRights(files)));
    let flags = SendFlags::NOSIGNAL;
    sendmsg(stream, &[std::io::IoSlice::new(bytes)], &mut control, flags)
        .is_ok_and(|sent| sent == bytes.len())
}

/// Messages of any kind, in pieces or whole, from clients that read the answers or do not.
#[test]
fn hostile_messages_end_with_a_client_that_is_served() {
    let _turn = turn();
    let replay = Replay::campaign();
    let mut rng = Seed(replay.seed()).child("messages").rng();
    let rig = Rig::new(PAIRS, false);
    assert_eq!(rig.driver().with_queue(false).store(b"kept", b"value"), Status::SUCCESS);
    let files = Files::new();
    let mut sent = 0_u32;
    let mut settled = None;
    while sent < tier(4_000, 100_000) {
        let stream = UnixStream::connect(&rig.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        let greeting = Header { id: 1, command: 1, size: 20, flags: 0, error: 0 };
        if rng.below(10) > 0 && !send(&stream, &[&greeting.bytes()[..], &[0; 4]].concat(), &[]) {
            continue;
        }
        let reads = rng.below(3) > 0;
        for _ in 0..rng.below(60) {
            let bytes = message(&mut rng);
            let cut = if rng.below(20) == 0 { rng.below(bytes.len() as u64) as usize } else { bytes.len() };
            if !send(&stream, &bytes[..cut], &files.some(&mut rng)) {
                break;
            }
            sent += 1;
            if reads {
                let _ = (&stream).read(&mut [0; 4096]);
            }
        }
        let _ = (&stream).flush();
        drop(stream);
        if sent > 1_000 && settled.is_none() {
            settled = Some((resident_kib(), descriptors()));
        }
    }
    let mut driver = rig.driver().with_queue(false);
    assert_eq!(driver.retrieve(b"kept"), Ok(b"value".to_vec()));
    let (kib, open) = settled.unwrap();
    let (grown, now) = (resident_kib().saturating_sub(kib), descriptors());
    assert!(grown < 64 << 10, "{grown} KiB more than after the first thousand");
    assert!(now < open + 64, "{open} descriptors were open, and {now} are");
}
