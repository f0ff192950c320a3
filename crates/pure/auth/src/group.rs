// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Diffie-Hellman in the groups of RFC 7919.

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use saker_nvme::fabrics::dhchap::GroupId;
use zeroize::{Zeroize, Zeroizing};

use crate::PRIVATE_BYTES;
use crate::hash::Hidden;
use crate::primes::{FFDHE2048, FFDHE3072, FFDHE4096, FFDHE6144, FFDHE8192};

/// A private exponent.
pub(crate) struct Private(Zeroizing<[u8; PRIVATE_BYTES]>);

impl Private {
    /// An exponent of random bytes: of 512 bits exactly, so that no short one can come up.
    pub fn new(bytes: &[u8; PRIVATE_BYTES]) -> Self {
        let mut bytes = Zeroizing::new(*bytes);
        if let Some(first) = bytes.first_mut() {
            *first |= 0x80;
        }
        Self(bytes)
    }

    /// The public value that belongs to it, as long as the prime; empty without a group.
    pub fn public(&self, group: GroupId) -> Vec<u8> {
        let Some(prime) = prime(group) else { return Vec::new() };
        let two = BoxedUint::from_be_slice_truncated(&[2], prime.as_ref().bits_precision());
        self.raise(&two, prime).to_vec()
    }

    /// The shared secret with `public`, as long as the prime: zeros at its beginning belong to it. `None` for a value that no exponent
    /// gives, or that makes the secret known: 0, 1, `p - 1`, and beyond (RFC 7919, section 5.1).
    pub fn shared(&self, group: GroupId, public: &[u8]) -> Option<Hidden> {
        let Some(prime) = prime(group) else { return public.is_empty().then(Hidden::default) };
        if public.len() != group.bytes() {
            return None;
        }
        let bits = prime.as_ref().bits_precision();
        let value = BoxedUint::from_be_slice_truncated(public, bits);
        let one = BoxedUint::from_be_slice_truncated(&[1], bits);
        let least = value > one;
        let is_sound = least && value < prime.as_ref().wrapping_sub(&one);
        is_sound.then(|| self.raise(&value, prime))
    }

    /// `base ^ self` in constant time.
    fn raise(&self, base: &BoxedUint, prime: Odd<BoxedUint>) -> Hidden {
        let bits = 8 * PRIVATE_BYTES as u32;
        let mut exponent = BoxedUint::from_be_slice_truncated(self.0.as_slice(), bits);
        let params = BoxedMontyParams::new_vartime(prime);
        let mut power = BoxedMontyForm::new(base.clone(), &params).pow_bounded_exp(&exponent, bits);
        let mut value = power.retrieve();
        let bytes = Zeroizing::new(value.to_be_bytes().to_vec());
        exponent.zeroize();
        power.zeroize();
        value.zeroize();
        bytes
    }
}

pub(crate) fn prime(group: GroupId) -> Option<Odd<BoxedUint>> {
    let text = match group {
        GroupId::Null => return None,
        GroupId::Ffdhe2048 => FFDHE2048,
        GroupId::Ffdhe3072 => FFDHE3072,
        GroupId::Ffdhe4096 => FFDHE4096,
        GroupId::Ffdhe6144 => FFDHE6144,
        GroupId::Ffdhe8192 => FFDHE8192,
    };
    let value = BoxedUint::from_be_hex(text, 8 * group.bytes() as u32).into_option()?;
    Odd::new(value).into_option()
}
