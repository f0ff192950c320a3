// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copies into memory that will not be read soon, by stores that pass the caches by.
//!
//! An ordinary copy of a page reads every line of its destination before it overwrites it; these stores do not (AMD64
//! Architecture Programmer's Manual, volume 1, "Non-Temporal Moves"). Programs of pages into cells in memory take about half
//! the time, and the caches keep what they hold.

/// Below so many bytes the ordinary copy is as good.
const FAR_BYTES_MIN: usize = 1024;

/// Appends the bytes, as `extend_from_slice` does.
pub(crate) fn append(memory: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.len() < FAR_BYTES_MIN {
        return memory.extend_from_slice(bytes);
    }
    memory.reserve(bytes.len());
    let start = memory.spare_capacity_mut().as_ptr().addr();
    // To the next cache line: only whole lines are written without being read.
    let (near, rest) = bytes.split_at(start.next_multiple_of(LINE_BYTES) - start);
    let (lines, tail) = rest.as_chunks();
    memory.extend_from_slice(near);
    append_lines(memory, lines);
    memory.extend_from_slice(tail);
}

const LINE_BYTES: usize = 64;
type Line = [u8; LINE_BYTES];

#[cfg(target_arch = "x86_64")]
fn append_lines(memory: &mut Vec<u8>, lines: &[Line]) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    let spare = memory.spare_capacity_mut();
    assert!(spare.len() >= lines.as_flattened().len(), "room was reserved");
    assert!(spare.as_ptr().addr().is_multiple_of(LINE_BYTES), "it starts a line");
    for (to, from) in spare.chunks_exact_mut(LINE_BYTES).zip(lines) {
        for at in (0..LINE_BYTES).step_by(16) {
            // SAFETY: `to` and `from` have `LINE_BYTES` bytes, and 16 from `at` on are within them; `to` starts a cache
            // line, so that it is aligned for 16 bytes. Every x86-64 processor has these instructions (SSE2).
            unsafe {
                let word = _mm_loadu_si128(from.as_ptr().add(at).cast());
                _mm_stream_si128(to.as_mut_ptr().add(at).cast(), word);
            }
        }
    }
    let appended = memory.len() + lines.as_flattened().len();
    // SAFETY: the fence is an instruction of every x86-64 processor; what follows it comes after the stores above for every
    // thread. Those stores have filled all bytes up to the new length, which the first assertion keeps within the capacity.
    unsafe {
        _mm_sfence();
        memory.set_len(appended);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn append_lines(memory: &mut Vec<u8>, lines: &[Line]) {
    memory.extend_from_slice(lines.as_flattened());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_appends_what_an_ordinary_copy_appends() {
        let bytes: Vec<u8> = (0..9000u32).map(|n| (n * 7 + n / 256) as u8).collect();
        for begun in [0, 1, 15, 16, 63, 64, 65] {
            for length in [0, 1, 1023, 1024, 1025, 1087, 1100, 4096, 4159, 8999, 9000] {
                let mut far = Vec::with_capacity(begun);
                far.extend_from_slice(&bytes[..begun]);
                let mut near = far.clone();
                append(&mut far, &bytes[9000 - length..]);
                near.extend_from_slice(&bytes[9000 - length..]);
                assert!(far == near, "{length} bytes behind {begun}");
            }
        }
    }
}
