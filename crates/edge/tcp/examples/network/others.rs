// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Redis by its own benchmark, memcached by a client that pipelines as that does.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Plan;
use crate::ours::KEYS;

pub const REDIS_SET: &str = "Redis SET, pipeline 64";
pub const REDIS_GET: &str = "Redis GET, pipeline 64";
pub const MEMCACHED_SET: &str = "memcached set, pipeline 64";
pub const MEMCACHED_GET: &str = "memcached get, pipeline 64";

const PIPELINE: usize = 64;

/// A server of somebody else's, killed at the end.
struct Process {
    child: Child,
    port: u16,
}

impl Process {
    /// Starts it, if it is installed, and waits until it listens.
    fn start(program: &str, arguments: impl Fn(u16) -> Vec<String>) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let mut command = Command::new(program);
        command.args(arguments(port)).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(child) = command.spawn() else {
            println!("{program} is not installed: apt-get install {program}");
            return None;
        };
        let process = Self { child, port };
        for _ in 0..100 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(process);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        println!("{program} does not listen");
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Redis(Process);

impl Redis {
    pub fn start() -> Option<Self> {
        let arguments = |port: u16| {
            let all =
                ["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
            all.map(str::to_owned).to_vec()
        };
        Process::start("redis-server", arguments).map(Self)
    }

    /// Requests a second: on one connection, as ours, and on the benchmark's fifty.
    pub fn measure(&self, plan: Plan) -> Vec<(String, f64)> {
        let requests = (plan.duration.as_secs_f64() * 500_000.0) as u64;
        let mut rows = self.benchmark(requests, 1, "");
        rows.extend(self.benchmark(requests, 50, ", 50 connections"));
        rows
    }

    fn benchmark(&self, requests: u64, connections: u32, suffix: &str) -> Vec<(String, f64)> {
        let (port, keys) = (self.0.port.to_string(), KEYS.to_string());
        let (requests, connections) = (requests.to_string(), connections.to_string());
        let output = Command::new("redis-benchmark")
            .args(["-p", &port, "-t", "set,get", "-P", "64", "-d", "64", "--csv"])
            .args(["-r", &keys, "-n", &requests, "-c", &connections])
            .output();
        let Ok(output) = output else { return Vec::new() };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let of = |test: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("\"{test}\"")))?;
            line.split(',').nth(1)?.trim_matches('"').parse::<f64>().ok()
        };
        let each = [("SET", REDIS_SET), ("GET", REDIS_GET)];
        each.into_iter().filter_map(|(test, name)| Some((format!("{name}{suffix}"), of(test)?))).collect()
    }
}

pub struct Memcached(Process);

impl Memcached {
    pub fn start() -> Option<Self> {
        let arguments = |port: u16| {
            let all = ["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-u", "nobody", "-m", "512"];
            all.map(str::to_owned).to_vec()
        };
        Process::start("memcached", arguments).map(Self)
    }

    /// Requests a second on one connection.
    pub fn measure(&self, plan: Plan) -> Vec<(String, f64)> {
        let value = "x".repeat(64);
        let set = |n: u64| format!("set key:{n:012} 0 0 64\r\n{value}\r\n");
        let get = |n: u64| format!("get key:{n:012}\r\n");
        vec![
            (MEMCACHED_SET.into(), self.pipelined(plan, set, |line| line.starts_with("STORED"))),
            (MEMCACHED_GET.into(), self.pipelined(plan, get, |line| line.starts_with("END"))),
        ]
    }

    /// `ends` tells the line that ends an answer.
    fn pipelined(&self, plan: Plan, request: impl Fn(u64) -> String, ends: impl Fn(&str) -> bool) -> f64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.0.port)).expect("it listens");
        stream.set_nodelay(true).expect("an option");
        let mut answers = BufReader::with_capacity(256 << 10, stream.try_clone().expect("a second handle"));
        let (mut done, mut line, begun) = (0_u64, String::new(), Instant::now());
        while begun.elapsed() < plan.duration {
            let batch: String =
                (done..done + PIPELINE as u64).map(|n| request(n.wrapping_mul(7_919) % KEYS)).collect();
            stream.write_all(batch.as_bytes()).expect("it reads");
            let mut left = PIPELINE;
            while left > 0 {
                line.clear();
                assert!(answers.read_line(&mut line).expect("it answers") > 0, "it closed the connection");
                left -= usize::from(ends(&line));
            }
            done += PIPELINE as u64;
        }
        done as f64 / begun.elapsed().as_secs_f64()
    }
}
