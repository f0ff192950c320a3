// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scrubs of the images that a target serves, beside its work: once a day, at a rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use saker::url::Backing;
use saker::{DeviceUrl, ScrubNews, Scrubbed};

use crate::error::one_line;

/// From the beginning of a pass to the beginning of the next one, unless it takes longer.
const PERIOD: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a thread that waits looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Damaged places of a pass that are told one by one.
const TOLD_MAX: u64 = 100;

/// Threads that scrub, one for each image. They end when this is dropped.
pub struct Scrubs {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Scrubs {
    /// Starts them. Devices in memory have nothing to read again.
    pub fn start(urls: &[String], bytes_per_second: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let images = urls.iter().filter_map(|url| image_of(url)).map(|image| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || scrub_daily(&image, bytes_per_second, &stop))
        });
        let threads = images.collect();
        Self { stop, threads }
    }
}

impl Drop for Scrubs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A panic there ends the process.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// The image of a URL, as one that is only read.
fn image_of(url: &str) -> Option<String> {
    match DeviceUrl::parse(url).ok()?.place {
        Backing::File(path) => DeviceUrl::of_image(&path),
        _ => None,
    }
}

fn scrub_daily(image: &str, bytes_per_second: u64, stop: &AtomicBool) {
    repeat(PERIOD, stop, &mut || scrub_once(image, bytes_per_second, stop));
}

/// Passes, each a period behind the beginning of the one before, or at once if that one took longer.
fn repeat(period: Duration, stop: &AtomicBool, pass: &mut dyn FnMut()) {
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        pass();
        while begun.elapsed() < period && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK.min(period));
        }
    }
}

/// One pass. What is lost is an error, so that a log of errors alone has it.
fn scrub_once(image: &str, bytes_per_second: u64, stop: &AtomicBool) {
    let (begun, mut told) = (Instant::now(), 0);
    let done = saker::scrub(image, Some(bytes_per_second), &mut |news| {
        if let ScrubNews::Damage(what) = news {
            told += 1;
            if told <= TOLD_MAX {
                tracing::error!(image, place = %one_line(what), "scrub found damage");
            }
        }
        !stop.load(Ordering::Relaxed)
    });
    match done {
        Ok(Scrubbed { is_whole: false, .. }) => {}
        Ok(Scrubbed { damaged: 0, sound, bytes, .. }) => {
            tracing::info!(image, sound, bytes, took_ms = ms(begun), "scrub ended: all pages are sound");
        }
        Ok(Scrubbed { damaged, sound, bytes, .. }) => {
            let took_ms = ms(begun);
            tracing::error!(
                image,
                damaged,
                sound,
                bytes,
                took_ms,
                "scrub ended: DAMAGED; `saker check` says what is lost"
            );
        }
        Err(error) => {
            tracing::error!(image, error = %one_line(&error.to_string()), "scrub cannot read the image")
        }
    }
}

fn ms(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_go_on_until_they_are_to_end() {
        let (stop, mut passes, begun) = (AtomicBool::new(false), 0, Instant::now());
        let period = Duration::from_millis(5);
        repeat(period, &stop, &mut || {
            passes += 1;
            stop.store(passes == 4, Ordering::Relaxed);
        });
        assert!(passes == 4 && begun.elapsed() >= 3 * period, "{passes} in {:?}", begun.elapsed());
    }

    #[test]
    fn only_images_are_read_again() {
        assert_eq!(image_of("file:a/disk.img?depth=8").as_deref(), Some("file:a/disk.img"));
        assert_eq!(image_of("file:a??b.img?depth=8").as_deref(), Some("file:a??b.img"));
        assert_eq!(image_of("mem:?size=4MiB"), None);
    }
}
