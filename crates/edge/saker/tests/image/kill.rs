// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SIGKILL in the middle of everything: what was acknowledged is there, and pages are whole or not there.

use crate::image::store::Store;
use crate::image::support::{GEOMETRY, RING_SLOTS, image};
use saker::image::{Access, OpenImage, check, open};
use saker_flash::Cells;
use saker_flash::nand::Cell;
use saker_segment_store::header::{HEADER_BYTES, page_crc};
use saker_segment_store::{PageAddr, PageBuffer, PageHeader, PowerHistory, SegmentId, SlotState, Stream};
use saker_sim::Seed;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const IMAGE: &str = "SAKER_TEST_KILL_IMAGE";
const KEYS: u64 = 150;

fn key(n: u64) -> Vec<u8> {
    format!("key{:04}", n % KEYS).into_bytes()
}

fn value(n: u64) -> Vec<u8> {
    n.to_le_bytes().repeat(1 + (n % 30) as usize)
}

fn number_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("values are not empty"))
}

/// A file beside the image in which the child notes how many operations have returned.
struct Acks(File);

impl Acks {
    fn open(path: &Path) -> Self {
        let mut options = File::options();
        Self(
            options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path.with_extension("acks"))
                .expect("opens"),
        )
    }

    fn get(&self) -> u64 {
        let mut bytes = [0; 8];
        match self.0.read_at(&mut bytes, 0).expect("reads") {
            8 => u64::from_le_bytes(bytes),
            _ => 0,
        }
    }

    fn set(&self, n: u64) {
        self.0.write_all_at(&n.to_le_bytes(), 0).expect("notes");
    }
}

/// Puts until it is killed.
fn put_forever(path: &Path) {
    let acks = Acks::open(path);
    let OpenImage { media, ring, .. } = open(path, Access::Write).expect("opens");
    let mut store = Store::open(media, ring, true).expect("recovers");
    for n in acks.get().. {
        store.put(&key(n), &value(n));
        acks.set(n + 1);
    }
}

/// Fills slots, seals and programs them, round and round the segments, until it is killed. Operation `n` is the
/// page of sequence number `n`, and its data begin with that number.
fn program_forever(path: &Path) {
    let acks = Acks::open(path);
    let OpenImage { mut media, ring, .. } = open(path, Access::Write).expect("opens");
    let mut ring = PageBuffer::new(ring, RING_SLOTS, GEOMETRY.page_bytes, GEOMETRY.oob_bytes);
    for (slot, _) in ring.survey().expect("a usable ring") {
        ring.release(slot);
    }
    for n in acks.get().. {
        let at = page_of(n);
        // A page that was under way when the last child died begins its segment anew as well.
        if GEOMETRY.index_of(at) == 0 || !matches!(media.cell(at), Cell::Erased) {
            media.erase(GEOMETRY.segment_of(at)).expect("erases");
        }
        let epoch = media.epoch(GEOMETRY.segment_of(at));
        let (stream, addr) = (Stream::User, at);
        let slot = ring.open(&PageHeader {
            owner: 1,
            shard: 0,
            stream,
            epoch,
            sequence: n,
            addr,
            used_bytes: 0,
            first_record: 0,
            data_crc: 0,
        });
        let slot = slot.expect("a free slot");
        ring.data_mut(slot).chunks_exact_mut(8).for_each(|c| c.copy_from_slice(&n.to_le_bytes()));
        ring.publish(slot, GEOMETRY.page_bytes);
        ring.seal(slot, false);
        media.program(at, ring.data(slot), ring.oob(slot)).expect("programs");
        ring.release(slot);
        acks.set(n + 1);
    }
}

fn page_of(n: u64) -> PageAddr {
    PageAddr(n % u64::from(GEOMETRY.segments * GEOMETRY.segment_pages))
}

fn spawn(path: &Path, test: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("a running test has a file"));
    command
        .args(["--nocapture", "--include-ignored", "--exact", test])
        .env(IMAGE, path)
        .stdout(Stdio::null());
    command.spawn().expect("runs")
}

/// Kills the child some time after its first operations.
fn kill_at_work(path: &Path, test: &str, delay: Duration) {
    let (acks, started) = (Acks::open(path), Instant::now());
    let before = acks.get();
    let mut child = spawn(path, test);
    while acks.get() < before + 300 {
        assert!(started.elapsed() < Duration::from_secs(60), "the child makes no progress");
        assert!(child.try_wait().expect("waits").is_none(), "the child ended by itself");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(delay);
    child.kill().expect("kills");
    child.wait().expect("waits");
}

#[test]
fn a_killed_process_leaves_whole_pages_and_a_usable_ring() {
    if let Some(path) = std::env::var_os(IMAGE) {
        return program_forever(Path::new(&path));
    }
    let (_dir, path) = image(true);
    let mut rng = Seed(8).child("kill pages").rng();
    for _ in 0..20 {
        let delay = Duration::from_micros(rng.below(5_000));
        kill_at_work(&path, "image::kill::a_killed_process_leaves_whole_pages_and_a_usable_ring", delay);
        let report = check(&path, &mut |_| {}).expect("checks");
        assert_eq!(report.history, Some(PowerHistory::Killed));
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        verify_pages(&path);
    }
}

/// What was programmed since the last erase of its segment is there; at most one page is under way, and then
/// its slot is whole or was not sealed yet.
fn verify_pages(path: &Path) {
    let done = Acks::open(path).get();
    let OpenImage { media, ring, .. } = open(path, Access::Read).expect("opens");
    let newest_of = |at: PageAddr| (done.saturating_sub(320)..done).find(|n| page_of(*n) == at);
    for at in (0..320).map(PageAddr) {
        let Cell::Programmed { data, oob } = media.cell(at) else { continue };
        let header = PageHeader::decode(oob, at).expect("whole").expect("programmed");
        assert_eq!(header.data_crc, page_crc(data, &oob[HEADER_BYTES..]));
        assert_eq!(number_of(data), header.sequence);
        assert!(header.sequence == done || Some(header.sequence) == newest_of(at), "page {}", at.0);
    }
    // The segment being written and its successor may be erased; the others hold what they were given.
    let busy = [done.saturating_sub(1), done, done + 1].map(|n| GEOMETRY.segment_of(page_of(n)));
    for segment in (0..GEOMETRY.segments).map(SegmentId).filter(|s| !busy.contains(s) && done > 340) {
        assert_eq!(media.written_pages(segment), GEOMETRY.segment_pages, "segment {}", segment.0);
    }
    let ring = PageBuffer::new(ring, RING_SLOTS, GEOMETRY.page_bytes, GEOMETRY.oob_bytes);
    let slots = ring.survey().expect("a usable ring");
    assert!(slots.len() <= 1, "{slots:?}");
    for (slot, view) in slots {
        assert!((done..=done + 1).contains(&(view.sequence + 1)));
        if view.state == SlotState::Sealed {
            assert_eq!(number_of(ring.data(slot)), view.sequence);
            let header = PageHeader::decode(ring.oob(slot), view.addr).expect("sound").expect("sealed");
            assert_eq!(header.data_crc, page_crc(ring.data(slot), &ring.oob(slot)[HEADER_BYTES..]));
        }
    }
}

#[test]
fn a_killed_store_loses_nothing() {
    if let Some(path) = std::env::var_os(IMAGE) {
        return put_forever(Path::new(&path));
    }
    let (_dir, path) = image(true);
    let mut rng = Seed(9).child("kill").rng();
    for _ in 0..12 {
        kill_at_work(
            &path,
            "image::kill::a_killed_store_loses_nothing",
            Duration::from_micros(rng.below(30_000)),
        );
        let report = check(&path, &mut |_| {}).expect("checks");
        assert_eq!(report.history, Some(PowerHistory::Killed));
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        assert!(report.counts.pages_sound > 30, "{:?}", report.counts);
        verify_store(&path, Access::Read);
        if rng.below(2) == 0 {
            verify_store(&path, Access::Write);
        }
    }
}

/// The newest put of each key is the last one acknowledged, or the one that was under way.
fn verify_store(path: &Path, access: Access) {
    let acknowledged = Acks::open(path).get();
    let OpenImage { media, ring, .. } = open(path, access).expect("opens");
    let mut store = Store::open(media, ring, true).expect("recovers");
    for n in acknowledged.saturating_sub(KEYS)..acknowledged {
        let found = store.get(&key(n)).expect("an acknowledged key is there");
        let number = number_of(&found);
        let is_newest = number == n || (number == n + KEYS && number == acknowledged);
        assert!(is_newest, "put {n} of {acknowledged} acknowledged ones, found {number}");
        assert_eq!(found, value(number), "values are whole");
    }
}
