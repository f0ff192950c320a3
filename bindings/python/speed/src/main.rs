// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The same reads as `bench.py` does, by the Rust call: prints bytes a second.
//!
//! usage: saker-python-speed URL KEYS BYTES CALLS

use saker::Kv;
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, keys, bytes, calls] = arguments.as_slice() else {
        return Err("usage: saker-python-speed URL KEYS BYTES CALLS".into());
    };
    let (keys, bytes, calls): (u64, usize, u64) = (keys.parse()?, bytes.parse()?, calls.parse()?);
    let mut kv = Kv::open(url)?;
    let value = vec![7; bytes];
    (0..keys).try_for_each(|n| kv.put(&name(n), &value))?;
    let mut buffer = vec![0; bytes];
    read(&mut kv, keys, &mut buffer, keys)?;
    let begun = Instant::now();
    read(&mut kv, keys, &mut buffer, calls)?;
    println!("{}", calls as f64 * bytes as f64 / begun.elapsed().as_secs_f64());
    Ok(())
}

fn name(n: u64) -> [u8; 8] {
    n.to_le_bytes()
}

fn read(kv: &mut Kv, keys: u64, buffer: &mut [u8], calls: u64) -> Result<(), Box<dyn Error>> {
    for n in 0..calls {
        let length = kv.get_into(&name(n % keys), buffer)?;
        if length != Some(buffer.len()) {
            return Err(format!("{length:?} bytes").into());
        }
    }
    Ok(())
}
