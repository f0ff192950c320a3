// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much is done at once.

/// Operations of a group at most.
pub(crate) const RUN_MAX: usize = 256;
/// Values of at least this length go alone.
pub(crate) const GROUPED_BYTES_MAX: usize = 4096;
/// Bytes of answers that a run of reads aims at.
const READ_BYTES: usize = 256 << 10;
/// Bytes of unsent answers with which a connection stops being served until it has read.
pub(crate) const REPLIES_MAX: usize = 1 << 20;
/// Bytes of the answer of one command at most.
pub(crate) const ANSWER_BYTES_MAX: usize = 32 << 20;

/// How many values of that length a run of reads may have.
pub(crate) const fn reads_of(value_bytes: usize) -> usize {
    let reads = READ_BYTES / if value_bytes == 0 { 1 } else { value_bytes };
    if reads == 0 {
        1
    } else if reads > RUN_MAX {
        RUN_MAX
    } else {
        reads
    }
}
