// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Results of groups that wait to be fetched, bounded as a device's are.

use saker_nvme::Key;
use std::collections::VecDeque;

const KEPT_MAX: usize = 256;
const KEPT_BYTES_MAX: usize = 16 << 20;

/// Results by identification: the oldest go first.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    results: VecDeque<(Key, Vec<u8>)>,
    bytes: usize,
}

impl Kept {
    pub fn keep(&mut self, id: Key, results: Vec<u8>) {
        self.take(&id);
        self.bytes += results.len();
        self.results.push_back((id, results));
        while self.results.len() > KEPT_MAX || self.bytes > KEPT_BYTES_MAX {
            let Some((_, dropped)) = self.results.pop_front() else { break };
            self.bytes -= dropped.len();
        }
    }

    pub fn get(&self, id: &Key) -> Option<&[u8]> {
        self.results.iter().find(|(kept, _)| kept == id).map(|(_, results)| results.as_slice())
    }

    pub fn take(&mut self, id: &Key) {
        if let Some(n) = self.results.iter().position(|(kept, _)| kept == id)
            && let Some((_, taken)) = self.results.remove(n)
        {
            self.bytes -= taken.len();
        }
    }
}
