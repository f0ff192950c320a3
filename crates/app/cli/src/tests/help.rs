// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Help, version, and command lines that make no sense.

use super::{Fake, ran};

#[test]
fn help_and_version_go_to_standard_output() {
    let fake = Fake::default();
    assert_eq!(fake.run(&["--version"]), ran(0, &format!("saker {}\n", crate::output::VERSION), ""));
    for command in [&["--help"][..], &["put", "--help"], &["profile", "show", "--help"]] {
        let found = fake.run(command);
        assert_eq!((found.code, found.err.as_str()), (0, ""));
        assert!(found.out.contains("Usage: saker"), "{}", found.out);
    }
}

#[test]
fn usage_errors_are_one_line_that_says_where_to_look() {
    let fake = Fake::default();
    for (line, message) in [
        (&[][..], "no command is given; see `saker --help`"),
        (&["profile"], "no command is given; see `saker profile --help`"),
        (
            &["put", "a"],
            "the following required arguments were not provided: <VALUE>; see `saker put --help`",
        ),
        (&["get", "a", "b"], "unexpected argument 'b' found; see `saker get --help`"),
        (&["gte", "a"], "unrecognized subcommand 'gte'; see `saker --help`"),
        (&["comparee"], "unrecognized subcommand 'comparee'; a similar subcommand exists: 'compare'"),
        (
            &["list", "--limit", "x"],
            "invalid value 'x' for '--limit <N>': invalid digit found in string; see `saker list --help`",
        ),
        (
            &["create", "x", "--size", "4K"],
            "invalid value '4K' for '--size <SIZE>': unknown unit: write B, KiB, MiB, GiB, TiB (1024) or kB, MB, GB, TB \
             (1000); see `saker create --help`",
        ),
    ] {
        assert_eq!(fake.run(line), ran(2, "", &format!("saker: error: {message}\n")));
    }
}
