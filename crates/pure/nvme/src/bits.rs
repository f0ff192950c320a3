// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Macros for bit fields and layouts. They keep a declaration as close to the specification's table as possible.

/// Declares getters and `with_` setters of a newtype over an unsigned word.
///
/// `name / with_name: low, width => type` for a number, `name / with_name: bit` for a flag.
macro_rules! bitfields {
    ($owner:ident($word:ty) {
        $( $(#[$doc:meta])* $get:ident / $with:ident : $low:literal, $width:literal => $kind:ty ; )*
    } flags {
        $( $(#[$fdoc:meta])* $fget:ident / $fwith:ident : $bit:literal ; )*
    }) => {
        impl $owner {
            $(
                $(#[$doc])*
                #[inline]
                pub const fn $get(self) -> $kind {
                    ((self.0 >> $low) & (<$word>::MAX >> (<$word>::BITS - $width))) as $kind
                }

                #[doc = concat!("The same word with [`", stringify!($get), "`](Self::", stringify!($get), ") replaced.")]
                #[inline]
                #[must_use]
                pub const fn $with(self, value: $kind) -> Self {
                    let mask = <$word>::MAX >> (<$word>::BITS - $width);
                    debug_assert!(value as $word <= mask);
                    Self((self.0 & !(mask << $low)) | ((value as $word & mask) << $low))
                }
            )*
            $(
                $(#[$fdoc])*
                #[inline]
                pub const fn $fget(self) -> bool {
                    self.0 & (1 << $bit) != 0
                }

                #[doc = concat!("The same word with [`", stringify!($fget), "`](Self::", stringify!($fget), ") replaced.")]
                #[inline]
                #[must_use]
                pub const fn $fwith(self, value: bool) -> Self {
                    Self((self.0 & !(1 << $bit)) | ((value as $word) << $bit))
                }
            )*
        }
    };
}

/// Asserts, at compile time, the size of a layout and the byte offset of its fields.
macro_rules! layout {
    ($owner:ident, $bytes:literal $(, $field:ident @ $offset:literal)* $(,)?) => {
        const _: () = {
            assert!(size_of::<$owner>() == $bytes);
            assert!(align_of::<$owner>() == 1, "wire layouts sit at any address");
            $( assert!(core::mem::offset_of!($owner, $field) == $offset); )*
        };
    };
}

/// `width` bits of a dword from bit `low`.
#[inline]
pub(crate) const fn field(dword: u32, low: u32, width: u32) -> u32 {
    (dword >> low) & (u32::MAX >> (32 - width))
}

/// Bit `bit` of a dword.
#[inline]
pub(crate) const fn flag(dword: u32, bit: u32) -> bool {
    dword & (1 << bit) != 0
}
