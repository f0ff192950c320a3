// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

fn every() -> impl Iterator<Item = (&'static str, Profile)> {
    Profile::builtin_names()
        .map(|name| (name, Profile::builtin(name).unwrap_or_else(|e| panic!("{name}: {e}"))))
}

fn four(name: &str) -> [u64; 4] {
    let Media::FourParameter(m) = Profile::builtin(name).unwrap().media else {
        panic!("{name} is not four-parameter")
    };
    [m.read_latency_ns, m.read_bandwidth_bytes_per_s, m.write_latency_ns, m.write_bandwidth_bytes_per_s]
        .map(|n| (n.source == Source::Paper).then_some(n.value).expect("a paper's number"))
}

fn nand(name: &str) -> Nand {
    let Media::Nand(m) = Profile::builtin(name).unwrap().media else { panic!("{name} is not nand") };
    m
}

fn edited(from: &str, to: &str) -> Result<Profile, ProfileError> {
    let text = Profile::builtin_text("tiny").unwrap();
    assert!(text.contains(from), "{from}");
    Profile::parse(&text.replacen(from, to, 1))
}

/// The error as text, after checking that it is one line.
fn complaint(result: Result<Profile, ProfileError>) -> String {
    let text = result.expect_err("must be refused").to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn shipped_profiles_parse_under_their_own_names_in_a_stable_order() {
    let names: Vec<_> =
        every().map(|(name, p)| (name == p.name).then_some(name).expect("its own name")).collect();
    let order = [
        "default",
        "saker-low",
        "saker-mid",
        "saker-high",
        "cosmos-plus",
        "nvmevirt-970pro",
        "tiny",
        "samsung-kvssd",
        "fixed",
        "kvvirt",
    ];
    assert_eq!(names, order);
}

#[test]
fn every_number_of_a_shipped_profile_has_a_source_that_is_no_override() {
    for (name, profile) in every() {
        let rows = profile.rows();
        let of_media = rows.iter().filter(|row| row.path.starts_with("media.")).count();
        let expected = match profile.media {
            Media::FourParameter(_) => 5,
            Media::Fixed(_) => 7,
            Media::Nand(_) | Media::LatencyTable(_) => 9,
        };
        assert_eq!((of_media, rows.len() - of_media), (expected, 68), "{name}");
        for row in rows {
            assert!(
                ["paper", "public", "measured", "fitted", "default"].contains(&&*row.source),
                "{name}: {}",
                row.path
            );
        }
    }
}

/// SAKER (SYSTOR'25), Fig. 2: microseconds and GiB/s, here in nanoseconds and bytes.
#[test]
fn saker_classes_have_the_papers_numbers() {
    assert_eq!(four("saker-low"), [40_000, 3_758_096_384, 60_000, 2_684_354_560]);
    assert_eq!(four("saker-mid"), [22_000, 7_516_192_768, 25_000, 5_905_580_032]);
    assert_eq!(four("saker-high"), [12_000, 15_032_385_536, 13_000, 12_884_901_888]);
}

#[test]
fn saker_classes_differ_in_media_and_link_only() {
    let mid = Profile::builtin("saker-mid").unwrap();
    for name in ["saker-low", "saker-high"] {
        let other = Profile::builtin(name).unwrap();
        let (name, description) = (other.name.clone(), other.description.clone());
        let link =
            Link { bandwidth_bytes_per_s: other.link.bandwidth_bytes_per_s.clone(), ..mid.link.clone() };
        let expected = Profile { name, description, media: other.media.clone(), link, ..mid.clone() };
        assert_eq!(other, expected);
    }
}

/// NVMeVirt ssd_config.h, SAMSUNG_970PRO.
#[test]
fn the_970_pro_has_nvmevirts_numbers() {
    let m = nand("nvmevirt-970pro");
    assert_eq!([m.sense_ns(0, 4096), m.sense_ns(1, 4096)], [29_760, 41_760]);
    assert_eq!([m.sense_ns(2, 4097), m.sense_ns(127, 32_768)], [30_013, 42_013]);
    assert_eq!((m.program_ns.get(), m.channel_bandwidth_bytes_per_s.get()), (185_000, 800_000_000));
    let p = Profile::builtin("nvmevirt-970pro").unwrap();
    assert_eq!((p.geometry.luns(), p.geometry.page_bytes.get()), (16, 32_768));
    assert_eq!(p.firmware.write_buffer_bytes.get(), 16 * 32_768 * 2);
    assert!(p.power.volatile_write_cache());
}

#[test]
fn geometry_adds_up() {
    let g = Profile::builtin("tiny").unwrap().geometry;
    assert_eq!(
        (g.luns(), g.block_bytes(), g.superblock_bytes(), g.raw_bytes()),
        (4, 16_384, 65_536, 1 << 20)
    );
    assert_eq!(g.user_bytes(), 3 << 18);
    let cosmos = Profile::builtin("cosmos-plus").unwrap().geometry;
    assert_eq!((cosmos.luns(), cosmos.superblock_bytes()), (32, 128 << 20));
}

#[test]
fn texts_and_profiles_are_two_forms_of_one_thing() {
    for (name, mut profile) in every() {
        profile.set("link.latency_ns", "777").unwrap();
        profile.link.tlp_overhead_bytes.note = "a \"quoted\" note\nof two lines \\".into();
        assert_eq!(Profile::parse(&profile.to_toml()).unwrap(), profile, "{name}");
    }
}

#[test]
fn overrides_change_one_number_and_say_so() {
    let before = Profile::builtin("saker-mid").unwrap();
    let mut p = before.clone();
    p.set("media.read_latency_ns", "1_234").unwrap();
    p.set("power.capacitor", "false").unwrap();
    let Media::FourParameter(m) = &p.media else { unreachable!("the model cannot change") };
    assert_eq!((m.read_latency_ns.get(), m.read_latency_ns.source), (1234, Source::Override));
    assert!(p.power.volatile_write_cache());
    let changed = before.rows().into_iter().zip(p.rows()).filter(|(a, b)| a != b);
    let paths: Vec<_> = changed.map(|(a, _)| a.path).collect();
    assert_eq!(paths, ["media.read_latency_ns", "power.capacitor"]);
}

#[test]
fn overrides_reach_arrays_and_nested_tables() {
    let mut p = Profile::builtin("tiny").unwrap();
    p.set("host.cpu.probe_ps", "5").unwrap();
    assert_eq!(p.host.cpu.picos(), [10_000, 10_000, 5, 1_000, 100, 100, 10_000, 100_000, 10_000, 100_000]);
    p.set("media.read_ns", "[7]").unwrap();
    let Media::Nand(m) = &p.media else { unreachable!("the model cannot change") };
    assert_eq!(m.sense_ns(3, 2048), 7);
}

#[test]
fn refused_overrides_leave_the_profile_alone() {
    let before = Profile::builtin("tiny").unwrap();
    let cases = [
        ("media.no_such_ns", "1", "media.no_such_ns"),
        ("media", "1", "not a number of this profile"),
        ("media.model", "1", "not a number of this profile"),
        ("media.read_ns.value", "1", "not a number of this profile"),
        ("", "1", "not a number of this profile"),
        ("geometry.page_bytes", "soon", "not a TOML value"),
        ("geometry.page_bytes", "1\nx = 2", "not a TOML value"),
        ("geometry.page_bytes", "true", "geometry.page_bytes"),
        ("geometry.page_bytes", "-1", "geometry.page_bytes"),
        ("geometry.page_bytes", "3000", "power of two"),
        ("geometry.blocks_per_lun", "4000000000", "128 TiB"),
        ("media.read_ns", "[]", "1 to 8 entries"),
        ("media.read_ns", "[1, 2]", "as many entries"),
        ("media.erase_ns", "281474976710657", "at most 281474976710656"),
    ];
    for (path, text, part) in cases {
        let mut p = before.clone();
        let error = complaint(p.set(path, text).map(|()| p.clone()));
        assert!(error.contains(part), "{path}={text}: {error}");
        assert_eq!(p, before, "{path}={text}");
    }
}

#[test]
fn unknown_keys_are_named() {
    for section in ["[geometry]", "[media]", "[host.cpu]", "[limits]"] {
        let error = complaint(edited(
            section,
            &format!("{section}\nfast_ns = {{ value = 1, source = \"default\" }}"),
        ));
        assert!(error.contains("fast_ns"), "{error}");
    }
    let error = complaint(edited("[geometry]", "[geometry]\nfast = \"1\"\n"));
    assert!(error.contains("line 7") && error.contains("fast"), "{error}");
    let error = complaint(edited("[limits]", "[limit]\n"));
    assert!(error.contains("limit"), "{error}");
    let error = complaint(edited("value = 4, source", "valu = 4, source"));
    assert!(error.contains("valu"), "{error}");
}

#[test]
fn numbers_need_a_source_and_claims_need_a_note() {
    let error = complaint(edited(
        "doorbell_write_ns = { value = 10, source = \"default\" }",
        "doorbell_write_ns = 10",
    ));
    assert!(error.contains("doorbell_write_ns"), "{error}");
    let error =
        complaint(edited("program_ns = { value = 100_000, source = \"default\" }", "program_ns = 10"));
    assert!(error.contains("program_ns"), "{error}");
    let error = complaint(edited("{ value = 10, source = \"default\" }", "{ value = 10 }"));
    assert!(error.contains("`link.doorbell_write_ns` has no source"), "{error}");
    let error = complaint(edited("value = 100_000", "value = 0.5"));
    assert!(error.contains("media.program_ns"), "{error}");
    let error =
        complaint(edited("{ value = 10, source = \"default\" }", "{ value = 10, source = \"paper\" }"));
    assert!(error.contains("link.doorbell_write_ns") && error.contains("note"), "{error}");
    let error = complaint(edited("value = 10, source = \"default\"", "value = 10, source = \"rumour\""));
    assert!(error.contains("rumour"), "{error}");
}

#[test]
fn bad_texts_get_one_line() {
    assert!(complaint(Profile::parse("")).contains("missing field"));
    assert!(complaint(Profile::parse("name = \"x\n")).contains("line 1"));
    assert!(complaint(edited("model = \"nand\"", "model = \"magic\"")).contains("magic"));
    assert!(complaint(edited("erase_ns", "erase_us")).contains("erase_us"));
    let unknown = complaint(Profile::builtin("sakr-mid"));
    assert!(unknown.contains("sakr-mid") && unknown.contains("saker-mid"), "{unknown}");
}

#[test]
fn the_way_to_dispatch_is_a_word() {
    let mut profile = Profile::builtin("default").expect("built in");
    assert_eq!(profile.firmware.dispatch.get(), Dispatch::Shared);
    profile.set("firmware.dispatch", "by_key").expect("a way");
    assert_eq!(profile.firmware.dispatch.get(), Dispatch::ByKey);
    profile.set("firmware.dispatch", "by_chance").expect_err("no way");
    profile.set("firmware.io_cores", "by_key").expect_err("a number");
    assert_eq!(profile.firmware.dispatch.get(), Dispatch::ByKey);
}
