//! A live setting of a device in virtual time that has nothing else to do.

use saker_assembly::{Build, port};
use saker_device::EngineKind;
use saker_host::{ClientOptions, ConnectOptions, Connection, Driver as _, KvClient, Patience};
use saker_nvme::Key;
use saker_nvme::vendor_specific::text_of;
use saker_profile::Profile;
use saker_world::Clocked;

const PATIENCE: Patience = Patience { polls_max: 1_000_000 };
const PAIRS: u64 = 3000;

fn open(engine: EngineKind) -> (Connection, KvClient<Clocked>) {
    let profile = Profile::builtin("kvvirt").expect("built in");
    let mut build = Build::kv(&profile, 1 << 28, 1).expect("large enough").with_engine(engine);
    build.set("cache_bytes", 8 << 20).expect("in range");
    if engine == EngineKind::TREE {
        build.set("write_buffer_size", 8 << 10).expect("in range");
    }
    let host = build.attach(2, 8);
    let mut device = Clocked(build.timed(host.clone()));
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut device, options).expect("connects");
    let options = ClientOptions { depth: 8, patience: PATIENCE, ..ClientOptions::default() };
    let client = KvClient::open(&mut connection, device, 1, options).expect("opens");
    (connection, client)
}

fn key(n: u64) -> Key {
    Key::new(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()).expect("eight bytes")
}

fn cached(client: &mut KvClient<Clocked>, name: &str) -> u64 {
    let counters = client.driver_mut().0.stats().namespaces[0].counters.clone();
    counters.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no counter {name}")).1
}

#[test]
fn an_idle_device_begins_what_has_become_due() {
    for (engine, name) in [(EngineKind::TREE, "node_cache_bytes"), (EngineKind::HASH_ORIGINAL, "cache_bytes")]
    {
        let (mut connection, mut client) = open(engine);
        (0..PAIRS).for_each(|n| client.put(&key(n), &[n as u8; 60]).expect("room"));
        client.flush().expect("flushes");
        (0..PAIRS).for_each(|n| assert_eq!(client.get(&key(n)), Ok(Some(vec![n as u8; 60]))));
        let before = cached(&mut client, name);
        let told = connection.settings(client.driver_mut(), 1).expect("told").expect("ours");
        let place = told.entries.iter().position(|entry| text_of(&entry.name) == "cache_bytes");
        connection.set_setting(client.driver_mut(), 1, place.expect("both have it"), 4096).expect("live");
        // No command follows.
        (0..10_000).for_each(|_| client.driver_mut().drive());
        let after = cached(&mut client, name);
        println!("{}: {before} bytes, then {after}", engine.name());
        assert!(after * 2 < before, "{}: {before} bytes, then {after}", engine.name());
        (0..PAIRS).for_each(|n| assert_eq!(client.get(&key(n)), Ok(Some(vec![n as u8; 60]))));
    }
}
