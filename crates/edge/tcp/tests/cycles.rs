// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connections come and go and leave nothing behind. A process of its own, so that nothing else opens descriptors.

use saker::Kv;
use saker_tcp::{Server, ServerConfig};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux lists descriptors").count()
}

/// Resident memory in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux tells memory");
    let pages: usize = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
    pages * 4096
}

/// Waits until the server has seen that hosts are gone.
fn settled(expected: usize) -> usize {
    for _ in 0..200 {
        if descriptors() == expected {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    descriptors()
}

fn connect_and_leave(url: &str) {
    let mut kv = Kv::open(url).expect("open");
    kv.put(b"key", &[7; 10_000]).expect("stored");
    assert_eq!(kv.get(b"key").expect("read").map(|value| value.len()), Some(10_000));
}

/// 64 hosts with 32 commands under way each.
fn crowd(url: &str, at_rest: usize) {
    let mut many: Vec<Kv> = (0..64).map(|_| Kv::open(url).expect("open")).collect();
    for (n, kv) in many.iter_mut().enumerate() {
        (0..32_u8).for_each(|at| kv.put_queued(&[n as u8, at], &[at; 4_000]).expect("queued"));
    }
    let open = descriptors();
    assert!(open >= at_rest + 2 * 128, "64 hosts with an admin and an I/O queue, seen from both ends");
    many.iter_mut().for_each(|kv| kv.drain().expect("stored"));
}

/// What an allocator does not find again at once.
const MEMORY_SLACK_BYTES: usize = 32 << 20;

#[test]
fn descriptors_return_to_the_start_and_later_hosts_need_no_more_memory() {
    let is_soak = saker_testing::is_soak();
    // So small a device that all of it is written before memory is looked at.
    let mut config = ServerConfig::new("mem:?profile=tiny&size=16MiB");
    config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let server = Server::start(config).expect("the server starts");
    let url = format!("tcp://{}/{}?depth=32", server.addresses()[0], server.names()[0]);
    let at_rest = descriptors();
    let round = |hosts: usize| {
        (0..hosts).for_each(|_| connect_and_leave(&url));
        crowd(&url, at_rest);
        assert_eq!(settled(at_rest), at_rest, "descriptors");
    };
    // The allocator maps large blocks until it has seen some freed, and keeps them then: the third crowd finds what the
    // second has left. `serve.rs` looks at a target alone.
    (0..2).for_each(|_| round(100));
    let memory = resident();
    round(if is_soak { 5_000 } else { 500 });
    let after = resident();
    assert!(after < memory + MEMORY_SLACK_BYTES, "{memory} bytes before, {after} after");
    server.stop().expect("stopped");
}
