// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device told by a latency table: Samsung's KV SSD as compound commands (HotStorage'19) measured it.

use crate::clocked::opened;
use saker_assembly::Build;
use saker_host::group::{Form, Op};
use saker_host::{Connection, KvClient};
use saker_nvme::Key;
use saker_profile::Profile;
use saker_world::Clocked;

fn open(profile: &Profile) -> (Connection, KvClient<Clocked>) {
    let build = Build::kv(profile, 512 << 20, 1).expect("large enough");
    opened(&build)
}

fn samsung(batched: bool) -> (Connection, KvClient<Clocked>) {
    let mut profile = Profile::builtin("samsung-kvssd").expect("built in");
    profile.set("firmware.batched_group_keys", &batched.to_string()).expect("a switch");
    open(&profile)
}

/// Nanoseconds that `work` takes in virtual time.
fn time<R>(client: &mut KvClient<Clocked>, work: impl FnOnce(&mut KvClient<Clocked>) -> R) -> u64 {
    let begun = client.driver_mut().0.now();
    work(client);
    client.driver_mut().0.now().since(begun).as_nanos()
}

fn key(n: u32) -> Key {
    Key::new(&[&[7; 12][..], &n.to_be_bytes()].concat()).expect("16 bytes")
}

fn group(client: &mut KvClient<Clocked>, pairs: u32) {
    let mut group = client.begin(Form::All(Op::Store));
    for n in 0..pairs {
        // 32-byte keys are not the device's own: the value has the 16 bytes that the key lacks.
        group.store(key(n), &[1; 1040]).expect("a store");
    }
    assert!(group.commit().expect("carried out").iter().all(Result::is_ok));
}

/// The two measured latencies come back from the device, within the events' own nanoseconds.
#[test]
fn single_commands_take_the_tables_times() {
    let (_connection, mut client) = samsung(false);
    let store = time(&mut client, |c| c.put(&key(1), &[1; 4096]).expect("room"));
    assert!((46_140..46_140 + 50).contains(&store), "{store}");
    let exist = time(&mut client, |c| assert_eq!(c.exists(&key(1)), Ok(true)));
    assert!((32_650..32_650 + 50).contains(&exist), "{exist}");
}

/// Section 3.1 and Figure 2 at ten pairs: 38.5 us each with the handling of every key, and less when it is batched.
#[test]
fn ten_pairs_take_the_papers_time() {
    let each = |batched| {
        let (_connection, mut client) = samsung(batched);
        time(&mut client, |c| group(c, 10)) / 10
    };
    let (per_pair, batched) = (each(false), each(true));
    assert!((38_500..38_500 + 10).contains(&per_pair), "{per_pair}");
    assert!((9_115..9_115 + 10).contains(&batched), "{batched}");
}

/// Sizes do not matter, the number of commands does; a group adds its pairs.
#[test]
fn a_fixed_device_looks_at_nothing_but_the_command() {
    let (_connection, mut client) = open(&Profile::builtin("fixed").expect("built in"));
    for bytes in [0, 100, 100_000] {
        let store = time(&mut client, |c| c.put(&key(1), &vec![1; bytes]).expect("room"));
        assert!((20_000..20_000 + 50).contains(&store), "{bytes}: {store}");
    }
    let group = time(&mut client, |c| group(c, 10));
    assert!((65_000..65_000 + 50).contains(&group), "{group}");
}

/// On a device with an inside the profile's switch changes what its cores are charged.
#[test]
fn batched_keys_make_groups_faster_on_a_modelled_device() {
    let took = |batched: &str| {
        let mut profile = Profile::builtin("saker-mid").expect("built in");
        profile.set("firmware.batched_group_keys", batched).expect("a switch");
        let (_connection, mut client) = open(&profile);
        time(&mut client, |c| group(c, 64))
    };
    assert!(took("true") < took("false"));
}
