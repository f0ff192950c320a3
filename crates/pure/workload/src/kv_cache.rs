// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks of attention state, as inference servers keep them outside of the accelerator (vLLM's prefix cache, Mooncake):
//! a prompt is cut into blocks; a block's key is a 16-byte hash over itself and everything before it, so that prompts that
//! begin alike share keys. A request asks which of its blocks are there, gets those, computes the others, and stores them if
//! they are absent still.
//!
//! Prompts are conversations about documents: a document's blocks first, zipfian by popularity, then blocks of the turn's own.

use crate::distribution::{Distribution, Picker};
use crate::error::WorkloadError;
use saker_sim::{Rng, Seed};

/// A key: a hash of a prefix.
pub type BlockKey = [u8; 16];

/// What is asked of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct KvCacheLoad {
    /// Requests.
    pub requests: u64,
    /// Documents that requests are about.
    pub documents: u64,
    /// Exponent of their popularity, 0 or more.
    pub alpha: f64,
    /// Blocks of a document, from the first to the second number.
    pub document_blocks: (u32, u32),
    /// Blocks of a request's own behind them.
    pub own_blocks: (u32, u32),
    /// Bytes of a block: 256 KiB to 2 MiB with usual models.
    pub block_bytes: u32,
    /// The seed.
    pub seed: u64,
}

impl Default for KvCacheLoad {
    /// 200 requests about 40 documents of 4 to 16 blocks of 1 MiB, with 1 to 4 blocks of their own.
    fn default() -> Self {
        Self {
            requests: 200,
            documents: 40,
            alpha: 1.0,
            document_blocks: (4, 16),
            own_blocks: (1, 4),
            block_bytes: 1 << 20,
            seed: 1,
        }
    }
}

/// One request: the keys of its blocks, from the beginning of the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Keys.
    pub blocks: Vec<BlockKey>,
}

/// A run of requests.
#[derive(Clone, Debug)]
pub struct Requests {
    load: KvCacheLoad,
    rng: Rng,
    documents: Picker,
    next: u64,
}

impl KvCacheLoad {
    /// Its requests.
    ///
    /// # Errors
    /// Ranges the wrong way round, an exponent below 0, or no document.
    pub fn requests(&self) -> Result<Requests, WorkloadError> {
        for (what, (from, to)) in
            [("blocks of a document", self.document_blocks), ("own blocks", self.own_blocks)]
        {
            if from > to {
                return Err(WorkloadError::Sizes {
                    what,
                    reason: "the smallest number is above the largest",
                });
            }
        }
        if self.documents == 0 {
            return Err(WorkloadError::Sizes { what: "documents", reason: "there is none" });
        }
        let documents = Distribution::Skewed { alpha: self.alpha }.picker(self.seed, self.documents)?;
        let rng = Seed(self.seed).child("kv cache").rng();
        Ok(Requests { load: self.clone(), rng, documents, next: 0 })
    }
}

impl Requests {
    fn blocks(&self, chain: Seed, count: u32, blocks: &mut Vec<BlockKey>) {
        for n in 0..count {
            let (low, high) = (chain.index(n.into()), chain.child("high").index(n.into()));
            blocks.push((u128::from(high.0) << 64 | u128::from(low.0)).to_le_bytes());
        }
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        if self.next == self.load.requests {
            return None;
        }
        self.next += 1;
        let document = self.documents.pick(&mut self.rng);
        let seed = Seed(self.load.seed);
        // A document is always of the same length.
        let (from, to) = self.load.document_blocks;
        let chain = seed.child("document").index(document);
        let length = from + chain.child("length").rng().below(u64::from(to - from) + 1) as u32;
        let mut blocks = Vec::new();
        self.blocks(chain, length, &mut blocks);
        let (from, to) = self.load.own_blocks;
        let own = from + self.rng.below(u64::from(to - from) + 1) as u32;
        self.blocks(seed.child("own").index(self.next), own, &mut blocks);
        Some(Request { blocks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn prompts_about_a_document_begin_alike_and_end_differently() {
        let load = KvCacheLoad { documents: 1, requests: 20, ..KvCacheLoad::default() };
        let all: Vec<Request> = load.requests().unwrap().collect();
        let shared = all[0].blocks.iter().zip(&all[1].blocks).take_while(|(a, b)| a == b).count();
        assert!((4..=16).contains(&shared), "{shared}");
        assert!(all.iter().all(|r| r.blocks[..shared] == all[0].blocks[..shared]));
        assert!(all.iter().all(|r| (1..=4).contains(&(r.blocks.len() - shared))));
        let own: BTreeSet<_> = all.iter().flat_map(|r| &r.blocks[shared..]).collect();
        assert_eq!(own.len(), all.iter().map(|r| r.blocks.len() - shared).sum::<usize>());
    }

    #[test]
    fn popular_documents_come_often() {
        let load = KvCacheLoad { requests: 2000, documents: 1000, ..KvCacheLoad::default() };
        let all: Vec<Request> = load.requests().unwrap().collect();
        let firsts: BTreeSet<_> = all.iter().map(|r| r.blocks[0]).collect();
        assert!((200..900).contains(&firsts.len()), "{} documents of a thousand", firsts.len());
        assert_eq!(all, load.requests().unwrap().collect::<Vec<_>>());
    }

    #[test]
    fn nonsense_is_refused() {
        let none = KvCacheLoad { documents: 0, ..KvCacheLoad::default() };
        let wrong = KvCacheLoad { own_blocks: (3, 2), ..KvCacheLoad::default() };
        let below = KvCacheLoad { alpha: -1.0, ..KvCacheLoad::default() };
        assert!([none, wrong, below].iter().all(|load| load.requests().is_err()));
    }
}
