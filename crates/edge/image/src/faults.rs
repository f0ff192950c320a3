// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Failures of the host file system, asked for by tests: at a call that is counted, of a kind, as long as they last.
//!
//! Without the feature `planted` nothing can be asked for. Plans are per thread.

#[cfg(not(feature = "planted"))]
use std::io;

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// pwrite.
    Write,
    /// pread.
    Read,
    /// fallocate, also to give space back.
    Allocate,
    /// fdatasync and fsync.
    Sync,
    /// ftruncate.
    Resize,
}

#[cfg(feature = "planted")]
mod planting {
    use super::Call;
    use rustix::io::Errno;
    use std::cell::RefCell;
    use std::io;

    /// What goes wrong.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum HostFault {
        /// ENOSPC, where space can be needed: writes that come behind half a write, and allocations.
        Full,
        /// EIO.
        Io,
        /// Half of the bytes only.
        Short,
        /// EINTR, once.
        Interrupted,
        /// EIO of syncs alone.
        SyncFails,
    }

    impl HostFault {
        /// Every kind.
        pub const ALL: [Self; 5] = [Self::Full, Self::Io, Self::Short, Self::Interrupted, Self::SyncFails];

        fn concerns(self, call: Call) -> bool {
            match self {
                Self::Full => matches!(call, Call::Write | Call::Allocate | Call::Resize),
                Self::Io | Self::Interrupted => true,
                Self::Short => matches!(call, Call::Write | Call::Read),
                Self::SyncFails => call == Call::Sync,
            }
        }
    }

    /// When something goes wrong.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HostPlan {
        /// What.
        pub fault: HostFault,
        /// The first call that fails, counted from 1 over those that the fault concerns.
        pub at: u64,
        /// So many calls fail.
        pub calls: u64,
    }

    #[derive(Default)]
    struct Plan {
        plan: Option<HostPlan>,
        calls: u64,
    }

    thread_local! {
        static PLAN: RefCell<Plan> = RefCell::default();
    }

    /// From now on calls of this thread fail as planned; `None`: none does. Counting begins anew.
    pub fn plan(plan: Option<HostPlan>) {
        PLAN.set(Plan { plan, calls: 0 });
    }

    /// Calls of this thread that the plan's fault concerned.
    pub fn calls() -> u64 {
        PLAN.with_borrow(|plan| plan.calls)
    }

    fn hit(call: Call) -> Option<HostFault> {
        PLAN.with_borrow_mut(|state| {
            let plan = state.plan.filter(|plan| plan.fault.concerns(call))?;
            state.calls += 1;
            let n = state.calls;
            (n >= plan.at && n - plan.at < plan.calls).then_some(plan.fault)
        })
    }

    pub(crate) fn ask(call: Call) -> io::Result<()> {
        match hit(call) {
            None | Some(HostFault::Short) => Ok(()),
            Some(HostFault::Full) => Err(Errno::NOSPC.into()),
            Some(HostFault::Io | HostFault::SyncFails) => Err(Errno::IO.into()),
            Some(HostFault::Interrupted) => Err(Errno::INTR.into()),
        }
    }

    pub(crate) fn bytes_of(call: Call, bytes: usize) -> io::Result<usize> {
        match hit(call) {
            None => Ok(bytes),
            Some(HostFault::Short) => Ok(bytes.div_ceil(2)),
            Some(HostFault::Full) => Err(Errno::NOSPC.into()),
            Some(HostFault::Io | HostFault::SyncFails) => Err(Errno::IO.into()),
            Some(HostFault::Interrupted) => Err(Errno::INTR.into()),
        }
    }
}

#[cfg(feature = "planted")]
pub use planting::{HostFault, HostPlan, calls, plan};
#[cfg(feature = "planted")]
pub(super) use planting::{ask, bytes_of};

/// Whether this call goes wrong: never.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(super) const fn ask(_: Call) -> io::Result<()> {
    Ok(())
}

/// How many bytes this call moves: all.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(super) const fn bytes_of(_: Call, bytes: usize) -> io::Result<usize> {
    Ok(bytes)
}
