// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Panics become findings with their place; what does not end, or takes memory without bound, ends the process.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

/// Far longer than any case takes.
const CASE_MAX: Duration = Duration::from_secs(60);
/// Far more address space than all tests of this file have at once.
const VIRTUAL_KIB_MAX: u64 = 24 << 20;
const RESIDENT_KIB_MAX: u64 = 2 << 20;

thread_local! {
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What is going on, since when.
static RUNNING: Mutex<Vec<(std::thread::ThreadId, Instant, String)>> = Mutex::new(Vec::new());

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let other = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_guarded() {
                return other(info);
            }
            let place = info.location().map_or(String::new(), |l| format!("{}:{}", l.file(), l.line()));
            let text = info.payload_as_str().unwrap_or("?").lines().next().unwrap_or("").to_string();
            if std::env::var("SAKER_CASE").is_ok() {
                println!("{place}: {text}\n{}", std::backtrace::Backtrace::force_capture());
            }
            PLACE.with_borrow_mut(|first| {
                if first.is_empty() {
                    *first = format!("{place}: {text}");
                }
            });
        }));
        std::thread::spawn(watch);
    });
}

fn is_guarded() -> bool {
    let me = std::thread::current().id();
    RUNNING.lock().is_ok_and(|all| all.iter().any(|(id, ..)| *id == me))
}

fn watch() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let Ok(running) = RUNNING.lock() else { return };
        if let Some((_, _, what)) = running.iter().find(|(_, since, _)| since.elapsed() > CASE_MAX) {
            give_up(&format!("does not end: {what}"));
        }
        if memory("VmRSS:") > RESIDENT_KIB_MAX {
            give_up(&format!("takes too much memory, one of: {running:?}"));
        }
    }
}

fn give_up(what: &str) -> ! {
    eprintln!("{what}");
    std::process::abort()
}

/// KiB of memory by a name of `/proc/self/status`.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Runs a case; `Err`: where it panicked.
pub fn guarded<T>(what: &str, case: impl FnOnce() -> T) -> Result<T, String> {
    install();
    PLACE.with_borrow_mut(String::clear);
    let me = std::thread::current().id();
    RUNNING.lock().expect("no panic holds it").push((me, Instant::now(), what.into()));
    let done = catch_unwind(AssertUnwindSafe(case));
    RUNNING.lock().expect("no panic holds it").retain(|(id, ..)| *id != me);
    let virtual_kib = memory("VmPeak:");
    assert!(virtual_kib < VIRTUAL_KIB_MAX, "{virtual_kib} KiB of address space, {what}");
    done.map_err(|_| PLACE.with_borrow(Clone::clone))
}
