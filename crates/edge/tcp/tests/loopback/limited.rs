// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Limits beside all else that hosts ask at the same time: groups, transactions, iterators, long keys, Format, Redis clients, and devices
//! that keep time. What is over a limit waits; nothing fails, and nothing is mixed up.

use std::collections::BTreeMap;

use saker::{
    BackupOptions, EngineKind, ImagePlan, KeyRange, Kv, KvCache, RestoreOptions, RetentionOptions,
    ScanOptions, Transaction, WriteBatch, back_up, restore_kv, scrub,
};
use saker_nvme::Key;
use saker_nvme::vendor_specific::{IteratorCommand, IteratorRange};
use saker_nvme_tcp::initiator::Data;
use saker_sim::{Rng, Seed};
use saker_tcp::{HostRules, NamespaceLimits, RedisConfig, Server, ServerConfig};
use saker_testing::{seeds, tier};
use zerocopy::IntoBytes;

use crate::loopback::raw::RawQueue;
use crate::loopback::support::{config, url};
use crate::redis::client::{Redis, Reply, ok};

const SLOW: &str = "nqn.2026-11.dev.saker:limited";
const FREE: &str = "nqn.2026-11.dev.saker:free";

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A server whose host `SLOW` and whose namespace have limits, with Redis clients.
fn limited(device: &str) -> Server {
    let mut config = config(device);
    let rules = HostRules {
        nqn: SLOW.into(),
        commands_per_second: Some(400),
        bytes_per_second: Some(4 << 20),
        memory_max: Some(2 << 20),
        ..HostRules::default()
    };
    config.host_rules = vec![rules];
    let namespace =
        NamespaceLimits { nsid: 1, commands_per_second: Some(4000), bytes_per_second: Some(64 << 20) };
    config.subsystems[0].namespaces = vec![namespace];
    config.subsystems[0].redis = Some(RedisConfig::new("127.0.0.1:0".parse().expect("an address")));
    Server::start(config).expect("the server starts")
}

fn host(server: &Server, name: &str) -> Kv {
    Kv::open(&url(server, &format!("hostnqn={name}&depth=16"))).expect("connected")
}

fn key(who: u8, rng: &mut Rng) -> Vec<u8> {
    let n = rng.below(40) as u8;
    if n.is_multiple_of(4) { [&[who, n][..], b" of more than sixteen bytes"].concat() } else { vec![who, n] }
}

fn value(rng: &mut Rng) -> Vec<u8> {
    let bytes = [0, 10, 900, 5_000, 20_000][rng.below(5) as usize];
    vec![rng.below(256) as u8; bytes]
}

/// What one host does, held against what it has done so far. Its keys begin with `who`.
fn work(kv: &mut Kv, who: u8, rng: &mut Rng, rounds: u32) -> Model {
    let mut model = Model::new();
    for _ in 0..rounds {
        match rng.below(6) {
            0 => {
                let (mut batch, is_atomic) = (WriteBatch::new(), rng.below(2) == 0);
                for _ in 0..10 {
                    let (key, mut value) = (key(who, rng), value(rng));
                    // As long as a transaction of this profile can be.
                    value.truncate(if is_atomic { 2_000 } else { usize::MAX });
                    batch.put(&key, &value);
                    model.insert(key, value);
                }
                batch.set_atomic(is_atomic);
                kv.write(&batch).expect("stored");
            }
            1 => {
                let (from, to, value) = (key(who, rng), key(who, rng), value(rng));
                let body = &mut |txn: &mut Transaction<'_>| {
                    let old = txn.get(&from)?;
                    assert_eq!(old.as_ref(), model.get(&from), "a transaction reads");
                    txn.put(&to, &value)
                };
                kv.transact(body).expect("carried out");
                model.insert(to, value);
            }
            2 => {
                let key = key(who, rng);
                assert_eq!(kv.delete(&key).expect("deleted"), model.remove(&key).is_some());
            }
            3 => {
                let queued: Vec<_> = (0..8).map(|_| (key(who, rng), value(rng))).collect();
                for (key, value) in queued {
                    kv.put_queued(&key, &value).expect("sent");
                    model.insert(key, value);
                }
                kv.drain().expect("stored");
            }
            4 => {
                let keys: Vec<_> = (0..8).map(|_| key(who, rng)).collect();
                let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                let found = kv.multi_get(&keys).expect("read");
                assert!(found.iter().zip(&keys).all(|(found, key)| found.as_ref() == model.get(*key)));
            }
            _ => assert_eq!(scanned(kv, who), model),
        }
    }
    model
}

fn scanned(kv: &mut Kv, who: u8) -> Model {
    let range = KeyRange { prefix: &[who], ..KeyRange::default() };
    let mut found = Model::new();
    let options = ScanOptions { range, ..ScanOptions::default() };
    kv.scan(&options, &mut |key, value| found.insert(key.to_vec(), value.to_vec()).is_none())
        .expect("scanned");
    found
}

fn redis_work(redis: &mut Redis, rounds: u8) {
    for n in 0..rounds {
        assert_eq!(redis.ask(&[b"SET", &[b'r', n], &[n; 300]]), ok());
        assert_eq!(redis.ask(&[b"GET", &[b'r', n]]), Reply::Bulk(vec![n; 300]));
    }
}

/// A device of each kind: in memory, in an image, and one that keeps time.
fn devices(engine: EngineKind, folder: &std::path::Path) -> [String; 3] {
    let path = folder.join(engine.name());
    ImagePlan { engine, ..ImagePlan::kv(64 << 20, "tiny", 1) }.create(&path).expect("an image");
    let memory = format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name());
    [memory.clone(), format!("file:{}", path.display()), format!("{memory}&timing=real")]
}

fn number(kv: &mut Kv, name: &str) -> u64 {
    let counters = kv.counters().expect("an answer").expect("counters");
    counters.iter().filter(|counter| counter.name == name).map(|counter| counter.value).sum()
}

/// How many commands waited for a limit.
fn together(device: &str, seed: u64) -> u64 {
    let server = limited(device);
    let rounds = tier(8, 120);
    let models = std::thread::scope(|scope| {
        let hosts = [(SLOW, b's'), (SLOW, b't'), (FREE, b'f')].map(|(name, who)| {
            let server = &server;
            let mut rng = Seed(seed).child(std::str::from_utf8(&[who]).expect("a letter")).rng();
            scope.spawn(move || {
                let mut kv = host(server, name);
                (who, work(&mut kv, who, &mut rng, rounds))
            })
        });
        redis_work(&mut Redis::connect(server.redis_addresses()[0]), 50);
        hosts.map(|host| host.join().expect("no panic"))
    });
    let mut kv = host(&server, FREE);
    for (who, model) in models {
        assert!(scanned(&mut kv, who) == model, "{device}, seed {seed}, {}", char::from(who));
    }
    let waits = number(&mut kv, "host_limit_waits");
    drop(kv);
    server.stop().expect("stopped");
    waits
}

#[test]
fn nothing_is_mixed_up() {
    let folder = tempfile::tempdir().expect("a folder");
    for seed in seeds(tier(1, 12)) {
        let mut waits = 0;
        for engine in EngineKind::ALL {
            waits += devices(*engine, folder.path()).iter().map(|device| together(device, seed)).sum::<u64>();
            std::fs::remove_file(folder.path().join(engine.name())).expect("removed");
        }
        // A busy machine may be slower than the limit on some of them.
        assert!(waits > 0, "seed {seed}: there is a limit");
    }
}

/// Stores of a host wait for its limit while another one formats the namespace. How many were carried out behind the format.
fn stored_behind_a_format(slow: &mut Kv, free: &mut Kv) -> usize {
    std::thread::scope(|scope| {
        let puts = scope.spawn(|| {
            (0..120_u32).for_each(|n| slow.put_queued(&n.to_le_bytes(), &[1; 100]).expect("sent"));
            slow.drain().expect("each is stored")
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        free.format().expect("formatted");
        puts.join().expect("no panic");
    });
    free.list(None).count()
}

/// Commands that wait for a limit while another host formats the namespace are carried out, before it or behind it; none is lost on the way.
#[test]
fn a_format_passes_what_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    for engine in EngineKind::ALL {
        for device in devices(*engine, folder.path()) {
            let server = limited(&device);
            let (mut slow, mut free) = (host(&server, SLOW), host(&server, FREE));
            // On a busy machine the format may come before the first or behind the last one.
            let is_between = (0..30).any(|_| {
                slow.put(b"before", b"gone").expect("stored");
                let left = stored_behind_a_format(&mut slow, &mut free);
                assert_eq!(slow.get(b"before").expect("read"), None, "{device}");
                let last = (left > 0).then(|| vec![1; 100]);
                assert_eq!(
                    slow.get(&119_u32.to_le_bytes()).expect("read"),
                    last,
                    "{device}: {left} are left"
                );
                assert!(left <= 120, "{device}: {left} of 120 are left");
                (1..120).contains(&left)
            });
            assert!(is_between, "{device}: a format passes commands that wait");
            drop((slow, free));
            server.stop().expect("stopped");
        }
    }
}

/// Asks until something holds: what a host leaves behind is ended in its turn.
fn holds_in_the_end(mut asked: impl FnMut() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        asked()
    })
}

/// Iterators of a host that goes while its commands for them wait for its rate, the ones that end them, too: none stays open.
#[test]
fn iterators_end_although_their_host_was_over_its_rate() {
    let folder = tempfile::tempdir().expect("a folder");
    let range = IteratorRange::new(b"", b"", b"").expect("a range");
    let ask = |command: IteratorCommand| command.encode(1);
    for engine in [EngineKind::LSM, EngineKind::TREE] {
        for device in devices(engine, folder.path()) {
            let server = limited(&device);
            let mut free = host(&server, FREE);
            free.put(b"key", b"value").expect("stored");
            for _ in 0..2 {
                let (at, nqn) = (server.addresses()[0], &server.names()[0]);
                let (admin, cntlid) = RawQueue::admin_as(SLOW, at, nqn);
                let (mut queue, _) =
                    RawQueue::connect_as(SLOW, at, nqn, cntlid, (1, 256)).expect("connected");
                let numbers: Vec<u32> = (0..16)
                    .map(|_| {
                        let open = ask(IteratorCommand::Open { keys_only: false, beside: None });
                        let answer = queue.execute(open, Data::Send(range.as_bytes().to_vec()));
                        assert!(answer.cqe.status().is_success(), "{device}");
                        answer.cqe.result_dw0()
                    })
                    .collect();
                assert_eq!(number(&mut free, "num_snapshots"), 16, "{device}");
                // 400 a second, of which 40 may go at once: these wait, and what ends half of the iterators is behind them.
                for cid in 0..200_u16 {
                    let iterator = numbers[usize::from(cid) % 16];
                    let next = IteratorCommand::Next {
                        iterator,
                        buffer_bytes: 4096,
                        pairs_max: 1,
                        backwards: false,
                        seek: Some(Key::new(b"k").expect("a key")),
                    };
                    assert!(queue.protocol.submit(ask(next).with_cid(cid), Data::Receive(4096), 8192));
                }
                for (cid, iterator) in (200..).zip(&numbers[..8]) {
                    let close = ask(IteratorCommand::Close { iterator: *iterator }).with_cid(cid);
                    assert!(queue.protocol.submit(close, Data::None, 8192));
                }
                queue.send();
                drop((queue, admin));
                let is_over = holds_in_the_end(|| number(&mut free, "num_snapshots") == 0);
                assert!(is_over, "{device}: iterators of a host that has gone");
            }
            drop(free);
            server.stop().expect("stopped");
        }
    }
}

/// More than may be read at once.
const PAIRS: u32 = 60;

/// A host at its rate scrubs and backs up what another one writes: both get through, and what the backup has is of one moment or sound.
#[test]
fn a_scrub_and_a_backup_within_limits() {
    let folder = tempfile::tempdir().expect("a folder");
    for engine in EngineKind::ALL {
        for device in devices(*engine, folder.path()) {
            let server = limited(&device);
            let (place, file) = (url(&server, &format!("hostnqn={SLOW}")), folder.path().join("backup"));
            let mut free = host(&server, FREE);
            (0..PAIRS).for_each(|n| free.put(&n.to_le_bytes(), &[1; 500]).expect("stored"));
            std::thread::scope(|scope| {
                let slow = scope.spawn(|| {
                    let found = scrub(&place, None, &mut |_| true).expect("reads");
                    assert!(found.sound >= u64::from(PAIRS) && found.damaged == 0, "{device}");
                    let each = BackupOptions { each: true, ..BackupOptions::default() };
                    back_up(&place, &file, &each, &mut |_| {}).expect("a backup");
                });
                (0..4 * PAIRS).for_each(|n| free.put(&(n % PAIRS).to_le_bytes(), &[2; 500]).expect("stored"));
                slow.join().expect("no panic");
            });
            let mut again = Kv::open("mem:?size=64MiB&profile=tiny").expect("opens");
            let options = RestoreOptions::default();
            restore_kv(std::slice::from_ref(&file), &mut again, &options, &mut |_| {}).expect("restored");
            for n in 0..PAIRS {
                let value = again.get(&n.to_le_bytes()).expect("read").expect("it is there");
                assert!(value == [1; 500] || value == [2; 500], "{device}: {n}");
            }
            std::fs::remove_file(&file).expect("removed");
            drop(free);
            server.stop().expect("stopped");
        }
        std::fs::remove_file(folder.path().join(engine.name())).expect("removed");
    }
}

/// A cache of blocks that is full goes on evicting within its host's limits.
#[test]
fn a_full_cache_within_limits() {
    let server = limited("mem:?size=16MiB&profile=tiny");
    let block = |n: u32| vec![n as u8; 16 << 10];
    let place = url(&server, &format!("hostnqn={SLOW}"));
    let mut cache = KvCache::open(&place, RetentionOptions::default()).expect("a cache");
    let blocks = tier(1200_u32, 4000);
    (0..blocks).for_each(|n| assert!(cache.put_if_absent(&n.to_le_bytes(), &block(n)).expect("stored")));
    let newest = blocks - 1;
    assert_eq!(cache.get(&newest.to_le_bytes()).expect("read"), Some(block(newest)));
    assert_eq!(cache.get(&0_u32.to_le_bytes()).expect("read"), None, "the first ones have gone");
    drop(cache);
    server.stop().expect("stopped");
}

/// Hosts of one name share its limits over all subsystems' connections, and each subsystem counts for itself.
#[test]
fn many_subsystems() {
    let many = tier(24, 100);
    let mut config = ServerConfig::empty();
    config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
    for n in 0..many {
        let one = ServerConfig::new(&format!("mem:?size=4MiB&profile=tiny&seed={n}"));
        config.subsystems.extend(one.subsystems);
        config.subsystems[n].nqn = Some(format!("nqn.2026-11.dev.saker:many{n}"));
    }
    config.host_rules =
        vec![HostRules { nqn: SLOW.into(), commands_per_second: Some(100), ..HostRules::default() }];
    let server = Server::start(config).expect("the server starts");
    let open = |n: usize, name: &str| {
        let place = format!("tcp://{}/{}?hostnqn={name}", server.addresses()[0], server.names()[n]);
        Kv::open(&place).expect("connected")
    };
    let mut hosts: Vec<_> = (0..many).map(|n| (open(n, SLOW), open(n, FREE))).collect();
    // Ten commands of each go at once, so two of each wait for nothing.
    let begun = std::time::Instant::now();
    for (n, (slow, free)) in hosts.iter_mut().enumerate() {
        slow.put(b"key", &n.to_le_bytes()).expect("stored");
        assert_eq!(free.get(b"key").expect("read"), Some(n.to_le_bytes().to_vec()));
    }
    for (n, (slow, free)) in hosts.iter_mut().enumerate() {
        assert_eq!(slow.get(b"key").expect("read"), Some(n.to_le_bytes().to_vec()));
        assert_eq!(number(free, "host_limit_waits"), 0, "subsystem {n} after {:?}", begun.elapsed());
    }
    drop(hosts);
    server.stop().expect("stopped");
}
