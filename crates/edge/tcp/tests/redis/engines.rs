// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories of pipelines on every engine beside a model.

use std::collections::BTreeMap;

use saker::{EngineKind, ImagePlan, Kv};
use saker_sim::seed::{Rng, Seed};
use saker_testing::{seeds, tier};

use super::client::{Redis, Reply, error, ok};
use super::server::{connect, serve};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(rng: &mut Rng) -> Vec<u8> {
    let n = rng.below(40) as u8;
    let bytes = [3, 16, 17, 200][usize::from(n % 4)];
    (0..bytes).map(|at| if at == 0 { n } else { b'k' }).collect()
}

fn value(rng: &mut Rng) -> Vec<u8> {
    let bytes = [0, 10, 100, 4096, 5000][rng.below(5) as usize];
    vec![rng.below(256) as u8; bytes]
}

fn found(model: &Model, key: &[u8]) -> Reply {
    model.get(key).cloned().map_or(Reply::Null, Reply::Bulk)
}

/// A command and its answer by the model.
fn step(rng: &mut Rng, model: &mut Model, transactions: bool) -> (Vec<Vec<u8>>, Reply) {
    let word = |text: &str| text.as_bytes().to_vec();
    let (one, other, new) = (key(rng), key(rng), value(rng));
    match rng.below(if transactions { 10 } else { 8 }) {
        0..2 => {
            model.insert(one.clone(), new.clone());
            (vec![word("SET"), one, new], ok())
        }
        2..4 => (vec![word("GET"), one.clone()], found(model, &one)),
        4 => {
            let answer = Reply::Array(vec![found(model, &one), found(model, &other), found(model, &one)]);
            (vec![word("MGET"), one.clone(), other, one], answer)
        }
        5 => {
            let gone = [&one, &other, &one].map(|key| i64::from(model.remove(key).is_some()));
            (vec![word("DEL"), one.clone(), other, one], Reply::Integer(gone.iter().sum()))
        }
        6 => {
            let there = [&one, &other].map(|key| i64::from(model.contains_key(key)));
            (vec![word("EXISTS"), one, other], Reply::Integer(there.iter().sum()))
        }
        7 => {
            let (option, takes_place) = match rng.below(2) {
                0 => ("NX", !model.contains_key(&one)),
                _ => ("XX", model.contains_key(&one)),
            };
            if takes_place {
                model.insert(one.clone(), new.clone());
            }
            (vec![word("SET"), one, new, word(option)], if takes_place { ok() } else { Reply::Null })
        }
        8 => {
            let answer = found(model, &one);
            model.insert(one.clone(), new.clone());
            (vec![word("SET"), one, new, word("GET")], answer)
        }
        _ => {
            model.insert(one.clone(), new.clone());
            model.insert(other.clone(), one.clone());
            (vec![word("MSET"), one.clone(), new, other, one], ok())
        }
    }
}

fn history(redis: &mut Redis, rng: &mut Rng, model: &mut Model, transactions: bool) {
    for _ in 0..tier(12, 60) {
        let steps: Vec<_> = (0..1 + rng.below(64)).map(|_| step(rng, model, transactions)).collect();
        for (arguments, _) in &steps {
            redis.send(&arguments.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }
        for (arguments, answer) in steps {
            let shown: Vec<_> =
                arguments.iter().map(|a| a[..a.len().min(20)].escape_ascii().to_string()).collect();
            assert_eq!(redis.read(), answer, "{shown:?}");
        }
    }
    if rng.below(3) == 0 {
        assert_eq!(redis.line("FLUSHALL"), ok());
        model.clear();
    }
    assert_eq!(redis.line("DBSIZE"), Reply::Integer(model.len() as i64));
}

#[test]
fn histories_of_pipelines_end_as_the_model_says() {
    for engine in EngineKind::ALL {
        for seed in seeds(tier(1, 20)) {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("disk.img");
            ImagePlan { engine: *engine, ..ImagePlan::kv(32 << 20, "tiny", 1) }
                .create(&path)
                .expect("an image");
            let device = format!("file:{}", path.display());
            let mut kv = Kv::open(&device).expect("opened");
            let transactions = kv.has_transactions().expect("asked");
            kv.close().expect("closed");
            let (mut rng, mut model) = (Seed(seed).child("redis").rng(), Model::new());
            for _ in 0..2 {
                let server = serve(&device);
                let mut redis = connect(&server);
                history(&mut redis, &mut rng, &mut model, transactions);
                if !transactions {
                    let why = redis.line("MSET a 1 b 2");
                    assert!(
                        error(&why).starts_with("ERR this command needs transactions"),
                        "{engine:?}: {why:?}"
                    );
                }
                server.stop().expect("stopped");
            }
            let mut kv = Kv::open(&device).expect("reopened");
            for (key, value) in &model {
                assert_eq!(kv.get(key).expect("read").as_ref(), Some(value), "{engine:?} seed {seed}");
            }
            assert_eq!(kv.list(None).count(), model.len(), "{engine:?} seed {seed}");
        }
    }
}
