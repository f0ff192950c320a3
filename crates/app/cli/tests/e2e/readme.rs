// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every command of the README and of the pages that go on from it, as it stands there, on a copy of its input.

use crate::e2e::support::{Desk, Ran, repository};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The README, and the pages whose commands go on with its image, in this order.
const PAGES: [&str; 3] = ["README.md", "docs/disk.md", "docs/measure.md"];
/// The address that the README serves at; another one here, since this one may be taken.
const ADDRESS: &str = "127.0.0.1:4420";
/// What ends the command in the background, and waits for its end.
const END: &str = "kill %1; wait";

/// A command that goes on in the background until the README has been tried.
struct Background(Child);

impl Background {
    /// Starts `saker serve`; returns it with the address it serves at.
    fn serve(desk: &Desk, rest: &[&str]) -> (Self, String) {
        let mut command = desk.command(&[rest, &["--listen", "127.0.0.1:0"]].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("says that it is ready");
        let address = line.strip_prefix("serving tcp://").and_then(|l| l.split('/').next());
        let address = address.expect("its address").to_owned();
        (Self(child), address)
    }

    fn end(mut self) {
        let asked = Command::new("sh").args(["-c", &format!("kill {}", self.0.id())]).status().expect("asks");
        assert!(asked.success() && self.0.wait().expect("ends").success());
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // It has ended, unless a test has failed before.
        let _ = self.0.kill();
    }
}

/// Lines of the shell blocks of a page without their comments.
fn commands(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(repository(page)).expect("there is the page");
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    let lines = blocks.flat_map(str::lines).map(|line| line.split("  #").next().unwrap_or(line).trim());
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// A command line in words; single quotes keep a word together.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (n, part) in line.split('\'').enumerate() {
        if n % 2 == 1 { words.push(part) } else { words.extend(part.split_whitespace()) }
    }
    words
}

/// Runs a line that begins with `saker`, or is the same by way of cargo. Nothing for lines that build.
fn run(desk: &Desk, line: &str) -> Option<Ran> {
    let words = words(line);
    match words.as_slice() {
        ["saker", rest @ ..] | ["cargo", "run", "--release", "--", rest @ ..] => Some(desk.saker(rest)),
        ["cargo", "build", ..] | ["cargo", "xtask", ..] => None,
        _ => panic!("a line that is not tried: {line}"),
    }
}

#[test]
fn every_command_runs_as_it_stands_and_prints_what_it_should() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("data")).expect("makes");
    std::fs::copy(repository("data/UnicodeData.txt"), desk.path("data/UnicodeData.txt")).expect("copies");
    let (mut tried, mut address) = (Vec::new(), ADDRESS.to_owned());
    let mut background: Vec<Background> = Vec::new();
    for line in PAGES.into_iter().flat_map(commands) {
        if line == END {
            background.pop().expect("something in the background").end();
            continue;
        }
        if let Some(line) = line.strip_suffix('&') {
            let (server, at) = Background::serve(&desk, &words(line)[1..]);
            tried.push(words(line)[1].to_owned());
            background.push(server);
            address = at;
            continue;
        }
        let line = line.replace(ADDRESS, &address);
        let Some(ran) = run(&desk, &line) else { continue };
        let (err, out) = (ran.err.clone(), ran.good());
        check(&desk, &line, &out, &err);
        tried.push(words(&line)[1].to_owned());
    }
    background.into_iter().for_each(Background::end);
    for command in [
        "create",
        "load",
        "put",
        "get",
        "list",
        "dump",
        "info",
        "check",
        "block",
        "serve",
        "reproduce",
        "profile",
    ] {
        assert!(tried.iter().any(|t| t == command), "the pages show {command}: {tried:?}");
    }
}

/// What a line must have printed.
fn check(desk: &Desk, line: &str, out: &str, err: &str) {
    match words(line)[1..] {
        ["load", ..] => assert!(err.starts_with("loaded 34,924 records, 1.9 MB"), "{err}"),
        ["get", ..] => assert_eq!(out, "hello"),
        ["list", ..] => assert_eq!(out.lines().count(), 5),
        ["dump", file, ..] => {
            let text = String::from_utf8(desk.read(file)).expect("text");
            assert_eq!(text.lines().count(), 34_925);
            assert!(text.contains("greeting\thello\n") && text.contains("0041\tLATIN CAPITAL LETTER A;"));
        }
        ["info", ..] => {
            assert!(out.lines().any(|l| l.starts_with("namespaces.0.pairs ") && l.ends_with(" 34925")))
        }
        ["check", "disk.img"] => {
            assert!(out.starts_with("disk.img: sound; 34,925 records"), "{out}");
        }
        ["profile", ..] => assert!(out.contains("media.read_latency_ns"), "{out}"),
        ["run", "--release", ..] => check_compare(out),
        ["reproduce", "list"] => assert!(out.contains("saker-motiv"), "{out}"),
        ["block", "read", ..] => assert_eq!(out.len(), 4096),
        _ => {}
    }
}

/// Every system, a row for each group of values, and no operation that failed.
fn check_compare(out: &str) {
    assert!(out.contains("34924 records of data/UnicodeData.txt"), "{out}");
    for system in ["HostKV", "DiskKV", "group x64", "SAKER x64 : HostKV"] {
        assert!(out.contains(system), "{system}: {out}");
    }
    assert!(out.lines().filter(|line| line.contains(" B ")).count() >= 4 && !out.contains("failed"), "{out}");
}
