// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device's thread runs on the processors of the URL, whatever the device; what cannot be, or would do nothing, is refused.

use saker::{DeviceUrl, ImagePlan, Kv, Saker, SakerOptions, build_device};
use std::fs::{read_dir, read_to_string};

/// Processors that this process may run on, as the kernel lists them, in one piece each.
fn allowed(status: &str) -> Option<String> {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(line.trim().to_owned())
}

/// The last processor that there is for this process.
fn last() -> usize {
    let all = allowed(&read_to_string("/proc/self/status").expect("reads")).expect("told");
    all.rsplit([',', '-']).next().expect("one").parse().expect("a number")
}

/// Where threads of this name run. Threads of other tests may be among them.
fn where_they_run(name: &str) -> Vec<String> {
    let threads = read_dir("/proc/self/task").expect("threads").flatten();
    let status = threads.filter_map(|thread| read_to_string(thread.path().join("status")).ok());
    let is_named = |status: &String| status.lines().any(|line| line == format!("Name:\t{name}"));
    status.filter(is_named).filter_map(|status| allowed(&status)).collect()
}

#[test]
fn the_devices_thread_runs_where_the_url_says() {
    let (dir, cpu) = (tempfile::tempdir().expect("a folder"), last());
    let image = dir.path().join("disk.img");
    ImagePlan::kv(16 << 20, "tiny", 1).create(&image).expect("made");
    let hybrid = "mem:?hybrid&size=160MiB&profile=tiny".to_owned();
    let urls = [
        ("mem:?size=16MiB&profile=tiny".to_owned(), 1),
        ("mem:?size=32MiB&profile=tiny&shards=2".to_owned(), 2),
        (format!("file:{}?nsid=1", image.display()), 1),
        (hybrid, 1),
    ];
    for (url, threads) in urls {
        for how in ["threads=1", "timing=real"] {
            let url = format!("{url}&{how}&device_cpus={cpu}");
            let mut kv = Kv::open(&url).unwrap_or_else(|error| panic!("{url}: {error}"));
            kv.put(b"key", b"value").expect("room");
            let there = where_they_run("saker-device");
            let count = there.iter().filter(|cpus| **cpus == cpu.to_string()).count();
            assert!(count >= threads, "{url}: {there:?}");
            assert_eq!(kv.get(b"key").expect("reads").as_deref(), Some(&b"value"[..]));
            kv.close().expect("closes");
        }
    }
    let url = format!("mem:?size=16MiB&profile=tiny&threads=1&device_cpus={cpu}");
    let saker = Saker::open(&url, SakerOptions::default()).expect("opens");
    let mut session = saker.session().expect("one");
    session.put(b"key", b"value").expect("room");
    assert!(where_they_run("saker-device").contains(&cpu.to_string()));
    drop(session);
}

#[test]
fn processors_that_are_not_there_or_of_no_thread_are_refused_by_name() {
    let refused = |url: &str| Kv::open(url).map(drop).expect_err("refused").to_string();
    for (url, words) in [
        ("mem:?device_cpus=0", "device_cpus without threads=1"),
        ("mem:?threads=1&device_cpus=", "write numbers of processors"),
        ("mem:?threads=1&device_cpus=0,", "write numbers of processors"),
        ("mem:?threads=1&device_cpus=0-1", "write numbers of processors"),
        ("mem:?threads=1&device_cpus=-1", "write numbers of processors"),
        ("mem:?size=16MiB&profile=tiny&threads=1&device_cpus=1023", "one of them is not there"),
        ("mem:?size=16MiB&profile=tiny&threads=1&device_cpus=0,99999999", "one of them is not there"),
        ("mem:?size=16MiB&profile=tiny&shards=2&threads=1&device_cpus=1023", "one of them is not there"),
        ("tcp://127.0.0.1:1?device_cpus=0", "device_cpus"),
    ] {
        let told = refused(url);
        assert!(told.contains(words) && told.lines().count() == 1, "{url}: {told}");
    }
    let url = DeviceUrl::parse("mem:?size=16MiB&profile=tiny&threads=1&device_cpus=0").expect("a URL");
    let told = build_device(&url).map(drop).expect_err("nobody runs a thread").to_string();
    assert!(told.contains("device_cpus=0 of a device that is served"), "{told}");
}
