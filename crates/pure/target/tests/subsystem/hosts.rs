// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What hosts have to prove and may do.

use saker_auth::{Credentials, GroupId, HashId, Host, HostSecrets, Names, Randomness, Secret};
use saker_nvme::admin::{self, feature::fid};
use saker_nvme::fabrics::{self, AuthCommand, AuthDirection, property};
use saker_nvme::group::{SplitAction, SplitCommand, TransactionId};
use saker_nvme::identify::cns;
use saker_nvme::{Sqe, Status, kv};
use saker_sim::Duration;
use saker_target::{
    AdminRights, AuthReaction, HostPolicy, Hosts, Kind, Policies, Reaction, Refusal, Rights, Subsystem,
    SubsystemConfig,
};

use super::{NQN, Rig, START, config, facts, identify, set_feature};

/// A subsystem whose hosts have these rights.
fn with_rights(rights: Rights, remote_ports: &[u16]) -> Rig {
    let policies = Policies::for_all(HostPolicy { rights, ..HostPolicy::default() });
    let remote_ports = remote_ports.iter().copied().collect();
    Rig {
        subsystem: Subsystem::new(SubsystemConfig { policies, remote_ports, ..config(Kind::Nvm) }).unwrap(),
    }
}

#[test]
fn admin_commands_that_others_feel_are_for_hosts_of_this_machine_unless_allowed() {
    let format = || Sqe::new(admin::opcode::FORMAT_NVM, 1);
    let cache = || set_feature(fid::VOLATILE_WRITE_CACHE, 0, 0);
    let setting = || set_feature(0xC0, 0, 1);
    let of = |admin, port| {
        let mut rig = with_rights(Rights { admin, ..Rights::default() }, &[2]);
        rig.host(1, "nqn.h");
        rig.subsystem.came_by(1, port);
        [format(), cache(), setting(), Sqe::new(0x10, 0), Sqe::new(0x0D, 0), Sqe::new(0x84, 0)].map(|sqe| {
            !matches!(rig.react(1, sqe), Reaction::Complete(answer) if answer.status == Status::OPERATION_DENIED)
        })
    };
    assert_eq!(of(None, 1), [true; 6], "by an address of this machine");
    assert_eq!(of(None, 2), [false; 6], "by the network");
    let format_alone = AdminRights { format: true, ..AdminRights::NONE };
    assert_eq!(of(Some(format_alone), 2), [true, false, false, false, false, true]);
    assert_eq!(of(Some(AdminRights::NONE), 1), [false; 6]);
    assert_eq!(of(Some(AdminRights::ALL), 2), [true; 6]);
    // What nobody else feels is not asked about.
    let mut rig = with_rights(Rights::default(), &[2]);
    rig.host(1, "nqn.h");
    rig.subsystem.came_by(1, 2);
    assert_eq!(rig.answer(1, set_feature(fid::NUMBER_OF_QUEUES, 0, 0)).status, Status::SUCCESS);
}

#[test]
fn a_host_that_may_only_read_writes_nothing() {
    let mut rig = with_rights(Rights { read_only: true, ..Rights::default() }, &[]);
    let bound = rig.host(1, "nqn.h");
    let mut admit = |opcode, cdw12: u32| {
        let mut sqe = Sqe::new(opcode, 1);
        sqe.cdw12 = cdw12.into();
        rig.subsystem.admit_io(bound, &sqe, &facts(), START)
    };
    for opcode in 0..=0xFF {
        let reads =
            [0x00, 0x02, 0x06, 0x14, 0xC2, 0xC8, 0xC9, 0xCE, 0xD2, 0xD4, 0xD8, 0xD9, 0xDA, 0xE0, 0xE4];
        let expected = if reads.contains(&opcode) { Ok(()) } else { Err(Status::NAMESPACE_WRITE_PROTECTED) };
        assert_eq!(admit(opcode, 0), expected, "{opcode:02X}");
    }
    let forms = [1, 2, 3, 4, 5].map(|form| admit(0xC5, form).is_ok());
    assert_eq!(forms, [false, true, false, true, false], "groups by their form");
    let control = |action| {
        let id = TransactionId { host: [7; 16], number: 1 };
        let sqe = SplitCommand::Control { id, action }.encode(1);
        rig.subsystem.admit_io(bound, &sqe, &facts(), START).is_ok()
    };
    let actions = [SplitAction::Begin, SplitAction::Commit, SplitAction::Abort, SplitAction::Outcome];
    assert_eq!(actions.map(control), [false, false, false, true], "what became of a transaction");
    assert_eq!(rig.answer(1, Sqe::new(admin::opcode::FORMAT_NVM, 1)).status, Status::OPERATION_DENIED);
}

#[test]
fn namespaces_of_others_do_not_exist() {
    let mut rig = with_rights(Rights { namespaces: Some(vec![2]), ..Rights::default() }, &[]);
    let bound = rig.host(1, "nqn.h");
    let retrieve = |nsid| Sqe::new(kv::opcode::RETRIEVE, nsid);
    assert_eq!(
        rig.subsystem.admit_io(bound, &retrieve(1), &facts(), START),
        Err(Status::INVALID_NAMESPACE_OR_FORMAT)
    );
    assert_eq!(rig.subsystem.admit_io(bound, &retrieve(2), &facts(), START), Ok(()));
    let flush = Sqe::new(kv::opcode::FLUSH, saker_nvme::NSID_ALL);
    assert_eq!(rig.subsystem.admit_io(bound, &flush, &facts(), START), Ok(()));
    let list = rig.answer(1, identify(cns::ACTIVE_NAMESPACES));
    assert!(list.status.is_success() && list.data.iter().all(|byte| *byte == 0), "namespace 1 is not told");
    for nsid in [saker_nvme::NSID_ALL, 1] {
        let status = rig.answer(1, Sqe::new(admin::opcode::FORMAT_NVM, nsid)).status;
        assert!(!status.is_success(), "{nsid}");
    }
}

#[test]
fn a_host_has_no_more_queues_than_it_may() {
    let policies = Policies::for_all(HostPolicy { connections_max: Some(3), ..HostPolicy::default() });
    let mut rig =
        Rig { subsystem: Subsystem::new(SubsystemConfig { policies, ..config(Kind::Nvm) }).unwrap() };
    let bound = rig.host(1, "nqn.h");
    assert!(
        rig.connect(2, 1, bound.cntlid, "nqn.h").is_ok() && rig.connect(3, 2, bound.cntlid, "nqn.h").is_ok()
    );
    let busy = Err(Refusal::from(Status::CONNECT_CONTROLLER_BUSY));
    assert_eq!(rig.connect(4, 3, bound.cntlid, "nqn.h"), busy);
    assert_eq!(rig.connect(4, 0, 0xFFFF, "nqn.h"), busy);
    assert!(rig.connect(4, 0, 0xFFFF, "nqn.other").is_ok());
    rig.subsystem.disconnected(3);
    assert!(rig.connect(5, 3, bound.cntlid, "nqn.h").is_ok());
}

fn credentials() -> std::sync::Arc<Credentials> {
    std::sync::Arc::new(Credentials {
        host: vec![Secret::generate(None, &[7; 64])],
        controller: None,
        hashes: vec![HashId::Sha256],
        groups: vec![GroupId::Null],
    })
}

/// Both ends of an authentication of a queue; what the target makes of it.
fn authenticate(rig: &mut Rig, id: u64, host: &str, secret: u8) -> bool {
    let names = Names { host: host.into(), subsystem: NQN.into() };
    let secrets = HostSecrets { host: Secret::generate(None, &[secret; 64]), controller: None };
    let random = Randomness::new(&[9; 132]);
    let mut own = Host::new(&names, &secrets, &random, 1);
    let mut message = |direction, data: &[u8]| {
        let bytes = if direction == AuthDirection::Send { data.len() as u32 } else { 4096 };
        let sqe = AuthCommand { direction, bytes }.encode();
        let room = if direction == AuthDirection::Send { 0 } else { 4096 };
        let mut reaction =
            rig.subsystem.authenticate(id, &sqe, (data, room), &Randomness::new(&[8; 132]), START);
        if let AuthReaction::Work(work) = reaction {
            reaction = rig.subsystem.authentication_worked(id, work.run(), START).unwrap();
        }
        match reaction {
            AuthReaction::Complete(answer) => (false, answer),
            AuthReaction::Admit(answer) => (true, answer),
            AuthReaction::CompleteAndClose(answer) => (false, answer),
            AuthReaction::Work(_) => panic!("work of work"),
        }
    };
    message(AuthDirection::Send, &own.negotiate());
    let challenge = message(AuthDirection::Receive, &[]).1;
    message(AuthDirection::Send, &own.reply(&challenge.data).unwrap());
    message(AuthDirection::Receive, &[]).0
}

#[test]
fn a_queue_does_nothing_before_it_has_authenticated() {
    let policies =
        Policies::for_all(HostPolicy { credentials: Some(credentials()), ..HostPolicy::default() });
    let mut rig =
        Rig { subsystem: Subsystem::new(SubsystemConfig { policies, ..config(Kind::Nvm) }).unwrap() };
    let bound = rig.connect(1, 0, 0xFFFF, "nqn.h").unwrap();
    assert!(bound.must_authenticate && bound.dw0() == u32::from(bound.cntlid) | 1 << 17);
    let cap = fabrics::property_get(property::CAP, true);
    assert_eq!(rig.answer(1, cap).status, Status::AUTHENTICATION_REQUIRED);
    // It may compute for longer than its keep alive time-out, which begins when it has authenticated.
    let later = START + Duration::from_nanos(5_000_000_000);
    assert!(rig.subsystem.expired(later).is_empty());
    assert!(!authenticate(&mut rig, 1, "nqn.h", 6), "a wrong secret");
    assert_eq!(rig.answer(1, cap).status, Status::AUTHENTICATION_REQUIRED);
    rig.subsystem.disconnected(1);
    rig.connect(1, 0, 0xFFFF, "nqn.h").unwrap();
    assert!(authenticate(&mut rig, 1, "nqn.h", 7));
    assert!(rig.answer(1, cap).status.is_success());
    assert_eq!(rig.subsystem.expired(later), [1]);
    // Again, on a queue that is in use: a failure ends what it may do.
    assert!(authenticate(&mut rig, 1, "nqn.h", 7));
    assert!(rig.answer(1, cap).status.is_success());
    assert!(!authenticate(&mut rig, 1, "nqn.h", 6));
    assert_eq!(rig.answer(1, cap).status, Status::AUTHENTICATION_REQUIRED);
}

#[test]
fn other_hosts_and_secrets_leave_connections_that_could_be_made_as_they_are() {
    let open = |credentials| Policies::for_all(HostPolicy { credentials, ..HostPolicy::default() });
    let policies = open(Some(credentials()));
    let mut rig = Rig {
        subsystem: Subsystem::new(SubsystemConfig { policies: policies.clone(), ..config(Kind::Nvm) })
            .unwrap(),
    };
    rig.connect(1, 0, 0xFFFF, "nqn.a").unwrap();
    assert!(authenticate(&mut rig, 1, "nqn.a", 7));
    assert!(rig.subsystem.set_hosts(Hosts::Any, policies.clone()).is_empty(), "nothing differs");
    assert!(rig.subsystem.set_hosts(Hosts::Any, open(None)).is_empty(), "nobody has to prove anything");
    rig.host(2, "nqn.b");
    assert_eq!(rig.subsystem.set_hosts(Hosts::Any, policies.clone()), [2], "the one that has proved nothing");
    rig.subsystem.disconnected(2);
    let b_alone = Hosts::Named(vec!["nqn.b".into()]);
    assert_eq!(rig.subsystem.set_hosts(b_alone, policies), [1], "the one that may not connect any more");
}
