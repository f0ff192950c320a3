// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A panic of a thread that serves ends the process, with a line that says so.
//!
//! A device whose thread has gone answers nobody: a user of it would wait for ever, and a supervisor would see a process that
//! lives. What such a device holds in memory may contradict itself, so nothing of it is closed or flushed either: the next
//! opening of an image recovers as after a kill, and nothing that was acknowledged is lost. That is so in programs of other
//! people too, which may keep their panics but not go on with this one.
//!
//! A panic on a thread of the caller's is the caller's.

use std::panic::PanicHookInfo;
use std::sync::OnceLock;

/// The exit code of a process that a panic has ended: `EX_SOFTWARE` of sysexits.h.
pub const PANIC_EXIT_CODE: i32 = 70;

/// The variable that names a kind of thread, or of task, that is to panic at its first work. For tests of supervisors; nobody
/// who is not the owner of the process can set it.
pub const PANIC_VARIABLE: &str = "SAKER_PANIC";

/// Ends the process if it is dropped by a panic. A thread, or a task of an executor that catches panics, keeps one.
#[derive(Debug)]
pub struct EndsProcess(&'static str);

/// For a thread or task of that kind, which may be told to panic here ([`PANIC_VARIABLE`]): to be called before its first work.
#[must_use]
pub fn ends_process(kind: &'static str) -> EndsProcess {
    EndsProcess(kind)
}

impl EndsProcess {
    /// Work begins. Panics if that is wanted.
    #[inline]
    pub fn at_work(&self) {
        static WANTED: OnceLock<Option<String>> = OnceLock::new();
        let wanted = WANTED.get_or_init(|| std::env::var(PANIC_VARIABLE).ok());
        assert!(wanted.as_deref() != Some(self.0), "{PANIC_VARIABLE} wants {} to panic", self.0);
    }
}

impl Drop for EndsProcess {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tell(&format!("{} panicked, which ends this process with code {PANIC_EXIT_CODE}", self.0));
            std::process::exit(PANIC_EXIT_CODE);
        }
    }
}

/// For a program of our own: any panic, on whatever thread, is one line on standard error and the end of the process. With
/// `RUST_BACKTRACE`, unless it is 0, what Rust prints follows.
pub fn end_process_at_any() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(&line(panic));
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|wanted| wanted != "0") {
            usual(panic);
        }
        std::process::exit(PANIC_EXIT_CODE);
    }));
}

/// In the log if there is one, else one line on standard error.
fn tell(what: &str) {
    if tracing::enabled!(tracing::Level::ERROR) {
        tracing::error!("{what}");
    } else {
        eprintln!("saker: {what}");
    }
}

fn line(panic: &PanicHookInfo<'_>) -> String {
    let current = std::thread::current();
    let thread = current.name().unwrap_or("without a name");
    let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let message = panic.payload_as_str().unwrap_or("no message").replace('\n', " ");
    format!("internal error in thread {thread} at {place}: {message}; the process ends, please report this")
}
