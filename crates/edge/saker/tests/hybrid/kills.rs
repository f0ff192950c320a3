// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process that uses a store over both namespaces is killed (SIGKILL) while it writes, again and again.

use super::inside::image_with;
use super::{PRESSED, all_of, counter, image};
use saker::image::ImageError;
use saker::{Error, Kv, WriteBatch};
use saker_sim::Seed;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const URL: &str = "SAKER_TEST_HYBRID_URL";
const KEYS: u64 = 300;

/// What the child writes: keys come again, and each value tells its number.
fn written(n: u64) -> (Vec<u8>, Vec<u8>) {
    (format!("key{}", n % KEYS).into_bytes(), [n.to_le_bytes().to_vec(), vec![n as u8; 600]].concat())
}

/// A batch of all or nothing, whose two values are one.
fn twins(n: u64) -> WriteBatch {
    let (mut batch, value) = (WriteBatch::new(), written(n).1);
    batch.set_atomic(true);
    for twin in ["one", "other"] {
        batch.put(format!("{twin}{}", n % 90).as_bytes(), &value);
    }
    batch
}

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    let Ok(url) = std::env::var(URL) else { return };
    let first: u64 = std::env::var("SAKER_TEST_HYBRID_FIRST").expect("told").parse().expect("a number");
    let mut kv = patiently(&url);
    let mut out = std::io::stderr();
    for n in first.. {
        let (key, value) = written(n);
        kv.put_queued(&key, &value).expect("room");
        if n % 7 == 0 {
            kv.write(&twins(n)).expect("room");
        }
        if n % 100 == 0 {
            kv.drain().expect("stored");
            kv.flush().expect("flushes");
            let redirected = counter(&mut kv, "redirected_writes");
            writeln!(out, "flushed {n} {redirected}").expect("the parent reads");
        }
    }
}

/// Between fork and exec the child of another test shares the locks of this process; that passes.
fn patiently(url: &str) -> Kv {
    let begun = Instant::now();
    loop {
        match Kv::open(url) {
            Err(Error::Image(ImageError::InUse { .. })) if begun.elapsed() < Duration::from_secs(5) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            opened => return opened.unwrap_or_else(|e| panic!("{url}: {e}")),
        }
    }
}

#[test]
fn a_killed_process_leaves_what_it_flushed() {
    let dir = tempfile::tempdir().expect("a folder");
    lives(&image(dir.path()), "", saker_testing::tier(6, 200));
}

/// With times an image is synced beside commands.
#[test]
fn a_process_that_is_killed_while_syncs_go_on_beside_leaves_what_it_flushed() {
    let dir = tempfile::tempdir().expect("a folder");
    lives(&image(dir.path()), "&timing=real", saker_testing::tier(4, 100));
}

#[test]
fn a_killed_process_with_values_inside_leaves_what_it_flushed() {
    let dir = tempfile::tempdir().expect("a folder");
    lives(&image_with(dir.path(), "unlimited"), "", saker_testing::tier(4, 100));
}

/// A process is killed while it writes: what it flushed is there, and no key has a value that is older than its last that was flushed.
fn lives(image: &str, timing: &str, lives: u64) {
    let url = format!("{image}=lazy&{PRESSED}{timing}");
    let (mut rng, mut first, mut redirected) = (Seed(11).rng(), 0, 0);
    // By key the last write that was flushed, of this life or an earlier one.
    let mut last = [None; KEYS as usize];
    for life in 0..lives {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["hybrid::kills::child", "--exact", "--ignored", "--nocapture"]).stdin(Stdio::null());
        command.env(URL, &url).env("SAKER_TEST_HYBRID_FIRST", first.to_string());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let (mut flushed, wanted) = (None, 1 + rng.below(40));
        let mut told = |line: &str| {
            let mut words = line.strip_prefix("flushed ")?.split(' ');
            flushed = words.next()?.parse::<u64>().ok();
            redirected = words.next()?.parse::<u64>().ok()?.max(redirected);
            Some(())
        };
        for _ in 0..wanted {
            let line = lines.next().and_then(Result::ok);
            line.as_deref().and_then(&mut told).unwrap_or_else(|| panic!("life {life}: {line:?}"));
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
        // It may have gone on.
        for line in lines.map_while(Result::ok) {
            told(&line);
        }
        let flushed = flushed.expect("it has flushed");
        let mut kv = patiently(&url);
        let all = all_of(&mut kv);
        // A life may have ended before it had written each key.
        (first..=flushed).for_each(|n| last[(n % KEYS) as usize] = Some(n));
        for n in last.into_iter().flatten() {
            let (key, _) = written(n);
            let found = all.get(&key).unwrap_or_else(|| panic!("life {life}: {n} of {flushed} is lost"));
            let number = u64::from_le_bytes(found[..8].try_into().expect("eight bytes"));
            assert!(number >= n && number % KEYS == n % KEYS, "life {life}: {number} instead of {n}");
            assert_eq!(*found, written(number).1, "life {life}");
        }
        for n in 0..90 {
            let [one, other] = ["one", "other"].map(|twin| all.get(format!("{twin}{n}").as_bytes()));
            assert!(one == other, "life {life}: half of a batch is there");
        }
        kv.close().expect("closes");
        first = flushed + 1000 - (flushed + 1000) % KEYS;
    }
    assert!(redirected > 0, "nothing went to the device");
}
