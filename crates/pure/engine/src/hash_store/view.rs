//! Reading records where they lie: what every store whose values are in a log shares.

use saker_log::{Bytes, Log};
use saker_medium::Medium;

/// The records of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Records<'a> {
    /// Where they are.
    pub log: &'a Log,
}

impl Records<'_> {
    /// Checksum of bytes 4..used of a resident record.
    pub(crate) fn range_crc<M: Medium>(&self, range: Bytes, used: u32, m: &M) -> u32 {
        let chunk = range.chunk(self.log, m, 4);
        if chunk.len() >= used as usize - 4 {
            return super::record::record_crc(&chunk[..used as usize - 4]);
        }
        let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
        let mut at = 4;
        while at < used {
            let chunk = range.chunk(self.log, m, at);
            if chunk.is_empty() {
                break;
            }
            let n = chunk.len().min((used - at) as usize);
            digest.update(&chunk[..n]);
            at += n as u32;
        }
        digest.finalize() as u32
    }
}

impl super::HashStore {
    /// The records of this store.
    #[inline]
    pub(super) fn records(&self) -> Records<'_> {
        Records { log: &self.log }
    }
}
