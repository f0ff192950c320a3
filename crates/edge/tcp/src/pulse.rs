// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a server goes on: every thread that serves is asked, and answers between two turns of its work.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

use crate::connection::messages::Request;
use crate::neighbour::Neighbour;

/// Asks the threads of a server. It can go to another thread than the server.
#[derive(Clone, Debug)]
pub struct Pulse {
    pub(crate) subsystems: Vec<UnboundedSender<Request>>,
    pub(crate) sockets: Handle,
    pub(crate) neighbours: Vec<Arc<dyn Neighbour>>,
}

impl Pulse {
    /// Whether the thread that listens, those of all subsystems and those of neighbours answer within that time. A thread that waits for a device
    /// which does not go on does not answer.
    #[must_use]
    pub fn beats(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        let (told, answers) = channel();
        let asked =
            self.subsystems.iter().filter(|subsystem| subsystem.send(Request::Pulse(told.clone())).is_ok());
        if asked.count() < self.subsystems.len() {
            return false;
        }
        if !self.neighbours.iter().all(|neighbour| neighbour.pulse(told.clone())) {
            return false;
        }
        self.sockets.spawn(async move {
            // Nobody waits any more if that fails.
            let _ = told.send(());
        });
        let answered = |_| answers.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok();
        (0..=self.subsystems.len() + self.neighbours.len()).all(answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Server, ServerConfig};
    use tokio::sync::mpsc::unbounded_channel;

    fn server() -> Server {
        let mut config = ServerConfig::new("mem:?size=8MiB&profile=tiny");
        config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
        Server::start(config).expect("it starts")
    }

    #[test]
    fn a_server_that_goes_on_beats_and_one_that_has_ended_does_not() {
        let server = server();
        let pulse = server.pulse();
        assert!((0..50).all(|_| pulse.beats(Duration::from_secs(10))));
        server.stop().expect("it ends");
        assert!(!pulse.beats(Duration::from_millis(200)));
    }

    #[test]
    fn one_thread_that_stands_still_is_enough() {
        let server = server();
        let (subsystem, standing) = unbounded_channel();
        let mut pulse = server.pulse();
        pulse.subsystems.push(subsystem);
        let begun = Instant::now();
        assert!(!pulse.beats(Duration::from_millis(50)) && begun.elapsed() >= Duration::from_millis(50));
        drop(standing);
        assert!(!pulse.beats(Duration::from_secs(60)), "it is known at once that it has ended");
        // The thread that listens stands still: nothing turns this runtime.
        let idle = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let pulse = Pulse { sockets: idle.handle().clone(), ..server.pulse() };
        assert!(!pulse.beats(Duration::from_millis(50)));
    }
    /// A device that the process serves by another way.
    #[derive(Debug)]
    struct Standing {
        is_there: bool,
        asked: std::sync::Mutex<Vec<std::sync::mpsc::Sender<()>>>,
    }

    impl Neighbour for Standing {
        fn name(&self) -> String {
            "standing".into()
        }

        fn pulse(&self, told: std::sync::mpsc::Sender<()>) -> bool {
            self.asked.lock().expect("nobody panics").push(told);
            self.is_there
        }

        fn counters(&self, _: std::sync::mpsc::Sender<Vec<saker_nvme::vendor_specific::Counter>>) -> bool {
            self.is_there
        }
    }

    #[test]
    fn a_neighbour_that_stands_still_is_enough() {
        let standing = |is_there| Arc::new(Standing { is_there, asked: std::sync::Mutex::default() });
        for (is_there, patience) in [(true, Duration::from_millis(50)), (false, Duration::from_secs(60))] {
            let neighbour = standing(is_there);
            let mut config = ServerConfig::new("mem:?size=8MiB&profile=tiny");
            config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
            let server = Server::start_beside(config, vec![Arc::clone(&neighbour) as _]).expect("it starts");
            // It keeps what it was asked by, and answers nobody; or it has no thread any more.
            assert!(!server.pulse().beats(patience));
            assert_eq!(neighbour.asked.lock().expect("nobody panics").len(), 1);
            server.stop().expect("it ends");
        }
    }
}
