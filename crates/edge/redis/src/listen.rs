// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Taking connections.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use saker::panics::ends_process;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{spawn_local, yield_now};

use crate::connection;
use crate::front::Front;

/// After a failure to accept, such as of too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Takes connections from a socket that listens, for ever. To be run on the thread that owns the device.
pub async fn listen(front: Rc<Front>, listener: std::net::TcpListener) {
    let ends_process = ends_process("redis listener");
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    ends_process.at_work();
    loop {
        match listener.accept().await {
            Ok((stream, address)) => accept(&front, stream, address),
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
        yield_now().await;
    }
}

fn accept(front: &Rc<Front>, stream: TcpStream, address: SocketAddr) {
    // A client that vanishes without a word is noticed by the kernel.
    let keeps_alive = rustix::net::sockopt::set_socket_keepalive(&stream, true);
    if stream.set_nodelay(true).is_err() || keeps_alive.is_err() {
        return;
    }
    match front.clients.enter(address) {
        Some(client) => drop(spawn_local(connection::serve(Rc::clone(front), client, stream))),
        // Whether it is heard or not.
        None => drop(stream.try_write(b"-ERR max number of clients reached\r\n")),
    }
}
