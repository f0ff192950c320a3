// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Secrets as text.

use saker_auth::{HashId, Secret, SecretError};

/// What `nvme gen-dhchap-key` of nvme-cli 2.3 prints, with `--hmac=0` and `--hmac=1`.
const OF_NVME_CLI: [&str; 2] = [
    "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:",
    "DHHC-1:01:yI3mmuRg+UJDXk85BFwtwbGxRfqgGJmco5HpbAnDQnDuyhrN:",
];

#[test]
fn secrets_of_nvme_cli_are_read_and_written() {
    for text in OF_NVME_CLI {
        let secret = Secret::parse(text).unwrap();
        assert_eq!(*secret.reveal(), text);
        assert_eq!(Secret::parse(&format!("  {}\r\n", text.trim_end_matches(':'))).unwrap(), secret);
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}

#[test]
fn secrets_that_are_made_are_read() {
    for (hash, bytes) in
        [(None, 32), (Some(HashId::Sha256), 32), (Some(HashId::Sha384), 48), (Some(HashId::Sha512), 64)]
    {
        let secret = Secret::generate(hash, &core::array::from_fn(|n| n as u8));
        let text = secret.reveal();
        assert_eq!(Secret::parse(&text), Ok(secret));
        assert_eq!(text.len(), "DHHC-1:00:".len() + (bytes + 4usize).div_ceil(3) * 4 + 1);
    }
}

#[test]
fn other_texts_are_refused() {
    let sound = OF_NVME_CLI[0];
    for (text, error) in [
        ("", SecretError::Form),
        ("secret", SecretError::Form),
        ("DHHC-1:00", SecretError::Form),
        (&sound.replace(":00:", ":04:"), SecretError::Form),
        (&sound.replace(":00:", ":0:"), SecretError::Form),
        (&sound.replace("DHHC-1", "DHHC-2"), SecretError::Form),
        (&sound.replace("AAEC", "AA!C"), SecretError::Base64),
        (&sound.replace("AAEC", "AAE"), SecretError::Base64),
        (&sound.replace("AAEC", "ABEC"), SecretError::Checksum),
        ("DHHC-1:00:AAEC:", SecretError::Length),
        ("DHHC-1:00:AAECAwQF:", SecretError::Length),
        (&format!("DHHC-1:00:{}:", "A".repeat(200)), SecretError::Form),
    ] {
        assert_eq!(Secret::parse(text), Err(error), "{text}");
    }
    for at in 10..sound.len() - 1 {
        let mut changed = sound.as_bytes().to_vec();
        changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
        assert!(Secret::parse(core::str::from_utf8(&changed).unwrap()).is_err(), "{at}");
    }
}
