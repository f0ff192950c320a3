// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What becomes of queued puts when a device is dropped without being closed.

use super::Kv;
use saker_runtime::AnyDriver;
use std::time::{Duration, Instant};

/// How long no put may complete: a device that is alive answers sooner, and nobody waits for a dead one.
const SILENCE_MAX: Duration = Duration::from_secs(1);

impl Drop for Kv {
    fn drop(&mut self) {
        if let Some(what) = self.leave() {
            eprintln!(
                "saker: a device was dropped without close: {what}; call drain or close to learn of it in time"
            );
        }
    }
}

impl Kv {
    /// Waits for queued puts. What somebody should know, if anything.
    fn leave(&mut self) -> Option<String> {
        let client = self.store.native();
        if client.is_drained() {
            return None;
        }
        if std::thread::panicking() {
            // Whatever has panicked may be this device: nothing more is asked of it.
            return Some(format!("{} queued puts were not waited for, because of a panic", client.queued()));
        }
        if let AnyDriver::Remote(remote) = client.driver_mut() {
            remote.hurry(SILENCE_MAX);
        }
        let (mut left, mut since) = (client.queued(), Instant::now());
        let drained = client.drain_while(&mut |now| {
            if now < left {
                (left, since) = (now, Instant::now());
            }
            since.elapsed() < SILENCE_MAX
        });
        match (drained, client.queued()) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(()), 0) => None,
            (Ok(()), left) => Some(format!("{left} queued puts were not answered")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(dir: &std::path::Path) -> String {
        let path = dir.join("disk.img");
        crate::create_image(&path, 4 << 20, "tiny", 1).expect("creates");
        let url = format!("file:{}", path.display());
        Kv::open(&url).expect("opens").close().expect("closes");
        url
    }

    #[test]
    fn what_failed_is_told_once_and_what_went_well_is_not() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let url = image(dir.path());
        let mut kv = Kv::open(&format!("{url}?readonly")).expect("opens");
        kv.put_queued(b"key", b"value").expect("queued");
        let told = kv.leave().expect("nothing can be stored");
        assert!(told.contains("key"), "{told}");
        assert_eq!(kv.leave(), None, "it was told");
        drop(kv);
        let mut kv = Kv::open(&url).expect("opens");
        kv.put_queued(b"key", b"value").expect("queued");
        assert_eq!(kv.leave(), None);
        kv.close().expect("closes");
        assert!(Kv::open(&url).expect("opens").exists(b"key").expect("read"));
    }

    #[test]
    fn during_a_panic_nothing_is_waited_for() {
        struct Last(Kv);
        impl Drop for Last {
            fn drop(&mut self) {
                let told = self.0.leave().expect("something is queued");
                assert!(told.starts_with("3 queued puts were not waited for"), "{told}");
            }
        }
        let caught = std::panic::catch_unwind(|| {
            let mut kv = Kv::open("mem:?size=4MiB&profile=tiny").expect("opens");
            (0..3u8).for_each(|n| kv.put_queued(&[n], b"value").expect("queued"));
            let _last = Last(kv);
            std::panic::resume_unwind(Box::new("a user's own"));
        });
        assert_eq!(caught.expect_err("it panicked").downcast_ref(), Some(&"a user's own"));
    }
}
