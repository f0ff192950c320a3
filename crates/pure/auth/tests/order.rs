// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages out of turn, and authentication again.

use std::sync::Arc;

use saker_auth::{Controller, GroupId, HashId, Host, Outcome};

use crate::exchange::{Pair, names, randomness, secret, settle};

fn rig() -> (Pair, Controller) {
    let pair = Pair::new(HashId::Sha256, GroupId::Null, true, 1);
    let controller = Controller::new(names(), Arc::new(pair.credentials.clone()));
    (pair, controller)
}

/// The whole exchange; whether the controller is satisfied.
fn authenticate(pair: &Pair, controller: &mut Controller) -> bool {
    let (names, random) = (names(), randomness(3));
    let mut host = Host::new(&names, &pair.secrets, &random, 9);
    settle(controller, |c| c.send(&host.negotiate()));
    let challenge = settle(controller, |c| c.receive(&randomness(2))).1;
    let Ok(reply) = host.reply(&challenge) else { return false };
    settle(controller, |c| c.send(&reply));
    let success = settle(controller, |c| c.receive(&randomness(2))).1;
    let Ok(Some(last)) = host.success(&success) else { return false };
    settle(controller, |c| c.send(&last)).0
}

#[test]
fn a_queue_can_authenticate_again_with_secrets_that_are_new() {
    let (mut pair, mut controller) = rig();
    assert!(authenticate(&pair, &mut controller));
    assert!(authenticate(&pair, &mut controller), "again");
    pair.credentials.host = vec![secret(4)];
    controller.renew(Arc::new(pair.credentials.clone()));
    let (old, mut spare) =
        (pair.secrets.clone(), Controller::new(names(), Arc::new(pair.credentials.clone())));
    assert!(!authenticate(&pair, &mut spare), "the old secret");
    pair.secrets.host = secret(4);
    assert!(authenticate(&pair, &mut controller), "the new one");
    assert_ne!(old, pair.secrets);
}

#[test]
fn a_message_out_of_turn_ends_it() {
    let (pair, _) = rig();
    let (names, random) = (names(), randomness(3));
    let host = Host::new(&names, &pair.secrets, &random, 9);
    let negotiate = host.negotiate();
    let out_of_turn: [&[&[u8]]; 5] = [
        &[&[1, 2, 0, 0, 9, 0]],
        &[&[1, 4, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
        &[&negotiate, &negotiate],
        &[&[]],
        &[&[2, 0]],
    ];
    for messages in out_of_turn {
        let mut controller = rig().1;
        for message in messages {
            assert!(!settle(&mut controller, |c| c.send(message)).0);
        }
        let Outcome::Ended(failure) = controller.receive(&randomness(2)) else { panic!("{messages:?}") };
        assert_eq!((failure[0], failure[1], failure[6], failure[7]), (0, 0xF1, 1, 7));
    }
}

#[test]
fn a_receive_out_of_turn_ends_it() {
    let mut controller = rig().1;
    assert!(matches!(controller.receive(&randomness(2)), Outcome::Ended(_)));
}

#[test]
fn a_host_that_gives_up_ends_it() {
    let mut controller = rig().1;
    assert!(matches!(controller.send(&[0, 0xF0, 0, 0, 9, 0, 1, 1]), Outcome::Ended(_)));
}

#[test]
fn another_message_while_work_is_under_way_ends_it() {
    let (pair, mut controller) = rig();
    let (names, random) = (names(), randomness(3));
    let host = Host::new(&names, &pair.secrets, &random, 9);
    settle(&mut controller, |c| c.send(&host.negotiate()));
    let Outcome::Work(work) = controller.receive(&randomness(2)) else { panic!("work") };
    assert!(matches!(controller.send(&host.negotiate()), Outcome::Done(_)));
    assert!(matches!(controller.finish(work.run()), Outcome::Done(message) if message.is_empty()));
    assert!(matches!(controller.receive(&randomness(2)), Outcome::Ended(_)));
}
