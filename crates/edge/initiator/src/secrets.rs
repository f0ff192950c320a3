// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files with secrets, and what must not be guessed.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};
use saker_auth::{Secret, SecretError};
use thiserror::Error;
use zeroize::Zeroizing;

/// The longest file that is read: it has lines of less than 128 bytes.
const FILE_BYTES_MAX: u64 = 64 << 10;
/// Permission of all users to read.
const READABLE_BY_ALL: u32 = 0o004;

/// A file that holds no secret. One line, without what is in the file.
#[derive(Debug, Error)]
pub enum SecretFileError {
    /// The file cannot be read.
    #[error("cannot read the secret file {}: {error}; make one with `saker secret generate`", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Everybody can read it.
    #[error("every user can read the secret file {}; run `chmod 600` on it", path.display())]
    Public {
        /// Which file.
        path: PathBuf,
    },
    /// There is nothing in it.
    #[error("the secret file {} has no secret; make one with `saker secret generate`", path.display())]
    Empty {
        /// Which file.
        path: PathBuf,
    },
    /// A line is no secret.
    #[error("line {line} of the secret file {}: {error}; make another with `saker secret generate`", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        error: SecretError,
    },
}

/// Reads the secrets of a file: one a line, beside empty lines and lines that begin with `#`. The first is the one to use; a target
/// takes any of them.
///
/// # Errors
/// [`SecretFileError`].
pub fn read_secrets(path: &Path) -> Result<Vec<Secret>, SecretFileError> {
    let unreadable = |error| SecretFileError::Unreadable { path: path.into(), error };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    if mode & READABLE_BY_ALL != 0 {
        return Err(SecretFileError::Public { path: path.into() });
    }
    // As large as it can get, so that no part of it stays behind in memory that was grown out of.
    let mut text = Zeroizing::new(String::with_capacity(FILE_BYTES_MAX as usize));
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let secrets = lines.map(|(line, text)| {
        Secret::parse(text).map_err(|error| SecretFileError::Malformed { path: path.into(), line, error })
    });
    let secrets: Vec<Secret> = secrets.collect::<Result<_, _>>()?;
    if secrets.is_empty() { Err(SecretFileError::Empty { path: path.into() }) } else { Ok(secrets) }
}

/// Bytes that nobody can guess, from the operating system.
///
/// # Panics
/// If the system has none to give: nothing that goes on without would be safe.
#[must_use]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut done = 0;
    while done < N {
        match getrandom(&mut bytes[done..], GetRandomFlags::empty()) {
            Ok(count) => done += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("the system gives no random bytes: {error}"),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).expect("permissions");
        file
    }

    #[test]
    fn a_file_may_have_several_secrets_and_remarks() {
        let one = Secret::generate(None, &random_bytes());
        let other = Secret::generate(Some(saker_auth::HashId::Sha512), &random_bytes());
        let text = format!("# new\n{}\n\n# old\n{}\r\n", *one.reveal(), *other.reveal());
        for mode in [0o600, 0o640, 0o400] {
            assert_eq!(read_secrets(file(&text, mode).path()).expect("sound"), [one.clone(), other.clone()]);
        }
    }

    #[test]
    fn errors_name_file_and_line_and_never_the_secret() {
        let secret = Secret::generate(None, &random_bytes()).reveal().to_string();
        let spoilt = secret.replacen(&secret[12..14], "??", 1);
        let swapped = format!("{secret}\n{}", secret.replacen("DHHC-1:00", "DHHC-1:07", 1));
        let missing = read_secrets(Path::new("no/such/file")).expect_err("missing").to_string();
        assert!(missing.contains("no/such/file"), "{missing}");
        let public = file(&secret, 0o644);
        for (held, place) in [
            (&public, "chmod 600"),
            (&file(&spoilt, 0o600), "line 1"),
            (&file(&swapped, 0o600), "line 2"),
            (&file("# nothing\n\n", 0o600), "no secret"),
        ] {
            let error = read_secrets(held.path()).expect_err(place).to_string();
            assert!(error.contains(place) && error.lines().count() == 1 && error.contains("; "), "{error}");
            assert!(
                !error.contains(&secret[14..30]) && error.contains(held.path().to_str().expect("UTF-8")),
                "{error}"
            );
        }
    }

    #[test]
    fn random_bytes_differ() {
        assert_ne!(random_bytes::<32>(), random_bytes::<32>());
    }
}
