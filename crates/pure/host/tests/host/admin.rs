// SPDX-License-Identifier: Apache-2.0 OR MIT
use saker_host::{ConnectOptions, Connection, HostError, KvError, ProtocolError};
use saker_link::offset;
use saker_nvme::admin::FeatureSelect;
use saker_nvme::{Sqe, Status, csi};

use crate::fake::{Fake, NSID, PATIENCE, key};

const OPTIONS: ConnectOptions = ConnectOptions { admin_entries: 4, io_queues: 3, patience: PATIENCE };

fn try_connect(fake: &mut Fake) -> Result<Connection, HostError> {
    fake.publish_cap();
    Connection::connect(fake.port.clone(), fake, OPTIONS)
}

#[test]
fn enabling_writes_what_the_specification_says() {
    let mut fake = Fake::new();
    let connection = try_connect(&mut fake).expect("connects");
    let registers = &connection.port().registers;
    // CSS 110b, entries of 2^6 and 2^4 bytes, enabled; 4 entries in each admin queue, 0's based.
    assert_eq!(registers.load_u32(offset::CC), Ok(0x0046_0061));
    assert_eq!(registers.load_u32(offset::AQA), Ok(0x0003_0003));
    assert_eq!(registers.load_u64(offset::ASQ).expect("exists") % 4096, 0);
    let opcodes: Vec<_> =
        fake.seen.iter().map(|sqe| (sqe.opcode, sqe.cdw10.get(), sqe.cdw11.get())).collect();
    // Identify CNS 01h; CNS 1Ch of the controller itself; Set Features 07h for 3 and 3 queues.
    assert_eq!(opcodes, [(6, 1, 0), (6, 0xFFFF_001C, 0), (9, 7, 0x0002_0002)]);
    assert_eq!(connection.queues_granted(), 3);
}

#[test]
fn an_enabled_controller_is_reset_first() {
    let mut fake = Fake::new();
    drop(try_connect(&mut fake).expect("connects"));
    let mut again = try_connect(&mut fake).expect("connects again");
    assert!(again.identify_controller(&mut fake).is_ok());
    again.shut_down(&mut fake).expect("shuts down");
}

#[test]
fn unsuited_controllers_are_refused() {
    let mut fake = Fake::new();
    fake.behaviour.css = 1;
    assert_eq!(try_connect(&mut fake).unwrap_err(), ProtocolError::CommandSets.into());
    let mut fake = Fake::new();
    fake.behaviour.fatal = true;
    assert_eq!(try_connect(&mut fake).unwrap_err(), ProtocolError::Fatal.into());
    let mut fake = Fake::new();
    fake.behaviour.ready = false;
    assert_eq!(try_connect(&mut fake).unwrap_err(), HostError::Timeout { turns: 1000 });
    let mut fake = Fake::new();
    fake.behaviour.combinations = vec![0b01];
    assert_eq!(try_connect(&mut fake).unwrap_err(), ProtocolError::NoKvCommandSet.into());
}

#[test]
fn a_combination_with_the_key_value_set_is_chosen() {
    let mut fake = Fake::new();
    fake.behaviour.combinations = vec![0b001, 0b100, 0b011];
    try_connect(&mut fake).expect("connects");
    assert_eq!(fake.features.get(&(0, 0x19)), Some(&2));
}

#[test]
fn namespaces_are_found_over_several_lists() {
    let mut fake = Fake::new();
    let mut connection = fake.connect();
    let active = connection.identify_active_namespaces(&mut fake).expect("two lists");
    assert_eq!((active.len(), active[1499]), (1500, 1500));
    assert_eq!(connection.identify_command_set(&mut fake, NSID), Ok(Some(csi::KV)));
    assert_eq!(connection.kv_namespaces(&mut fake), Ok(vec![NSID]));
    let namespace = connection.identify_kv_namespace(&mut fake, NSID).expect("is one");
    assert_eq!(namespace.nsze.get(), 1 << 30);
    let none = connection.identify_kv_namespace(&mut fake, 7).unwrap_err();
    assert_eq!(none, KvError::Namespace.into());
}

#[test]
fn queues_are_created_deleted_and_limited() {
    let mut fake = Fake::new();
    fake.behaviour.mqes = 7;
    fake.publish_cap();
    fake.behaviour.queues = 2;
    let mut connection = fake.connect();
    let one = connection.create_queue(&mut fake, 1000).expect("granted");
    let two = connection.create_queue(&mut fake, 4).expect("granted");
    assert_eq!((one.queue(), one.sq_entries(), two.queue(), two.sq_entries()), (1, 8, 2, 4));
    assert_eq!(connection.create_queue(&mut fake, 4).unwrap_err(), ProtocolError::Queues.into());
    connection.delete_queue(&mut fake, 1).expect("exists");
    let gone = connection.delete_queue(&mut fake, 1).unwrap_err();
    assert_eq!(gone, HostError::Status(Status::INVALID_QUEUE_ID));
    assert_eq!(connection.create_queue(&mut fake, 4).expect("free again").queue(), 1);
}

#[test]
fn features_format_and_logs() {
    let mut fake = Fake::new();
    let mut connection = fake.connect();
    connection.set_feature(&mut fake, NSID, 0x20, 1).expect("known");
    let value = connection.get_feature(&mut fake, NSID, 0x20, FeatureSelect::Current);
    assert_eq!(value, Ok(1));
    fake.pairs.insert(key(b"k"), vec![1]);
    connection.format(&mut fake, NSID).expect("formats");
    assert!(fake.pairs.is_empty());
    for bytes in [1_u32, 512, 4096, 8192, 12_000] {
        let log = connection.get_log(&mut fake, NSID, 2, bytes).expect("any length");
        let expected: Vec<u8> =
            (0..(bytes as usize).next_multiple_of(4)).map(|i| (i / 256 + i) as u8).collect();
        assert!(log == expected, "{bytes} bytes");
    }
}

#[test]
fn a_refused_admin_command_leaves_the_queue_usable() {
    let mut fake = Fake::new();
    let mut connection = fake.connect();
    for _ in 0..100 {
        let refused = connection.execute_admin(&mut fake, Sqe::new(0x7E, 0)).unwrap_err();
        assert_eq!(refused, HostError::Status(Status::INVALID_OPCODE));
    }
    assert!(connection.identify_controller(&mut fake).is_ok());
}

#[test]
fn a_lost_answer_is_not_taken_for_the_next_one() {
    let mut fake = Fake::new();
    let mut connection = fake.connect();
    let mut asleep = saker_host::DriverFn(|| ());
    assert!(matches!(connection.identify_controller(&mut asleep), Err(HostError::Timeout { .. })));
    assert_eq!(connection.identify_controller(&mut fake).unwrap_err(), ProtocolError::AdminQueue.into());
}
