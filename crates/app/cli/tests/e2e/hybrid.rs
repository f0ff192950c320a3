// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over both namespaces of an image (`?hybrid`), as the command makes it, fills it and tells of it.

use super::support::Desk;
use serde_json::Value;

const CREATE: [&str; 5] = ["create", "two.img", "--size", "24MiB", "--hybrid"];
/// The main tree stops writes soon.
const PRESSED: &str = "write_buffer_size=16KiB&level0_file_num_compaction_trigger=1&level0_slowdown_writes_trigger=1\
     &level0_stop_writes_trigger=1&slowdown=off&target_file_size_base=16KiB";

fn create(desk: &Desk, more: &[&str]) -> super::support::Ran {
    desk.saker(&[&CREATE[..], &["--profile", "tiny", "--force"], more].concat())
}

#[test]
fn a_store_with_values_inside_is_made_filled_and_told_of() {
    let desk = Desk::new();
    for chosen in [&[][..], &["--set", "min_blob_size=unlimited"]] {
        create(&desk, chosen).good();
        let device = format!("file:two.img?hybrid&{PRESSED}");
        for (key, value) in [("one", "1"), ("other", "2")] {
            desk.saker(&["put", "--device", "file:two.img?hybrid", key, value]).good();
        }
        let bench = ["bench", "overwrite", "--num", "2000", "--value-size", "1KiB", "--json"];
        let text = desk.saker(&[&bench[..], &["--device", &device]].concat()).good();
        let told: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(told["errors"].as_u64().unwrap_or(0), 0, "{text}");
        assert_eq!(desk.saker(&["get", "--device", "file:two.img?hybrid", "other"]).good().trim_end(), "2");
        let info = desk.saker(&["info", "--device", "file:two.img?hybrid"]).good();
        assert!(info.contains("redirected_writes"), "{info}");
        desk.saker(&["check", "two.img"]).good();
    }
}

#[test]
fn what_the_main_tree_does_not_keep_is_refused_by_name() {
    let desk = Desk::new();
    let refused = create(&desk, &["--set", "packing=block"]).refused(2);
    assert!(refused.contains("min_blob_size alone") && refused.contains("packing"), "{refused}");
    assert!(!desk.path("two.img").exists(), "nothing was made");
    create(&desk, &["--set", "min_blob_size=256"]).good();
    let refused = desk.saker(&["get", "--device", "file:two.img?hybrid&min_blob_size=0", "key"]).refused(2);
    assert!(refused.contains("the store was made with 256"), "{refused}");
    let alone = ["create", "one.img", "--size", "4MiB", "--profile", "tiny", "--engine", "lsm"];
    let refused = desk.saker(&[&alone[..], &["--set", "main_min_blob_size=256"]].concat()).refused(2);
    assert!(refused.contains("does nothing here"), "{refused}");
}
