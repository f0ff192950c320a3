// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two things at once that a client may do to a device: resets beside memory that goes, doorbells beside resets, memory that is cut
//! off beside transfers, Format beside a reset, admin commands beside a shutdown, long values on a full device; on every engine, in
//! memory and in an image; and each beside the death of the server. A client stores pairs, another one attacks, a third one looks.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use saker_link::{ARENA_IOVA, DoorbellKind};
use saker_nvme::admin::{FormatNvm, build};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::regs::{Csts, offset};
use saker_nvme::sgl::{SglDescriptor, kind};
use saker_nvme::{Key, Sqe};
use saker_sim::seed::{Rng, Seed};
use saker_testing::{Replay, tier};
use saker_vfio_client::{Function, Pair, VfioError, function};

use crate::killed::Spawned;
use crate::rig::Rig;

/// Pairs that no attack names.
const KEPT: u32 = 40;
/// Memory for data, apart from that of the queues.
const BASE: u64 = 0x10_0000_0000;
const BYTES: u64 = 1 << 20;
const PAGES: u32 = 512;
/// PCI Express, Device Control: initiate a function-level reset.
const CONFIG: u32 = 7;
const DEVICE_CONTROL: u64 = 0x68;
const FUNCTION_RESET: u32 = 1 << 15;

fn kept(n: u32) -> ([u8; 9], Vec<u8>) {
    let mut key = *b"kept-0000";
    key[5..].copy_from_slice(&n.to_le_bytes());
    (key, vec![n as u8; 1 + (n as usize * 211) % 9000])
}

/// A device that is not being formatted any more: a Format goes on when the client that asked for it has gone.
fn open_formatted(url: &str) -> saker::Kv {
    let (mut kv, begun) = (saker::Kv::open(url).unwrap(), Instant::now());
    while kv.get(b"any").is_err_and(|error| format!("{error:?}").contains("Formatting")) {
        assert!(begun.elapsed() < Duration::from_secs(60), "a Format has no end");
        std::thread::yield_now();
    }
    kv
}

fn keep(url: &str) {
    let mut kv = open_formatted(url);
    for (key, value) in (0..KEPT).map(kept) {
        kv.put(&key, &value).unwrap();
    }
    kv.close().unwrap();
}

/// How many of the pairs are there; those are as they were stored.
fn look(url: &str, what: &str) -> u32 {
    let mut kv = open_formatted(url);
    let mut there = 0;
    for (key, value) in (0..KEPT).map(kept) {
        let found = kv.get(&key).unwrap();
        there += u32::from(found.is_some());
        assert!(found.is_none_or(|found| found == value), "{what}: a pair has changed");
    }
    kv.close().unwrap();
    there
}

/// A client that means no good, and is told of every failure: it may be left at any time.
struct Attacker {
    function: Function,
    pair: Pair,
    memory: OwnedFd,
    next_cid: u16,
}

impl Attacker {
    fn open(socket: &Path) -> Result<Self, VfioError> {
        let mut function = Function::open(socket, PAGES)?;
        let memory = memfd_create("attacker", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&memory, BYTES).unwrap();
        function.socket().map(memory.as_fd(), 0, BASE, BYTES)?;
        function.enable()?;
        let pair = function.create_pair(1, 64, false)?;
        Ok(Self { function, pair, memory, next_cid: 0 })
    }

    fn submit(&mut self, sqe: &Sqe) -> Result<(), VfioError> {
        self.next_cid = self.next_cid.wrapping_add(1);
        // A queue that is full is as good.
        if self.pair.submit(&sqe.with_cid(self.next_cid)).is_ok() {
            self.pair.ring();
            self.function.tell(1, DoorbellKind::SqTail)?;
        }
        Ok(())
    }

    /// Commands of all kinds whose data is in the memory apart.
    fn submit_some(&mut self, rng: &mut Rng, count: u64) -> Result<(), VfioError> {
        for _ in 0..count {
            let key = Key::new(&[b"attack".as_slice(), &[rng.below(32) as u8]].concat()).unwrap();
            let bytes = 1 + rng.below(15_000) as u32;
            let at = BASE + rng.below(BYTES - 16_000);
            let block = SglDescriptor::new(kind::DATA_BLOCK, at, bytes);
            let sqe = match rng.below(8) {
                0 => kv::flush(1),
                1 => kv::delete(1, &key),
                2 => kv::list(1, Some(&key), bytes).with_sgl(&block),
                3 | 4 => kv::retrieve(1, &key, bytes).with_sgl(&block),
                _ => kv::store(1, &key, bytes, StoreOptions::default()).with_sgl(&block),
            };
            self.submit(&sqe)?;
        }
        Ok(())
    }

    /// Takes completions until all have come, or for a moment.
    fn drain(&mut self) -> Result<(), VfioError> {
        let begun = Instant::now();
        while self.pair.in_flight() > 0 && begun.elapsed() < Duration::from_millis(20) {
            while self.pair.poll().is_some() {}
            self.pair.ring_cq();
            self.function.tell(1, DoorbellKind::CqHead)?;
        }
        Ok(())
    }

    /// Begins a reset of one of the four kinds, whose answer nobody waits for but that of the client's own.
    fn begin_reset(&mut self, which: u64) -> Result<(), VfioError> {
        match which {
            0 => self.function.socket().post(CONFIG, DEVICE_CONTROL, FUNCTION_RESET),
            1 => self.function.socket().post(0, offset::CC, 0),
            2 => self.function.socket().post(0, offset::NSSR, saker_nvme::regs::NSSR_RESET),
            _ => self.function.socket().reset(),
        }
    }

    /// Waits for the end of a reset, and makes the queues anew.
    fn begin_again(&mut self) -> Result<(), VfioError> {
        self.function.disable()?;
        self.function.enable()?;
        self.pair = self.function.create_pair(1, 64, false)?;
        Ok(())
    }
}

/// Resets of all kinds beside memory that is unmapped, that of the queues too.
fn unmap_beside_reset(socket: &Path, rng: &mut Rng) -> Result<(), VfioError> {
    let mut attacker = Attacker::open(socket)?;
    for _ in 0..tier(4, 40) {
        attacker.submit_some(rng, 20)?;
        let (iova, bytes) = match rng.below(2) {
            0 => (BASE, BYTES),
            _ => (ARENA_IOVA, u64::from(PAGES) * 4096),
        };
        let file = if iova == BASE {
            attacker.memory.try_clone()
        } else {
            attacker.function.file().try_clone_to_owned()
        };
        let resets_first = rng.below(2) == 0;
        if resets_first {
            attacker.begin_reset(rng.below(4))?;
        }
        attacker.function.socket().unmap(iova, bytes)?;
        if !resets_first {
            attacker.begin_reset(rng.below(4))?;
        }
        attacker.function.socket().map(file?.as_fd(), 0, iova, bytes)?;
        attacker.begin_again()?;
    }
    Ok(())
}

/// Doorbells of all queues, rung with anything by another thread while the device is reset again and again. Where they are messages,
/// they are between the resets.
fn doorbells_beside_resets(socket: &Path, rng: &mut Rng) -> Result<(), VfioError> {
    let mut attacker = Attacker::open(socket)?;
    let (is_over, doorbells) = (AtomicBool::new(false), Arc::clone(attacker.function.doorbells()));
    let mut its_rng = Seed(rng.next_u64()).rng();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let kind = [DoorbellKind::SqTail, DoorbellKind::CqHead][its_rng.below(2) as usize];
                let value = [its_rng.below(64), its_rng.below(1 << 32)][its_rng.below(2) as usize];
                let _ = doorbells.write(kind, its_rng.below(65) as u16, value as u32);
            }
        });
        let mut rounds = || -> Result<(), VfioError> {
            for _ in 0..tier(6, 60) {
                attacker.submit_some(rng, 10)?;
                for _ in 0..rng.below(20) {
                    let at = offset::DOORBELLS + 4 * rng.below(130);
                    attacker.function.socket().post(0, at, rng.below(80) as u32)?;
                }
                attacker.begin_reset(rng.below(4))?;
                // Its admin queue is rung, too: it may fail, and is reset again.
                let _ = attacker.function.set_register(offset::CC, function::enabled().0);
                let _ = attacker.function.register(offset::CSTS)?;
            }
            Ok(())
        };
        let done = rounds();
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

/// A file that gets shorter and longer under transfers. Such a client is left sooner or later, and comes again.
fn truncation_beside_transfers(socket: &Path, rng: &mut Rng) -> Result<(), VfioError> {
    for _ in 0..tier(3, 30) {
        let mut attacker = Attacker::open(socket)?;
        let memory = attacker.memory.try_clone()?;
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let _ = ftruncate(&memory, 0);
                    let _ = ftruncate(&memory, BYTES);
                }
            });
            let begun = Instant::now();
            let mut go_on = || -> Result<(), VfioError> {
                while begun.elapsed() < Duration::from_secs(60) {
                    attacker.submit_some(rng, 10)?;
                    attacker.drain()?;
                    attacker.function.register(offset::CSTS)?;
                }
                Ok(())
            };
            let ended = go_on();
            is_over.store(true, Ordering::Relaxed);
            let ended = ended.expect_err("it is served although its memory has gone");
            assert!(matches!(ended, VfioError::Socket(_)), "{ended}");
        });
    }
    Ok(())
}

/// Format beside a reset, a goodbye, or nothing.
fn format_beside_reset(socket: &Path, rng: &mut Rng) -> Result<(), VfioError> {
    let mut attacker = Attacker::open(socket)?;
    for _ in 0..tier(3, 30) {
        attacker.submit_some(rng, 20)?;
        let format = FormatNvm { nsid: 1, format_index: 0, secure_erase: rng.below(2) as u8 };
        attacker.function.submit_admin(&build::format_nvm(&format))?;
        attacker.submit_some(rng, 10)?;
        match rng.below(5) {
            4 => attacker = Attacker::open_after(socket, attacker)?,
            which => {
                attacker.begin_reset(which)?;
                attacker.begin_again()?;
            }
        }
    }
    Ok(())
}

/// Namespace Attachment, which no device of ours has, and other admin commands, beside a shutdown, which completes.
fn attachment_beside_shutdown(socket: &Path, rng: &mut Rng) -> Result<(), VfioError> {
    const ATTACHMENT: u8 = 0x15;
    const MANAGEMENT: u8 = 0x0D;
    let mut attacker = Attacker::open(socket)?;
    for _ in 0..tier(4, 40) {
        attacker.submit_some(rng, 20)?;
        for opcode in [ATTACHMENT, MANAGEMENT, 0x06, 0x02, 0x09, 0x0C] {
            let mut sqe = Sqe::new(opcode, rng.below(3) as u32);
            (sqe.prp1, sqe.cdw10) = ((BASE + 4096 * rng.below(16)).into(), (rng.below(4) as u32).into());
            attacker.function.submit_admin(&sqe)?;
        }
        let kind = 1 + rng.below(2) as u8;
        attacker.function.socket().post(0, offset::CC, function::enabled().with_shn(kind).0)?;
        let begun = Instant::now();
        while Csts(attacker.function.register(offset::CSTS)?).shst() != Csts::SHST_COMPLETE {
            assert!(begun.elapsed() < Duration::from_secs(60), "a shutdown has no end");
        }
        attacker.begin_again()?;
    }
    Ok(())
}

impl Attacker {
    /// Another client, behind one that goes without a word.
    fn open_after(socket: &Path, before: Self) -> Result<Self, VfioError> {
        drop(before);
        Self::open(socket)
    }
}

type Attack = fn(&Path, &mut Rng) -> Result<(), VfioError>;

/// Each attack, and whether it may take all pairs at once.
const ATTACKS: [(&str, Attack, bool); 5] = [
    ("unmap beside reset", unmap_beside_reset, false),
    ("doorbells beside resets", doorbells_beside_resets, false),
    ("truncation beside transfers", truncation_beside_transfers, false),
    ("attachment beside shutdown", attachment_beside_shutdown, false),
    ("format beside reset", format_beside_reset, true),
];

/// Every engine in memory and in an image; two of them with a clock.
fn subjects() -> Vec<String> {
    let each = |kind: &saker::EngineKind| {
        let engine = kind.name();
        [format!("mem:?size=64MiB&profile=tiny&engine={engine}"), format!("file:{engine}")]
    };
    let mut all: Vec<String> = saker::EngineKind::ALL.iter().flat_map(each).collect();
    all.extend(["hash_store", "lsm"].map(|e| format!("mem:?size=64MiB&profile=tiny&timing=real&engine={e}")));
    all
}

/// A folder with an image if the subject is one, and the URL to serve.
fn place(subject: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let Some(engine) = subject.strip_prefix("file:") else { return (folder, subject.to_owned()) };
    let engine = saker::EngineKind::named(engine).unwrap();
    let image = folder.path().join("disk.img");
    saker::ImagePlan { engine, ..saker::ImagePlan::kv(64 << 20, "tiny", 1) }.create(&image).unwrap();
    (folder, format!("file:{}", image.display()))
}

fn is_sound(image: &Path) -> bool {
    saker::image::check(image, &mut |_| {}).unwrap().findings.is_empty()
}

#[test]
fn two_attacks_at_once_take_nothing_from_others() {
    let replay = Replay::campaign();
    for (n, subject) in subjects().into_iter().enumerate() {
        for busy_poll in [false, true] {
            let mut rng = Seed(replay.seed()).child(&subject).rng();
            let (folder, url) = place(&subject);
            let mut rig = Rig::in_folder(folder, &url, busy_poll);
            let device = format!("vfio-user:{}", rig.socket.display());
            keep(&device);
            for (what, attack, takes_all) in ATTACKS {
                // One way to wait for each engine, but for what a polling server alone can be asked.
                if !saker_testing::is_soak() && busy_poll == (n % 2 == 0) && what != "doorbells beside resets"
                {
                    continue;
                }
                let name = format!("{subject}, polling {busy_poll}, {what}");
                attack(&rig.socket, &mut rng).unwrap_or_else(|error| panic!("{name}: {error}"));
                let there = look(&device, &name);
                assert!(there == KEPT || takes_all && there == 0, "{name}: {there} of {KEPT}");
                if there == 0 {
                    keep(&device);
                }
            }
            rig.stop();
            if subject.starts_with("file:") {
                assert!(is_sound(&rig.folder.path().join("disk.img")), "{subject}");
                assert_eq!(look(&url, &subject), KEPT);
            }
        }
    }
}

/// A device that is full of long values: it says so, gives back what is deleted, and the pairs from before are there.
#[test]
fn long_values_fill_a_device_and_give_room_back() {
    for (n, subject) in subjects().into_iter().enumerate() {
        // Each engine in memory or in an image.
        if !saker_testing::is_soak() && n / 2 % 2 != n % 2 {
            continue;
        }
        let (folder, url) = place(&subject);
        let mut rig = Rig::in_folder(folder, &url, false);
        let device = format!("vfio-user:{}", rig.socket.display());
        keep(&device);
        let mut kv = saker::Kv::open(&device).unwrap();
        let long: Vec<u8> = (0..15_000_u32).map(|n| (n % 249) as u8).collect();
        let mut stored = 0_u32;
        let refused = loop {
            match kv.put(&[b"long".as_slice(), &stored.to_le_bytes()].concat(), &long) {
                Ok(()) => stored += 1,
                Err(error) => break error.to_string(),
            }
            assert!(stored < 20_000, "{subject}: it is never full");
        };
        assert!(stored > 500 && refused.contains("full"), "{subject}: {stored}, {refused}");
        assert_eq!(
            kv.get(&[b"long".as_slice(), &0_u32.to_le_bytes()].concat()).unwrap().as_ref(),
            Some(&long)
        );
        for n in 0..stored {
            assert!(kv.delete(&[b"long".as_slice(), &n.to_le_bytes()].concat()).unwrap(), "{subject} {n}");
        }
        for n in 0..stored / 2 {
            kv.put(&[b"again".as_slice(), &n.to_le_bytes()].concat(), &long).unwrap();
        }
        kv.close().unwrap();
        assert_eq!(look(&device, &subject), KEPT);
        rig.stop();
        if subject.starts_with("file:") {
            assert!(is_sound(&rig.folder.path().join("disk.img")), "{subject}");
        }
    }
}

/// Each attack beside the death of the server: the image is sound, and has what was acknowledged before.
#[test]
fn a_server_that_is_killed_beside_an_attack_has_lost_nothing() {
    let replay = Replay::campaign();
    let mut rng = Seed(replay.seed()).child("killed").rng();
    for (n, engine) in saker::EngineKind::ALL.iter().map(|kind| kind.name()).enumerate() {
        for (m, (what, attack, takes_all)) in ATTACKS.into_iter().enumerate() {
            if !saker_testing::is_soak() && n % ATTACKS.len() != m {
                continue;
            }
            for round in 0..tier(1, 4) {
                let name = format!("{engine}, {what}, round {round}");
                let (folder, url) = place(&format!("file:{engine}"));
                let socket = folder.path().join("socket");
                let way = if rng.below(2) == 0 { "server" } else { "polling server" };
                let mut server = Spawned::new(way, folder.path());
                assert_eq!(server.next().as_deref(), Some("ready"));
                keep(&format!("vfio-user:{}", socket.display()));
                let kill_after = Duration::from_micros(rng.below(40_000));
                let killer = std::thread::spawn(move || {
                    std::thread::sleep(kill_after);
                    server.kill();
                });
                let mut its_rng = Seed(rng.next_u64()).rng();
                while attack(&socket, &mut its_rng).is_ok() {}
                killer.join().unwrap();
                let there = look(&url, &name);
                assert!(there == KEPT || takes_all && there == 0, "{name}: {there} of {KEPT}");
                assert!(is_sound(&folder.path().join("disk.img")), "{name}");
            }
        }
    }
}
