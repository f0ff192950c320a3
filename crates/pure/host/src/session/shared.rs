//! What the lanes of a client have in common.

use saker_link::ShortLock;

use super::flusher::Flusher;
use super::index::Index;
use super::options::Options;

#[derive(Debug)]
pub(super) struct Shared {
    pub index: Index,
    pub options: Options,
    /// Memory of parked writes in bytes.
    pub parked_bytes: ShortLock<usize>,
    pub flusher: ShortLock<Flusher>,
}
