// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is refused before the device is asked.

use saker_resp::parser::Broken;
use saker_resp::{Refused, Replies};

/// Longest key.
pub(crate) const KEY_BYTES_MAX: usize = 255;

pub(crate) fn say_key(length: usize, replies: &mut Replies) {
    replies.error(format_args!("ERR a key has 1 to {KEY_BYTES_MAX} bytes here, not {length}"));
}

pub(crate) fn too_long(why: Refused, replies: &mut Replies) {
    let what = match why {
        Refused::Arguments => "the command has too many arguments",
        Refused::Argument => "an argument is longer than a value can be here",
        Refused::Command => "the command is too long",
    };
    replies.error(format_args!("ERR {what}; docs/redis.md has the limits. Nothing of it was done"));
}

pub(crate) fn say_broken(broken: Broken, replies: &mut Replies) {
    match broken {
        Broken::NoBulk(got) => {
            replies.error(format_args!("ERR Protocol error: expected '$', got '{}'", got.escape_ascii()));
        }
        other => replies.error(format_args!("ERR Protocol error: {}", other.what())),
    }
}
