// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Opening and closing devices by URL: what is refused and in which words, and what an image keeps.

use crate::support;

use saker::{Error, Kv, check_image, create_image};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use support::{is_soak, key, value};
use tempfile::TempDir;

const WITH_CAPACITOR: (&str, u64) = ("tiny", 4 << 20);
const WITHOUT: (&str, u64) = ("nvmevirt-970pro", 256 << 20);

fn image((profile, bytes): (&str, u64)) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    create_image(&path, bytes, profile, 5).expect("creates");
    (dir, path)
}

fn url(path: &Path, options: &str) -> String {
    format!("file:{}?{options}", path.display())
}

/// The words in which an opening is refused; one line.
fn refusal(url: &str) -> String {
    let text = Kv::open(url).map(|_| ()).expect_err(url).to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn one_image_one_user() {
    let (_dir, path) = image(WITH_CAPACITOR);
    let in_use = format!("{} is in use by another process; stop that one first", path.display());
    for threads in ["threads=0", "threads=1"] {
        let mut kv = Kv::open(&url(&path, threads)).expect("opens");
        assert_eq!(refusal(&url(&path, "")), in_use);
        assert_eq!(check_image(&path, &mut |_| {}).expect_err("locked").to_string(), in_use);
        kv.put(b"k", threads.as_bytes()).expect("the first user goes on");
        kv.close().expect("closes");
        let mut again = Kv::open(&url(&path, "")).expect("the lock is gone");
        assert_eq!(again.get(b"k").expect("gets").as_deref(), Some(threads.as_bytes()));
    }
}

/// The parts of the flash are too small, and not the flash: what is said opens.
#[test]
fn shards_too_many_for_the_size_are_named() {
    for (options, said) in [
        (
            "shards=64&threads=1",
            "option `shards=64`: a shard has 64MiB of the 4GiB, too few for profile default: it needs at least 288MiB; \
             give shards=14 or fewer, or size=18GiB or more",
        ),
        (
            "profile=tiny&size=4MiB&shards=4",
            "option `shards=4`: a shard has 1MiB of the 4MiB, too few for profile tiny: it needs at least 1536KiB; \
             give shards=2 or fewer, or size=6MiB or more",
        ),
        (
            "profile=tiny&size=2MiB&shards=2",
            "option `shards=2`: a shard has 1MiB of the 2MiB, too few for profile tiny: it needs at least 1536KiB; \
             leave shards out, or give size=3MiB or more",
        ),
        (
            "profile=tiny&size=1MiB&shards=2",
            "option `shards=2`: a shard has 512KiB of the 1MiB, too few for profile tiny: it needs at least 1536KiB; \
             give size=3MiB or more",
        ),
    ] {
        assert_eq!(refusal(&format!("mem:?{options}")), said);
    }
    for enough in ["size=4MiB&shards=2", "size=6MiB&shards=4", "size=2MiB", "size=3MiB&shards=2"] {
        Kv::open(&format!("mem:?profile=tiny&{enough}")).expect("large enough").close().expect("closes");
    }
    Kv::open("mem:?shards=14").expect("large enough").close().expect("closes");
}

#[test]
fn urls_without_sense_are_explained() {
    for (url, words) in [
        (
            "",
            [
                "no such kind of device",
                "write mem:, file:disk.img, tcp://HOST:PORT/NQN, vfio-user:SOCKET or /dev/ng0n1",
            ],
        ),
        (
            "disk.img",
            ["`disk.img`", "write mem:, file:disk.img, tcp://HOST:PORT/NQN, vfio-user:SOCKET or /dev/ng0n1"],
        ),
        (
            "file:",
            ["`file:`", "write mem:, file:disk.img, tcp://HOST:PORT/NQN, vfio-user:SOCKET or /dev/ng0n1"],
        ),
        ("mem:?size=many", ["option `size=many`", "write a size such as 512MiB"]),
        ("mem:?threads=2", ["option `threads=2`", "write 0 or 1"]),
        ("mem:?depth=0", ["option `depth=0`", "write 1 to 4095"]),
        ("mem:?timing=virtual", ["option `timing=virtual`", "write off or real"]),
        ("mem:?colour=red", ["option `colour=red`", "write one of depth, nsid, cache"]),
        ("file:x?size=1MiB", ["option `size=1MiB`", "saker create"]),
        ("mem:?profile=none-such", ["none-such", "tiny"]),
        ("mem:?size=1MiB", ["1048576 bytes are too few for profile default", "give a larger size"]),
    ] {
        let text = refusal(url);
        assert!(words.iter().all(|w| text.contains(w)), "{text}");
    }
}

#[test]
fn what_is_no_image_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("notes.txt");
    for content in [b"".as_slice(), b"not an image", &[0; 100_000], &[0xff; 9000]] {
        std::fs::write(&path, content).expect("writes");
        assert_eq!(refusal(&url(&path, "")), format!("{} is not a Saker image", path.display()));
        assert!(std::fs::read(&path).expect("reads") == content, "it is as it was");
    }
    assert!(refusal(&url(dir.path(), "")).ends_with("is not a Saker image"));
    assert!(refusal(&url(&dir.path().join("none"), "")).contains("none: No such file or directory"));
}

#[test]
fn a_truncated_image_is_damaged() {
    let (_dir, path) = image(WITH_CAPACITOR);
    let whole = std::fs::metadata(&path).expect("is there").len();
    let file = std::fs::File::options().write(true).open(&path).expect("opens");
    for bytes in [whole - 4096, whole + 1, 8192] {
        file.set_len(bytes).expect("sets the length");
        let text = refusal(&url(&path, ""));
        assert!(text.contains(&format!("the file has {bytes} bytes, not {whole}")), "{text}");
    }
}

#[test]
fn a_read_only_file_can_be_checked_but_not_used() {
    let (_dir, path) = image(WITH_CAPACITOR);
    let mut kv = Kv::open(&url(&path, "")).expect("opens");
    kv.put(b"k", b"v").expect("puts");
    kv.close().expect("closes");
    let before = std::fs::read(&path).expect("reads");
    let mut permissions = std::fs::metadata(&path).expect("is there").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).expect("sets");
    let (report, pairs) = check_image(&path, &mut |_| {}).expect("checks");
    assert!(report.is_sound() && pairs == 1, "{:?}", report.findings);
    // The superuser may write all the same.
    if std::fs::File::options().write(true).open(&path).is_err() {
        let text = refusal(&url(&path, ""));
        assert!(text.contains("cannot open") && text.contains("Permission denied"), "{text}");
    }
    assert!(before == std::fs::read(&path).expect("reads"), "the check changed nothing");
}

/// Writes until power is cut. What was acknowledged at all, and what of that a flush covered.
fn write_until_cut(kv: &mut Kv, flush_every: u32) -> [BTreeMap<u32, u64>; 2] {
    let (mut acknowledged, mut flushed) = (BTreeMap::new(), BTreeMap::new());
    for n in 1..200_000u32 {
        let k = n % 97;
        if kv.put(&key(k), &value(k, u64::from(n), n % 1500)).is_err() {
            break;
        }
        acknowledged.insert(k, u64::from(n));
        if n.is_multiple_of(flush_every) {
            if kv.flush().is_err() {
                break;
            }
            flushed.clone_from(&acknowledged);
        }
    }
    [acknowledged, flushed]
}

/// The version of a stored value: the one whose bytes it has, at or after `least`.
fn version_of(found: &[u8], k: u32, least: u64) -> Option<u64> {
    (least..least + 20_000).find(|n| {
        let is_write = (*n % 97) as u32 == k && (*n % 1500) as usize == found.len();
        is_write && found == value(k, *n, found.len() as u32)
    })
}

/// Cuts power at one media operation; the image recovers what it owes. Whether the cut was reached.
fn cut_and_recover(kind: (&str, u64), cut_at: u32, flush_every: u32) {
    let (_dir, path) = image(kind);
    let options = format!("fault.cut={cut_at}&fault.seed={cut_at}");
    let mut kv = Kv::open(&url(&path, &options)).expect("opens");
    let [acknowledged, flushed] = write_until_cut(&mut kv, flush_every);
    let is_cut = kv.put(b"after", b"").is_err();
    assert!(is_cut, "the cut at {cut_at} was not reached");
    // An error on the way is right: there is no power. The image must be recorded as cut.
    let _ = kv.close();
    let owed = if kind == WITH_CAPACITOR { acknowledged } else { flushed };
    let mut kv = Kv::open(&url(&path, "")).expect("recovers");
    for (k, version) in &owed {
        let found =
            kv.get(&key(*k)).expect("gets").unwrap_or_else(|| panic!("cut {cut_at}: key {k} is lost"));
        let newer = version_of(&found, *k, *version);
        assert!(newer.is_some(), "cut {cut_at}: key {k} is older than {version}");
    }
    kv.put(b"after", b"the cut").expect("works on");
    kv.close().expect("closes");
    let mut kv = Kv::open(&url(&path, "")).expect("opens");
    assert_eq!(kv.get(b"after").expect("gets").as_deref(), Some(b"the cut".as_slice()));
}

#[test]
fn a_power_cut_with_a_capacitor_loses_nothing_acknowledged() {
    for n in 0..if is_soak() { 200 } else { 12 } {
        cut_and_recover(WITH_CAPACITOR, 1 + n * 37, 50);
    }
}

#[test]
fn a_power_cut_without_a_capacitor_loses_nothing_flushed() {
    for n in 0..if is_soak() { 100 } else { 8 } {
        cut_and_recover(WITHOUT, 1 + n * 7, 20);
    }
}

#[test]
fn an_image_keeps_its_identity_and_pairs() {
    let (_dir, path) = image(WITH_CAPACITOR);
    let mut kv = Kv::open(&url(&path, "")).expect("opens");
    let (identity, profile) = (kv.identity(), kv.profile().to_owned());
    assert_eq!(profile, "tiny");
    for n in 0..50 {
        kv.put(&key(n), &value(n, 1, n * 30)).expect("puts");
    }
    assert!(kv.delete(&key(7)).expect("deletes") && !kv.delete(&key(7)).expect("deletes"));
    kv.close().expect("closes");
    for threads in ["threads=0", "threads=1", "timing=real"] {
        let mut kv = Kv::open(&url(&path, threads)).expect("opens");
        assert_eq!((kv.identity(), kv.profile()), (identity.clone(), profile.as_str()), "{threads}");
        for n in 0..50 {
            let expected = (n != 7).then(|| value(n, 1, n * 30));
            assert_eq!(kv.get(&key(n)).expect("gets"), expected, "{threads}, key {n}");
        }
        kv.close().expect("closes");
    }
}

#[test]
fn devices_on_threads_of_their_own_serve_several_users_at_once() {
    let images: Vec<_> = (0..3).map(|_| image(WITH_CAPACITOR)).collect();
    let work = |n: u32, path: &Path| {
        let mut kv = Kv::open(&url(path, "threads=1")).expect("opens");
        for i in 0..400 {
            let k = i % 60;
            kv.put_queued(&key(k), &value(k, u64::from(n * 1000 + i), 700)).expect("queues");
        }
        kv.drain().expect("drains");
        kv.close().expect("closes");
    };
    std::thread::scope(|s| {
        for (n, (_, path)) in (0..).zip(&images) {
            s.spawn(move || work(n, path));
        }
    });
    for (n, (_, path)) in (0..).zip(&images) {
        // A device may also change threads.
        let mut kv = Kv::open(&url(path, "threads=1")).expect("opens");
        let read = move || {
            for k in 0..60 {
                let newest = n * 1000 + if k < 40 { 360 + k } else { 300 + k };
                let expected = value(k, u64::from(newest), 700);
                assert_eq!(kv.get(&key(k)).expect("gets"), Some(expected), "image {n}, key {k}");
            }
        };
        std::thread::spawn(read).join().expect("all pairs are right");
    }
}

#[test]
fn errors_are_of_their_kind() {
    assert!(matches!(Kv::open("nonsense"), Err(Error::Url(_))));
    assert!(matches!(Kv::open("mem:?profile=nonsense"), Err(Error::Profile(_))));
    assert!(matches!(Kv::open("mem:?size=4KiB"), Err(Error::Build(_))));
    assert!(matches!(Kv::open("file:."), Err(Error::Image(_))));
}
