// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process is killed (SIGKILL) while it makes a backup, and repairs or grows an image.

use super::rig::{Pairs, fill, full, image, no_news, pairs, url};
use saker::{EngineKind, Kv, back_up, grow_image, read_backup, repair_image, verify_image};
use saker_testing::tier;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    let Some(path) = std::env::var_os("SAKER_TEST_BACKUP_IMAGE").map(PathBuf::from) else { return };
    let (file, repaired) = (path.with_extension("bak"), path.with_extension("new"));
    for n in 1u64.. {
        back_up(&url(&path), &file, &full(), &mut no_news).expect("a backup");
        std::fs::remove_file(&file).expect("it was made");
        repair_image(&path, &repaired, &mut no_news).expect("repairs");
        std::fs::remove_file(&repaired).expect("it was made");
        grow_image(&path, (4 << 20) + (n << 18), None, &mut no_news).expect("grows");
        std::fs::write(path.with_extension("told"), n.to_le_bytes()).expect("tells");
    }
}

fn start(path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["backup::killed::child", "--exact", "--ignored"]).env("SAKER_TEST_BACKUP_IMAGE", path);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts")
}

fn made(path: &Path, engine: EngineKind) -> Pairs {
    image(path, engine, 4 << 20);
    let mut kv = Kv::open(&url(path)).expect("opens");
    fill(&mut kv, 0..600, 1);
    let all = pairs(&mut kv);
    kv.close().expect("closes");
    all
}

#[test]
fn a_backup_with_its_name_is_whole_and_an_image_is_the_old_or_the_new_one() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        let all = made(&path, *engine);
        let (told, file) = (path.with_extension("told"), path.with_extension("bak"));
        let repaired = path.with_extension("new");
        for kill in 0..tier(1, 200u64) {
            let _ = (std::fs::remove_file(&told), std::fs::remove_file(&file));
            let _ = std::fs::remove_file(&repaired);
            // So that its first image is larger than what earlier ones have made of it.
            std::fs::remove_file(&path).expect("it is there");
            let same = made(&path, *engine);
            let mut process = start(&path);
            let begun = Instant::now();
            while !told.exists() && begun.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_micros(
                (kill * 1009 + u64::from(engine.code().unwrap_or(0)) * 3001) % 20_000,
            ));
            process.kill().expect("kills");
            assert_eq!(process.wait().expect("ends").code(), None, "it did not fail by itself");
            if file.exists() {
                assert_eq!(read_backup(&file).expect("sound").namespaces[0].pairs, all.len() as u64);
            }
            assert!(verify_image(&path, &mut |_| {}).expect("reads").report.is_sound());
            if repaired.exists() {
                let mut kv = Kv::open(&url(&repaired)).expect("opens");
                assert!(pairs(&mut kv) == all, "{} kill {kill}: the repaired one is whole", engine.name());
                kv.close().expect("closes");
                std::fs::remove_file(&repaired).expect("it is there");
            }
            let mut kv = Kv::open(&url(&path)).expect("opens");
            assert!(pairs(&mut kv) == all && same == all, "{} kill {kill}", engine.name());
            kv.close().expect("closes");
            // What was left over is in nobody's way.
            repair_image(&path, &repaired, &mut no_news).expect("repairs");
            let size = std::fs::metadata(&path).expect("there").len();
            grow_image(&path, size + (16 << 20), None, &mut no_news).expect("grows");
            let _ = std::fs::remove_file(&file);
            back_up(&url(&path), &file, &full(), &mut no_news).expect("a backup");
        }
    }
}
