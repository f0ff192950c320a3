//! Connections come and go and leave nothing behind. A process of its own, so that nothing else opens descriptors.

use saker_realtime::Kv;
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

/// Allocator slack and pages of the device's own that the first rounds had not touched.
const MEMORY_SLACK_BYTES: usize = 32 << 20;

#[test]
fn descriptors_and_memory_return_to_the_start() {
    let is_soak = std::env::var("SAKER_TIER").is_ok_and(|tier| tier == "soak");
    let mut config = ServerConfig::new("mem:?size=512MiB");
    config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let server = Server::start(config).expect("the server starts");
    let url = format!("tcp://{}/{}?depth=32", server.addresses()[0], server.names()[0]);
    let at_rest = descriptors();
    (0..50).for_each(|_| connect_and_leave(&url));
    assert_eq!(settled(at_rest), at_rest);
    let memory = resident();
    (0..if is_soak { 5_000 } else { 500 }).for_each(|_| connect_and_leave(&url));
    let mut many: Vec<Kv> = (0..32).map(|_| Kv::open(&url).expect("open")).collect();
    for (n, kv) in many.iter_mut().enumerate() {
        (0..32_u8).for_each(|at| kv.put_queued(&[n as u8, at], &[at; 4_000]).expect("queued"));
    }
    assert!(
        descriptors() >= at_rest + 2 * 64,
        "32 hosts with an admin and an I/O queue, seen from both ends"
    );
    many.iter_mut().for_each(|kv| kv.drain().expect("stored"));
    drop(many);
    assert_eq!(settled(at_rest), at_rest, "descriptors");
    let after = resident();
    assert!(after < memory + MEMORY_SLACK_BYTES, "{memory} bytes before, {after} after");
    server.stop().expect("stopped");
}
