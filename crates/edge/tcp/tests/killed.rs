// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A target in a process of its own, which its parent kills.

use saker_tcp::{Server, ServerConfig};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The device that the target has.
const DEVICE: &str = "SAKER_KILLED_DEVICE";

/// The whole of an ignored test that [`start`] starts: it serves until it is killed, or a minute. Nothing where nobody started it.
pub fn serve() {
    let Ok(device) = std::env::var(DEVICE) else { return };
    let mut config = ServerConfig::new(&device);
    config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let server = Server::start(config).expect("the server starts");
    // The harness prints to standard output; standard input is the parent's pipe.
    let pipe = std::io::stdin().as_fd().try_clone_to_owned().expect("duplicates");
    writeln!(File::from(pipe), "tcp://{}/{}", server.addresses()[0], server.names()[0])
        .expect("the parent reads");
    std::thread::sleep(Duration::from_secs(60));
}

/// Starts that test of this program on an image; the process and its URL, for a host that gives up when it is gone.
pub fn start(test: &str, image: &Path) -> (Child, String) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([test, "--exact", "--ignored", "--nocapture"]).stdin(writer).stdout(Stdio::null());
    command.env(DEVICE, format!("file:{}", image.display()));
    let child = command.spawn().expect("starts");
    drop(command);
    let mut url = String::new();
    BufReader::new(reader).read_line(&mut url).expect("reads");
    (child, format!("{}?reconnect=0&timeout=10", url.trim_end()))
}

/// Commits of a life before it ends.
pub const COMMITS_MIN: u64 = 6;

/// Waits until so many more commits were counted: on a busy machine hosts take long to connect. Gives up after some seconds.
pub fn wait_for_commits(commits: &AtomicU64) {
    for _ in 0..2000 {
        if commits.load(Ordering::SeqCst) >= COMMITS_MIN {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
