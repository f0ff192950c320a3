// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a greedy host costs a quiet one: a target as a process of its own, a host that has one small command under way at a time, and
//! one with several connections, deep and full of large values. Rounds by turns, in one run: alone; while the greedy one is busy with
//! another target, which shows what the machine's processors and sockets cost; with the greedy one. Prints the latencies of the quiet
//! host, what the greedy one moved, and the ratios of the 99th percentiles, each the median of neighbours.
//!
//! Hosts of a network have processors of their own. Here the target has processor 0 and both hosts share processor 1, where the greedy
//! one and the other target run when nobody else wants to (SCHED_IDLE): so the system's scheduler takes nothing from the quiet host or
//! the target for it. `SAKER_FAIR=anywhere` leaves the processors to the scheduler; `SAKER_FAIR=first` has all of them come before other
//! processes of the machine (SCHED_FIFO, as root). Needs util-linux (taskset, chrt).
//!
//! `cargo run --release -p saker-tcp --example fair [ROUNDS [URL [puts|gets|small [QUEUES]]]]`

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use saker::Kv;
use saker_tcp::{Server, ServerConfig, StopSignal};

type Failure = Box<dyn Error + Send + Sync>;

const RUN: Duration = Duration::from_millis(1_000);
const QUIET_KEYS: u32 = 1_000;
const DEPTH: u32 = 32;

/// What the greedy host does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Greed {
    /// Stores values of 256 KiB.
    Puts,
    /// Reads values of 256 KiB.
    Gets,
    /// Stores values of 64 bytes.
    Small,
}

impl Greed {
    fn of(name: &str) -> Self {
        match name {
            "puts" => Self::Puts,
            "gets" => Self::Gets,
            _ => Self::Small,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Puts => "puts",
            Self::Gets => "gets",
            Self::Small => "small",
        }
    }

    fn value(self) -> Vec<u8> {
        vec![7; if self == Self::Small { 64 } else { 256 << 10 }]
    }
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let first = args.next().unwrap_or_else(|| "9".into());
    if first == "at its place" {
        return run(args);
    }
    if first == "serve" {
        return serve(&args.next().ok_or("a device")?);
    }
    if first == "greedy" {
        let [url, greed, queues] = [args.next(), args.next(), args.next()].map(Option::unwrap_or_default);
        return greedy(&url, Greed::of(&greed), queues.parse()?);
    }
    let again = Place::Quiet.command()?.args(["at its place", &first]).args(args).status()?;
    if again.success() { Ok(()) } else { Err("it has failed".into()) }
}

/// All of it, by the quiet host.
fn run(mut args: impl Iterator<Item = String>) -> Result<(), Failure> {
    let rounds = args.next().map_or(Ok(9), |text| text.parse())?;
    let url = args.next().unwrap_or_else(|| "mem:?size=1GiB".into());
    let greeds = args
        .next()
        .map_or_else(|| vec![Greed::Puts, Greed::Gets, Greed::Small], |name| vec![Greed::of(&name)]);
    let queues = args.next().map_or(Ok(4), |text| text.parse())?;
    greeds.into_iter().try_for_each(|greed| compare(rounds, &url, greed, queues))
}

/// The target, in this process until its parent closes standard input.
fn serve(device: &str) -> Result<(), Failure> {
    let mut config = ServerConfig::new(device);
    config.listen = vec!["127.0.0.1:0".parse()?];
    let mut stop = StopSignal::new()?;
    let server = Server::start(config)?;
    println!("tcp://{}/{}", server.addresses()[0], server.names()[0]);
    stop.wait();
    Ok(server.stop()?)
}

/// Where a process runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Target,
    Quiet,
    /// Where the quiet host is, when that has nothing to do.
    Greedy,
}

fn is_asked(way: &str) -> bool {
    std::env::var("SAKER_FAIR").is_ok_and(|text| text == way)
}

impl Place {
    /// This program as another process there.
    fn command(self) -> std::io::Result<Command> {
        let exe = std::env::current_exe()?;
        let (is_anywhere, is_first) = (is_asked("anywhere"), is_asked("first"));
        let words: &[&str] = match self {
            Self::Greedy if is_anywhere => &["nice", "-n", "19"],
            _ if is_anywhere => return Ok(Command::new(exe)),
            Self::Target if is_first => &["chrt", "-f", "10", "taskset", "-c", "0"],
            Self::Quiet if is_first => &["chrt", "-f", "10", "taskset", "-c", "1"],
            Self::Greedy if is_first => &["chrt", "-f", "5", "taskset", "-c", "1"],
            Self::Target => &["taskset", "-c", "0"],
            Self::Quiet => &["taskset", "-c", "1"],
            Self::Greedy => &["chrt", "-i", "0", "taskset", "-c", "1"],
        };
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(exe);
        Ok(command)
    }
}

struct Target {
    child: Child,
    url: String,
}

impl Target {
    fn start(device: &str, place: Place) -> Result<Self, Failure> {
        let mut child = place.command()?.args(["serve", device]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let out = child.stdout.take().ok_or("its output")?;
        BufReader::new(out).read_line(&mut line)?;
        Ok(Self { child, url: line.trim().to_owned() })
    }

    fn host(&self, name: &str) -> String {
        format!("{}?hostnqn=nqn.2026-11.dev.saker:{name}", self.url)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Latencies of the quiet host in one kind of round, microseconds.
#[derive(Default)]
struct Rounds {
    all: Vec<f64>,
    p99: Vec<f64>,
    bytes: f64,
}

impl Rounds {
    fn add(&mut self, mut took: Vec<f64>, bytes: f64) {
        self.p99.push(percentile(&mut took, 99.0));
        self.all.append(&mut took);
        self.bytes += bytes;
    }

    fn tell(&mut self, what: &str) {
        let (rounds, all) = (self.p99.len() as f64, &mut self.all);
        let [p50, p99, p999] = [50.0, 99.0, 99.9].map(|at| percentile(all, at));
        let (operations, mb) = (all.len() as f64 / rounds, self.bytes / rounds / 1e6);
        println!(
            "  {what:34} p50 {p50:7.1} us, p99 {p99:8.1}, p99.9 {p999:8.1}; {operations:6.0} a round; greedy {mb:6.0} MB/s"
        );
    }

    /// The median of the ratios of neighbours.
    fn against(&self, other: &Self) -> f64 {
        let mut ratios: Vec<f64> = self.p99.iter().zip(&other.p99).map(|(a, b)| a / b).collect();
        percentile(&mut ratios, 50.0)
    }
}

fn compare(rounds: usize, device: &str, greed: Greed, queues: u32) -> Result<(), Failure> {
    let (target, elsewhere) = (Target::start(device, Place::Target)?, Target::start(device, Place::Greedy)?);
    let mut quiet = Kv::open(&target.host("quiet"))?;
    (0..QUIET_KEYS).try_for_each(|n| quiet.put(&n.to_le_bytes(), &[1; 100]))?;
    let mut greedy = Greedy::start(&target, greed, queues)?;
    let mut others = Greedy::start(&elsewhere, greed, queues)?;
    let (mut alone, mut beside, mut both) = (Rounds::default(), Rounds::default(), Rounds::default());
    for _ in 0..rounds {
        alone.add(quiet_round(&mut quiet)?, 0.0);
        let (took, bytes) = others.with(&mut quiet)?;
        beside.add(took, bytes);
        let (took, bytes) = greedy.with(&mut quiet)?;
        both.add(took, bytes);
    }
    println!("{device}, greedy {greed:?} on {queues} connections of depth {DEPTH}, {rounds} rounds");
    alone.tell("alone");
    beside.tell("the greedy one at another target");
    both.tell("with the greedy one");
    println!(
        "  p99 with the greedy one / alone {:.2}, / while it is at another target {:.2}",
        both.against(&alone),
        both.against(&beside)
    );
    drop(others);
    drop(greedy);
    Ok(quiet.close()?)
}

/// Connections of the greedy host, each with its keys stored.
fn hosts(url: &str, queues: u32, greed: Greed) -> Result<Vec<Kv>, Failure> {
    let value = greed.value();
    let open = |n: u32| {
        let mut kv = Kv::open(&format!("{url}&depth={DEPTH}"))?;
        (0..DEPTH).try_for_each(|key| kv.put(&key_of(n, key), &value))?;
        Ok(kv)
    };
    (0..queues).map(open).collect()
}

fn key_of(queue: u32, key: u32) -> [u8; 9] {
    let mut bytes = [b'g'; 9];
    bytes[1..5].copy_from_slice(&queue.to_le_bytes());
    bytes[5..].copy_from_slice(&key.to_le_bytes());
    bytes
}

/// Gets and puts by turns, one at a time.
fn quiet_round(kv: &mut Kv) -> Result<Vec<f64>, Failure> {
    let (begun, mut took, mut n) = (Instant::now(), Vec::new(), 0_u32);
    while begun.elapsed() < RUN {
        let key = (n.wrapping_mul(7919) % QUIET_KEYS).to_le_bytes();
        let at = Instant::now();
        if n % 2 == 0 {
            kv.put(&key, &[2; 100])?;
        } else if kv.get(&key)?.is_none() {
            return Err("a key is gone".into());
        }
        took.push(at.elapsed().as_nanos() as f64 / 1e3);
        n += 1;
    }
    Ok(took)
}

/// The greedy host, in a process of its own: it stands for a host that has processors of its own.
struct Greedy {
    child: Child,
    answers: std::io::Lines<BufReader<ChildStdout>>,
}

impl Greedy {
    fn start(target: &Target, greed: Greed, queues: u32) -> Result<Self, Failure> {
        let mut command = Place::Greedy.command()?;
        command.args(["greedy", &target.host("greedy"), greed.name(), &queues.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut answers = BufReader::new(child.stdout.take().ok_or("its output")?).lines();
        answers.next().ok_or("it is ready")??;
        Ok(Self { child, answers })
    }

    /// Has it begin or end; bytes that it has moved since the last word.
    fn say(&mut self) -> Result<f64, Failure> {
        self.child.stdin.as_mut().ok_or("its input")?.write_all(b"\n")?;
        Ok(self.answers.next().ok_or("an answer")??.parse()?)
    }

    /// A round of the quiet host while the queues of this one are full.
    fn with(&mut self, quiet: &mut Kv) -> Result<(Vec<f64>, f64), Failure> {
        self.say()?;
        let begun = Instant::now();
        std::thread::sleep(RUN / 4);
        let took = quiet_round(quiet)?;
        Ok((took, self.say()? / begun.elapsed().as_secs_f64()))
    }
}

impl Drop for Greedy {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The greedy host itself: each line of its input begins or ends a round.
fn greedy(url: &str, greed: Greed, queues: u32) -> Result<(), Failure> {
    let mut connections = hosts(url, queues, greed)?;
    println!("ready");
    let mut lines = std::io::stdin().lines();
    while lines.next().transpose()?.is_some() {
        println!("0");
        let (is_over, moved) = (&AtomicBool::new(false), &AtomicU64::new(0));
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(&mut connections)
                .map(|(n, kv)| scope.spawn(move || be_greedy(kv, greed, n, is_over, moved)))
                .collect();
            lines.next().transpose()?;
            println!("{}", moved.load(Ordering::Relaxed));
            is_over.store(true, Ordering::Relaxed);
            threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
        })?;
    }
    Ok(())
}

fn be_greedy(
    kv: &mut Kv,
    greed: Greed,
    queue: u32,
    is_over: &AtomicBool,
    moved: &AtomicU64,
) -> Result<(), Failure> {
    let (value, keys): (_, Vec<_>) = (greed.value(), (0..DEPTH).map(|n| key_of(queue, n)).collect());
    let keys: Vec<&[u8]> = keys.iter().map(<[u8; 9]>::as_slice).collect();
    while !is_over.load(Ordering::Relaxed) {
        if greed == Greed::Gets {
            // As many as go into one call.
            let some = &keys[..7];
            kv.multi_get(some)?;
            moved.fetch_add((value.len() * some.len()) as u64, Ordering::Relaxed);
            continue;
        }
        for key in &keys {
            kv.put_queued(key, &value)?;
            moved.fetch_add(value.len() as u64, Ordering::Relaxed);
        }
    }
    Ok(kv.drain()?)
}

fn percentile(numbers: &mut [f64], at: f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[((numbers.len() - 1) as f64 * at / 100.0) as usize]
}
