// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NVMe qualified names as somebody has typed them (Base 2.0, section 4.5).

use saker_nvme::fabrics::{DISCOVERY_NQN, NQN_BYTES_MAX};

use super::ConfigError;

/// Whether a subsystem can have this name.
pub(crate) fn check_subsystem(nqn: &str) -> Result<(), ConfigError> {
    check(nqn)?;
    if nqn == DISCOVERY_NQN {
        let what = format!("`{nqn}` is the name of discovery at every target");
        return Err(ConfigError::new(what, "give the subsystem another one"));
    }
    Ok(())
}

/// Whether a host or a subsystem can have this name.
pub(crate) fn check(nqn: &str) -> Result<(), ConfigError> {
    let is_text = nqn.chars().all(|c| !c.is_whitespace() && !c.is_control());
    if is_text && nqn.len() <= NQN_BYTES_MAX && is_dated(nqn) {
        return Ok(());
    }
    let what = format!("`{}` is no NVMe qualified name", nqn.escape_debug());
    let form = "nqn.YYYY-MM.REVERSED.DOMAIN:NAME without blanks";
    Err(ConfigError::new(what, format!("write {form}, at most {NQN_BYTES_MAX} bytes")))
}

/// `nqn.`, the month its owner had the domain, and something behind it.
fn is_dated(nqn: &str) -> bool {
    let Some((date, owner)) = nqn.strip_prefix("nqn.").and_then(|rest| rest.split_once('.')) else {
        return false;
    };
    let digits = |text: &str, count| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_date = date.split_once('-').is_some_and(|(year, month)| digits(year, 4) && digits(month, 2));
    is_date && !owner.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_use_are_taken() {
        let uuid = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555";
        let longest = format!("nqn.2026-11.dev.saker:{}", "x".repeat(223 - 22));
        for name in [uuid, "nqn.2016-06.io.spdk:cnode1", "nqn.2026-11.dev.saker:gerät", &longest] {
            assert_eq!(check_subsystem(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn others_are_refused_with_the_form() {
        let too_long = format!("nqn.2026-11.dev.saker:{}", "x".repeat(224 - 22));
        let wrong =
            ["", "not a nqn", "nqn.", "nqn.friend", "nqn.2026-11.", "nqn.2026-1.dev:x", "nqn.26-11.dev:x"];
        let blank = ["nqn.2026-11.dev.saker:a b", "nqn.2026-11.dev.saker:a\n", " nqn.2026-11.dev.saker:a"];
        for name in wrong.iter().chain(&blank).copied().chain([too_long.as_str()]) {
            let error = check(name).expect_err(name).to_string();
            assert!(error.contains("nqn.YYYY-MM") && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn discovery_may_ask_but_not_serve() {
        assert_eq!(check(DISCOVERY_NQN), Ok(()));
        let error = check_subsystem(DISCOVERY_NQN).expect_err("taken").to_string();
        assert!(error.contains("discovery"), "{error}");
    }
}
