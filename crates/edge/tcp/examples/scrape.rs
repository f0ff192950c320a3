// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What scraping costs a target: stores with and without a scrape each second, by turns, one run of each behind the other, in one
//! process. Prints the median rates, and the median of the ratios of neighbours.
//!
//! `cargo run --release -p saker-tcp --example scrape [ROUNDS]`

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use saker::Kv;
use saker_tcp::{Server, ServerConfig};

/// A run: a few scrapes long.
const RUN: Duration = Duration::from_millis(2_500);
const SCRAPE_EVERY: Duration = Duration::from_secs(1);
const KEYS: u32 = 50_000;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds: usize = std::env::args().nth(1).map_or(Ok(9), |text| text.parse())?;
    let mut config = ServerConfig::new("mem:?size=1GiB");
    config.listen = vec!["127.0.0.1:0".parse()?];
    config.metrics = Some("127.0.0.1:0".parse()?);
    let server = Server::start(config)?;
    let metrics = server.metrics_address().ok_or("metrics were asked for")?;
    let mut kv = Kv::open(&format!("tcp://{}/{}?depth=64", server.addresses()[0], server.names()[0]))?;
    stores_a_second(&mut kv)?;
    let (mut without, mut with, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        // Which goes first changes, so that what drifts is on both sides.
        let first = run(&mut kv, metrics, round % 2 == 0)?;
        let second = run(&mut kv, metrics, round % 2 == 1)?;
        let (scraped, alone) = if round % 2 == 0 { (first, second) } else { (second, first) };
        without.push(alone);
        with.push(scraped);
        ratios.push(scraped / alone);
    }
    println!(
        "stores a second without scrapes {:.0}, with one each second {:.0}",
        median(without),
        median(with)
    );
    println!("with / without, median of {rounds} pairs: {:.4}", median(ratios));
    kv.close()?;
    Ok(server.stop()?)
}

fn run(kv: &mut Kv, metrics: SocketAddr, scrapes: bool) -> Result<f64, Box<dyn Error>> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if scrapes {
            scope.spawn(|| scrape_until(metrics, &is_over));
        }
        let rate = stores_a_second(kv);
        is_over.store(true, Ordering::Relaxed);
        rate
    })
}

fn stores_a_second(kv: &mut Kv) -> Result<f64, Box<dyn Error>> {
    let (begun, mut stored) = (Instant::now(), 0_u32);
    while begun.elapsed() < RUN {
        for _ in 0..1000 {
            kv.put_queued(&(stored.wrapping_mul(7919) % KEYS).to_le_bytes(), &[b'x'; 64])?;
            stored += 1;
        }
    }
    kv.drain()?;
    Ok(f64::from(stored) / begun.elapsed().as_secs_f64())
}

/// The first scrape comes at once: a run of two and a half seconds has three.
fn scrape_until(metrics: SocketAddr, is_over: &AtomicBool) {
    let mut next = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        if Instant::now() >= next {
            next += SCRAPE_EVERY;
            scrape(metrics).expect("the endpoint answers");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn scrape(metrics: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(metrics)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text)?;
    assert!(text.windows(20).any(|part| part == b"saker_commands_total"), "it has counters");
    Ok(())
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
