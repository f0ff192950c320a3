//! Scrubs of the images that a target serves, beside its work: once a day, at a rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use saker::url::Backing;
use saker::{DeviceUrl, ScrubNews, Scrubbed};

use crate::error::one_line;
use crate::size::{grouped, show};

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
        Backing::File(path) => Some(format!("file:{}", path.display())),
        _ => None,
    }
}

fn scrub_daily(image: &str, bytes_per_second: u64, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        scrub_once(image, bytes_per_second, stop);
        while begun.elapsed() < PERIOD && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
    }
}

fn scrub_once(image: &str, bytes_per_second: u64, stop: &AtomicBool) {
    let mut told = 0;
    let done = saker::scrub(image, Some(bytes_per_second), &mut |news| {
        if let ScrubNews::Damage(what) = news {
            told += 1;
            if told <= TOLD_MAX {
                tell(&format!("scrub of {image}: {what}"));
            }
        }
        !stop.load(Ordering::Relaxed)
    });
    match done {
        Ok(Scrubbed { is_whole: false, .. }) => {}
        Ok(done) => tell(&format!("scrub of {image}: {}", outcome(&done))),
        Err(error) => tell(&format!("scrub of {image}: {error}")),
    }
}

fn outcome(done: &Scrubbed) -> String {
    let (sound, bytes) = (grouped(done.sound), show(done.bytes));
    match done.damaged {
        0 => format!("{sound} pages sound, {bytes}"),
        damaged => format!("DAMAGED in {} places; {sound} pages sound, {bytes}", grouped(damaged)),
    }
}

fn tell(line: &str) {
    eprintln!("saker: {}", one_line(line));
}
