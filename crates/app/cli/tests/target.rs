// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A target as a process of its own, whose log is looked at while it runs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a line of the log may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn saker() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_saker"));
    command.env_remove("SAKER_DEVICE").env_remove("RUST_BACKTRACE");
    command
}

/// What a command prints; it has to succeed.
pub fn run(args: &[&str]) -> String {
    let output = saker().args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A target with a log of objects, killed when the test ends.
pub struct Target {
    child: Child,
    pub url: String,
    log: Receiver<Value>,
    /// What has been told so far.
    told: Vec<Value>,
}

impl Target {
    /// By a configuration file that says `log_format = "json"`.
    pub fn configured(config: &Path) -> Self {
        Self::start(&["--config", config.to_str().unwrap()])
    }

    /// By arguments, one of which says so.
    pub fn start(args: &[&str]) -> Self {
        let mut command = saker();
        command.arg("serve").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (tell, log) = channel();
        let errors = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                let object = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                // Nobody listens any more at the end of a test.
                let _ = tell.send(object);
            }
        });
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let url = first.trim_end().strip_prefix("serving ").unwrap().to_owned();
        Self { child, url, log, told: Vec::new() }
    }

    /// The URL with options.
    pub fn with(&self, options: &str) -> String {
        format!("{}?{options}", self.url)
    }

    /// Waits for the next line that has this message.
    pub fn line(&mut self, message: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(object) = self.log.recv_timeout(left) else { panic!("no {message} in {:#?}", self.told) };
            self.told.push(object.clone());
            if object["message"] == message {
                return object;
            }
        }
    }

    pub fn signal(&self, name: &str) {
        let line = format!("kill {name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    }

    /// Ends it in order; all that it has told.
    pub fn end(mut self) -> Vec<Value> {
        self.signal("-TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        self.told.extend(self.log.iter());
        std::mem::take(&mut self.told)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
