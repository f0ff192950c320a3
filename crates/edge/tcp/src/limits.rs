// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What hosts may have of a subsystem at most.

/// I/O controllers of a subsystem.
pub(crate) const CONTROLLERS_MAX: usize = 256;

/// Iterators of a connection in a namespace, as a queue of a device has them; as many again beside others.
pub(crate) const ITERATORS_PER_CONNECTION: usize = 16;
/// What each host has in a namespace whatever others do: one connection's.
pub(crate) const ITERATORS_PER_HOST: usize = ITERATORS_PER_CONNECTION;
/// What hosts may have beyond that, all together: each takes half of what the others have left at most.
pub(crate) const ITERATORS_COMMON: usize = 1024;
/// What a device has to allow the target in a namespace for all this, with what is opened beside others.
pub(crate) const ITERATORS_MAX: usize = 2 * (CONTROLLERS_MAX * ITERATORS_PER_HOST + ITERATORS_COMMON);
