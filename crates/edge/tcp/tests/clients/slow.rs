// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A slow device: a call waits, a future is pending, another device is not held up. What a host is told that waits for a limited time is in
//! `gone`.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use saker::{AsyncStore, ImagePlan, Store};

use super::block_on;

/// Each operation of the flash takes so much longer.
const SLOW: &str = "timing=real&fault.spike=1/1&fault.spike_ns=30000000";
const LONGER: Duration = Duration::from_millis(30);
/// More than the page buffer takes, so that a put waits for a program.
const PUTS: u32 = 24;

#[test]
fn a_call_waits_and_a_future_is_pending() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.img");
    ImagePlan::kv(16 << 20, "tiny", 1).create(&path).expect("an image");
    for url in [format!("mem:?size=16MiB&profile=tiny&{SLOW}"), format!("file:{}?{SLOW}", path.display())] {
        let store = Store::open(&url).expect("opens");
        let quick = Store::open("mem:?size=16MiB&profile=tiny").expect("opens");
        let (begun, future) = (Instant::now(), AsyncStore::new(store.clone()));
        let puts: Vec<_> = (0..PUTS).map(|n| future.put(n.to_be_bytes(), vec![n as u8; 20_000])).collect();
        let mut last = pin!(future.exists("key"));
        quick.put("key", "value").expect("stored");
        let polled = last.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Pending), "another device is not held up");
        puts.into_iter().for_each(|put| block_on(put).expect("it is slow, and no failure"));
        assert!(!block_on(last).expect("it is slow, and no failure"));
        assert!(begun.elapsed() >= LONGER, "{url}: {:?}", begun.elapsed());
        assert_eq!(store.get(0_u32.to_be_bytes()).expect("read"), Some(vec![0; 20_000]));
    }
}
