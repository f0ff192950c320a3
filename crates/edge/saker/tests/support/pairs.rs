// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys and values that tell where they come from.

use saker_sim::Seed;
pub use saker_testing::is_soak;

/// Key number `n`: of 2 to 16 bytes, every fourth one long.
pub fn key(n: u32) -> Vec<u8> {
    let text = format!("k{n}");
    let bytes = if n.is_multiple_of(4) { 17 + n as usize % 239 } else { text.len() + n as usize % 10 };
    text.bytes().chain(std::iter::repeat(b'-')).take(bytes).collect()
}

/// What write `version` of a key stores: random bytes that no other write stores.
pub fn value(n: u32, version: u64, bytes: u32) -> Vec<u8> {
    let mut value = vec![0; bytes as usize];
    Seed(version).index(u64::from(n)).rng().fill(&mut value);
    value
}
