// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Targets whose LSM store puts merges off while hosts write, and what else hosts do meanwhile.

use std::path::Path;
use std::time::Duration;

use saker::{
    BackupOptions, Block, Consistency, CounterOf, EngineKind, ImagePlan, Kv, NamespacePlan, RestoreOptions,
    ScanOptions, Typed, back_up, restore_kv, verify_image,
};
use saker_sim::Seed;
use saker_tcp::Server;

use super::put_off_writers::{
    AT_OPEN, Model, PUT_OFF, TRIGGER, WORDS, assert_has, image, in_memory, level0, put_off_elsewhere,
    read_in_order, write_blindly,
};
use super::support::{open, serve, url};

/// Deletes every other pair, by single commands.
fn halve(kv: &mut Kv, model: &mut Model) {
    let keys: Vec<_> = model.keys().step_by(2).cloned().collect();
    for key in keys {
        assert!(kv.delete(&key).expect("deletes"));
        model.remove(&key);
    }
}

/// Lives of a target, each of which begins with what the last one has put off.
#[test]
fn a_target_loses_nothing_that_it_has_put_off() {
    for (word, lives) in WORDS.into_iter().zip([2, 1]) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("disk.img");
        let device = image(&path, word);
        let (mut rng, mut model) = (Seed(41).rng(), Model::new());
        for life in 0..lives {
            let (what, server) = (format!("{word}, life {life}"), serve(&device));
            let mut kv = open(&server, "");
            assert_has(&mut kv, &model, &what);
            if life == 0 {
                put_off_elsewhere(&mut kv, &mut rng, &mut model);
            }
            write_blindly(&mut kv, &mut rng, &mut model, 500);
            halve(&mut kv, &mut model);
            kv.flush().expect("flushes");
            // A host that goes and one that comes.
            drop(kv);
            let mut kv = open(&server, "hostnqn=nqn.2026-11.dev.saker:another");
            assert_has(&mut kv, &model, &what);
            if life == 1 {
                kv.format().expect("formats");
                model.clear();
                assert_eq!(level0(&mut kv), 0, "{what}");
                put_off_elsewhere(&mut kv, &mut rng, &mut model);
                assert_has(&mut kv, &model, &what);
            }
            write_blindly(&mut kv, &mut rng, &mut model, 1000);
            kv.close().expect("closes");
            server.stop().expect("stops");
            let found = verify_image(&path, &mut |_| {}).expect("reads");
            assert!(found.report.is_sound(), "{what}: {:?}", found.report.findings);
        }
        let mut kv = Kv::open(&device).expect("opens");
        assert_has(&mut kv, &model, word);
        read_in_order(&mut kv, &model);
        kv.close().expect("closes");
    }
}

/// Reads of hosts merge what their writes have put off.
#[test]
fn reads_over_the_network_find_it_in_order() {
    let server = serve(&in_memory("unlimited"));
    let (mut kv, mut rng, mut model) = (open(&server, ""), Seed(42).rng(), Model::new());
    put_off_elsewhere(&mut kv, &mut rng, &mut model);
    read_in_order(&mut kv, &model);
    assert_has(&mut kv, &model, "in order");
}

/// A target of which nobody asks anything merges what was put off, without being asked whether it has.
#[test]
fn an_idle_target_does_what_was_put_off() {
    for (word, is_alone) in [(WORDS[0], true), (WORDS[1], true), (WORDS[0], false)] {
        let device = in_memory(word);
        let beside = device.replace("background_threads=0", "background_threads=1");
        let server = serve(if is_alone { &device } else { &beside });
        let (mut kv, mut rng, mut model) = (open(&server, ""), Seed(43).rng(), Model::new());
        match is_alone {
            true => put_off_elsewhere(&mut kv, &mut rng, &mut model),
            false => write_blindly(&mut kv, &mut rng, &mut model, 6000),
        }
        let mut looks = 0;
        while level0(&mut kv) >= TRIGGER {
            looks += 1;
            assert!(looks < 10, "{word}: level 0 has {} files behind {looks} pauses", level0(&mut kv));
            std::thread::sleep(Duration::from_millis(500));
        }
        assert_has(&mut kv, &model, word);
    }
}

/// A host that writes one command at a time leaves the target nothing to do in between, and merges stay put off.
#[test]
fn pauses_between_commands_are_no_idleness() {
    let server = serve(&in_memory("unlimited"));
    let mut kv = open(&server, "");
    for n in 0..6500_u32 {
        let key = format!("key {:06}", n.wrapping_mul(7919) % 100_000);
        kv.put(key.as_bytes(), &[n as u8; 40]).expect("stores");
    }
    let files = level0(&mut kv);
    assert!(files >= PUT_OFF, "level 0 has {files} files");
}

/// Scans of one host and backups show one moment while another host writes and merges are put off.
#[test]
fn a_snapshot_of_one_host_stands_while_another_writes() {
    for word in WORDS {
        let dir = tempfile::tempdir().expect("a directory");
        let server = serve(&image(&dir.path().join("disk.img"), word));
        let (mut kv, mut rng, mut model) = (open(&server, ""), Seed(44).rng(), Model::new());
        put_off_elsewhere(&mut kv, &mut rng, &mut model);
        let seen = model.clone();
        let mut reader = open(&server, "hostnqn=nqn.2026-11.dev.saker:reader");
        let (mut scan, mut shown) = (reader.open_scan(&ScanOptions::default()).expect("opens"), Model::new());
        let mut step = |reader: &mut Kv| {
            let mut visit = |key: &[u8], value: &[u8]| shown.insert(key.to_vec(), value.to_vec()).is_none();
            reader.scan_next(&mut scan, &mut visit).expect("shows")
        };
        assert!(step(&mut reader), "there is more than a batch");
        halve(&mut kv, &mut model);
        write_blindly(&mut kv, &mut rng, &mut model, 2000);
        let file = dir.path().join("disk.bak");
        let mut is_changed = false;
        let made = back_up(&url(&server, ""), &file, &BackupOptions::default(), &mut |_| {
            if !std::mem::replace(&mut is_changed, true) {
                kv.put(b"later", b"not in it").expect("stores");
            }
        });
        let made = made.expect("a backup");
        assert_eq!((made.namespaces[0].consistency, is_changed), (Consistency::Snapshot, true));
        let mut other = Kv::open(&in_memory("unlimited")).expect("opens");
        restore_kv(&[file], &mut other, &RestoreOptions::default(), &mut |_| {}).expect("restores");
        assert_has(&mut other, &model, &format!("{word}, restored"));
        model.insert(b"later".to_vec(), b"not in it".to_vec());
        read_in_order(&mut kv, &model);
        while step(&mut reader) {}
        assert!(shown == seen, "{word}: {} pairs, not {}", shown.len(), seen.len());
        assert_has(&mut kv, &model, word);
    }
}

/// Two namespaces of pairs and one of blocks on the same flash.
fn several(path: &Path) -> String {
    let mut typed = Typed::default();
    typed.push("min_blob_size", "unlimited");
    let settings = typed.of(EngineKind::LSM.settings(), saker::url::parse_size).expect("it takes that");
    let namespaces = vec![
        NamespacePlan::Kv { flash_bytes: Some(48 << 20) },
        NamespacePlan::Kv { flash_bytes: Some(48 << 20) },
        NamespacePlan::Block { bytes: Some(16 << 20), block_bytes: 2048 },
    ];
    let plan =
        ImagePlan { engine: EngineKind::LSM, settings, namespaces, ..ImagePlan::kv(128 << 20, "tiny", 1) };
    plan.create(path).expect("creates");
    format!("file:{}?{AT_OPEN}", path.display())
}

fn level0_of(kv: &mut Kv, nsid: u32) -> u64 {
    let all = kv.counters().expect("told").expect("it has counters");
    let of_it = all.iter().filter(|counter| counter.nsid == nsid && counter.of == CounterOf::Device);
    of_it.filter(|counter| counter.name == "num_files_at_level0").map(|counter| counter.value).sum()
}

fn block(n: u64) -> Vec<u8> {
    vec![n as u8 + 1; 2048]
}

/// Each namespace puts off by itself. Writes to another one, or to blocks, leave it put off.
#[test]
fn namespaces_put_off_beside_each_other_and_beside_blocks() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("disk.img");
    let device = several(&path);
    let (mut rng, mut models) = (Seed(45).rng(), [Model::new(), Model::new()]);
    for life in 0..2_u64 {
        let server: Server = serve(&device);
        let mut hosts = [1, 2].map(|nsid| open(&server, &format!("nsid={nsid}")));
        let mut disk = Block::open(&url(&server, "nsid=3")).expect("opens");
        for (n, kv) in hosts.iter_mut().enumerate() {
            // A question is a pause of the whole device, in which a merge of either begins.
            write_blindly(kv, &mut rng, &mut models[n], 2400);
        }
        for n in 0..500 {
            disk.write(n % 100, &block(n % 100 + life)).expect("writes");
        }
        disk.flush().expect("flushes");
        for nsid in [1, 2] {
            let files = level0_of(&mut hosts[0], nsid);
            assert!(files >= PUT_OFF, "life {life}: level 0 of namespace {nsid} has {files} files");
        }
        let mut bytes = vec![0; 2048];
        for n in 0..100 {
            disk.read(n, &mut bytes).expect("reads");
            assert!(bytes == block(n + life), "life {life}: block {n}");
        }
        for (kv, model) in hosts.iter_mut().zip(&models) {
            assert_has(kv, model, &format!("life {life}"));
        }
        if life == 0 {
            // Of one alone.
            hosts[0].format().expect("formats");
            models[0].clear();
            assert_has(&mut hosts[0], &models[0], "formatted");
            assert_has(&mut hosts[1], &models[1], "beside a Format");
        }
        drop((hosts, disk));
        server.stop().expect("stops");
        assert!(verify_image(&path, &mut |_| {}).expect("reads").report.is_sound());
    }
}
