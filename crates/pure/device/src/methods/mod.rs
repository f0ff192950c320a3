// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The methods of transfer that have commands of their own, one folder or file each: the bit of the log page that
//! announces them, decoding and gathering, what they cost the dispatcher, and a short way without time.
//!
//! PRPs and SGLs are the data pointer of standard commands ([`crate::transfer`]). Whatever a method asks of rings, memory
//! and the BAR comes with an [`Arrival`].

mod gather;
mod hybrid;
mod inline;
mod known;
mod mmio;
mod piggyback;
mod retrieve;

pub use gather::{GATHER_BYTES_MAX, Gather, HELD_BYTES_MAX, Taken};
pub use inline::{Behind, InlineHead};
pub use known::{capabilities, is_known};
pub use retrieve::BYTES_MAX as RETRIEVE_BYTES_MAX;

use gather::is_due;
use saker_engine::Source;
use saker_link::{BarBuffer, DeviceSq, DmaSpace};
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::Methods;
use saker_nvme::{Key, PointerRule, Sqe, Status};
use saker_profile::Transfer;
use saker_sim::Duration;
use std::fmt::Debug;

/// A command of a KV namespace, and what its method may need.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// Its entry.
    pub sqe: &'a Sqe,
    /// The data pointers that the controller admits.
    pub rule: PointerRule,
    /// Its queue.
    pub qid: u16,
    /// Entries of the completion queue.
    pub cq_entries: u32,
    /// Largest value of the namespace, in bytes.
    pub value_bytes_max: u32,
    /// The host's memory.
    pub space: &'a DmaSpace,
    /// The BAR.
    pub bar: &'a BarBuffer,
    /// What came in the entries behind it.
    pub head: Option<Box<InlineHead>>,
}

/// What the short way looks at before a command is gathered.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    /// The entry.
    pub sqe: &'a Sqe,
    /// Largest value of the namespace, in bytes.
    pub value_bytes_max: u32,
    /// What the device announces.
    pub methods: Methods,
}

/// Stores a value at once and counts it. `None`: the engine has to be asked again, and nothing has changed.
pub trait Landing {
    /// Stores `value` under `key`; how that ended.
    fn store<S: Source>(self, key: &Key, value: &mut S, options: StoreOptions) -> Option<Status>;
}

/// What the device knows of a method.
trait Receiver {
    /// What is kept of a value whose parts are still to come.
    type Open: Copy + Debug;

    /// The bit of the log page that announces a command; `None` for commands of others.
    fn announced_by(opcode: u8) -> Option<Methods>;

    /// Decodes a command. The queue's open value is the method's to continue or to close.
    ///
    /// # Errors
    /// The status to complete it with.
    fn take(gather: &mut Gather, arrival: Arrival<'_>) -> Result<Taken, Status>;

    /// Whether one of its commands may leave a value open.
    #[inline]
    fn is_part(_sqe: &Sqe) -> bool {
        false
    }

    /// Whether the entries behind a command are its value.
    #[inline]
    fn comes_behind(_opcode: u8) -> bool {
        false
    }

    /// Dispatcher time of one unit of what its commands carry, in nanoseconds.
    fn price_ns(_costs: &Transfer) -> u64 {
        0
    }

    /// Units that one of its commands carries, with so many entries behind it.
    fn units(_opcode: u8, _slots: u64) -> u64 {
        0
    }

    /// Whether a command may go the short way.
    #[inline(always)]
    fn is_short(_opcode: u8) -> bool {
        false
    }

    /// The short way of a command that is nothing but a whole value: hands it on. `None` for anything else; nothing has
    /// happened then. `behind` finds the ring whose next entries are its value, all of them announced.
    #[inline(always)]
    fn shortly<'q>(
        _plain: Plain<'_>,
        _behind: impl FnOnce() -> Option<&'q DeviceSq>,
        _landing: impl Landing,
    ) -> Option<Status> {
        None
    }
}

/// Declares the one match for each question; a row has the method's module and its type there.
macro_rules! methods {
    ($( $module:ident::$name:ident; )*) => {
        /// The open value of a queue, by method.
        #[derive(Clone, Copy, Debug)]
        enum Open {
            Nothing,
            $( #[allow(dead_code, reason = "not every method has values in parts")]
            $name(<$module::$name as Receiver>::Open), )*
        }

        /// The bit that announces a command; `None` if no method has it.
        #[inline]
        pub fn announced_by(opcode: u8) -> Option<Methods> {
            None$( .or_else(|| $module::$name::announced_by(opcode)) )*
        }

        /// How many methods a command belongs to.
        #[cfg(test)]
        fn owners(opcode: u8) -> usize {
            0 $( + usize::from($module::$name::announced_by(opcode).is_some()) )*
        }

        /// Whether a command may leave a value open.
        #[inline]
        pub fn is_part(sqe: &Sqe) -> bool {
            false $( || $module::$name::is_part(sqe) )*
        }

        /// Whether the entries behind a command are its value.
        #[inline(always)]
        pub fn comes_behind(opcode: u8) -> bool {
            false $( || $module::$name::comes_behind(opcode) )*
        }

        /// Decodes a command of one of the methods.
        ///
        /// # Errors
        /// The status to complete it with; an opcode of none of them is 01h.
        #[inline]
        pub fn take(gather: &mut Gather, arrival: Arrival<'_>) -> Result<Taken, Status> {
            let opcode = arrival.sqe.opcode;
            $( if $module::$name::announced_by(opcode).is_some() {
                return $module::$name::take(gather, arrival);
            } )*
            Err(Status::INVALID_OPCODE)
        }

        /// Whether a command may go the short way.
        #[inline(always)]
        pub fn is_short(opcode: u8) -> bool {
            $( if $module::$name::is_short(opcode) {
                return true;
            } )*
            false
        }

        /// The short way of a command that [may go it](is_short). `None`: it is not plain, and nothing has happened. The entries
        /// with a value that [comes behind](comes_behind) are still in the ring afterwards.
        #[inline(always)]
        pub fn shortly<'q>(
            plain: Plain<'_>,
            behind: impl FnOnce() -> Option<&'q DeviceSq>,
            landing: impl Landing,
        ) -> Option<Status> {
            let opcode = plain.sqe.opcode;
            $( if $module::$name::is_short(opcode) {
                return $module::$name::shortly(plain, behind, landing);
            } )*
            None
        }

        /// What units of each method cost the dispatcher.
        #[derive(Clone, Debug)]
        pub struct Prices {
            $( $module: Duration, )*
        }

        impl Prices {
            /// As a profile states them.
            pub fn of(costs: &Transfer) -> Self {
                Self { $( $module: Duration::from_nanos($module::$name::price_ns(costs)), )* }
            }

            /// Dispatcher time for what a command carries, with so many entries behind it.
            pub fn carried(&self, opcode: u8, slots: u64) -> Duration {
                $( if $module::$name::announced_by(opcode).is_some() {
                    return self.$module * $module::$name::units(opcode, slots);
                } )*
                Duration::ZERO
            }
        }
    };
}

methods! {
    piggyback::Piggyback;
    hybrid::Hybrid;
    inline::Inline;
    mmio::Mmio;
    retrieve::Retrieve;
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_nvme::vendor_specific::COMMANDS;

    /// Each opcode that some device knows is one method's or another command's, and is in the table; a device that
    /// announces everything knows the whole table.
    #[test]
    fn devices_know_what_the_table_has() {
        for (opcode, name, _) in COMMANDS {
            assert!(is_known(Methods::ALL, opcode), "{name}");
            assert!(!is_known(Methods::default(), opcode), "{name}");
        }
        let known = (0..=u8::MAX).filter(|opcode| is_known(Methods::ALL, *opcode));
        assert_eq!(known.count(), COMMANDS.len());
    }

    /// A command of two methods would only ever reach the first.
    #[test]
    fn no_command_belongs_to_two_methods() {
        let twice: Vec<_> = (0..=u8::MAX).filter(|opcode| owners(*opcode) > 1).collect();
        assert!(twice.is_empty(), "{twice:x?}");
    }
}
