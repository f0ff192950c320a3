// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every hash with every group, one way and both ways, with right and wrong secrets.

use saker_auth::{GroupId, HashId, HostSecrets};
use saker_testing::tier;

use crate::exchange::{BOTH, Pair, Satisfied, secret};

/// The largest groups take long without optimisation of all that is below them.
fn all() -> impl Iterator<Item = (HashId, GroupId)> {
    let groups = GroupId::ALL.into_iter().take(tier(3, 6));
    groups.flat_map(|group| HashId::ALL.into_iter().map(move |hash| (hash, group)))
}

#[test]
fn right_secrets_satisfy_both() {
    for (hash, group) in all().chain([(HashId::Sha256, GroupId::Ffdhe8192)]) {
        for is_mutual in [false, true] {
            let mut seen = 0;
            let satisfied = Pair::new(hash, group, is_mutual, 1).run(|_, _| seen += 1);
            assert_eq!((satisfied, seen), (BOTH, if is_mutual { 5 } else { 4 }), "{hash:?} {group:?}");
        }
    }
}

#[test]
fn a_wrong_secret_of_the_host_satisfies_nobody() {
    for (hash, group) in all() {
        let mut pair = Pair::new(hash, group, true, 2);
        pair.secrets.host = secret(9);
        assert_eq!(pair.run(|_, _| {}), Satisfied { controller: false, host: false }, "{hash:?} {group:?}");
    }
}

#[test]
fn a_wrong_secret_of_the_controller_satisfies_nobody() {
    for (hash, group) in all() {
        let mut pair = Pair::new(hash, group, true, 3);
        pair.credentials.controller = Some(secret(9));
        assert_eq!(pair.run(|_, _| {}), Satisfied { controller: false, host: false }, "{hash:?} {group:?}");
        pair.credentials.controller = None;
        assert_eq!(pair.run(|_, _| {}), Satisfied { controller: false, host: false }, "{hash:?} {group:?}");
    }
}

#[test]
fn old_and_new_secrets_are_both_right() {
    let mut pair = Pair::new(HashId::Sha384, GroupId::Null, true, 4);
    pair.credentials.host = vec![secret(5), secret(6)];
    for (n, is_right) in [(5, true), (6, true), (1, false)] {
        pair.secrets = HostSecrets { host: secret(n), ..pair.secrets };
        assert_eq!(pair.run(|_, _| {}) == BOTH, is_right, "{n}");
    }
}

#[test]
fn what_is_not_allowed_is_not_agreed_on() {
    let mut pair = Pair::new(HashId::Sha256, GroupId::Null, false, 5);
    pair.credentials.groups = Vec::new();
    assert_eq!(pair.run(|_, _| {}), Satisfied { controller: false, host: false });
}

#[test]
fn the_first_that_is_allowed_is_taken() {
    let mut pair = Pair::new(HashId::Sha512, GroupId::Ffdhe2048, false, 6);
    pair.credentials.hashes = vec![HashId::Sha512, HashId::Sha256];
    pair.credentials.groups = vec![GroupId::Ffdhe2048, GroupId::Null];
    pair.run(|step, message| {
        if step == crate::exchange::Step::Challenge {
            assert_eq!((message[6], message[8], message[9]), (64, 3, 1));
        }
    });
}
