// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a response is computed of (Base 2.0, section 8.13.5; torvalds/linux, drivers/nvme/target/auth.c, `nvmet_auth_host_hash`
//! and `nvmet_auth_ctrl_hash`).

use saker_nvme::fabrics::dhchap::HashId;

use crate::hash::{Hidden, are_same, hash, hmac};
use crate::secret::Secret;

/// Who talks to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// HOSTNQN.
    pub host: String,
    /// SUBNQN.
    pub subsystem: String,
}

/// Who responds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Host,
    Controller,
}

/// A challenge as both know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub hash: HashId,
    pub challenge: &'a [u8],
    pub sequence: u32,
    pub transaction: u16,
    /// The shared secret of the group, if there is a group.
    pub shared: &'a [u8],
}

/// SC_C: no secure channel.
const NO_SECURE_CHANNEL: u8 = 0;

/// The response to a challenge by whoever has the secret.
pub(crate) fn respond(role: Role, secret: &Secret, names: &Names, asked: &Asked<'_>) -> Hidden {
    let (label, own, other) = match role {
        Role::Host => (&b"HostHost"[..], &names.host, &names.subsystem),
        Role::Controller => (&b"Controller"[..], &names.subsystem, &names.host),
    };
    let augmented = augmented(asked);
    let pieces: [&[u8]; 8] = [
        &augmented,
        &asked.sequence.to_le_bytes(),
        &asked.transaction.to_le_bytes(),
        &[NO_SECURE_CHANNEL],
        label,
        own.as_bytes(),
        &[0],
        other.as_bytes(),
    ];
    hmac(asked.hash, &secret.key_of(own), &pieces)
}

/// The challenge, mixed with the shared secret.
fn augmented(asked: &Asked<'_>) -> Hidden {
    if asked.shared.is_empty() {
        return Hidden::new(asked.challenge.to_vec());
    }
    let session = hash(asked.hash, asked.shared);
    hmac(asked.hash, &session, &[asked.challenge])
}

/// Whether the response is right for one of the secrets. All of them are tried, whichever it is.
pub(crate) fn is_right<'a>(
    role: Role,
    secrets: impl Iterator<Item = &'a Secret>,
    names: &Names,
    asked: &Asked<'_>,
    response: &[u8],
) -> bool {
    secrets.fold(false, |found, secret| found | are_same(&respond(role, secret, names, asked), response))
}
