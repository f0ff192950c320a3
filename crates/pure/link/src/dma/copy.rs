// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Byte ranges of an array of atomic words.
//!
//! Words are the only access size: Rust leaves racing atomic accesses of different sizes undefined. A range that
//! starts or ends inside a word merges its bytes by compare-exchange, so that a neighbour's bytes survive.

use crate::sync::{AtomicU64, Ordering};

const WORD: usize = 8;

/// Copies the bytes that start `skip` (below 8) bytes into `words` to `into`.
#[inline]
pub(crate) fn load(words: &[AtomicU64], skip: usize, into: &mut [u8]) {
    let lead = if skip == 0 { 0 } else { (WORD - skip).min(into.len()) };
    let (head, rest) = into.split_at_mut(lead);
    load_part(words, skip, head);
    let words = &words[usize::from(lead != 0)..];
    let whole = rest.len() / WORD;
    let (body, tail) = rest.split_at_mut(whole * WORD);
    for (bytes, word) in body.chunks_exact_mut(WORD).zip(words) {
        bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
    }
    load_part(&words[whole..], 0, tail);
}

/// Copies `from` to the bytes that start `skip` (below 8) bytes into `words`.
#[inline]
pub(super) fn store(words: &[AtomicU64], skip: usize, from: &[u8]) {
    let lead = if skip == 0 { 0 } else { (WORD - skip).min(from.len()) };
    let (head, rest) = from.split_at(lead);
    store_part(words, skip, head);
    let words = &words[usize::from(lead != 0)..];
    let (body, tail) = rest.split_at(rest.len() / WORD * WORD);
    for (bytes, word) in body.chunks_exact(WORD).zip(words) {
        let bytes = bytes.try_into().expect("chunks_exact gives whole words");
        word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
    }
    store_part(&words[body.len() / WORD..], 0, tail);
}

/// Bytes `skip..skip + into.len()` of the first word.
#[inline]
fn load_part(words: &[AtomicU64], skip: usize, into: &mut [u8]) {
    if !into.is_empty() {
        let bytes = words[0].load(Ordering::Relaxed).to_ne_bytes();
        into.copy_from_slice(&bytes[skip..skip + into.len()]);
    }
}

#[inline]
fn store_part(words: &[AtomicU64], skip: usize, from: &[u8]) {
    if !from.is_empty() {
        merge(&words[0], skip, from);
    }
}

fn merge(word: &AtomicU64, skip: usize, from: &[u8]) {
    let mut seen = word.load(Ordering::Relaxed);
    loop {
        let mut bytes = seen.to_ne_bytes();
        bytes[skip..skip + from.len()].copy_from_slice(from);
        let merged = u64::from_ne_bytes(bytes);
        match word.compare_exchange_weak(seen, merged, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => seen = now,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(bytes: &[u8]) -> Vec<AtomicU64> {
        bytes.chunks_exact(WORD).map(|b| AtomicU64::new(u64::from_ne_bytes(b.try_into().unwrap()))).collect()
    }

    fn bytes(words: &[AtomicU64]) -> Vec<u8> {
        words.iter().flat_map(|w| w.load(Ordering::Relaxed).to_ne_bytes()).collect()
    }

    proptest! {
        #[test]
        fn ranges_are_copied_and_neighbours_survive(skip in 0usize..8, data in prop::collection::vec(any::<u8>(), 0..57)) {
            let mut model: Vec<u8> = (100..164).collect();
            let memory = words(&model);
            store(&memory, skip, &data);
            model[skip..skip + data.len()].copy_from_slice(&data);
            prop_assert_eq!(bytes(&memory), model);
            let mut back = vec![0; data.len()];
            load(&memory, skip, &mut back);
            prop_assert_eq!(back, data);
        }
    }
}
