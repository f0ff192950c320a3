// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a function does that nobody asks for anything.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant as Clock};

use rustix::event::{EventfdFlags, eventfd};
use saker::image::FileCells;
use saker::{AnyDevice, Kv};
use saker_nvme::admin::{FormatNvm, build};
use saker_vfio_client::Function;

use super::{Served, listen, open};
use crate::engine::{Engine, Stop};

/// Longer than all of this takes.
const LONG: Duration = Duration::from_secs(20);

fn disk_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).expect("exists").blocks() * 512
}

/// Erased segments keep their space no longer.
fn end_keeping(engine: &mut Engine) {
    let flash = match &mut engine.device {
        AnyDevice::Untimed(device) => device.flash_mut(),
        AnyDevice::Timed(device) => device.flash_mut(),
    };
    flash.media_mut().get_mut::<FileCells>().expect("a file").keep_space_for(Duration::ZERO);
}

/// An engine over the image, which this thread runs, and what ends it.
fn engine_of(url: &str, folder: &Path, busy_poll: bool) -> (Engine, Arc<Stop>) {
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("an event");
    let stop = Arc::new(Stop { is_wanted: AtomicBool::new(false), wake });
    let socket = folder.join("socket");
    let served = Served { url: url.into(), socket, nqn: None, busy_poll, memory_buffer: false };
    let listener = listen(&served.socket).expect("listens");
    (Engine::new(open(&served, listener).expect("opens"), Arc::clone(&stop)), stop)
}

/// Runs the engine until `work` of a client has ended.
fn serve<R: Send>(engine: &mut Engine, work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let client = scope.spawn(work);
        let (begun, mut turns) = (Clock::now(), 0);
        while !client.is_finished() {
            assert!(begun.elapsed() < LONG, "the client is not served");
            turns += 1;
            engine.turn(turns);
        }
        client.join().expect("no panic")
    })
}

/// Space of an image that was full and is formatted goes back while a client is there that asks for nothing, and while none is.
#[test]
fn it_gives_space_of_an_image_back() {
    for (busy_poll, is_client_there) in [(false, false), (false, true), (true, true)] {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let (path, what) = (folder.path().join("disk.img"), (busy_poll, is_client_there));
        saker::create_image(&path, 16 << 20, "tiny", 1).expect("creates");
        let empty = disk_bytes(&path);
        let url = format!("file:{}", path.display());
        let mut kv = Kv::open(&url).expect("opens");
        (0..2000_u32).for_each(|n| kv.put(&n.to_be_bytes(), &[7; 3000]).expect("room"));
        kv.close().expect("closes");
        let (mut engine, stop) = engine_of(&url, folder.path(), busy_poll);
        let socket = folder.path().join("socket");
        let client = serve(&mut engine, || {
            let mut function = Function::open(&socket, 64).expect("connects");
            function.enable().expect("enabled");
            let format = FormatNvm { nsid: 1, format_index: 0, secure_erase: 0 };
            let formatted = function.admin(&build::format_nvm(&format)).expect("answered");
            assert!(formatted.status().is_success());
            is_client_there.then_some(function)
        });
        while client.is_none() && engine.client.is_some() {
            engine.turn(0);
        }
        assert_eq!(engine.client.is_some(), is_client_there, "{what:?}");
        assert!(disk_bytes(&path) >= empty + (4 << 20), "{what:?}: a Format gives nothing back at once");
        end_keeping(&mut engine);
        std::thread::scope(|scope| {
            let served = scope.spawn(|| engine.run());
            let begun = Clock::now();
            while disk_bytes(&path) >= empty + (1 << 20) && begun.elapsed() < LONG {
                std::thread::sleep(Duration::from_millis(5));
            }
            let left = disk_bytes(&path);
            drop(client);
            stop.is_wanted.store(true, Ordering::Release);
            rustix::io::write(&stop.wake, &1_u64.to_ne_bytes()).expect("woken");
            served.join().expect("no panic").expect("closes");
            assert!(left < empty + (1 << 20), "{what:?}: {left} after {empty}");
        });
    }
}
