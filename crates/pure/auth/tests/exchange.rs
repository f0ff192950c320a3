// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A host and a controller that exchange messages, which somebody on the way may change.

use std::sync::Arc;

use saker_auth::{
    Controller, Credentials, GroupId, HashId, Host, HostSecrets, Names, Outcome, Randomness, Secret,
};

/// The messages in the order in which they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Negotiate,
    Challenge,
    Reply,
    Success1,
    Success2,
}

impl Step {
    /// Whether the host sends it.
    pub fn is_of_host(self) -> bool {
        matches!(self, Self::Negotiate | Self::Reply | Self::Success2)
    }
}

/// Who is satisfied in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Satisfied {
    pub controller: bool,
    pub host: bool,
}

pub const BOTH: Satisfied = Satisfied { controller: true, host: true };

pub fn names() -> Names {
    Names { host: "nqn.2014-08.org.example:host".into(), subsystem: "nqn.2026-11.dev.saker:disk".into() }
}

pub fn secret(n: u8) -> Secret {
    Secret::generate(Some(HashId::ALL[usize::from(n) % 3]), &[n; 64])
}

/// Bytes that are random enough for a test.
pub fn randomness(seed: u64) -> Randomness {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) as u8
    };
    Randomness::new(&core::array::from_fn(|_| next()))
}

pub struct Pair {
    pub credentials: Credentials,
    pub secrets: HostSecrets,
    pub seed: u64,
    pub transaction: u16,
}

impl Pair {
    pub fn new(hash: HashId, group: GroupId, is_mutual: bool, seed: u64) -> Self {
        let controller = is_mutual.then(|| secret(2));
        Self {
            credentials: Credentials {
                host: vec![secret(1)],
                controller: Some(secret(2)),
                hashes: vec![hash],
                groups: vec![group],
            },
            secrets: HostSecrets { host: secret(1), controller },
            seed,
            transaction: 7,
        }
    }

    /// The whole exchange; `change` sees each message before it arrives.
    pub fn run(&self, mut change: impl FnMut(Step, &mut Vec<u8>)) -> Satisfied {
        let mut satisfied = Satisfied { controller: false, host: false };
        let names = names();
        let mut controller = Controller::new(names.clone(), Arc::new(self.credentials.clone()));
        let (ours, theirs) = (randomness(2 * self.seed), randomness(2 * self.seed + 1));
        let mut host = Host::new(&names, &self.secrets, &theirs, self.transaction);
        let mut message = host.negotiate();
        change(Step::Negotiate, &mut message);
        satisfied.controller |= settle(&mut controller, |c| c.send(&message)).0;
        let mut message = settle(&mut controller, |c| c.receive(&ours)).1;
        change(Step::Challenge, &mut message);
        let Ok(mut message) = host.reply(&message) else { return satisfied };
        change(Step::Reply, &mut message);
        satisfied.controller |= settle(&mut controller, |c| c.send(&message)).0;
        let (is_done, mut message) = settle(&mut controller, |c| c.receive(&ours));
        satisfied.controller |= is_done;
        change(Step::Success1, &mut message);
        let Ok(last) = host.success(&message) else { return satisfied };
        satisfied.host = true;
        if let Some(mut message) = last {
            change(Step::Success2, &mut message);
            satisfied.controller |= settle(&mut controller, |c| c.send(&message)).0;
        }
        satisfied
    }
}

/// Does what is to be done; whether the queue is authenticated, and the message.
pub fn settle(controller: &mut Controller, ask: impl FnOnce(&mut Controller) -> Outcome) -> (bool, Vec<u8>) {
    let mut outcome = ask(controller);
    loop {
        match outcome {
            Outcome::Done(message) | Outcome::Ended(message) => return (false, message),
            Outcome::Authenticated(message) => return (true, message),
            Outcome::Work(work) => outcome = controller.finish(work.run()),
        }
    }
}
