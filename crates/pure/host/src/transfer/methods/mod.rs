// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The methods, one file each: its name, which values it carries, what it puts on the link, and its commands.
//!
//! Whatever knows of all methods (options, policies, calibrations, experiments) goes through [`Method::ALL`]. Who decodes
//! the commands is the device's folder of the same name.

mod hybrid;
mod inline;
mod mmio;
mod piggyback;
mod prp;
mod sgl;

use super::{Available, Outbox, Sent};
use saker_link::Traffic;
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;

/// What the host knows of a method.
trait Carrier {
    /// The name in results and options.
    const NAME: &'static str;

    /// Whether values of `bytes` bytes can go this way at all.
    fn takes(_bytes: u32) -> bool {
        true
    }

    /// Whether this device and this queue carry a value of `bytes` bytes, which the method takes.
    fn is_offered(available: &Available, bytes: u32) -> bool;

    /// What a store of `bytes` bytes puts on the link, without doorbells.
    fn traffic(bytes: u32) -> Traffic;

    /// Sends the commands of a store, which the queue carries.
    ///
    /// # Errors
    /// The queue's.
    fn store<Q: Outbox>(queue: &mut Q, key: &Key, value: &[u8], options: StoreOptions) -> Sent<Q>;
}

/// The entries and completions of so many commands.
fn commands(count: u32) -> Traffic {
    let count = u64::from(count);
    Traffic { sqe_fetches: count, cqes: count, ..Traffic::default() }
}

/// Declares [`Method`] and the one match for each question; a row has the method's module, its type there, and its doc.
macro_rules! methods {
    ($( $module:ident::$name:ident, $about:literal; )*) => {
        /// A way to move a value to the device.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Method {
            $( #[doc = $about] $name, )*
        }

        impl Method {
            /// All, in the order in which ties are decided.
            pub const ALL: [Self; [$( Self::$name ),*].len()] = [$( Self::$name ),*];

            /// The name in results and options.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$name => <$module::$name as Carrier>::NAME, )* }
            }

            /// Whether values of `bytes` bytes can go this way, on a device and a queue that carry them.
            #[inline]
            #[must_use]
            pub fn takes(self, bytes: u32) -> bool {
                match self { $( Self::$name => $module::$name::takes(bytes), )* }
            }

            #[inline]
            fn is_offered(self, available: &Available, bytes: u32) -> bool {
                match self { $( Self::$name => $module::$name::is_offered(available, bytes), )* }
            }

            /// What a store of `bytes` bytes puts on the link, as device and host count it; without doorbells, whose
            /// number depends on when commands go out.
            #[must_use]
            pub fn traffic(self, bytes: u32) -> Traffic {
                match self { $( Self::$name => $module::$name::traffic(bytes), )* }
            }

            /// Sends a store to `queue`, which carries its value this way.
            #[inline(always)]
            pub(crate) fn store<Q: Outbox>(
                self,
                queue: &mut Q,
                key: &Key,
                value: &[u8],
                options: StoreOptions,
            ) -> Sent<Q> {
                match self { $( Self::$name => $module::$name::store(queue, key, value, options), )* }
            }
        }
    };
}

// The order is that in which ties are decided.
methods! {
    prp::Prp, "Whole pages named by PRPs: what every device has.";
    sgl::Sgl, "The exact bytes, named by one SGL data block in the entry (NVMe Base 2.0, section 4.1.2).";
    piggyback::Piggyback, "In the fields of commands: 35 bytes in the store, 56 in each transfer command (BandSlim, ICPP'24, section 3.2).";
    hybrid::Hybrid, "Whole pages by PRPs, the rest in the fields of commands (BandSlim section 3.2).";
    inline::Inline, "In the submission queue behind the command, 64 bytes an entry (ByteExpress).";
    mmio::Mmio, "By stores through the BAR and a commit command (2B-SSD, ISCA'18).";
}

impl Method {
    /// The method of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Place in [`Method::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether `available` carries a value of `bytes` bytes this way.
    #[inline]
    pub(super) fn is_carried(self, available: &Available, bytes: u32) -> bool {
        self.takes(bytes) && self.is_offered(available, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Users read of each method, and of nothing that is none.
    #[test]
    fn the_document_has_a_row_for_each_method() {
        let document = include_str!("../../../../../../docs/methods.md");
        let mut tables = document.split("\n\n").filter(|part| part.starts_with("| method |"));
        let rows = tables.next().expect("a table of methods").lines().skip(2);
        let named: Vec<_> = rows.map(|row| row.split('`').nth(1).unwrap_or_default()).collect();
        assert_eq!(named, Method::ALL.map(Method::name));
    }

    #[test]
    fn names_and_places_find_their_methods() {
        for (n, method) in Method::ALL.into_iter().enumerate() {
            assert_eq!((Method::of_name(method.name()), method.index()), (Some(method), n));
        }
        assert_eq!(Method::of_name("none"), None);
    }

    /// Whatever the size, somebody carries it, and no device but its own rules keeps PRPs from it.
    #[test]
    fn prps_carry_everything() {
        let nothing = Available::default();
        for bytes in [0, 1, 4096, 4097, u32::MAX] {
            assert!(Method::Prp.is_carried(&nothing, bytes));
            assert!(
                Method::ALL.iter().all(|m| *m == Method::Prp || !m.is_carried(&nothing, bytes)),
                "{bytes}"
            );
        }
    }
}
