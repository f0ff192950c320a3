// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records in files: one a line, streamed in bounded memory.

pub mod escape;
pub mod format;
pub mod jsonl;
mod lines;
mod reader;
mod separated;
pub mod set;
mod writer;

pub use format::Format;
pub use reader::{BadLine, ReadError, Reader};
pub use writer::Writer;

/// Bytes between the program and a file or pipe: large enough that system calls cost little beside the copying.
pub const BUFFER_BYTES: usize = 256 << 10;

/// One record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The key, 1 to 255 bytes.
    pub key: Vec<u8>,
    /// The value, at most 2 MiB.
    pub value: Vec<u8>,
}

impl Record {
    fn clear(&mut self) {
        self.key.clear();
        self.value.clear();
    }
}

#[cfg(test)]
mod tests;
