// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files larger than memory should be: a load streams.

use std::io::Read;
use std::time::Duration;

use saker_cli::*;

/// What a load may take beside the program itself: a line, a record and the buffers.
const MEMORY_BYTES_MAX: u64 = 32 << 20;

/// Counts what it is given and forgets it.
struct Counting {
    bytes: u64,
}

impl Store for Counting {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Answer<()> {
        self.bytes += (key.len() + value.len()) as u64;
        Ok(())
    }

    fn get(&mut self, _: &[u8]) -> Answer<Option<Vec<u8>>> {
        Ok(None)
    }

    fn delete(&mut self, _: &[u8]) -> Answer<bool> {
        Ok(false)
    }

    fn exists(&mut self, _: &[u8]) -> Answer<bool> {
        Ok(false)
    }

    fn list(&mut self, _: Option<&[u8]>, _: &mut dyn FnMut(&[u8]) -> bool) -> Answer<()> {
        Ok(())
    }

    fn flush(&mut self) -> Answer<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> Answer<()> {
        if self.bytes > 0 {
            Err(CliError::failed(format!("{} bytes", self.bytes), "as expected"))
        } else {
            Ok(())
        }
    }
}

fn counting(_: &str) -> Answer<Box<dyn Store>> {
    Ok(Box::new(Counting { bytes: 0 }))
}

/// The same line over and over.
fn lines(line: &[u8], count: u64) -> impl Read {
    struct Lines {
        line: Vec<u8>,
        at: usize,
    }
    impl Read for Lines {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let n = buffer.len().min(self.line.len() - self.at);
            buffer[..n].copy_from_slice(&self.line[self.at..self.at + n]);
            self.at = (self.at + n) % self.line.len();
            Ok(n)
        }
    }
    Lines { line: line.to_vec(), at: 0 }.take(line.len() as u64 * count)
}

/// The most memory that this process has had, where the system tells.
fn memory_peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kb| kb << 10)
}

fn load(bytes: u64) {
    let line = [b"key\t".as_slice(), &[b'v'; 64 << 10], b"\n"].concat();
    let count = bytes / line.len() as u64;
    let before = memory_peak_bytes();
    let mut errors = Vec::new();
    let mut streams = Streams {
        input: &mut lines(&line, count),
        output: &mut Vec::new(),
        errors: &mut errors,
        progress: false,
        device: Some("counting:".to_owned()),
        clock: &|| Duration::ZERO,
    };
    let code = run_on(["saker", "load", "-"].map(Into::into), &mut streams, &counting);
    // The store tells what it was given when it is closed.
    let expected = format!("saker: error: {} bytes; as expected\n", count * (3 + (64 << 10)));
    assert_eq!((code, String::from_utf8(errors).unwrap()), (1, expected));
    if let (Some(before), Some(after)) = (before, memory_peak_bytes()) {
        assert!(after - before < MEMORY_BYTES_MAX, "{} bytes more", after - before);
    }
}

#[test]
fn a_large_file_loads_in_bounded_memory() {
    load(128 << 20);
}

#[test]
#[ignore = "soak: the full size"]
fn a_file_of_a_gigabyte_loads_in_bounded_memory() {
    load(1 << 30);
}
