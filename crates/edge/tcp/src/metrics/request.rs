// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a client asks for, from bytes of anybody.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of strangers"
    )
)]

/// The longest request head in bytes.
pub(super) const HEAD_BYTES_MAX: usize = 8 << 10;

/// What is known of a request by now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    /// Its head goes on.
    More,
    /// The metrics; whether OpenMetrics will do.
    Metrics {
        /// The client accepts that format.
        open: bool,
    },
    /// There is nothing else.
    NotFound,
    /// Nothing can be done to it but to get it.
    NotAllowed,
    /// It is no request of HTTP/1.
    Bad,
    /// Its head is too long.
    TooLong,
}

/// Judges the bytes that have come.
pub(super) fn judge(bytes: &[u8]) -> Asked {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if bytes.len() >= HEAD_BYTES_MAX { Asked::TooLong } else { Asked::More };
    };
    let head = bytes.get(..end).and_then(|head| str::from_utf8(head).ok());
    let Some((line, fields)) = head.map(|head| head.split_once("\r\n").unwrap_or((head, ""))) else {
        return Asked::Bad;
    };
    let mut words = line.split(' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) => {
            let path = target.split('?').next().unwrap_or_default();
            match (method, path) {
                ("GET", "/metrics") => Asked::Metrics { open: accepts_open_metrics(fields) },
                (_, "/metrics") => Asked::NotAllowed,
                _ => Asked::NotFound,
            }
        }
        _ => Asked::Bad,
    }
}

fn accepts_open_metrics(fields: &str) -> bool {
    let accept = |field: &&str| field.get(..7).is_some_and(|name| name.eq_ignore_ascii_case("accept:"));
    fields.split("\r\n").filter(accept).any(|field| field.contains("application/openmetrics-text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_sim::Seed;

    #[test]
    fn requests_are_told_apart() {
        for (text, asked) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", Asked::Metrics { open: false }),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", Asked::Metrics { open: false }),
            (
                "GET /metrics HTTP/1.1\r\naccept: text/plain, application/openmetrics-text;version=1.0.0\r\n\r\n",
                Asked::Metrics { open: true },
            ),
            (
                "GET /metrics HTTP/1.1\r\nX: application/openmetrics-text\r\n\r\n",
                Asked::Metrics { open: false },
            ),
            ("GET / HTTP/1.1\r\n\r\n", Asked::NotFound),
            ("GET /metrics/../etc HTTP/1.1\r\n\r\n", Asked::NotFound),
            ("POST /metrics HTTP/1.1\r\n\r\n", Asked::NotAllowed),
            ("GET /metrics\r\n\r\n", Asked::Bad),
            ("GET  /metrics HTTP/1.1\r\n\r\n", Asked::Bad),
            ("GET /metrics HTTP/2\r\n\r\n", Asked::Bad),
            ("\r\n\r\n", Asked::Bad),
            ("GET /metrics HTTP/1.1\r\n", Asked::More),
            ("", Asked::More),
        ] {
            assert_eq!(judge(text.as_bytes()), asked, "{text:?}");
        }
        assert_eq!(judge(&[b'a'; HEAD_BYTES_MAX]), Asked::TooLong);
        assert_eq!(judge(b"GET \xff HTTP/1.1\r\n\r\n"), Asked::Bad);
    }

    /// Any bytes have an answer; changed requests too, byte by byte and at every length.
    #[test]
    fn bytes_of_strangers_are_judged_without_a_panic() {
        let good = b"GET /metrics?a=b HTTP/1.1\r\nHost: localhost:9990\r\nAccept: application/openmetrics-text\r\n\r\n";
        for end in 0..good.len() {
            assert_eq!(judge(&good[..end]), Asked::More, "{end}");
            for byte in [0, b' ', b'\r', b'\n', b'?', 0x80, 0xff] {
                let mut changed = good.to_vec();
                changed[end] = byte;
                judge(&changed);
            }
        }
        let mut rng = Seed(29).child("http").rng();
        for _ in 0..saker_testing::tier(20_000, 2_000_000) {
            let mut bytes = vec![0; 1 + (rng.next_u64() % 64) as usize];
            rng.fill(&mut bytes);
            let words: [&[u8]; 5] = [b"GET ", b"/metrics", b" HTTP/1.1", b"\r\n", b"\r\n\r\n"];
            let mut text = Vec::new();
            for byte in bytes {
                match words.get(usize::from(byte % 8)) {
                    Some(word) => text.extend_from_slice(word),
                    None => text.push(byte),
                }
            }
            judge(&text);
        }
    }
}
