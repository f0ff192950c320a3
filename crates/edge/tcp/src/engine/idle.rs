// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an idle subsystem does.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant as Clock};

use saker::image::FileCells;
use saker::{AnyDevice, Kv};

use super::leaving::tests::engine_of;
use super::{Engine, TICK};

fn disk_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).expect("exists").blocks() * 512
}

/// Erased segments keep their space no longer.
fn end_keeping(engine: &mut Engine) {
    let local = engine.local.as_ref().expect("a device");
    let clocked = &mut local.shared().clocked;
    let flash = match clocked.device_mut() {
        AnyDevice::Untimed(device) => device.flash_mut(),
        AnyDevice::Timed(device) => device.flash_mut(),
    };
    flash.media_mut().get_mut::<FileCells>().expect("a file").keep_space_for(Duration::ZERO);
}

/// A subsystem over an image that was full and is formatted, and the file's bytes when it was empty.
fn formatted(path: &Path, timing: &str) -> (Engine, u64) {
    saker::create_image(path, 16 << 20, "tiny", 1).expect("creates");
    let (empty, url) = (disk_bytes(path), format!("file:{}?timing={timing}", path.display()));
    let mut kv = Kv::open(&url).expect("opens");
    (0..2000_u32).for_each(|n| kv.put(&n.to_be_bytes(), &[7; 3000]).expect("room"));
    kv.close().expect("closes");
    let engine = engine_of(&url);
    engine.local.as_ref().expect("a device").shared().format(1).expect("formats");
    assert!(disk_bytes(path) >= empty + (4 << 20), "{timing}: a Format gives nothing back at once");
    (engine, empty)
}

/// Longer than all of this takes.
const LONG: Duration = Duration::from_secs(20);

#[test]
fn it_gives_space_of_an_image_back_and_sleeps_then() {
    for timing in ["off", "real"] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        let (mut engine, empty) = formatted(&path, timing);
        let full = disk_bytes(&path);
        let begun = Clock::now();
        while !engine.rest.is_long(Clock::now()) || engine.patience() < TICK {
            assert!(engine.is_idle() && begun.elapsed() < LONG, "{timing}: nobody asks for anything");
            engine.drive();
        }
        assert_eq!(disk_bytes(&path), full, "{timing}: it is too early");
        end_keeping(&mut engine);
        engine.rest.end();
        assert_eq!(
            (engine.patience(), disk_bytes(&path)),
            (TICK, full),
            "{timing}: a command was here just now"
        );
        let mut given = 0;
        while given == 0 || engine.patience().is_zero() {
            given += u32::from(engine.patience().is_zero());
            assert!(given < 1000 && begun.elapsed() < LONG, "{timing}: {given}");
        }
        assert!(disk_bytes(&path) < empty + (1 << 20), "{timing}: {} after {empty}", disk_bytes(&path));
        assert_eq!(engine.patience(), TICK, "{timing}: nothing is left");
        engine.finish().expect("closes");
    }
}

#[test]
fn one_that_polls_does_so_too() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    let (mut engine, empty) = formatted(&path, "off");
    engine.busy_poll = true;
    end_keeping(&mut engine);
    let begun = Clock::now();
    while disk_bytes(&path) >= empty + (1 << 20) {
        assert!(begun.elapsed() < LONG, "{} after {empty}", disk_bytes(&path));
        // As after a tick.
        engine.begun -= TICK;
        engine.look_at_timers();
    }
    engine.finish().expect("closes");
}
