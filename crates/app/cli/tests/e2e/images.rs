// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images that are damaged, locked, foreign, read-only, or on a file system that is full.

use crate::e2e::support::{Desk, TINY, ran};
use saker::EngineKind;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

/// Changes bytes of a file.
fn scribble(desk: &Desk, at: u64, bytes: &[u8]) {
    let file = std::fs::File::options().write(true).open(desk.path("disk.img")).expect("opens");
    file.write_all_at(bytes, at).expect("writes");
}

#[test]
fn one_bad_header_copy_is_repaired_two_are_damage() {
    let desk = Desk::with_image();
    desk.disk(&["put", "k", "v"]).good();
    scribble(&desk, 100, b"XXXX");
    let check = desk.saker(&["check", "disk.img"]).good();
    assert!(check.starts_with("disk.img: sound; 1 records"), "{check}");
    assert!(check.contains("\nrepairable: header copy 0: it does not match its checksum"), "{check}");
    assert_eq!(desk.disk(&["get", "k"]).good(), "v");
    assert!(!desk.saker(&["check", "disk.img"]).good().contains("repairable"), "the next use repaired it");
    scribble(&desk, 100, b"XXXX");
    scribble(&desk, 4196, b"XXXX");
    let check = desk.saker(&["check", "disk.img"]);
    assert_eq!(check.code, Some(1));
    let text = String::from_utf8(check.out).expect("text");
    assert!(text.starts_with("disk.img: DAMAGED in 2 places;"), "{text}");
    for command in [&["get", "k"][..], &["info"]] {
        let refused = desk.disk(command).refused(1);
        assert!(
            refused.contains("is damaged") && refused.contains("`saker check` lists all damage"),
            "{refused}"
        );
    }
}

#[test]
fn a_later_version_is_left_alone() {
    let desk = Desk::with_image();
    // Version 2 in bytes 8 to 11 of both copies, with the checksum of the block in its last 4 bytes.
    let mut block = desk.read("disk.img")[..4096].to_vec();
    block[8] = 2;
    let sum = crc32c(&block[..4092]);
    block[4092..].copy_from_slice(&sum.to_le_bytes());
    scribble(&desk, 0, &block);
    let before = desk.read("disk.img");
    for command in [&["get", "k"][..], &["info"], &["put", "k", "v"]] {
        let refused = desk.disk(command).refused(1);
        assert!(refused.contains("newer version (format version 2"), "{refused}");
    }
    assert!(before == desk.read("disk.img"));
}

/// CRC-32C bit by bit (RFC 3720, appendix B.4: polynomial 1EDC6F41h, reflected).
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[test]
fn missing_foreign_and_truncated_files_say_what_to_do() {
    let desk = Desk::with_image();
    desk.write("notes.txt", b"nothing of ours");
    for (url, words) in [
        ("file:none.img", "make an image with `saker create`"),
        ("file:notes.txt", "notes.txt is not a Saker image; name an image, or make one with `saker create`"),
        ("file:.", "is not a Saker image"),
    ] {
        let refused = desk.saker(&["info", "--device", url]).refused(1);
        assert!(refused.contains(words), "{refused}");
    }
    assert!(desk.saker(&["check", "none.img"]).refused(1).contains("check the path"));
    let file = std::fs::File::options().write(true).open(desk.path("disk.img")).expect("opens");
    file.set_len(100_000).expect("truncates");
    assert!(desk.disk(&["info"]).refused(1).contains("`saker check` lists all damage"));
    assert_eq!(desk.saker(&["check", "disk.img"]).code, Some(1));
}

#[test]
fn an_image_in_use_is_told_by_every_command() {
    let desk = Desk::with_image();
    let in_use = "disk.img is in use by another process; stop that one first";
    let hold = || {
        let mut load = desk.command(&["load", "-", "--device", "file:disk.img"]);
        load.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts")
    };
    let mut holder = hold();
    // It has the lock once somebody else is refused; our question can have had it when the holder asked.
    let holds = (0..1000).any(|_| {
        let refused = desk.disk(&["exists", "k"]).err.contains(in_use);
        let gone = holder.try_wait().expect("is our child").is_some();
        if gone {
            holder = hold();
        }
        refused && !gone
    });
    assert!(holds, "the image is held");
    for command in [&["info"][..], &["put", "k", "v"], &["list"], &["dump", "out.tsv"]] {
        assert_eq!(desk.disk(command).refused(1), in_use);
    }
    assert_eq!(desk.saker(&["check", "disk.img"]).refused(1), in_use);
    let again = desk.saker(&["create", "disk.img", "--size", "16MiB", "--profile", "tiny", "--force"]);
    assert_eq!(again.refused(1), in_use);
    drop(holder.stdin.take());
    assert!(holder.wait().expect("ends").success());
    assert!(desk.disk(&["info"]).code == Some(0) && !desk.path("out.tsv").exists());
}

#[test]
fn an_image_is_replaced_only_when_asked_and_only_when_the_new_one_is_there() {
    let desk = Desk::with_image();
    desk.disk(&["put", "k", "v"]).good();
    let create = |more: &[&str]| desk.saker(&[&["create", "disk.img", "--profile", "tiny"], more].concat());
    assert!(create(&["--size", "16MiB"]).refused(1).contains("exists already"));
    assert!(create(&["--size", "1kB", "--force"]).refused(2).contains("give a larger size"));
    assert_eq!(desk.disk(&["get", "k"]).good(), "v", "the refused one left the old one");
    create(&["--size", "16MiB", "--force"]).good();
    assert_eq!(desk.disk(&["exists", "k"]).code, Some(1), "a new image is empty");
    assert_eq!(std::fs::read_dir(desk.path(".")).expect("lists").count(), 1, "nothing is left beside it");
}

/// Whoever looks finds the whole image or none, and what killed processes have left is in nobody's way.
#[test]
fn a_file_with_the_name_is_an_image() {
    let desk = Desk::new();
    let create = |more: &[&str]| desk.saker(&[&["create", "new.img"], &TINY[..], more].concat()).good();
    let ends = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        let look = || {
            let mut seen = 0;
            while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                let mut head = [0; 8];
                let Ok(mut file) = std::fs::File::open(desk.path("new.img")) else { continue };
                let read = std::io::Read::read(&mut file, &mut head).expect("reads");
                assert_eq!((read, &head), (8, b"SAKERIMG"), "a name without an image");
                seen += 1;
            }
            seen
        };
        let looker = s.spawn(look);
        for _ in 0..8 {
            create(&[]);
            std::fs::remove_file(desk.path("new.img")).expect("it was made");
        }
        ends.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(looker.join().expect("no panic") > 0, "it was seen");
    });
    // As a process that is killed leaves it: before its header, and behind it.
    create(&[]);
    let whole = desk.read("new.img");
    for left in [&[0; 3 << 13][..], &whole] {
        for more in [&["--force"][..], &[]] {
            if more.is_empty() {
                std::fs::remove_file(desk.path("new.img")).expect("it was made");
            }
            desk.write("new.img.part", left);
            create(more);
            let count = std::fs::read_dir(desk.path(".")).expect("lists").count();
            assert_eq!(count, 1, "nothing is left beside it");
        }
    }
    // Not what is no left-over.
    desk.write("other.img.part", b"half of something else");
    let refused = desk.saker(&[&["create", "other.img"], &TINY[..]].concat()).refused(1);
    assert!(refused.contains("other.img.part exists already"), "{refused}");
    assert!(desk.read("other.img.part") == b"half of something else" && !desk.path("other.img").exists());
}

/// 4 GB of addresses do not take 16 GiB of flash.
#[test]
fn too_little_address_space_is_named_and_leaves_nothing() {
    let desk = Desk::new();
    let limited = |line: &str| {
        let mut shell = Command::new("sh");
        let saker = env!("CARGO_BIN_EXE_saker");
        shell.args(["-c", &format!("ulimit -v 4000000; exec {saker} {line}")]).current_dir(desk.path("."));
        ran(&mut shell).refused(1)
    };
    let refused = limited("create new.img --size 16GiB");
    assert!(refused.contains("address space") && refused.contains("ulimit -v"), "{refused}");
    assert_eq!(std::fs::read_dir(desk.path(".")).expect("lists").count(), 0, "nothing half-made is left");
    desk.saker(&["create", "new.img", "--size", "16GiB"]).good();
    for line in ["info --device file:new.img", "check new.img", "repair new.img other.img"] {
        let refused = limited(line);
        assert!(refused.contains("address space") && refused.contains("ulimit -v"), "{line}: {refused}");
    }
    assert_eq!(std::fs::read_dir(desk.path(".")).expect("lists").count(), 1);
}

fn serial(desk: &Desk, image: &str) -> String {
    let text = desk.saker(&["info", "--json", "--device", &format!("file:{image}")]).good();
    let info: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    info["info"]["serial"].as_str().expect("text").to_owned()
}

#[test]
fn images_differ_in_identity_unless_a_seed_is_given() {
    let desk = Desk::new();
    let create = |name: &str, more: &[&str]| {
        desk.saker(&[&["create", name], &TINY[..], more].concat()).good();
        serial(&desk, name)
    };
    let (first, second) = (create("1.img", &[]), create("2.img", &[]));
    assert_ne!(first, second);
    assert_eq!(serial(&desk, "1.img"), first, "it is the image's, not the process's");
    // What images of a seed have had as their serial number since there are images.
    assert_eq!(create("3.img", &["--seed", "1"]), "SAKERD0D014E508A41BB");
    assert_eq!(create("4.img", &["--seed", "2"]), create("5.img", &["--seed", "2"]));
    // Key order is the seed's, which is 1 unless another is given.
    let order = |name: &str| {
        let url = format!("file:{name}");
        let keys: String = (0..50).map(|n| format!("key{n}\t\n")).collect();
        desk.write("keys.tsv", keys.as_bytes());
        desk.saker(&["load", "keys.tsv", "--device", &url]).good();
        desk.saker(&["list", "--device", &url]).good()
    };
    let listed = order("1.img");
    assert_eq!((order("2.img"), order("3.img")), (listed.clone(), listed.clone()));
    assert_ne!(order("4.img"), listed);
}

/// A run of the program that may write 256 KiB to a file.
fn limited(desk: &Desk, line: &str) -> crate::e2e::support::Ran {
    let saker = env!("CARGO_BIN_EXE_saker");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -f 512; exec {saker} {line}")]).current_dir(desk.path("."));
    ran(&mut shell)
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_no_signal() {
    let desk = Desk::new();
    let refused = limited(&desk, "create new.img --size 16MiB --profile tiny").refused(1);
    assert!(refused.contains("ulimit -f"), "{refused}");
    assert!(!desk.path("new.img").exists(), "nothing half-made is left");
}

/// As in a file system that takes no more from one moment to the next.
#[test]
fn an_image_that_cannot_grow_says_so() {
    let desk = Desk::with_image();
    let lines: String = (0..3000).map(|n| format!("key{n}\t{}\n", "v".repeat(700))).collect();
    desk.write("some.tsv", lines.as_bytes());
    let load = limited(&desk, "load some.tsv --device file:disk.img");
    let said: Vec<_> = load.err.lines().collect();
    let [told, refused] = said[..] else { panic!("the device's line, and the error: {said:?}") };
    assert!(told.starts_with("saker: disk.img: ") && told.contains("lets it grow no more"), "{told}");
    assert!(refused.starts_with("saker: error: the host file system has no room for disk.img"), "{refused}");
    assert_eq!((load.code, load.out.len()), (Some(1), 0));
    let check = desk.saker(&["check", "disk.img"]).good();
    assert!(check.starts_with("disk.img: sound"), "{check}");
    desk.disk(&["put", "k", "v"]).good();
}

#[test]
fn a_read_only_image_can_be_checked() {
    let desk = Desk::with_image();
    desk.disk(&["put", "k", "v"]).good();
    let set = |mode| {
        let mode: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(desk.path("disk.img"), mode).expect("sets");
    };
    set(0o444);
    assert!(desk.saker(&["check", "disk.img"]).good().starts_with("disk.img: sound; 1 records"));
    // The superuser may write all the same.
    if std::fs::File::options().write(true).open(desk.path("disk.img")).is_err() {
        assert!(desk.disk(&["get", "k"]).refused(1).contains("`saker check` only reads"));
    }
    set(0o644);
}

#[test]
fn a_full_device_serves_reads_and_deletes_and_deleting_makes_room() {
    let desk = Desk::with_image();
    let lines: String = (0..30_000).map(|n| format!("key{n}\t{}\n", "v".repeat(1000))).collect();
    desk.write("much.tsv", lines.as_bytes());
    let refused = desk.disk(&["load", "much.tsv"]).refused(1);
    assert!(refused.contains("the device is full; delete keys, or make a larger device"), "{refused}");
    assert_eq!(desk.disk(&["get", "key0"]).good(), "v".repeat(1000));
    let keys = desk.disk(&["list"]).good();
    assert!(keys.lines().count() > 5_000, "{}", keys.lines().count());
    for key in keys.lines().take(60) {
        desk.disk(&["delete", key]).good();
    }
    desk.disk(&["put", "new", &"w".repeat(1000)]).good();
    assert_eq!(desk.disk(&["get", "new"]).good(), "w".repeat(1000));
    assert!(desk.saker(&["check", "disk.img"]).good().starts_with("disk.img: sound"));
}

/// What `create` and `info` say that an image holds, and that it does.
#[test]
fn create_and_info_say_what_an_image_holds() {
    for engine in EngineKind::ALL.iter().map(|kind| kind.name()) {
        let desk = Desk::new();
        let create = ["create", "disk.img", "--engine", engine, "--json"];
        let made = desk.saker(&[&create[..], &TINY[..]].concat());
        let made: serde_json::Value = serde_json::from_str(&made.good()).expect("JSON");
        let namespace = &made["namespaces"][0];
        let pairs = namespace["fits"]["pairs_of_4096_bytes"].as_u64().expect("a number");
        assert!(
            pairs > 0 && pairs * 4096 < namespace["capacity_bytes"].as_u64().expect("a number"),
            "{made}"
        );
        let info = || {
            let text = desk.disk(&["info", "--json"]).good();
            serde_json::from_str::<serde_json::Value>(&text).expect("JSON")["info"]["namespaces"][0].clone()
        };
        assert_eq!(info()["fits"], namespace["fits"], "{engine}");
        let free = || info()["free_bytes"].as_u64().expect("a number");
        let before = free();
        desk.disk(&["put", "key", &"v".repeat(3000)]).good();
        assert!(free() < before, "{engine}");
        let lines = desk.disk(&["info"]).good();
        assert!(lines.contains("fits.pairs_of_4096_bytes"), "{lines}");
    }
}
