// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings that change while a transaction in parts is open, or one that has read, at targets in memory and on images; and a model that follows
//! parts over the network.

use saker::{EngineKind, ImagePlan, Require, grow_image};
use saker_testing::{seeds, tier};
use std::cell::RefCell;
use std::path::Path;

use super::split_between::{Place, everything};
use super::split_model::{Model, Parts};
use super::split_owners::{BEGINS, COMMITS, Controller, DONE, MORE};
use super::split_pairs::{found, targets};
use super::splits::id;
use super::support::{open, serve, url};

/// Each live setting becomes the least and the most that it takes, between any two parts. The commit is carried out, and versions that were read before hold:
/// a setting changes no pair.
#[test]
fn settings_change_between() {
    targets(|server, what| {
        let kind = what.rsplit(' ').next().expect("the engine");
        let engine = EngineKind::ALL.iter().find(|engine| engine.name() == kind).expect("an engine");
        let (mut mine, mut other) = (Controller::of(server), open(server, ""));
        let mut number = 0;
        for setting in engine.settings().iter().filter(|setting| setting.is_live()) {
            let (least, most) = setting.range();
            for numbers in [[least, most], [most, least]] {
                number += 1;
                let what = format!("{what}, {} {numbers:?}", setting.name);
                other.put(b"read", &[7; 90]).expect("room");
                let seen = other.get_versioned(b"read").expect("reads").version;
                let fill = &[number as u8; 300];
                assert_eq!(mine.part(id(1, number), BEGINS, b"one", fill), Ok(1), "{what}");
                other.set_setting(setting.name, &setting.written(numbers[0])).expect(&what);
                assert_eq!(mine.part(id(1, number), MORE, b"two", fill), Ok(2), "{what}");
                other.set_setting(setting.name, &setting.written(numbers[1])).expect(&what);
                let mut txn = other.begin_transaction().expect("it has them");
                txn.require(b"read", Require::Version(seen)).expect("a good key");
                txn.put(b"beside", fill).expect("a good key");
                assert_eq!(txn.commit(), Ok(()), "{what}: the version is what it was");
                assert_eq!(mine.part(id(1, number), COMMITS, LONG, fill), DONE, "{what}");
                assert_eq!(found(&mut other), [(); 3].map(|()| Some(fill.to_vec())), "{what}");
                // So many that tables and buffers are written by what the setting is now.
                (0..60_u32).for_each(|n| other.put(&n.to_be_bytes(), &fill[..200]).expect("room"));
            }
        }
        assert!(number > 0 || kind.starts_with("hash"), "{what}: it has live settings");
    });
}

const LONG: &[u8] = b"a key that is longer than sixteen bytes";

fn image(path: &Path, engine: EngineKind, seed: u64) -> String {
    ImagePlan { engine, ..ImagePlan::kv(64 << 20, "tiny", seed) }.create(path).expect("creates");
    format!("file:{}", path.display())
}

/// Whatever looks between the parts, and whatever ends them, at targets in memory and on an image. That of the image ends with each connection, or goes
/// on, and the image grows meanwhile.
#[test]
fn what_looks_and_ends_between() {
    targets(|server, what| {
        let mut open = || open(server, "");
        everything(&mut Place { open: &mut open, rest: &mut || {}, lasts: true, what });
    });
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("disk.img");
        let device = image(&path, engine, 1);
        let server = RefCell::new(Some(serve(&device)));
        let mut open = || {
            let ended = server.take();
            ended.into_iter().for_each(|server| server.stop().expect("stops"));
            open(server.borrow_mut().insert(serve(&device)), "")
        };
        let mut rest = || {
            server.take().expect("it runs").stop().expect("stops");
            grow_image(&path, 80 << 20, None, &mut |_| {}).expect("grows");
        };
        let what = format!("a target that starts again, {}", engine.name());
        everything(&mut Place { open: &mut open, rest: &mut rest, lasts: true, what: &what });
    }
}

/// Histories of parts over the network: in one connection, and over targets that end and start again.
#[test]
fn a_model_agrees() {
    for engine in EngineKind::ALL.iter().copied() {
        for seed in seeds(tier(1, 20)) {
            let what = format!("{}, seed {seed}", engine.name());
            let dir = tempfile::tempdir().expect("a directory");
            let device = image(&dir.path().join("disk.img"), engine, seed);
            let mut model = Model::new(seed);
            for _ in 0..tier(3, 20) {
                let server = serve(&device);
                for _ in 0..3 {
                    let mut parts = Parts::open(&url(&server, ""));
                    model.look(&mut parts, &what);
                    (0..80).for_each(|_| model.step(&mut parts, &what));
                    model.connected();
                }
                server.stop().expect("stops");
            }
            assert!(model.ended.0 > 10 && model.ended.1 > 10, "{what}: {:?}", model.ended);
        }
    }
}
