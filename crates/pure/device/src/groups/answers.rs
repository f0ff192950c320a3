// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who takes the answers of a group: a count, or a list of results.

use crate::answer::kv_status;
use saker_engine::{Answers, KvError, Version};
use saker_nvme::Status;
use saker_nvme::group::results::ResultsWriter;

/// Tells how many operations failed.
pub(super) trait Failing {
    fn failed(&self) -> u32;
}

/// Nobody asks for more than how many failed.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures(pub(super) u32);

impl Failing for Failures {
    fn failed(&self) -> u32 {
        self.0
    }
}

impl Answers for Failures {
    fn begin(&mut self, _: u32, _: Version) {}

    #[inline]
    fn done(&mut self, result: Result<(), KvError>) {
        self.0 += u32::from(result.is_err());
    }

    fn found(&mut self, _: u32) -> bool {
        false
    }

    fn value(&mut self, _: &[u8]) {}
}

/// Results as they go to the host.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) writer: ResultsWriter,
    bytes_max: usize,
    /// Whether some operation found a value.
    pub(super) reads: bool,
}

impl Told {
    pub(super) fn new(bytes_max: u32) -> Self {
        Self { writer: ResultsWriter::default(), bytes_max: bytes_max as usize, reads: false }
    }

    /// Most bytes of the results.
    pub(super) fn bytes_max(&self) -> u32 {
        self.bytes_max as u32
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.writer.finish()
    }
}

impl Failing for Told {
    fn failed(&self) -> u32 {
        self.writer.failed()
    }
}

impl Answers for Told {
    fn begin(&mut self, members: u32, _: Version) {
        self.writer = ResultsWriter::new(members, self.bytes_max);
    }

    fn done(&mut self, result: Result<(), KvError>) {
        self.writer.push(result.map_or_else(kv_status, |()| Status::SUCCESS));
    }

    fn all_done(&mut self, members: u32) {
        self.writer.push_successes(members);
    }

    fn found(&mut self, value_bytes: u32) -> bool {
        self.reads = true;
        self.writer.begin_value(value_bytes)
    }

    fn value(&mut self, bytes: &[u8]) {
        self.writer.value(bytes);
    }
}
