// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hashes and HMACs of the three kinds.

use hmac::{Hmac, KeyInit, Mac};
use saker_nvme::fabrics::dhchap::HashId;
use sha2::{Digest, Sha256, Sha384, Sha512};
use zeroize::Zeroizing;

/// Bytes that are wiped when they are dropped.
pub(crate) type Hidden = Zeroizing<Vec<u8>>;

/// The hash of `data`.
pub(crate) fn hash(id: HashId, data: &[u8]) -> Hidden {
    Zeroizing::new(match id {
        HashId::Sha256 => Sha256::digest(data).to_vec(),
        HashId::Sha384 => Sha384::digest(data).to_vec(),
        HashId::Sha512 => Sha512::digest(data).to_vec(),
    })
}

/// The HMAC of the pieces, one behind the other.
pub(crate) fn hmac(id: HashId, key: &[u8], pieces: &[&[u8]]) -> Hidden {
    Zeroizing::new(match id {
        HashId::Sha256 => mac::<Hmac<Sha256>>(key, pieces),
        HashId::Sha384 => mac::<Hmac<Sha384>>(key, pieces),
        HashId::Sha512 => mac::<Hmac<Sha512>>(key, pieces),
    })
}

fn mac<M: Mac + KeyInit>(key: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
    let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else {
        unreachable!("HMAC takes keys of any length")
    };
    pieces.iter().for_each(|piece| mac.update(piece));
    mac.finalize().into_bytes().to_vec()
}

/// Whether both are the same, in a time that depends on their lengths alone.
pub(crate) fn are_same(left: &[u8], right: &[u8]) -> bool {
    let differing =
        left.iter().zip(right).fold(0, |sum, (left, right)| core::hint::black_box(sum | (left ^ right)));
    core::hint::black_box(differing) == 0 && left.len() == right.len()
}
