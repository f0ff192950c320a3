// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Device URLs: what they mean, and what is said of those that make no sense.

use super::*;
use saker_host::{Method, Pacing, TransferOptions};

#[test]
fn images_that_are_only_read() {
    let url = DeviceUrl::parse("file:disk.img?readonly&salvage").expect("sound");
    assert_eq!((url.readonly, url.salvage), (true, Some(Salvage::Certain)));
    let url = DeviceUrl::parse("file:disk.img?salvage=uncertain&readonly&nsid=2").expect("sound");
    assert_eq!((url.salvage, url.nsid), (Some(Salvage::Uncertain), Some(2)));
    for (options, todo) in [
        ("file:d?salvage", "write ?readonly&salvage"),
        ("file:d?readonly=1", "write it without a value"),
        ("file:d?readonly&salvage=all", "salvage=uncertain"),
        ("file:d?readonly&salvage&timing=real", "leave timing out"),
        ("file:d?readonly&fault.cut=3", "leave the faults out"),
        ("mem:?readonly", "it is for file:"),
    ] {
        let error = DeviceUrl::parse(options).expect_err("makes no sense").to_string();
        assert!(error.contains(todo), "{options}: {error}");
    }
}

#[test]
fn any_path_has_a_url() {
    for path in [
        "disk.img",
        "a?b.img",
        "?",
        "a?",
        "??x",
        "a#b%3F&c=d.img",
        "/tmp/a b",
        "//tmp/a",
        "///a",
        "a?readonly",
        "ü",
    ] {
        let url = DeviceUrl::of_image(path.as_ref()).expect("it is UTF-8");
        for options in ["", "?", "?readonly", "?depth=8&readonly"] {
            let parsed = DeviceUrl::parse(&format!("{url}{options}")).expect("sound");
            assert_eq!(parsed.place, Backing::File(path.into()), "{url}{options}");
            assert_eq!(parsed.readonly, options.ends_with("readonly"), "{url}{options}");
        }
    }
    let bytes = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xFF");
    assert_eq!(DeviceUrl::of_image(bytes.as_ref()), None);
    assert_eq!(DeviceUrl::parse("file:a?b.img").map_err(|error| error.what), Err("option `b.img`".into()));
}

#[test]
fn parts() {
    let url =
        DeviceUrl::parse("mem:?size=2GiB&profile=saker-mid&threads=1&fault.program=1/50").expect("sound");
    assert_eq!(
        url.place,
        Backing::Memory {
            bytes: 2 << 30,
            profile: "saker-mid".into(),
            seed: 1,
            engine: EngineKind::HASH_STORE,
            shards: 1,
            blocks: 0,
            map_cache: 0,
        }
    );
    assert_eq!(DeviceUrl::parse("mem:?prefault=1000").expect("sound").prefault, 1000);
    assert_eq!((url.threads, url.faults.program), (1, Chance::one_in(50)));
    let url = DeviceUrl::parse("tcp://h:1?cache=64MiB&cache_policy=s3fifo&cache_value_max=1KiB");
    let cache = CacheOptions { bytes: 64 << 20, policy: CachePolicy::S3Fifo, value_bytes_max: 1024 };
    assert_eq!(url.expect("sound").cache, Some(cache));
    let url = DeviceUrl::parse("mem:?engine=lsm&packing=backfill").expect("sound");
    assert_eq!(url.settings_for(&[EngineKind::LSM]).expect("sound")[0].get("packing"), Some(4));
    let url = DeviceUrl::parse("file:a/b.img?timing=real").expect("sound");
    assert_eq!(url.cache, None);
    assert_eq!((url.place, url.timing, url.threads), (Backing::File("a/b.img".into()), Timing::Real, 1));
}

#[test]
fn parts_of_a_target() {
    let url =
        DeviceUrl::parse("tcp://[::1]:4420/nqn.2026-11.dev.saker:x?digest=both&depth=8").expect("sound");
    let Backing::Tcp(place) = url.place else { panic!("a target") };
    assert_eq!((place.address.as_str(), url.depth), ("[::1]:4420", 8));
    assert_eq!(place.nqn.as_deref(), Some("nqn.2026-11.dev.saker:x"));
    assert!(place.header_digest && place.data_digest);
    let url = DeviceUrl::parse("tcp://127.0.0.1:4420").expect("sound");
    assert!(matches!(url.place, Backing::Tcp(TcpPlace { nqn: None, .. })));
}

#[test]
fn parts_of_a_kernel_device() {
    let url = DeviceUrl::parse("/dev/ng3n2?io=ioctl&depth=8&reconnect=5").expect("sound");
    let Backing::Linux(place) = url.place else { panic!("a device file") };
    assert_eq!((place.path.to_str(), place.reconnect_s, url.depth), (Some("/dev/ng3n2"), 5, 8));
    assert_eq!(place.submission, saker_linux::Submission::Ioctl);
}

/// An option that is mistyped: the nearest that this kind of device has; one of another kind: where it belongs.
#[test]
fn an_unknown_option_names_the_nearest() {
    for (url, todo) in [
        ("mem:?sise=1GiB", "write size"),
        ("mem:?prefil=1", "write prefault"),
        ("mem:?writebuffersize=1MiB", "write write_buffer_size"),
        ("mem:?SEED=1", "write seed"),
        ("mem:?fault_cut=1", "write fault.cut"),
        ("file:x?thread=1", "write threads"),
        ("file:x?cachepolicy=lru&cache=1MiB", "write cache_policy"),
        ("tcp://h:1/x?digst=both", "write digest"),
        ("tcp://h:1/x?time-out=1", "write timeout"),
        ("/dev/ng0n1?reconect=3", "write reconnect"),
        ("/dev/ng0n1?deph=3", "write depth"),
        ("mem:?colour=red", "write one of depth, nsid, cache"),
        ("mem:?=red", "write one of depth, nsid, cache"),
        (
            "tcp://h:1/x?colour=red",
            "write one of depth, nsid, cache, cache_policy, cache_value_max, hybrid, digest, hostnqn",
        ),
        ("mem:?digest=both", "digest is for tcp: devices"),
        ("mem:?io=uring", "io is for /dev devices"),
        ("file:x?reconnect=1", "reconnect is for tcp: and /dev devices"),
        ("tcp://h:1/x?engine=lsm", "engine is the target's: give it to `saker serve`"),
        ("tcp://h:1/x?io=uring", "io is for /dev devices"),
        ("/dev/ng0n1?timing=real", "the device has its own timing"),
        ("/dev/ng0n1?digest=both", "digest is for tcp: devices"),
        ("tcp://h:1/x?hostnqn=", "write this host's name"),
        ("mem:?profile=", "write one of default, saker-low"),
    ] {
        let error = DeviceUrl::parse(url).expect_err(url).to_string();
        assert!(error.ends_with(todo) || error.contains(&format!("; {todo}")), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// What is suggested is taken: every name that a kind of device is said to have, it has.
#[test]
fn every_name_is_an_option_of_its_device() {
    for url in ["mem:", "file:x", "tcp://h:1/x", "/dev/ng0n1"] {
        let place = DeviceUrl::parse(url).expect("sound").place;
        for name in names::of(&place) {
            let error = DeviceUrl::parse(&format!("{url}?{name}=\u{1}"))
                .map_or_else(|e| e.to_string(), |_| String::new());
            let unknown = names::instead_of(name, &place);
            assert!(!error.ends_with(&unknown), "{url}: {name}: {error}");
        }
    }
}

/// The page about URLs has a row for each option of each kind of device, and no other rows of options.
#[test]
fn the_page_has_every_option_and_no_other() {
    let page = include_str!("../../../../../docs/urls.md");
    let tables = page.split("| option |").skip(1).map(|rest| rest.split("\n\n").next().unwrap_or(rest));
    let rows = tables.flat_map(str::lines).filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    let written: BTreeSet<&str> = rows.collect();
    let known = ["mem:", "file:x", "tcp://h:1/x", "/dev/ng0n1"]
        .map(|url| DeviceUrl::parse(url).expect("sound").place);
    let known: BTreeSet<&str> = known.iter().flat_map(names::of).collect();
    assert_eq!(written, known);
}

/// Each engine's settings stand there as the engine tells them.
#[test]
fn the_page_tells_settings_as_engines_do() {
    let page = include_str!("../../../../../docs/urls.md");
    for engine in EngineKind::ALL {
        let place = page.find(&format!("`{}`", engine.name()));
        assert!(place.is_some(), "{} is not on the page", engine.name());
        for s in engine.settings() {
            let kind = s.phase.name();
            let row = format!("| `{}` | {} | {} | {} | {kind} |", s.name, s.takes(), s.default, s.help);
            assert!(page.contains(&row), "the page lacks this row of {}:\n{row}", engine.name());
        }
    }
}

#[test]
fn settings_are_refused_by_engines_that_do_not_have_them() {
    let error = |url| DeviceUrl::parse(url).expect_err(url).to_string();
    let told = error("mem:?packing=block");
    assert!(told.contains("option `packing` and engine hash_store; it is a setting of lsm"), "{told}");
    let told = error("mem:?engine=tree&compaction_threads=2");
    assert!(told.ends_with("it is a setting of lsm"), "{told}");
    let told = error("mem:?engine=tree&write_buffer_size=1");
    assert!(told.contains("option `write_buffer_size=1`; write 1024 to 4294967296"), "{told}");
    let url = DeviceUrl::parse("mem:?cache_bytes=1MiB&engine=hash_plus").expect("in any order");
    let asked = url.settings_for(&[EngineKind::HASH_PLUS]).expect("it takes it");
    assert_eq!(asked[0].get("cache_bytes"), Some(1 << 20));
    let several = DeviceUrl::parse("file:x?write_buffer_size=1MiB").expect("its engines are not known yet");
    let asked = several.settings_for(&[EngineKind::HASH_STORE, EngineKind::LSM]).expect("one takes it");
    assert_eq!((asked[0].is_empty(), asked[1].get("write_buffer_size")), (true, Some(1 << 20)));
    assert!(several.settings_for(&[EngineKind::HASH_STORE]).is_err());
}

/// Who writes a method that there is not reads of those that there are.
#[test]
fn methods_are_taken_by_the_names_that_are_told() {
    let error = DeviceUrl::parse("mem:?transfer=nonsense").expect_err("none").to_string();
    for method in Method::ALL {
        let (name, is_taken) = (method.name(), method != Method::Sgl);
        let parsed = DeviceUrl::parse(&format!("mem:?transfer={name}")).map(|url| url.transfer);
        let expected = is_taken.then(|| TransferOptions::fixed(method, Pacing::Pipelined));
        assert_eq!(parsed.ok(), expected, "{name}");
        assert_eq!(error.contains(&format!(" {name}")), is_taken, "{error}");
    }
    assert!(error.contains("; write small, prp, piggyback") && error.contains(" or "), "{error}");
}

#[test]
fn what_would_do_nothing_is_refused() {
    for (url, what) in [
        ("mem:?fault.spike=1/10&fault.spike_ns=1000", "fault.spike without timing=real; add timing=real"),
        ("file:x?timing=real&fault.spike=1/10", "fault.spike without a length; add fault.spike_ns"),
        ("mem:?timing=real&fault.spike_ns=5", "fault.spike_ns without fault.spike; add fault.spike"),
        ("file:x?fault.seed=5", "fault.seed without a fault; add one"),
        ("mem:?shards=2&blocks=1MiB", "blocks with shards; leave one of them out"),
    ] {
        let error = DeviceUrl::parse(url).expect_err(url).to_string();
        assert!(error.contains(what), "{error}");
    }
    for url in [
        "mem:?timing=real&threads=0",
        "mem:?threads=0",
        "mem:?timing=real&fault.spike=1/10&fault.spike_ns=1000",
        "file:x?fault.seed=5&fault.erase=0/1",
        "file:x?fault.seed=5&fault.cut=9",
    ] {
        assert!(DeviceUrl::parse(url).is_ok(), "{url}");
    }
}

#[test]
fn nonsense_is_named() {
    for url in [
        "",
        "mem",
        "mem:x",
        "file:",
        "tcp://h",
        "tcp:127.0.0.1:4420",
        "tcp://h:1/x?size=1GiB",
        "tcp://h:1/x?digest=sha",
        "mem:?size=lots",
        "mem:?seed=1&seed=1",
        "mem:?fault.cut=0",
        "mem:?prefault=true",
        "file:x?size=1",
        "mem:?engine=btree",
        "mem:?engine=lsm&packing=tight",
        "mem:?shards=0",
        "mem:?blocks=0",
        "file:x?blocks=1MiB",
        "file:x?shards=2",
        "mem:?cache=much",
        "mem:?cache=1MiB&cache_policy=fifo",
        "mem:?cache_policy=lru",
        "file:x?engine=hash_store",
        "mem:?fault.read=2/1",
        "mem:?transfer=sgl",
        "/dev/ng0n1?io=dma",
        "/dev/ng0n1?size=1GiB",
    ] {
        let error = DeviceUrl::parse(url).expect_err(url).to_string();
        assert!(error.contains(';') && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_secret_in_a_url_is_refused_and_not_repeated() {
    let secret = "DHHC-1:00:ia6zGodOr4SEG0Zzaw398rpY0wqipUWj4jWjUh4HWUz6aQ2n:";
    for option in ["secret_file", "ctrl_secret_file", "secret", "hostnqn=x&digest"] {
        let url = format!("tcp://127.0.0.1:4420?{option}={secret}&timeout=5");
        let error = DeviceUrl::parse(&url).expect_err(option).to_string();
        assert!(!error.contains("ia6z") && error.contains("...&timeout=5"), "{error}");
    }
    let error = DeviceUrl::parse("tcp://127.0.0.1:4420?ctrl_secret_file=x").expect_err("alone").to_string();
    assert!(error.contains("add secret_file"), "{error}");
    let url = "tcp://127.0.0.1:4420?secret_file=a.key&ctrl_secret_file=b.key";
    let Backing::Tcp(place) = DeviceUrl::parse(url).expect("sound").place else { panic!() };
    assert_eq!(
        (place.secret_file.as_deref(), place.ctrl_secret_file.as_deref()),
        (Some("a.key"), Some("b.key"))
    );
}
