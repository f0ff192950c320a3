//! Modelled controller memory, by structure.

use super::HashFtl;
use super::table::DIRECTORY_ENTRY_BYTES;
use super::validity::Validity;
use crate::kv::Memory;

/// Bytes of a segment in the segment table: live bytes, next page, state.
const SEGMENT_ENTRY_BYTES: u64 = 16;

/// Modelled memory of a hash FTL, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtlMemory {
    /// Sections in the cache.
    pub cache_bytes: u64,
    /// Where each section is.
    pub directory_bytes: u64,
    /// Original: the grain bitmap.
    pub bitmap_bytes: u64,
    /// Plus: buffers of invalid mappings.
    pub invalid_buffer_bytes: u64,
    /// Plus: invalid grains of each page.
    pub invalid_count_bytes: u64,
    /// Plus: where pages of invalid mappings are.
    pub invalid_list_bytes: u64,
    /// The segment table.
    pub segment_bytes: u64,
}

impl FtlMemory {
    /// The structures with their names, in order.
    pub fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("cache_bytes", self.cache_bytes),
            ("directory_bytes", self.directory_bytes),
            ("bitmap_bytes", self.bitmap_bytes),
            ("invalid_buffer_bytes", self.invalid_buffer_bytes),
            ("invalid_count_bytes", self.invalid_count_bytes),
            ("invalid_list_bytes", self.invalid_list_bytes),
            ("segment_bytes", self.segment_bytes),
        ]
    }
}

impl HashFtl {
    /// Modelled controller memory by structure.
    pub fn ftl_memory(&self) -> FtlMemory {
        let mut memory = FtlMemory {
            cache_bytes: self.table.cache.bytes(),
            directory_bytes: self.sections_now() * DIRECTORY_ENTRY_BYTES,
            segment_bytes: u64::from(self.log.segments_held()) * SEGMENT_ENTRY_BYTES,
            ..FtlMemory::default()
        };
        match &self.validity {
            Validity::Bitmap(bits) => memory.bitmap_bytes = bits.bytes(),
            Validity::Invalid(invalid) => {
                let invalid = invalid.memory();
                memory.invalid_buffer_bytes = invalid.buffer_bytes;
                memory.invalid_count_bytes = invalid.count_bytes;
                memory.invalid_list_bytes = invalid.list_bytes;
            }
        }
        memory
    }

    /// The same in the parts that every engine has.
    pub fn memory(&self) -> Memory {
        let all = self.ftl_memory();
        let sum: u64 = all.named().iter().map(|(_, bytes)| bytes).sum();
        Memory {
            index_bytes: all.cache_bytes,
            directory_bytes: sum - all.cache_bytes - all.segment_bytes,
            segment_bytes: all.segment_bytes,
        }
    }
}
