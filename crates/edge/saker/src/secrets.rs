// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Secrets of DH-HMAC-CHAP, for devices on the network that want to know who uses them: see `docs/authentication.md`.
//!
//! ```
//! use saker::secrets::{HashId, Secret, SecretError, SecretFileError, random_bytes, read_secrets};
//! let secret = Secret::generate(Some(HashId::Sha256), &random_bytes());
//! assert!(secret.reveal().starts_with("DHHC-1:01:"));
//! assert_eq!(format!("{secret:?}"), "Secret"); // no Debug shows it
//! assert_eq!(Secret::parse("DHHC-1:01:AAAA:"), Err(SecretError::Length));
//! let missing = read_secrets("no/such/file".as_ref());
//! assert!(matches!(missing, Err(SecretFileError::Unreadable { .. })));
//! ```

#[doc(inline)]
pub use saker_initiator::{HashId, Secret, SecretError, SecretFileError, random_bytes, read_secrets};
