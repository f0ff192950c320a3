// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A plain copy through a TCP connection of this machine: one thread writes, another reads, 256 KiB at a time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use crate::Plan;

pub const NAME: &str = "TCP copy, MB/s";

const CHUNK_BYTES: usize = 256 << 10;

/// Megabytes a second.
pub fn measure(plan: Plan) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its number");
    let reader = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the writer comes");
        let (mut chunk, mut bytes) = (vec![0; CHUNK_BYTES], 0_u64);
        while let Ok(read) = stream.read(&mut chunk) {
            if read == 0 {
                break;
            }
            bytes += read as u64;
        }
        bytes
    });
    let mut stream = TcpStream::connect(address).expect("the reader listens");
    let (chunk, begun) = (vec![7; CHUNK_BYTES], Instant::now());
    while begun.elapsed() < plan.duration {
        stream.write_all(&chunk).expect("the reader reads");
    }
    drop(stream);
    let bytes = reader.join().expect("the reader ends");
    bytes as f64 / begun.elapsed().as_secs_f64() / 1e6
}
