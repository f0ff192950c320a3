// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Secrets as text: `DHHC-1:XX:BASE64:` (Base 2.0, section 8.13.5.8; torvalds/linux, drivers/nvme/common/auth.c,
//! `nvme_auth_extract_key` and `nvme_auth_transform_key`).
//!
//! BASE64 has the key and its CRC-32, least significant byte first. XX says which HMAC makes the key that responses use out
//! of it and the name of whom it belongs to, so that one text gives different keys to different names; 00 for none.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crc_fast::{CrcAlgorithm, checksum};
use saker_nvme::fabrics::dhchap::HashId;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::hash::{Hidden, hmac};

/// What the text begins with.
const PREFIX: &str = "DHHC-1:";
/// Hashed behind the name.
const PURPOSE: &[u8] = b"NVMe-over-Fabrics";
/// Bytes that keys can have.
const KEY_BYTES: [usize; 3] = [32, 48, 64];
/// Bytes of the CRC.
const CRC_BYTES: usize = 4;
/// The longest text: more is not read.
const TEXT_BYTES_MAX: usize = 128;

/// A text that is no secret. It never tells what was in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SecretError {
    /// The form.
    #[error("it does not have the form DHHC-1:XX:BASE64: with XX from 00 to 03")]
    Form,
    /// Characters that base64 does not have, or a wrong number of them.
    #[error("what follows DHHC-1:XX: is not base64")]
    Base64,
    /// The length of the key.
    #[error("its key has not 32, 48 or 64 bytes")]
    Length,
    /// The checksum.
    #[error("its checksum is wrong: a character was lost or changed")]
    Checksum,
}

/// A secret. Its bytes are wiped when it is dropped, and shown by no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    transform: Option<HashId>,
    key: Hidden,
}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Reads the text. Blanks around it are not part of it; the colon at its end may be missing.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let text = text.trim();
        let rest = text.strip_prefix(PREFIX).filter(|_| text.len() <= TEXT_BYTES_MAX);
        let (number, rest) = rest.and_then(|rest| rest.split_once(':')).ok_or(SecretError::Form)?;
        let transform = match number {
            "00" => None,
            "01" => Some(HashId::Sha256),
            "02" => Some(HashId::Sha384),
            "03" => Some(HashId::Sha512),
            _ => return Err(SecretError::Form),
        };
        let encoded = rest.strip_suffix(':').unwrap_or(rest);
        let decoded = STANDARD.decode(encoded).map_err(|_| SecretError::Base64)?;
        let decoded = Zeroizing::new(decoded);
        let (key, crc) = decoded.split_last_chunk::<CRC_BYTES>().ok_or(SecretError::Length)?;
        if !KEY_BYTES.contains(&key.len()) {
            return Err(SecretError::Length);
        }
        if crc_of(key).to_le_bytes() != *crc {
            return Err(SecretError::Checksum);
        }
        Ok(Self { transform, key: Zeroizing::new(key.to_vec()) })
    }

    /// A secret of random bytes: as many as the hash has, or 32 without one.
    #[must_use]
    pub fn generate(transform: Option<HashId>, random: &[u8; 64]) -> Self {
        let bytes = transform.map_or(32, HashId::bytes);
        let key = Zeroizing::new(random.iter().copied().take(bytes).collect());
        Self { transform, key }
    }

    /// The text. Whoever has it can pass for the host.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        let mut bytes = self.key.clone();
        bytes.extend_from_slice(&crc_of(&self.key).to_le_bytes());
        let number = self.transform.map_or(0, |hash| hash as u8);
        let encoded = Zeroizing::new(STANDARD.encode(&*bytes));
        Zeroizing::new(format!("{PREFIX}{number:02}:{}:", *encoded))
    }

    /// The key for responses of whom the name belongs to.
    #[must_use]
    pub(crate) fn key_of(&self, nqn: &str) -> Hidden {
        match self.transform {
            Some(hash) => hmac(hash, &self.key, &[nqn.as_bytes(), PURPOSE]),
            None => self.key.clone(),
        }
    }
}

/// CRC-32 as in zlib.
fn crc_of(key: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32IsoHdlc, key) as u32
}
