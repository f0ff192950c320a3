// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names from paths. A path is absolute whether it begins with a slash or not; several slashes are one.

use crate::error::FsError;

/// Longest name, in bytes: that of POSIX systems (NAME_MAX of Linux).
pub const NAME_BYTES_MAX: usize = 255;

/// Whether something can be the name of a file.
pub fn is_name(name: &str) -> bool {
    let fits = (1..=NAME_BYTES_MAX).contains(&name.len());
    fits && name != "." && name != ".." && !name.contains(['/', '\0'])
}

/// The names of a path, from the root on.
///
/// # Errors
/// [`FsError::Name`].
pub fn names(path: &str) -> Result<Vec<&str>, FsError> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err(FsError::Name((*name).to_owned())),
        None => Ok(names),
    }
}

/// The directories of a path, and the name in the last of them.
///
/// # Errors
/// [`FsError::Name`]; the root has none.
pub fn split(path: &str) -> Result<(Vec<&str>, &str), FsError> {
    let mut names = names(path)?;
    let last = names.pop().ok_or_else(|| FsError::Name(path.to_owned()))?;
    Ok((names, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_divide_names() {
        assert_eq!(names("/a//b/./c/"), Ok(vec!["a", "b", "c"]));
        assert_eq!(names("/"), Ok(vec![]));
        assert_eq!(split("db/000001.log"), Ok((vec!["db"], "000001.log")));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long = "x".repeat(256);
        for path in ["a/../b", "a\0", long.as_str()] {
            assert!(matches!(names(path), Err(FsError::Name(_))), "{path:?}");
        }
        assert!(matches!(split("//"), Err(FsError::Name(_))));
    }
}
