// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Attribute dwords of features.

use saker_nvme::admin::feature::{
    AsyncEventConfig, Capabilities, CommandSetProfile, ErrorRecovery, HostIdentifier, KvConfig,
    NumberOfQueues, VolatileWriteCache, WriteAtomicity, fid,
};

#[test]
fn attribute_dwords() {
    assert_eq!(NumberOfQueues::default().with_submission(3).with_completion(7).0, 0x0007_0003);
    assert_eq!(VolatileWriteCache::default().with_enabled(true).0, 1);
    assert_eq!(KvConfig::default().with_delete_missing_is_error(true).0, 1);
    assert_eq!(CommandSetProfile::default().with_combination(0x1FF).0, 0x1FF);
    assert_eq!(CommandSetProfile(0xFFFF_FE01).combination(), 1);
    assert_eq!(ErrorRecovery::default().with_retry_time(0x1234).with_deallocated_is_error(true).0, 0x1_1234);
    assert_eq!(WriteAtomicity::default().with_disable_normal(true).0, 1);
    assert_eq!(HostIdentifier::default().with_extended(true), HostIdentifier(1));
    assert_eq!([HostIdentifier(0), HostIdentifier(1)].map(HostIdentifier::bytes), [8, 16]);
    let events = AsyncEventConfig::default().with_namespace_attribute(true).with_firmware_activation(true);
    assert_eq!(
        events.with_ana_change(true).with_discovery_change(true).with_critical_warnings(0x1F).0,
        0x8000_0B1F
    );
    let capabilities = Capabilities::default().with_saveable(true).with_namespace_specific(true);
    assert_eq!((capabilities.0, capabilities.with_changeable(true).0), (3, 7));
}

#[test]
fn deleting_a_missing_key_succeeds_by_default() {
    assert!(!KvConfig::default().delete_missing_is_error());
}

#[test]
fn identifiers() {
    let ids = [fid::VOLATILE_WRITE_CACHE, fid::NUMBER_OF_QUEUES, fid::ASYNC_EVENT_CONFIG];
    assert_eq!(ids, [0x06, 0x07, 0x0B]);
    assert_eq!([fid::ERROR_RECOVERY, fid::WRITE_ATOMICITY], [0x05, 0x0A]);
    assert_eq!([fid::COMMAND_SET_PROFILE, fid::KV_CONFIG, fid::HOST_IDENTIFIER], [0x19, 0x20, 0x81]);
}
