// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A server of Redis clients is killed (SIGKILL) while pipelines are under way: what was acknowledged is there for the next
//! server; what was not took place wholly or not at all.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use saker::{EngineKind, ImagePlan};
use saker_sim::seed::{Rng, Seed};
use saker_testing::{seeds, tier};

use super::client::{Redis, Reply, ok};
use super::server::serve;

/// The device that the server has.
const DEVICE: &str = "SAKER_TEST_REDIS_DEVICE";
const KEYS: u64 = 60;

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    let Ok(device) = std::env::var(DEVICE) else { return };
    let server = serve(&device);
    // The harness prints to standard output; standard input is the parent's pipe.
    let pipe = std::io::stdin().as_fd().try_clone_to_owned().expect("duplicates");
    writeln!(File::from(pipe), "{}", server.redis_addresses()[0]).expect("the parent reads");
    std::thread::sleep(Duration::from_secs(60));
}

/// A server in a process of its own.
struct Killed {
    child: Child,
    address: SocketAddr,
}

impl Killed {
    fn start(image: &Path) -> Self {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["redis::kills::child", "--exact", "--ignored", "--nocapture"]);
        command.stdin(writer).stdout(Stdio::null()).env(DEVICE, format!("file:{}", image.display()));
        let child = command.spawn().expect("starts");
        drop(command);
        let mut line = String::new();
        BufReader::new(reader).read_line(&mut line).expect("reads");
        Self { child, address: line.trim_end().parse().expect("an address") }
    }

    fn kill(mut self) {
        self.child.kill().expect("kills");
        self.child.wait().expect("ends");
    }
}

/// What a command leaves of the pairs that it names: `None`, none.
type Effect = Vec<(Vec<u8>, Option<Vec<u8>>)>;
type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(rng: &mut Rng) -> Vec<u8> {
    format!("{:01$}", rng.below(KEYS), [3, 16, 30][rng.below(3) as usize]).into_bytes()
}

/// The next command of a connection, and what it leaves.
fn command(rng: &mut Rng) -> (Vec<Vec<u8>>, Effect) {
    let mut value = vec![0; [8, 100, 3000][rng.below(3) as usize]];
    rng.fill(&mut value);
    let (one, other) = (key(rng), key(rng));
    let word = |text: &str| text.as_bytes().to_vec();
    match rng.below(8) {
        0 => (vec![word("DEL"), one.clone()], vec![(one, None)]),
        1 if one != other => {
            let command = vec![word("MSET"), one.clone(), value.clone(), other.clone(), value.clone()];
            (command, vec![(one, Some(value.clone())), (other, Some(value))])
        }
        _ => (vec![word("SET"), one.clone(), value.clone()], vec![(one, Some(value))]),
    }
}

fn apply(pairs: &mut Pairs, effect: &Effect) {
    for (key, value) in effect {
        match value {
            Some(value) => pairs.insert(key.clone(), value.clone()),
            None => pairs.remove(key),
        };
    }
}

/// Sends pipelines until the server is gone. Whatever was answered is in `pairs`; the effects of what was not are returned in their order.
fn write_until_killed(redis: &mut Redis, pairs: &mut Pairs, rng: &mut Rng) -> Vec<Effect> {
    loop {
        let commands: Vec<_> = (0..1 + rng.below(64)).map(|_| command(rng)).collect();
        let sent = commands.iter().try_for_each(|(arguments, _)| {
            redis.try_write(&super::client::command(&arguments.iter().map(Vec::as_slice).collect::<Vec<_>>()))
        });
        for (n, (arguments, effect)) in commands.iter().enumerate() {
            match redis.try_read() {
                Ok(answer) => {
                    assert!(
                        answer == ok() || matches!(answer, Reply::Integer(0 | 1)),
                        "{arguments:?}: {answer:?}"
                    );
                    apply(pairs, effect);
                }
                // The answers that had come before the kill were read.
                Err(_) => return commands.into_iter().skip(n).map(|(_, effect)| effect).collect(),
            }
        }
        if sent.is_err() {
            return Vec::new();
        }
    }
}

/// What a server has of all keys.
fn read(redis: &mut Redis) -> Pairs {
    let mut pairs = Pairs::new();
    for bytes in [3, 16, 30] {
        for n in 0..KEYS {
            let key = format!("{n:0bytes$}").into_bytes();
            if let Reply::Bulk(value) = redis.ask(&[b"GET", &key]) {
                pairs.insert(key, value);
            }
        }
    }
    assert_eq!(redis.line("DBSIZE"), Reply::Integer(pairs.len() as i64));
    pairs
}

/// Each key has what was acknowledged last, or what a command under way leaves; of several keys that one command writes all have it, unless a later
/// one has written them.
fn verify(found: &Pairs, acknowledged: &Pairs, under_way: &[Effect]) {
    let shows = |at: usize, (key, value): &(Vec<u8>, Option<Vec<u8>>)| {
        let later = under_way[at + 1..].iter().flatten().filter(|(other, _)| other == key);
        let mut possible = std::iter::once(value).chain(later.map(|(_, value)| value));
        possible.any(|value| found.get(key) == value.as_ref())
    };
    for (at, effect) in under_way.iter().enumerate() {
        let took_place =
            effect.iter().any(|(key, value)| value.is_some() && found.get(key) == value.as_ref());
        assert!(!took_place || effect.iter().all(|pair| shows(at, pair)), "a half of a command took place");
    }
    let keys = found.keys().chain(acknowledged.keys());
    for key in keys {
        let mut written = under_way.iter().flatten().filter(|(other, _)| other == key);
        let is_sound = found.get(key) == acknowledged.get(key)
            || written.any(|(_, value)| found.get(key) == value.as_ref());
        assert!(is_sound, "{} has lost what was acknowledged", key.escape_ascii());
    }
}

fn round(image: &Path, pairs: &mut Pairs, rng: &mut Rng) {
    let server = Killed::start(image);
    let mut redis = Redis::connect(server.address);
    let found = read(&mut redis);
    assert_eq!(&found, pairs, "the next server has what the one before has left");
    let moment = Duration::from_micros(rng.below(30_000));
    let killer = std::thread::spawn(move || {
        std::thread::sleep(moment);
        server.kill();
    });
    let under_way = write_until_killed(&mut redis, pairs, rng);
    killer.join().expect("kills");
    let server = Killed::start(image);
    let found = read(&mut Redis::connect(server.address));
    server.kill();
    verify(&found, pairs, &under_way);
    *pairs = found;
}

#[test]
fn what_was_acknowledged_survives_kills() {
    for engine in EngineKind::ALL {
        for seed in seeds(tier(1, 7)) {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("disk.img");
            ImagePlan { engine: *engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }
                .create(&path)
                .expect("an image");
            let (mut rng, mut pairs) = (Seed(seed).child("kills").rng(), Pairs::new());
            for _ in 0..tier(1, 5) {
                round(&path, &mut pairs, &mut rng);
            }
        }
    }
}
