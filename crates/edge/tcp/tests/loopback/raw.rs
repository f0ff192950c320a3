// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A host that says what it is told to, well formed or not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use saker_nvme::fabrics::{self, Connect, ConnectData};
use saker_nvme::regs::Cc;
use saker_nvme::tcp::IcReq;
use saker_nvme::{Sqe, Status};
use saker_nvme_tcp::initiator::{Answer, Data};
use saker_nvme_tcp::{Digests, Initiator, InitiatorOptions};
use zerocopy::IntoBytes;

/// The longest a test waits for the other side.
const PATIENCE: Duration = Duration::from_secs(20);
/// Who it is, unless it is somebody else.
pub const HOST: &str = "nqn.2014-08.org.example:raw";

/// A socket to the server.
pub fn dial(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("an option");
    stream.set_read_timeout(Some(PATIENCE)).expect("an option");
    // Ports of closed connections are free at once.
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).expect("an option");
    stream
}

/// A socket after ICReq and ICResp without digests.
pub fn shaken(address: SocketAddr) -> TcpStream {
    let mut stream = dial(address);
    stream.write_all(IcReq::new(0).as_bytes()).expect("sent");
    let mut response = [0; 128];
    stream.read_exact(&mut response).expect("ICResp");
    assert_eq!(response[0], 1);
    stream
}

/// What the server still sends before it closes; a reset counts as its end.
pub fn last_words(stream: &mut TcpStream) -> Vec<u8> {
    let mut words = Vec::new();
    match stream.read_to_end(&mut words) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the server does not close: {error}"),
    }
    words
}

/// A connected queue.
pub struct RawQueue {
    stream: TcpStream,
    pub protocol: Initiator,
    buffer: Vec<u8>,
}

impl RawQueue {
    /// Connects a queue of `subnqn`; the status of a refusal.
    pub fn connect(
        address: SocketAddr,
        subnqn: &str,
        cntlid: u16,
        queue: (u16, u16),
    ) -> Result<(Self, u16), Status> {
        Self::connect_as(HOST, address, subnqn, cntlid, queue)
    }

    /// The same of a host of that name.
    pub fn connect_as(
        host: &str,
        address: SocketAddr,
        subnqn: &str,
        cntlid: u16,
        (qid, entries): (u16, u16),
    ) -> Result<(Self, u16), Status> {
        let options = InitiatorOptions { digests: Digests::default() };
        let mut queue =
            Self { stream: dial(address), protocol: Initiator::new(options), buffer: vec![0; 65_536] };
        while !queue.protocol.is_open() {
            queue.step();
        }
        let mut data = ConnectData::empty();
        data.cntlid = cntlid.into();
        data.subnqn = fabrics::nqn_field(subnqn).expect("a name");
        data.hostnqn = fabrics::nqn_field(host).expect("a name");
        let connect = Connect { qid, sqsize: entries - 1, ..Connect::default() };
        let answer = queue.execute(connect.encode(), Data::Send(data.as_bytes().to_vec()));
        match answer.cqe.status() {
            status if status.is_success() => Ok((queue, answer.cqe.result_dw0() as u16)),
            status => Err(status),
        }
    }

    /// An enabled controller: its admin queue and CNTLID.
    pub fn admin(address: SocketAddr, subnqn: &str) -> (Self, u16) {
        Self::admin_as(HOST, address, subnqn)
    }

    /// The same of a host of that name.
    pub fn admin_as(host: &str, address: SocketAddr, subnqn: &str) -> (Self, u16) {
        let any = ConnectData::ANY_CONTROLLER;
        let (mut queue, cntlid) = Self::connect_as(host, address, subnqn, any, (0, 32)).expect("connected");
        let cc = Cc::default().with_css(Cc::CSS_ALL).with_iosqes(6).with_iocqes(4).with_en(true);
        let set = fabrics::property_set(fabrics::property::CC, false, cc.0.into());
        assert!(queue.execute(set, Data::None).cqe.status().is_success());
        let csts = queue.execute(fabrics::property_get(fabrics::property::CSTS, false), Data::None);
        assert_eq!(csts.cqe.result_dw0() & 1, 1, "RDY");
        (queue, cntlid)
    }

    /// Sends a command and waits for its answer; nothing else is in flight.
    pub fn execute(&mut self, sqe: Sqe, data: Data) -> Answer {
        assert!(self.protocol.submit(sqe, data, 8192));
        self.answer()
    }

    /// Whether the server closes the connection before so much time has gone by.
    pub fn is_closed_within(&mut self, patience: Duration) -> bool {
        self.stream.set_read_timeout(Some(patience)).expect("an option");
        loop {
            match self.stream.read(&mut self.buffer) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }

    /// Sends what waits, without reading.
    pub fn send(&mut self) {
        while !self.protocol.output().is_empty() {
            let piece = self.protocol.output().pieces().find(|piece| !piece.is_empty()).expect("waits");
            let bytes = self.stream.write(piece).expect("the server reads");
            self.protocol.sent(bytes);
        }
    }

    /// Sends what waits and reads once.
    pub fn step(&mut self) {
        self.send();
        let bytes = self.stream.read(&mut self.buffer).expect("the server answers");
        assert_ne!(bytes, 0, "the server closed the connection");
        self.protocol.feed(&self.buffer[..bytes]);
        assert_eq!(self.protocol.ended(), None);
    }

    /// The next answer.
    pub fn answer(&mut self) -> Answer {
        loop {
            if let Some(answer) = self.protocol.next_answer() {
                return answer;
            }
            self.step();
        }
    }

    /// The socket, to look at.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The socket alone.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }
}
