// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What clients in Rust are told when a device is full, slow, out of reach or killed, wherever it is. `crates/edge/c/tests/faults.c` and
//! `bindings/python/tests/test_faults.py` ask the same of theirs, `redis::faults` of Redis's.

mod full;
mod gone;
mod joined;
mod many;
mod slow;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};

use saker::{EngineKind, HostError, ImagePlan, KvError, StoreError};
use saker_tcp::Server;

use crate::loopback::support::{serve, url};

/// A device in each place: in memory, in an image, at a target.
struct Places {
    urls: [String; 3],
    _server: Server,
    _folder: tempfile::TempDir,
}

fn places(engine: &EngineKind, bytes: u64) -> Places {
    let memory = format!("mem:?size={bytes}B&profile=tiny&engine={}", engine.name());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.img");
    ImagePlan { engine: *engine, ..ImagePlan::kv(bytes, "tiny", 1) }.create(&path).expect("an image");
    let server = serve(&memory);
    let urls = [memory, format!("file:{}", path.display()), url(&server, "")];
    Places { urls, _server: server, _folder: folder }
}

/// What the device has answered.
fn kv(error: &StoreError) -> Option<KvError> {
    match error {
        StoreError::Host(HostError::Kv(error)) => Some(*error),
        _ => None,
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}
