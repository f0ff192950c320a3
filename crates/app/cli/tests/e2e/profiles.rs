// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A profile of one's own, from `saker profile show --toml` to devices that have it.

use crate::e2e::support::Desk;

/// A copy of a built-in profile under another name, with one number changed.
fn own_profile(desk: &Desk, file: &str, name: &str) {
    let text = desk.saker(&["profile", "show", "tiny", "--toml"]).good();
    let text = text.replace("name = \"tiny\"", &format!("name = \"{name}\""));
    let slower = text.replace("channels = { value = 2", "channels = { value = 1");
    assert_ne!(text, slower, "the number is there");
    desk.write(file, slower.as_bytes());
}

#[test]
fn a_file_is_a_profile_wherever_one_is_named() {
    let desk = Desk::new();
    own_profile(&desk, "mine.toml", "mine");
    desk.saker(&["create", "disk.img", "--size", "16MiB", "--profile", "mine.toml"]).good();
    desk.disk(&["put", "k", "v"]).good();
    assert_eq!(desk.disk(&["get", "k"]).good().trim_end(), "v");
    assert!(desk.disk(&["info"]).good().contains("mine"), "the image names it");
    desk.saker(&["compare", "--profile", "./mine.toml", "--operations", "20", "--sizes", "16B"]).good();
    desk.saker(&["bench", "a", "--profile", "mine.toml", "--operations", "20"]).good();
    desk.saker(&["put", "k", "v", "--device", "mem:?profile=mine.toml&size=16MiB"]).good();
}

/// An image keeps a profile's name alone, so its times need the file.
#[test]
fn an_image_of_a_profile_of_ones_own_is_timed_by_its_file() {
    let desk = Desk::new();
    own_profile(&desk, "mine.toml", "mine");
    own_profile(&desk, "other.toml", "other");
    own_profile(&desk, "tiny.toml", "tiny");
    desk.saker(&["create", "disk.img", "--size", "16MiB", "--profile", "mine.toml"]).good();
    let real = |profile: &str| {
        let url = format!("file:disk.img?timing=real{profile}");
        desk.saker(&["exists", "k", "--device", &url])
    };
    assert_eq!(real("&profile=mine.toml").code, Some(1), "there is no such key");
    assert!(real("").refused(2).contains("&profile=FILE"));
    assert!(real("&profile=other.toml").refused(2).contains("made with `mine`"));
    let taken = desk.saker(&["create", "x.img", "--size", "16MiB", "--profile", "tiny.toml"]).refused(2);
    assert!(taken.contains("a name of its own"), "{taken}");
}

/// Whatever its pages are like, both stores run on it.
#[test]
fn every_built_in_profile_can_be_compared_on() {
    let desk = Desk::new();
    let list: serde_json::Value =
        serde_json::from_str(&desk.saker(&["profile", "list", "--json"]).good()).expect("a document");
    let profiles = list["profiles"].as_array().expect("a list");
    assert!(profiles.len() >= 7);
    for profile in profiles {
        let name = profile["name"].as_str().expect("a name");
        desk.saker(&["compare", "--profile", name, "--operations", "20", "--sizes", "16B", "-q"]).good();
    }
}

/// Times of a board that differs from the profile in one number: the fit finds it, and the saved profile has it, marked.
#[test]
fn a_profile_is_fitted_to_measured_points() {
    let desk = Desk::new();
    let held = "method,bytes,value,role\n";
    let slower = desk.saker(&["profile", "show", "cosmos-plus", "--toml"]).good();
    let slower = slower.replace("name = \"cosmos-plus\"", "name = \"board\"");
    let slower = slower.replace("page_dma_ns = { value = 2000", "page_dma_ns = { value = 6500");
    desk.write("board.toml", slower.as_bytes());
    let times = desk.saker(&["profile", "calibrate", "board.toml", "--passthrough", "--json"]).good();
    let times: serde_json::Value = serde_json::from_str(&times).expect("a document");
    let sizes = times["calibration"]["sizes"].as_array().expect("sizes");
    let us = |bytes: u64, method: &str| {
        let row = sizes.iter().find(|row| row["bytes"] == bytes).expect("a size of the calibration");
        row["ns"][method].as_f64().expect("a time") / 1000.0
    };
    let point = |bytes, method, role| format!("{method},{bytes},{},{role}\n", us(bytes, method));
    let lines = [
        point(64, "prp", "fit"),
        point(4096, "prp", "fit"),
        point(32, "piggyback", "fit"),
        point(8192, "prp", "held"),
    ];
    desk.write("points.csv", (held.to_owned() + &lines.concat()).as_bytes());
    let fit = [
        "profile",
        "fit",
        "cosmos-plus",
        "--points",
        "points.csv",
        "--free",
        "transfer.page_dma_ns=0..50_000",
    ];
    let run = |more: &[&str]| desk.saker(&[&fit[..], &["--passthrough"], more].concat());
    let told = run(&["--save", "mine.toml"]).good();
    assert!(told.contains("predicted") && told.contains("before the fit"), "{told}");
    let document: serde_json::Value = serde_json::from_str(&run(&["--json"]).good()).expect("a document");
    let found = document["fit"]["numbers"][0]["value"].as_u64().expect("a number");
    assert!((6300..=6700).contains(&found), "{document}");
    let rows = desk.saker(&["profile", "show", "mine.toml"]).good();
    let row = rows.lines().find(|line| line.contains("transfer.page_dma_ns")).expect("a row");
    assert!(row.contains("fitted") && row.contains("points.csv"), "{row}");
    assert!(run(&["--save", "mine.toml"]).refused(2).contains("name a new file"));
}

#[test]
fn a_fit_that_says_nothing_is_refused() {
    let desk = Desk::new();
    desk.write("one.csv", b"method,bytes,value\nprp,64,15\n");
    desk.write("bad.csv", b"method,bytes,value\nprp,many,15\n");
    let fit = |more: &[&str]| desk.saker(&[&["profile", "fit", "cosmos-plus"], more].concat()).refused(2);
    let free = ["--free", "transfer.page_dma_ns=0..5"];
    assert!(fit(&[&["--points", "one.csv"], &free[..]].concat()).contains("give at least 2 points"));
    assert!(fit(&[&["--points", "bad.csv"], &free[..]].concat()).contains("bad.csv: line 2"));
    assert!(fit(&["--points", "one.csv", "--free", "x"]).contains("PATH=LEAST..MOST"));
    assert!(fit(&["--figure", "none"]).contains("choose one of bandslim-fig8"));
    assert!(fit(&[]).contains("--points"));
    assert!(
        desk.saker(&["profile", "fit", "cosmos-plus", "--figure", "bandslim-fig8"])
            .good()
            .contains("predicted")
    );
}
