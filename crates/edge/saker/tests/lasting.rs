// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an image keeps of its device's life: it goes on from run to run, whatever ended them, and only runs that write change it.

use std::path::{Path, PathBuf};

use saker::{Counter, CounterKind, EngineKind, ImagePlan, Kv, Raw};
use saker_nvme::admin::{GetLogPage, build};
use saker_nvme::log::{Smart, lid};
use tempfile::TempDir;
use zerocopy::FromBytes;

/// Where the numbers are in a header copy, and the bytes that its checksum covers.
const LIFE: std::ops::Range<usize> = 1312..1424;
const COPY_BYTES: usize = 4096;

struct Image {
    _folder: TempDir,
    path: PathBuf,
}

impl Image {
    fn new(engine: EngineKind) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("disk.img");
        let plan = ImagePlan { engine, ..ImagePlan::kv(16 << 20, "tiny", 1) };
        plan.create(&path).expect("made");
        Self { _folder: folder, path }
    }

    fn url(&self, options: &str) -> String {
        format!("file:{}?{options}", self.path.display())
    }

    fn open(&self) -> Kv {
        Kv::open(&self.url("")).expect("opened")
    }

    /// Without changing anything.
    fn look(&self) -> Vec<(String, u64)> {
        let mut kv = Kv::open(&self.url("readonly")).expect("opened");
        let told = life(&mut kv);
        kv.close().expect("closed");
        told
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).expect("read")
    }
}

fn life(kv: &mut Kv) -> Vec<(String, u64)> {
    let told = kv.counters().expect("asked").expect("told");
    let lasting = told.iter().filter(|counter: &&Counter| counter.kind == CounterKind::Lasting);
    lasting.map(|counter| (counter.name.clone().into_owned(), counter.value)).collect()
}

fn of(life: &[(String, u64)], name: &str) -> u64 {
    life.iter().find(|(known, _)| *known == format!("life_{name}")).unwrap_or_else(|| panic!("no {name}")).1
}

fn put(kv: &mut Kv, pairs: u32) {
    (0..pairs).for_each(|n| kv.put(format!("key{n}").as_bytes(), &[7; 1000]).expect("stored"));
}

fn smart(path: &Path) -> Smart {
    let mut raw = Raw::open(&format!("file:{}?readonly", path.display())).expect("opened");
    let log = GetLogPage {
        nsid: 0,
        lid: lid::SMART,
        lsp: 0,
        retain_event: false,
        bytes: 512,
        lsi: 0,
        offset: 0,
        offset_is_index: false,
        uuid_index: 0,
        csi: 1,
    };
    let (status, _, data) = raw.admin(build::get_log_page(&log), 512).expect("an answer");
    assert!(status.is_success());
    Smart::read_from_bytes(&data).expect("512 bytes")
}

#[test]
fn it_goes_on_from_run_to_run_with_every_engine() {
    for kind in EngineKind::ALL {
        let (image, engine) = (Image::new(*kind), kind.name());
        for run in 1..=3_u64 {
            let mut kv = image.open();
            put(&mut kv, 100);
            let now = life(&mut kv);
            assert_eq!(of(&now, "host_written_bytes"), run * 100_000, "{engine}");
            assert_eq!((of(&now, "power_cycles"), of(&now, "unsafe_shutdowns")), (run, 0), "{engine}");
            kv.close().expect("closed");
        }
        let told = image.look();
        assert_eq!((of(&told, "host_write_commands"), of(&told, "power_cycles")), (300, 3), "{engine}");
        assert!(of(&told, "flash_pages_programmed") > 0, "{engine}");
        let smart = smart(&image.path);
        assert_eq!((smart.write_commands.get(), smart.power_cycles.get()), (300, 3), "{engine}");
        assert_eq!(smart.data_units_written.get(), 1, "{engine}: 300,000 bytes are less than a unit");
    }
}

#[test]
fn a_run_without_an_end_is_an_unsafe_shutdown_and_loses_what_it_had_not_written() {
    let image = Image::new(EngineKind::LSM);
    let mut kv = image.open();
    put(&mut kv, 50);
    kv.close().expect("closed");
    let mut kv = image.open();
    put(&mut kv, 50);
    // As a killed process leaves it.
    drop(kv);
    let told = image.look();
    assert_eq!(of(&told, "power_cycles"), 2);
    assert!((50..=100).contains(&of(&told, "host_write_commands")), "{told:?}");
    let mut kv = image.open();
    let now = life(&mut kv);
    assert_eq!((of(&now, "power_cycles"), of(&now, "unsafe_shutdowns")), (3, 1));
    kv.close().expect("closed");
}

#[test]
fn a_second_of_work_is_in_the_image_although_nobody_closes_it() {
    let image = Image::new(EngineKind::HASH_STORE);
    let mut kv = image.open();
    let begun = std::time::Instant::now();
    let mut stored = 0;
    while begun.elapsed().as_millis() < 1_300 {
        put(&mut kv, 20);
        stored += 20;
    }
    drop(kv);
    let kept = of(&image.look(), "host_write_commands");
    assert!(kept > 0 && kept <= stored, "{kept} of {stored}");
}

#[test]
fn who_only_reads_changes_nothing() {
    let image = Image::new(EngineKind::TREE);
    let mut kv = image.open();
    put(&mut kv, 50);
    kv.close().expect("closed");
    let (before, told) = (image.bytes(), image.look());
    assert!(saker::check_image(&image.path, &mut |_| {}).is_ok());
    let mut kv = Kv::open(&image.url("readonly")).expect("opened");
    (0..50).for_each(|n| drop(kv.get(format!("key{n}").as_bytes()).expect("read")));
    assert!(of(&life(&mut kv), "host_read_commands") >= 50, "while it is open it counts");
    kv.close().expect("closed");
    assert!(image.bytes() == before, "not a byte");
    assert_eq!(image.look(), told);
}

#[test]
fn format_leaves_it_a_copy_takes_it_and_a_repaired_image_begins() {
    let image = Image::new(EngineKind::HASH_STORE);
    let mut kv = image.open();
    put(&mut kv, 60);
    kv.format().expect("formatted");
    put(&mut kv, 40);
    kv.close().expect("closed");
    let told = image.look();
    assert_eq!(of(&told, "host_write_commands"), 100);
    assert!(of(&told, "flash_segments_erased") > 0, "Format erases");
    let copy = image.path.with_extension("copy");
    std::fs::copy(&image.path, &copy).expect("copied");
    let mut kv = Kv::open(&format!("file:{}", copy.display())).expect("opened");
    assert_eq!((of(&life(&mut kv), "host_write_commands"), of(&life(&mut kv), "power_cycles")), (100, 2));
    kv.close().expect("closed");
    assert_eq!(image.look(), told, "the original has not been opened");
}

/// An image of a version that counted nothing: zeros where the numbers are.
#[test]
fn an_image_of_an_earlier_version_begins_at_zero() {
    let image = Image::new(EngineKind::HASH_STORE);
    let mut kv = image.open();
    put(&mut kv, 30);
    kv.close().expect("closed");
    rewrite(&image.path, |copy| copy[LIFE].fill(0), &[0, 1]);
    assert_eq!(of(&image.look(), "power_cycles"), 0);
    let mut kv = image.open();
    put(&mut kv, 5);
    let now = life(&mut kv);
    assert_eq!((of(&now, "host_write_commands"), of(&now, "power_cycles")), (5, 1));
    assert_eq!(kv.get(b"key29").expect("read").map(|value| value.len()), Some(1000));
    kv.close().expect("closed");
}

/// Numbers that nobody can have counted do not make sums overflow.
#[test]
fn forged_numbers_are_bounded() {
    let image = Image::new(EngineKind::LSM);
    rewrite(&image.path, |copy| copy[LIFE].fill(0xff), &[0, 1]);
    let mut kv = image.open();
    put(&mut kv, 10);
    assert_eq!(of(&life(&mut kv), "host_write_commands"), (1 << 62) + 10);
    kv.close().expect("closed");
    let mut kv = image.open();
    assert!(of(&life(&mut kv), "power_cycles") >= 1 << 62);
    kv.close().expect("closed");
    assert!(saker::check_image(&image.path, &mut |_| {}).is_ok());
}

/// Of two copies the one that was written last counts, and either alone is enough.
#[test]
fn a_copy_that_goes_bad_costs_at_most_the_newest_numbers() {
    for bad in [0, 1] {
        let image = Image::new(EngineKind::HASH_STORE);
        let mut kv = image.open();
        put(&mut kv, 30);
        kv.close().expect("closed");
        let mut bytes = image.bytes();
        bytes[bad * COPY_BYTES + LIFE.start + 20] ^= 0x10;
        std::fs::write(&image.path, bytes).expect("written");
        assert_eq!(of(&image.look(), "host_write_commands"), 30, "copy {bad}");
    }
}

fn rewrite(path: &Path, change: impl Fn(&mut [u8]), copies: &[usize]) {
    let mut bytes = std::fs::read(path).expect("read");
    for place in copies {
        let copy = &mut bytes[place * COPY_BYTES..(place + 1) * COPY_BYTES];
        change(copy);
        let crc = saker_segment_store::header::crc32c(&copy[..COPY_BYTES - 4]);
        copy[COPY_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
    }
    std::fs::write(path, bytes).expect("written");
}
