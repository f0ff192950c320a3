//! A target is killed (SIGKILL) while hosts on threads of their own move money in transactions, again and again: no money comes or
//! goes, and what a host was told is there. `crates/edge/saker/tests/transfer_kill.rs` kills a process that uses an image itself.

use crate::transfers::{audit, counter, number, open_accounts, transfer};
use saker::{EngineKind, ImagePlan, Kv};
use saker_sim::Seed;
use saker_tcp::{Server, ServerConfig};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const CLIENTS: u64 = 3;

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    let Ok(url) = std::env::var("SAKER_SIGKILL_URL") else { return };
    let mut config = ServerConfig::new(&url);
    config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let server = Server::start(config).expect("the server starts");
    // The harness prints to standard output; standard input is the parent's pipe.
    let pipe = std::io::stdin().as_fd().try_clone_to_owned().expect("duplicates");
    writeln!(File::from(pipe), "tcp://{}/{}", server.addresses()[0], server.names()[0])
        .expect("the parent reads");
    std::thread::sleep(Duration::from_secs(60));
}

fn start(path: &Path) -> (Child, String) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["transfer_kill::child", "--exact", "--ignored", "--nocapture"])
        .stdin(writer)
        .stdout(Stdio::null());
    command.env("SAKER_SIGKILL_URL", format!("file:{}", path.display()));
    let child = command.spawn().expect("starts");
    drop(command);
    let mut url = String::new();
    BufReader::new(reader).read_line(&mut url).expect("reads");
    (child, format!("{}?reconnect=0&timeout=10", url.trim_end()))
}

/// What each client was told last before the target was killed.
fn live_and_die(path: &Path, round: u64, before: &[u64], moment: Duration) -> Vec<u64> {
    let (mut child, url) = start(path);
    open_accounts(&mut Kv::open(&url).expect("opens")).expect("opens accounts");
    let url = &url;
    std::thread::scope(|scope| {
        let client = |(n, before): (u64, &u64)| {
            let before = *before;
            scope.spawn(move || {
                let mut rng = Seed(round).index(n).rng();
                let Ok(mut kv) = Kv::open(url) else { return before };
                let mut told = before;
                while let Ok(count) = transfer(&mut kv, n, &mut rng) {
                    assert_eq!(count, told + 1, "client {n}: each transfer counts once");
                    told = count;
                }
                told
            })
        };
        let threads: Vec<_> = (0..).zip(before).map(client).collect();
        std::thread::sleep(moment);
        child.kill().expect("kills");
        child.wait().expect("ends");
        threads.into_iter().map(|thread| thread.join().expect("a client ends")).collect()
    })
}

#[test]
fn no_money_comes_or_goes() {
    let rounds = saker_testing::tier(3, 67);
    for engine in [EngineKind::HASH_STORE, EngineKind::LSM, EngineKind::TREE] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(8 << 20, "tiny", 1) }.create(&path).expect("creates");
        let (mut told, mut rng) = (vec![0; CLIENTS as usize], Seed(11).rng());
        for round in 0..rounds {
            let moment = Duration::from_millis(50 + rng.below(150));
            told = live_and_die(&path, round, &told, moment);
            let mut kv = Kv::open(&format!("file:{}", path.display())).expect("opens");
            audit(&mut kv, &told);
            // One more than was told may be there: from here on it is known.
            for (n, told) in (0..).zip(&mut told) {
                *told = number(kv.get(&counter(n)).expect("reads"));
            }
        }
        assert!(told.iter().sum::<u64>() > rounds * 5, "{engine:?}: {told:?}");
    }
}
