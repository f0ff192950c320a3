// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A network between a client and a server on this machine: it passes, holds what passes, or is cut.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a thread looks whether the network has changed.
const LOOK: Duration = Duration::from_millis(2);

const PASSES: u8 = 0;
const HELD: u8 = 1;
const CUT: u8 = 2;
const OVER: u8 = 3;

/// A relay to a server: whoever connects to it is connected to the server.
#[derive(Debug)]
pub struct Network {
    address: SocketAddr,
    state: Arc<AtomicU8>,
    listening: Option<JoinHandle<()>>,
}

impl Network {
    /// A network that passes.
    ///
    /// # Panics
    /// This machine has no port.
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("it does not wait");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(AtomicU8::new(PASSES));
        let seen = Arc::clone(&state);
        let listening = Some(std::thread::spawn(move || listen(&listener, server, &seen)));
        Self { address, state, listening }
    }

    /// Where to connect.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Everything passes.
    pub fn pass(&self) {
        self.state.store(PASSES, Ordering::SeqCst);
    }

    /// Nothing passes, and nobody is told.
    pub fn hold(&self) {
        self.state.store(HELD, Ordering::SeqCst);
    }

    /// Connections are closed, those that come as well.
    pub fn cut(&self) {
        self.state.store(CUT, Ordering::SeqCst);
        std::thread::sleep(10 * LOOK);
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.state.store(OVER, Ordering::SeqCst);
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}

fn listen(listener: &TcpListener, server: SocketAddr, state: &Arc<AtomicU8>) {
    while state.load(Ordering::SeqCst) != OVER {
        match listener.accept() {
            Ok((client, _)) if state.load(Ordering::SeqCst) != CUT => join(client, server, state),
            Ok(_) => {}
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

/// Two threads for a connection, which end with it.
fn join(client: TcpStream, server: SocketAddr, state: &Arc<AtomicU8>) {
    let Ok(server) = TcpStream::connect(server) else { return };
    let both = [&client, &server].map(|stream| {
        let _ =
            (stream.set_nonblocking(false), stream.set_nodelay(true), stream.set_read_timeout(Some(LOOK)));
        stream.try_clone()
    });
    if let [Ok(to_client), Ok(to_server)] = both {
        for (from, to) in [(client, to_server), (server, to_client)] {
            let state = Arc::clone(state);
            std::thread::spawn(move || pump(from, to, &state));
        }
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, state: &AtomicU8) {
    let mut bytes = [0; 16 << 10];
    while let Some(count) = receive(&mut from, &mut bytes, state) {
        if !is_passed_on(&mut to, &bytes[..count], state) {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// Bytes that have come; `None`: the connection is over.
fn receive(from: &mut TcpStream, bytes: &mut [u8], state: &AtomicU8) -> Option<usize> {
    while state.load(Ordering::SeqCst) < CUT {
        match from.read(bytes) {
            Ok(0) => return None,
            Ok(count) => return Some(count),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return None,
        }
    }
    None
}

fn is_passed_on(to: &mut TcpStream, bytes: &[u8], state: &AtomicU8) -> bool {
    loop {
        match state.load(Ordering::SeqCst) {
            PASSES => return to.write_all(bytes).is_ok(),
            HELD => std::thread::sleep(LOOK),
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("comes");
                std::thread::spawn(move || std::io::copy(&mut stream.try_clone().expect("two"), &mut stream));
            }
        });
        address
    }

    #[test]
    fn it_passes_holds_and_is_cut() {
        let network = Network::to(echo());
        let mut stream = TcpStream::connect(network.address()).expect("connects");
        stream.set_read_timeout(Some(Duration::from_millis(50))).expect("set");
        let mut byte = [0];
        stream.write_all(b"1").expect("sent");
        stream.read_exact(&mut byte).expect("it comes back");
        network.hold();
        stream.write_all(b"2").expect("sent");
        assert!(stream.read_exact(&mut byte).is_err());
        network.pass();
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
        stream.read_exact(&mut byte).expect("it comes late");
        assert_eq!(byte, *b"2");
        network.cut();
        assert!(!matches!(stream.read(&mut byte), Ok(1..)));
        let mut late = TcpStream::connect(network.address()).expect("the system accepts");
        assert!(!matches!(late.read(&mut byte), Ok(1..)));
        network.pass();
        let mut again = TcpStream::connect(network.address()).expect("connects");
        again.write_all(b"3").expect("sent");
        again.read_exact(&mut byte).expect("it comes back");
    }
}
