// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an image costs against memory: the same work on both.

use crate::Outcome;
use crate::pairs::{Scratch, fill, key};
use saker::Kv;
use std::time::{Duration, Instant};

const PAIRS: u64 = 2_000_000;
const ROUNDS: usize = 3;

pub fn run() -> Outcome {
    let mut times = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
    for _ in 0..ROUNDS {
        // In turns, so that what else the machine does meets both.
        let image = Scratch::image("media.img", 4 << 30)?;
        for (n, url) in ["mem:?size=4GiB".to_owned(), image.url()].iter().enumerate() {
            let [put, get] = once(url)?;
            times[n][0].push(put);
            times[n][1].push(get);
        }
    }
    for (what, at) in [("put, pipelined, and flush", 0), ("get", 1)] {
        let [mem, file] = [0, 1].map(|n: usize| median(&mut times[n][at].clone()));
        let rate = |t: Duration| PAIRS as f64 / t.as_secs_f64() / 1e6;
        println!(
            "media, {what}: mem: {:.2} M/s, file: {:.2} M/s, {:.2} times as long",
            rate(mem),
            rate(file),
            file.as_secs_f64() / mem.as_secs_f64()
        );
    }
    Ok(())
}

fn once(url: &str) -> Result<[Duration; 2], Box<dyn std::error::Error>> {
    let mut kv = Kv::open(url)?;
    let begun = Instant::now();
    fill(&mut kv, 0, PAIRS, &[7; 100])?;
    kv.flush()?;
    let put = begun.elapsed();
    let begun = Instant::now();
    let mut value = [0; 100];
    for n in 0..PAIRS {
        assert_eq!(kv.get_into(&key(n), &mut value)?, Some(100));
    }
    let get = begun.elapsed();
    kv.close()?;
    Ok([put, get])
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
