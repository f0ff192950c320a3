//! Hints to the processor that runs the model, without effect on any result.

use crate::result::Side;
use saker_link::prefetch;

/// Operations of a thread between the one that is submitted and the one whose memory is asked for.
const OPERATIONS_AHEAD: usize = 4;

/// Asks for the memory of a thread's next operation, and of the ones after it: jobs are longer than caches, and threads take
/// turns with the device.
pub(super) fn foresee(operations: &[Side], next: usize, stride: usize) {
    if let Some(Side::Put(key, _) | Side::Get(key)) = operations.get(next)
        && let Some(first) = key.first()
    {
        prefetch(first);
    }
    if let Some(later) = operations.get(next + OPERATIONS_AHEAD * stride) {
        prefetch(later);
    }
}
