// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A client that cuts its file off behind our mapping, or whose file gets no page: the access is a SIGBUS. Here it becomes a page
//! of zeros, and a mark that the mapping is lost, so that whoever copied from it knows that what it has means nothing.
//!
//! Seals would not do: SPDK's memory has none, and a file of huge pages cannot have any. So the mapping of every client is
//! watched. A SIGBUS anywhere else goes to whoever handled it before.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Mappings of all clients of the process together.
const SLOTS: usize = 16_384;

/// One watched mapping. Empty while `end` is 0.
struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
    page_bytes: AtomicUsize,
    is_lost: AtomicBool,
}

impl Slot {
    const fn new() -> Self {
        Self {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            page_bytes: AtomicUsize::new(0),
            is_lost: AtomicBool::new(false),
        }
    }
}

static WATCHED: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];
/// Slots up to here have been in use.
static USED: AtomicUsize = AtomicUsize::new(0);
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static LOST: AtomicU64 = AtomicU64::new(0);
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// A mapping that is watched until this is dropped.
#[derive(Debug)]
pub(crate) struct Watch(usize);

impl Watch {
    /// Watches a mapping of pages of that size.
    ///
    /// # Errors
    /// When as many as can be are watched, or the system takes no handler.
    pub fn new(start: usize, bytes: usize, page_bytes: usize) -> io::Result<Self> {
        install()?;
        let index = take_slot().ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let slot = &WATCHED[index];
        slot.is_lost.store(false, Ordering::Relaxed);
        slot.page_bytes.store(page_bytes, Ordering::Relaxed);
        slot.start.store(start, Ordering::Relaxed);
        slot.end.store(start + bytes, Ordering::Release);
        Ok(Self(index))
    }

    /// Whether a page of it was taken away.
    pub fn is_lost(&self) -> bool {
        WATCHED[self.0].is_lost.load(Ordering::Acquire)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED[self.0].end.store(0, Ordering::Release);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
    }
}

/// How many pages of all clients were taken away so far.
pub(crate) fn lost_pages() -> u64 {
    LOST.load(Ordering::Acquire)
}

fn take_slot() -> Option<usize> {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    free.pop().or_else(|| {
        let next = USED.load(Ordering::Relaxed);
        (next < SLOTS).then(|| {
            USED.store(next + 1, Ordering::Release);
            next
        })
    })
}

fn install() -> io::Result<()> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *installed {
        return Ok(());
    }
    // SAFETY: all-zero bytes are a sigaction: no flags, the default handler.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    action.sa_sigaction = on_bus_error as *const () as usize;
    let mut previous = MaybeUninit::zeroed();
    // SAFETY: both point to a sigaction, and the handler has the signature that SA_SIGINFO asks for.
    let done = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, previous.as_mut_ptr()) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: sigaction has filled it.
    let previous = unsafe { previous.assume_init() };
    PREVIOUS.get_or_init(|| previous);
    *installed = true;
    Ok(())
}

/// Calls only what a signal handler may: atomics, mmap, sigaction.
extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid siginfo, which for SIGBUS has an address.
    let at = unsafe { (*info).si_addr() } as usize;
    if !replace_page(at) {
        pass_on(signal, info, context);
    }
}

/// Puts a page of zeros where one of a watched mapping is gone.
fn replace_page(at: usize) -> bool {
    let used = USED.load(Ordering::Acquire).min(SLOTS);
    let holds = |slot: &&Slot| {
        let end = slot.end.load(Ordering::Acquire);
        end != 0 && at < end && slot.start.load(Ordering::Relaxed) <= at
    };
    let Some(slot) = WATCHED[..used].iter().find(holds) else { return false };
    let page_bytes = slot.page_bytes.load(Ordering::Relaxed);
    slot.is_lost.store(true, Ordering::Release);
    LOST.fetch_add(1, Ordering::AcqRel);
    let start = at / page_bytes * page_bytes;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: errno is this thread's.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the range is one page of a mapping that its owner keeps until the watch is dropped; whoever accesses it does so
    // by atomic operations, which find the new page.
    let page =
        unsafe { libc::mmap(ptr::without_provenance_mut(start), page_bytes, protection, flags, -1, 0) };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    page != libc::MAP_FAILED
}

/// The handler of before, or the death that the system has for it.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    if let Some(previous) = PREVIOUS.get()
        && previous.sa_flags & libc::SA_SIGINFO != 0
    {
        // SAFETY: who installed it with SA_SIGINFO gave a function of this signature.
        let handler: Handler = unsafe { std::mem::transmute(previous.sa_sigaction) };
        return handler(signal, info, context);
    }
    // SAFETY: all-zero bytes are a sigaction with the default handler; the access is repeated and ends the process.
    unsafe {
        let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
        libc::sigaction(signal, &raw const default, ptr::null_mut());
    }
}
