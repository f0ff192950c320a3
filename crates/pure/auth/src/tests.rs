// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The primes, computed again.

use crypto_bigint::{BoxedUint, Resize};
use saker_nvme::fabrics::dhchap::GroupId;

use crate::PRIVATE_BYTES;
use crate::group::{Private, prime};

/// Bits behind the point of `e` beyond those that are used.
const GUARD: u32 = 64;
/// Room for `e`, whose bits before the point are two.
const ROOM: u32 = 64;

/// `floor(2^bits e)`, by the series of reciprocal factorials.
fn e(bits: u32, precision: u32) -> BoxedUint {
    let mut term = BoxedUint::one_with_precision(precision).shl(bits + GUARD);
    let mut sum = BoxedUint::zero_with_precision(precision);
    let mut n = 0u64;
    while bool::from(term.is_nonzero()) {
        sum = sum.wrapping_add(&term);
        n += 1;
        let divisor = BoxedUint::from(n).resize(precision).to_nz().expect("n is not 0");
        term = term.wrapping_div(&divisor);
    }
    sum.shr(GUARD)
}

/// RFC 7919, appendix A: the number X of each prime.
#[test]
fn the_primes_are_those_of_their_definition() {
    for (group, x) in [
        (GroupId::Ffdhe2048, 560_316u64),
        (GroupId::Ffdhe3072, 2_625_351),
        (GroupId::Ffdhe4096, 5_736_041),
        (GroupId::Ffdhe6144, 15_705_020),
        (GroupId::Ffdhe8192, 10_965_728),
    ] {
        let bits = 8 * group.bytes() as u32;
        let precision = bits + GUARD + ROOM;
        let number = |n: u64| BoxedUint::from(n).resize(precision);
        let power = |n: u32| number(1).shl(n);
        let middle = e(bits - 130, precision).wrapping_add(number(x)).shl(64);
        let value = power(bits).wrapping_sub(power(bits - 64)).wrapping_add(&middle).wrapping_sub(number(1));
        let found = prime(group).expect("it has one");
        assert_eq!(value.to_be_bytes().split_off_tail(group.bytes()), found.as_ref().to_be_bytes().as_ref());
    }
}

/// 0, 1, p - 1 and beyond give a secret that everybody knows; 2 and p - 2 do not.
#[test]
fn values_at_the_ends_are_refused() {
    let private = Private::new(&[3; PRIVATE_BYTES]);
    for group in GroupId::ALL.into_iter().skip(1) {
        let p = prime(group).expect("it has one").as_ref().clone();
        let number = |n: u64| BoxedUint::from(n).resize(p.bits_precision());
        let below = |n: u64| p.wrapping_sub(number(n));
        let is_taken = |value: &BoxedUint| private.shared(group, &value.to_be_bytes()).is_some();
        let ends = [number(0), number(1), below(1), below(0), p.wrapping_add(number(1))];
        assert_eq!(ends.each_ref().map(is_taken), [false; 5], "{group:?}");
        assert_eq!([number(2), below(2)].each_ref().map(is_taken), [true; 2], "{group:?}");
        assert!(private.shared(group, &number(2).to_be_bytes()[1..]).is_none(), "too short");
    }
    assert!(private.shared(GroupId::Null, &[]).is_some_and(|secret| secret.is_empty()));
    assert!(private.shared(GroupId::Null, &[2]).is_none());
}

trait Tail {
    fn split_off_tail(&self, bytes: usize) -> &[u8];
}

impl Tail for [u8] {
    fn split_off_tail(&self, bytes: usize) -> &[u8] {
        self.get(self.len() - bytes..).expect("as many bytes")
    }
}
