// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An idle device gives the space of erased segments back.

use super::space::{disk_bytes, fill, four_segments};
use crate::image::support::program;
use saker::image::{Access, FileCells, check, open};
use saker::{AnyDevice, DeviceThread, DeviceUrl, Kv, build_device, close_device, create_image};
use saker_flash::Cells;
use saker_flash::nand::Cell;
use saker_host::{ConnectOptions, Connection, Driver, Port};
use saker_segment_store::SegmentId;
use std::time::{Duration, Instant};

#[test]
fn an_idle_device_gives_space_back_after_a_while_one_segment_at_a_time() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, geometry, empty) = four_segments(dir.path());
    let mut one = open(&path, Access::Write).expect("opens");
    (0..3).for_each(|segment| fill(&mut one, geometry, segment));
    (0..3).for_each(|segment| one.media.erase(SegmentId(segment)).expect("erases"));
    assert!(!one.media.give_space_back(), "the while is not over");
    assert!(disk_bytes(&path) >= empty + (3 << 20));
    program(&mut one.media, geometry.page(SegmentId(1), 0), 9);
    one.media.keep_space_for(Duration::ZERO);
    assert!(one.media.give_space_back(), "there is more");
    let left = disk_bytes(&path);
    assert!((empty + (2 << 20)..empty + (2 << 20) + 65536).contains(&left), "one has: {left} after {empty}");
    assert!(!one.media.give_space_back(), "that was all");
    let left = disk_bytes(&path);
    assert!(
        (empty + (1 << 20)..empty + (1 << 20) + 65536).contains(&left),
        "one is in use: {left} after {empty}"
    );
    let at = geometry.page(SegmentId(1), 0);
    assert!(matches!(one.media.cell(at), Cell::Programmed { data, .. } if data == [9; 4096]));
    one.media.erase(SegmentId(1)).expect("erases");
    one.media.close().expect("closes");
    drop(one.ring);
    assert!(check(&path, &mut |_| {}).expect("checks").findings.is_empty());
    let mut two = open(&path, Access::Read).expect("opens");
    two.media.keep_space_for(Duration::ZERO);
    assert!(!two.media.give_space_back(), "who reads changes nothing");
}

/// A device on the caller's thread.
struct Inline(AnyDevice);

impl Driver for Inline {
    fn drive(&mut self) {
        let now = self.0.next_deadline().unwrap_or(self.0.now());
        self.0.advance(now);
    }
}

#[test]
fn a_device_on_a_thread_of_its_own_gives_space_back_while_nobody_calls() {
    for timing in ["off", "real"] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        create_image(&path, 16 << 20, "tiny", 1).expect("creates");
        let empty = disk_bytes(&path);
        let url = format!("file:{}?timing={timing}", path.display());
        let mut kv = Kv::open(&url).expect("opens");
        (0..2000_u32).for_each(|n| kv.put(&n.to_be_bytes(), &[7; 3000]).expect("room"));
        kv.close().expect("closes");
        let (device, host, _) = build_device(&DeviceUrl::parse(&url).expect("a URL")).expect("opens");
        let port =
            Port { space: host.space, registers: host.registers, doorbells: host.doorbells, bar: host.bar };
        let mut driver = Inline(device);
        let options = ConnectOptions::default();
        let mut connection = Connection::connect(port, &mut driver, options).expect("connects");
        connection.format(&mut driver, 1).expect("formats");
        let Inline(mut device) = driver;
        let full = disk_bytes(&path);
        assert!(full >= empty + (4 << 20), "{timing}: a Format gives nothing back at once, {full}");
        let flash = match &mut device {
            AnyDevice::Untimed(device) => device.flash_mut(),
            AnyDevice::Timed(device) => device.flash_mut(),
        };
        let media = flash.media_mut().get_mut::<FileCells>().expect("a file");
        media.keep_space_for(Duration::ZERO);
        let thread = DeviceThread::start(device);
        let begun = Instant::now();
        while disk_bytes(&path) > empty + (1 << 20) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{timing}: {}", disk_bytes(&path));
            std::thread::sleep(Duration::from_millis(1));
        }
        close_device(thread.stop()).expect("closes");
    }
}
