// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the host file system does to an image, as its user is told: one line when it begins, one when it is over.

use super::host;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first pause before something refused is tried again without anybody waiting for it. Each further one is twice as
/// long.
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// The longest.
const PAUSE_MAX: Duration = Duration::from_millis(200);
/// So long after the last line no other episode is told of: a file system at its brim is full and not full many times a
/// second.
const QUIET: Duration = Duration::from_secs(5);

/// Refusals of the host file system, in episodes.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// The pause behind the last refusal, and when it ends. `None`: the last write succeeded.
    pause: Option<(Duration, Instant)>,
    /// Whether the beginning of this episode was told.
    told: bool,
    spoke_at: Option<Instant>,
}

impl Trouble {
    /// Notes how a write to the image ended.
    #[inline]
    pub fn note(&mut self, path: &Path, result: &io::Result<()>) {
        match result {
            Ok(()) if self.pause.is_none() => {}
            Ok(()) => self.over(path),
            Err(error) => self.refused(path, error),
        }
    }

    /// Whether the last write succeeded.
    pub const fn is_over(&self) -> bool {
        self.pause.is_none()
    }

    /// Whether trying again is due.
    pub fn is_worth_trying(&self) -> bool {
        self.pause.is_none_or(|(_, end)| Instant::now() >= end)
    }

    #[cold]
    fn refused(&mut self, path: &Path, error: &io::Error) {
        let now = Instant::now();
        let pause = self.pause.map_or(PAUSE_MIN, |(last, _)| (last * 2).min(PAUSE_MAX));
        self.pause = Some((pause, now + pause));
        // An episode that was not told because another one had just been is told if it lasts.
        if !self.told && self.spoke_at.is_none_or(|at| now - at > QUIET) {
            (self.told, self.spoke_at) = (true, Some(now));
            say(&refusal(path, error));
        }
    }

    #[cold]
    fn over(&mut self, path: &Path) {
        self.pause = None;
        if std::mem::take(&mut self.told) {
            self.spoke_at = Some(Instant::now());
            say(&format!("{}: writes go on", path.display()));
        }
    }
}

/// A failed sync is for good, so it is told whatever was told before.
pub(super) fn sync_failed(path: &Path, error: &io::Error) {
    say(&format!(
        "{}: a sync failed ({error}): what no Flush has confirmed may be lost, and nothing is written any more; \
         see to {}, then open the image again",
        path.display(),
        file_system(path)
    ));
}

fn refusal(path: &Path, error: &io::Error) -> String {
    let (path, at) = (path.display(), file_system(path));
    let what = match error.kind() {
        _ if !host::is_full(error) => {
            return format!("{path}: {at} refuses writes ({error}): they wait and are tried again");
        }
        io::ErrorKind::QuotaExceeded => "has no quota left for it",
        io::ErrorKind::FileTooLarge => "or a limit of the process lets it grow no more",
        _ => "is full",
    };
    format!("{path}: {at} {what} ({error}): writes wait; make room there and they go on")
}

/// In the log if there is one, else one line on standard error. That nobody reads it is no reason to fail.
fn say(line: &str) {
    if tracing::enabled!(tracing::Level::WARN) {
        return tracing::warn!("{line}");
    }
    let _ = writeln!(io::stderr().lock(), "saker: {line}");
}

/// The file system of a file: where it is mounted, and its type.
fn file_system(path: &Path) -> String {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    match mount_of(&path, &mounts) {
        Some((at, kind)) => format!("the file system at {} ({kind})", at.display()),
        None => "its file system".to_owned(),
    }
}

/// The mount of a path: the longest that it is under, the last of several at one place (proc_pid_mountinfo(5)).
fn mount_of(path: &Path, mounts: &str) -> Option<(PathBuf, String)> {
    let mount = |line: &str| {
        let (before, behind) = line.split_once(" - ")?;
        let at = PathBuf::from(unescape(before.split(' ').nth(4)?));
        path.starts_with(&at).then(|| (at, behind.split(' ').next().unwrap_or_default().to_owned()))
    };
    mounts.lines().filter_map(mount).max_by_key(|(at, _)| at.as_os_str().len())
}

/// Blanks, tabs, line ends and backslashes are octal there.
fn unescape(text: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
        30 22 0:26 / /srv rw - tmpfs tmpfs rw\n\
        31 30 0:27 / /srv/a\\040b rw shared:9 master:2 - xfs /dev/sdb rw\n\
        32 30 0:28 / /srv rw - ext4 /dev/sdc rw\n";

    #[test]
    fn a_file_is_on_the_nearest_mount() {
        let of = |path: &str| mount_of(Path::new(path), MOUNTS);
        assert_eq!(of("/opt/x.img"), Some(("/".into(), "ext4".into())));
        assert_eq!(
            of("/srv/x.img"),
            Some(("/srv".into(), "ext4".into())),
            "the later mount hides the earlier one"
        );
        assert_eq!(of("/srv/a b/x.img"), Some(("/srv/a b".into(), "xfs".into())));
        assert_eq!(of("/srvx/x.img"), Some(("/".into(), "ext4".into())));
        assert_eq!(mount_of(Path::new("/x"), "no such line"), None);
    }

    #[test]
    fn an_episode_is_told_once_and_pauses_grow() {
        let mut trouble = Trouble::default();
        let path = Path::new("disk.img");
        let full = || Err(io::ErrorKind::StorageFull.into());
        trouble.note(path, &full());
        let (told, first) = (trouble.spoke_at, trouble.pause.expect("refused").0);
        trouble.note(path, &full());
        assert_eq!((trouble.spoke_at, trouble.pause.expect("refused").0), (told, 2 * first));
        (0..20).for_each(|_| trouble.note(path, &full()));
        assert_eq!(trouble.pause.expect("refused").0, PAUSE_MAX);
        assert!(!trouble.is_worth_trying());
        trouble.note(path, &Ok(()));
        assert!(trouble.is_worth_trying() && !trouble.told && trouble.spoke_at > told, "the end is told");
        let told = trouble.spoke_at;
        trouble.note(path, &full());
        trouble.note(path, &Ok(()));
        assert_eq!(trouble.spoke_at, told, "not many times a second");
        // One that lasts is told, though another had just been when it began.
        trouble.note(path, &full());
        assert!(!trouble.told);
        trouble.spoke_at = trouble.spoke_at.and_then(|at| at.checked_sub(QUIET + PAUSE_MAX));
        trouble.note(path, &full());
        assert!(trouble.told, "writing does not go on");
    }

    #[test]
    fn the_line_names_file_and_file_system() {
        let line = refusal(Path::new("/proc/disk.img"), &io::ErrorKind::StorageFull.into());
        assert!(
            line.starts_with("/proc/disk.img: the file system at /") && line.contains("is full"),
            "{line}"
        );
    }
}
